"""Questions made by hand, and where the real weights are."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sightline.scenes import View
from sightline.skills import Pairs, Setting

Ask = Callable[..., Pairs]


def ask_about(
    boxes_a: Sequence[Sequence[float]],
    boxes_b: Sequence[Sequence[float]],
    *,
    setting: Setting = "within_image",
    images: tuple[str, str] = ("x", "y"),
    classes: tuple[Sequence[str], Sequence[str]] | None = None,
) -> Pairs:
    """Pairs of image x, or of images x and y, named as the exam names them."""
    scene_a, scene_b = (f"{setting}/test/{image}" for image in images)
    if setting == "within_image":
        scene_b = scene_a
    n = len(boxes_a)
    names_a, names_b = classes or (["cat"] * n, ["dog"] * n)
    return Pairs(
        cluster_id=scene_a if scene_a == scene_b else "|".join(sorted((scene_a, scene_b))),
        setting=setting,
        view_a=View(scene_a, units="normalised"),
        view_b=View(scene_b, units="normalised"),
        boxes_a=np.array(boxes_a, dtype=np.float64).reshape(-1, 4),
        boxes_b=np.array(boxes_b, dtype=np.float64).reshape(-1, 4),
        categories_a=tuple(names_a),
        categories_b=tuple(names_b),
    )


@pytest.fixture(scope="session")
def ask() -> Ask:
    """Builds questions."""
    return ask_about


@pytest.fixture(scope="session")
def turned() -> Callable[[Pairs], Pairs]:
    """The same questions asked the other way round."""

    def turn(pairs: Pairs) -> Pairs:
        return replace(
            pairs,
            view_a=pairs.view_b,
            view_b=pairs.view_a,
            boxes_a=pairs.boxes_b,
            boxes_b=pairs.boxes_a,
            categories_a=pairs.categories_b,
            categories_b=pairs.categories_a,
        )

    return turn


@pytest.fixture(scope="session")
def weights() -> Path:
    """The folder of real weights: SIGHTLINE_WEIGHTS, else ../shared/weights beside the checkout; may skip."""
    beside = Path(__file__).resolve().parents[2].parent / "shared" / "weights"
    folder = Path(os.environ.get("SIGHTLINE_WEIGHTS", beside))
    if not folder.is_dir():
        pytest.skip("real weights are not here (set SIGHTLINE_WEIGHTS)")
    return folder
