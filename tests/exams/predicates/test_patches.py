"""Patches cut from photos: the object in the middle, grey around it, whatever the border does."""

from __future__ import annotations

import numpy as np
import pytest

from sightline.exams.predicates.patches import GROUND, SIDE, CroppedPatches, cropped
from sightline.geometry import masks
from sightline.scenes import Sighting, View


def photo() -> np.ndarray:
    image = np.full((60, 100, 3), 200, dtype=np.uint8)
    image[20:40, 30:50] = (250, 10, 10)
    return image


@pytest.mark.parametrize(
    ("box", "middle", "corner"),
    [
        ((30, 20, 50, 40), (250, 10, 10), (200, 200, 200)),  # the object, its surroundings at the rim
        ((0, 0, 20, 20), (200, 200, 200), (GROUND,) * 3),  # at the border of the photo
        ((-40, 0, -20, 20), (GROUND,) * 3, (GROUND,) * 3),  # beyond it
        ((40, 30, 40, 30), (250, 10, 10), (250, 10, 10)),  # a point
    ],
)
def test_where_a_patch_is_cut(box: tuple[float, ...], middle: tuple[int, ...], corner: tuple[int, ...]) -> None:
    patch = cropped(photo(), box)
    assert patch.shape == (SIDE, SIDE, 3)
    assert patch.dtype == np.uint8
    assert patch[SIDE // 2, SIDE // 2].tolist() == pytest.approx(middle, abs=3)
    assert patch[0, 0].tolist() == pytest.approx(corner, abs=3)


def test_a_mask_leaves_the_object_alone() -> None:
    mask = np.zeros((60, 100), dtype=bool)
    mask[20:40, 30:40] = True  # its left half
    patch = cropped(photo(), (30, 20, 50, 40), mask)
    assert patch[16, 8].tolist() == pytest.approx([250, 10, 10], abs=3)
    assert patch[16, 24].tolist() == pytest.approx([GROUND] * 3, abs=3)


@pytest.mark.parametrize("units", ["pixels", "normalised"])
def test_patches_of_a_view(units: str) -> None:
    loads: list[int] = []

    def load() -> np.ndarray:
        loads.append(1)
        return photo()

    scale = np.array([100, 60, 100, 60]) if units == "normalised" else np.ones(4)
    boxes = [tuple((np.array(box) / scale).tolist()) for box in ((30, 20, 50, 40), (0, 0, 20, 20))]
    mask = np.zeros((60, 100), dtype=bool)
    mask[20:40, 30:40] = True
    seen = (Sighting("0", "a", boxes[0], visible_mask=masks.encode(mask)), Sighting("0", "b", boxes[1]))
    view = View("0", size=(100, 60), units=units, load_image=load)  # type: ignore[arg-type]
    patches = CroppedPatches(view, seen)
    assert len(patches) == 2
    assert loads == []  # not before a patch is asked for
    np.testing.assert_array_equal(patches[0], cropped(photo(), (30, 20, 50, 40), mask))
    np.testing.assert_array_equal(np.stack(patches)[1], cropped(photo(), (0, 0, 20, 20)))
    assert loads == [1]
