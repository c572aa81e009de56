"""What is removed: masks united, grown and bounded; and controls that remove nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from sightline.edits import Removal, RemovalError, empty_region, false_edit
from sightline.edits.removal import instances, masks_in
from sightline.errors import ConfigError, DataError
from sightline.geometry.masks import dilate, encode
from sightline.scenes import Object, Scene, Sighting, View

SHAPES = array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=12)
MASKS = arrays(bool, SHAPES)


def boxed(y0: int, x0: int, y1: int, x1: int, shape: tuple[int, int] = (20, 30)) -> np.ndarray:
    mask = np.zeros(shape, bool)
    mask[y0:y1, x0:x1] = True
    return mask


@given(MASKS, st.integers(0, 14))
def test_dilation_equals_brute_force(mask: np.ndarray, radius: int) -> None:
    height, width = mask.shape
    for y in range(height):
        for x in range(width):
            near = mask[max(y - radius, 0) : y + radius + 1, max(x - radius, 0) : x + radius + 1]
            assert dilate(mask, radius)[y, x] == near.any()


@pytest.mark.parametrize(("radius", "side"), [(0, 1), (5, 11), (7, 15)])
def test_one_pixel_grows_to_a_square(radius: int, side: int) -> None:
    hole = Removal(radius).hole([boxed(10, 12, 11, 13)])
    assert hole.sum() == side**2
    assert hole[10 - radius : 11 + radius, 12 - radius : 13 + radius].all()


def test_the_limit_is_on_the_union_before_it_grows() -> None:
    left, right = boxed(0, 0, 20, 5), boxed(0, 4, 20, 9)  # 100 pixels each, 180 together: 30 % of 600
    hole = Removal(5).hole([left, right])
    assert (left | right).mean() == 0.3 < hole.mean()
    with pytest.raises(
        RemovalError, match=r"too large to remove \(expected at most 30% of the image, found '33.3%'\)"
    ):
        Removal(5).hole([left, boxed(0, 4, 20, 10)])
    assert Removal(5, most=0.5).hole([left, boxed(0, 4, 20, 10)]).any()


@pytest.mark.parametrize(
    ("masks", "problem"),
    [
        ([], "nothing to remove: no mask"),
        ([boxed(0, 0, 0, 0)], "the mask has no pixel"),
        ([boxed(0, 0, 20, 30)], "the mask covers the whole image"),
        ([boxed(0, 0, 20, 15), boxed(0, 15, 20, 30)], "the mask covers the whole image"),  # two halves
        ([boxed(9, 14, 10, 15, (12, 16))] * 2 + [boxed(3, 5, 4, 6, (12, 16))], "the grown mask covers"),
    ],
)
def test_what_cannot_be_removed_is_refused(masks: list[np.ndarray], problem: str) -> None:
    with pytest.raises(RemovalError, match=problem):
        Removal(11, most=1.0).hole(masks)


def test_masks_of_other_sizes_and_odd_settings_are_refused() -> None:
    with pytest.raises(DataError, match="differ in size"):
        Removal().hole([boxed(0, 0, 1, 1), boxed(0, 0, 1, 1, (20, 31))])
    with pytest.raises(ConfigError, match="radius"):
        Removal(-1)
    with pytest.raises(ConfigError, match="largest share"):
        Removal(most=0.0)


@pytest.fixture
def street() -> Scene:
    """Two cars, one of them without a mask; a road flagged as stuff; a tree out of the picture."""
    names = [("a", "car"), ("b", "car"), ("r", "road"), ("t", "tree"), ("s", "sky")]
    flat = encode(boxed(4, 4, 8, 8))
    return Scene(
        "s1",
        views=(View("v", size=(30, 20), stuff_classes=("sky",)),),
        objects=tuple(Object(name, category) for name, category in names),
        sightings=(
            Sighting("v", "a", (4, 4, 8, 8), visible_mask=flat),
            Sighting("v", "b", (0, 0, 1, 1)),
            Sighting("v", "r", (0, 0, 1, 1), visible_mask=flat, flags=frozenset({"stuff"})),
            Sighting("v", "s", (0, 0, 1, 1), visible_mask=flat),
        ),
    )


def test_a_class_is_all_its_instances_and_stuff_stays(street: Scene) -> None:
    assert instances(street, "car") == ("a", "b")
    assert Removal(1).hole(masks_in(street, "v", ["a"])).sum() == 36
    assert masks_in(street, "v", ["t"]) == []
    for gone, problem in [
        (("a", "b"), "s1, object b: object has no mask"),
        (("r",), "object r: road is stuff, which is not removed"),
        (("s",), "object s: sky is stuff"),
        (("t",), "nothing to remove: no mask"),  # not seen
    ]:
        with pytest.raises(RemovalError, match=problem):
            Removal().hole(masks_in(street, "v", gone))
    whole = replace(street.sightings[1], visible_mask=encode(boxed(4, 10, 8, 12)))
    seen = replace(street, sightings=(street.sightings[0], whole))
    assert Removal(0).hole(masks_in(seen, "v", instances(seen, "car"))).sum() == 16 + 8


@given(MASKS)
def test_a_false_edit_is_the_hole_flipped_unless_it_meets_the_object(mask: np.ndarray) -> None:
    hole = dilate(mask, 1)
    flipped = false_edit(hole, [mask])
    meets = any(hole[y, mask.shape[1] - 1 - x] for y, x in np.argwhere(mask))
    assert (flipped is None) == meets
    if flipped is not None:
        assert flipped.tolist() == [list(reversed(line)) for line in hole.tolist()]


@given(MASKS, st.integers(0, 3), st.data())
def test_an_empty_region_is_the_hole_at_a_free_place(mask: np.ndarray, seed: int, data: st.DataObject) -> None:
    other = data.draw(arrays(bool, st.just(mask.shape)))
    region = empty_region(mask, [other], seed=seed)
    points = np.argwhere(mask)
    free = set()
    if len(points):
        points = points - points.min(axis=0)
        for y in range(mask.shape[0] - points[:, 0].max()):
            for x in range(mask.shape[1] - points[:, 1].max()):
                placed = [(y + v, x + u) for v, u in points.tolist()]
                if not any(mask[p] or other[p] for p in placed):
                    free.add(tuple(placed))
    if not free:
        assert region is None
    else:
        assert region is not None
        assert tuple(map(tuple, np.argwhere(region).tolist())) in free
        assert (region == empty_region(mask, [other], seed=seed)).all()


def test_empty_regions_of_other_seeds_lie_elsewhere() -> None:
    hole = boxed(2, 2, 5, 6)
    places = {empty_region(hole, [hole], seed=seed).tobytes() for seed in range(20)}  # type: ignore[union-attr]
    assert len(places) > 10
