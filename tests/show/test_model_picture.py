"""Shapes with their landmarks: dots where the viewpoint's camera sees them, in the colour of their side."""

from __future__ import annotations

import numpy as np
import pytest

from sightline.errors import ConfigError
from sightline.render.fast import FastRenderer
from sightline.show.model_picture import SIDES, model_picture


def ink(image: np.ndarray, color: str) -> np.ndarray:
    """Middle of the pixels of a colour, (x, y)."""
    rgb = [int(color[i : i + 2], 16) for i in (1, 3, 5)]
    rows, columns = np.nonzero((np.abs(image.astype(int) - rgb) <= 2).all(axis=2))
    assert len(rows)
    return np.array((columns.mean(), rows.mean()))


def test_left_landmarks_are_left_from_the_front_and_right_from_behind() -> None:
    renderer = FastRenderer()
    front, back = (
        np.asarray(model_picture("cad/car/sedan", a, size=(240, 180), color="gray", renderer=renderer))
        for a in (0, 180)
    )
    assert front.shape == (180, 240, 3)
    for image, sign in ((front, 1), (back, -1)):
        assert sign * (ink(image, SIDES["right"]) - ink(image, SIDES["left"]))[0] > 40
    plain = model_picture("cad/car/sedan", 0, size=(240, 180), color="gray", landmarks=False, renderer=renderer)
    outside = np.abs(np.asarray(plain).astype(int) - front).max(axis=2) > 0
    assert 0.002 < outside.mean() < 0.1  # dots and nothing else


def test_unknown_looks_are_refused() -> None:
    with pytest.raises(ConfigError, match="unknown colour 'blu'"):
        model_picture("cad/car/sedan", color="blu")
