"""Masks against pycocotools, which is the oracle here and nowhere in the package."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from PIL import Image
from pycocotools import mask as oracle

from sightline.errors import DataError
from sightline.geometry import masks

# pycocotools 2.0 calls numpy 2 the old way
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")

sides = st.integers(1, 24)
bitmaps = hnp.arrays(np.bool_, st.tuples(sides, sides), elements=st.booleans())


def oracle_encode(mask):
    return oracle.encode(np.asfortranarray(mask.astype(np.uint8)))


@settings(max_examples=150, deadline=None)
@given(bitmaps)
def test_one_mask_is_told_as_pycocotools_tells_it(mask):
    height, width = mask.shape
    rle, theirs = masks.encode(mask), oracle_encode(mask)
    assert rle == theirs["counts"]
    counts = masks.decompress(rle)
    np.testing.assert_array_equal(counts, masks.counts_from_mask(mask))
    np.testing.assert_array_equal(masks.mask_from_counts(counts, height, width), mask)
    np.testing.assert_array_equal(masks.decode(rle, height, width), mask)
    assert masks.area(counts) == int(oracle.area(theirs)) == mask.sum()
    x, y, w, h = oracle.toBbox(theirs)
    assert masks.box(counts, height) == (x, y, x + w, y + h)


@settings(max_examples=100, deadline=None)
@given(bitmaps, st.integers(2, 5))
def test_every_nth_pixel_is_decoded_alone(bitmap, step):
    mask = np.asarray(bitmap, dtype=bool)
    sampled = masks.decode(masks.encode(mask), *mask.shape, step=step)
    np.testing.assert_array_equal(sampled, mask[::step, ::step])


@given(st.tuples(sides, sides).flatmap(lambda s: st.lists(hnp.arrays(np.bool_, s), min_size=1, max_size=4)))
def test_several_masks(stack):
    counts = [masks.counts_from_mask(m) for m in stack]
    shape = stack[0].shape
    np.testing.assert_array_equal(masks.mask_from_counts(masks.merge(counts), *shape), np.any(stack, axis=0))
    both = masks.merge(counts, intersect=True)
    np.testing.assert_array_equal(masks.mask_from_counts(both, *shape), np.all(stack, axis=0))
    np.testing.assert_array_equal(both, masks.counts_from_mask(np.all(stack, axis=0)))  # canonical, no empty runs
    a, b = stack[0], stack[-1]
    for crowd in (False, True):
        ours = masks.iou(counts[0], counts[-1], crowd=crowd)
        whole = a.sum() if crowd else (a | b).sum()
        if whole == 0:
            assert np.isnan(ours)
        else:
            assert ours == pytest.approx(oracle.iou([oracle_encode(a)], [oracle_encode(b)], [crowd])[0, 0])


numbers = st.one_of(
    st.integers(-30, 60).map(float),
    st.integers(-300, 600).map(lambda i: i / 10),  # ties of the fivefold grid
    st.floats(-40, 70),
)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(numbers, numbers), min_size=3, max_size=9), st.integers(1, 40), st.integers(1, 40))
def test_polygons_fall_on_the_pixels_of_pycocotools(points, height, width):
    xy = [c for p in points for c in p]
    theirs = oracle.decode(oracle.frPyObjects([xy], height, width))[:, :, 0]
    np.testing.assert_array_equal(masks.mask_from_counts(masks.polygon(xy, height, width), height, width), theirs)


def test_polygons_of_some_size_and_far_outside():
    rng = np.random.default_rng(5)
    for _ in range(60):
        xy = rng.uniform(-400, 900, size=2 * rng.integers(3, 40)).round(int(rng.integers(0, 5)))
        theirs = oracle.decode(oracle.frPyObjects([xy.tolist()], 333, 500))[:, :, 0]
        np.testing.assert_array_equal(masks.mask_from_counts(masks.polygon(xy, 333, 500), 333, 500), theirs)


def test_union_of_rings():
    rings = [[0, 0, 4, 0, 4, 4, 0, 4], [2, 2, 7, 2, 7, 7, 2, 7]]
    union = masks.mask_from_counts(masks.polygons(rings, 8, 8), 8, 8)
    theirs = oracle.decode(oracle.merge(oracle.frPyObjects(rings, 8, 8)))
    np.testing.assert_array_equal(union, theirs)


def test_runs_need_no_pixels():
    """A small polygon in an image whose bitmap would take 4 GB."""
    counts = masks.polygon([10, 10, 30, 10, 30, 30], 2**16, 2**16)
    assert masks.area(counts) == masks.area(masks.polygon([10, 10, 30, 10, 30, 30], 64, 64)) > 100
    assert masks.iou(counts, counts) == 1.0


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(0, 2**40), min_size=0, max_size=12))
def test_compression_is_lossless_for_any_counts(counts):
    rle = masks.compress(np.array(counts, dtype=np.int64)) if counts else b""
    assert masks.decompress(rle).tolist() == counts


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=30), sides, sides)
def test_any_bytes_decode_or_are_refused(data, height, width):
    try:
        mask = masks.decode(data, height, width)
    except DataError:
        return
    assert mask.shape == (height, width)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: masks.mask_from_counts([3], 2, 2), "do not fill"),  # too few
        (lambda: masks.mask_from_counts([3, 2], 2, 2), "do not fill"),  # too many
        (lambda: masks.mask_from_counts([-1, 5], 2, 2), "out of range"),  # negative
        (lambda: masks.mask_from_counts([2.0, 2.0], 2, 2), "not integers"),  # floats
        (lambda: masks.mask_from_counts([[4]], 2, 2), "not integers"),  # nested
        (lambda: masks.mask_from_counts([[4], [1, 2]], 2, 2), "flat"),  # ragged
        (lambda: masks.decode(b"1 3", 2, 2), "foreign character"),  # a space
        (lambda: masks.decode(b"1S", 2, 2), "middle of a number"),  # cut off
        (lambda: masks.decode(b"P" * 20 + b"0", 2, 2), "too long"),  # endless number
        (lambda: masks.polygon([0, 0, 1, 1, 2], 4, 4), "three points"),  # odd
        (lambda: masks.polygon([0, 0, 1, 1], 4, 4), "three points"),  # two points
        (lambda: masks.polygon([0, 0, 1, 1, 2, np.nan], 4, 4), "not finite"),  # NaN
        (lambda: masks.polygon([0, 0, 1, 1, 2, 1e300], 4, 4), "far off"),  # beyond any image
        (lambda: masks.merge([[4], [5]]), "differ in size"),  # two sizes
    ],
)
def test_bad_masks_are_refused(call, says):
    with pytest.raises(DataError, match=says):
        call()


@pytest.mark.realdata
def test_real_photos(real_data: Path):
    """Every instance of coco-tiny's validation file, and the panoptic-derived label maps of coco-lightly."""
    content = json.loads((real_data / "coco-tiny/annotations/instances_val2017.json").read_text())
    sizes = {i["id"]: (i["height"], i["width"]) for i in content["images"]}
    for annotation in content["annotations"]:
        size, rings = sizes[annotation["image_id"]], annotation["segmentation"]
        if isinstance(rings, dict):
            ours, theirs = masks.check(rings["counts"], *size), oracle.frPyObjects(rings, *size)
        else:
            ours, theirs = masks.polygons(rings, *size), oracle.merge(oracle.frPyObjects(rings, *size))
        assert masks.area(ours) == int(oracle.area(theirs))
        assert masks.iou(ours, masks.decompress(theirs["counts"])) == 1.0
    for file in sorted((real_data / "coco-lightly/semantic_segmentation/masks").rglob("*.png"))[:5]:
        with Image.open(file) as picture:
            labels = np.asarray(picture)
        for label in np.unique(labels):
            assert masks.encode(labels == label) == oracle_encode(labels == label)["counts"]
