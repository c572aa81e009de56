from __future__ import annotations

import contextlib
import io
import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

from reference import ranked as oracle
from sightline.errors import ConfigError
from sightline.geometry import masks
from sightline.stats.matching import COCO_AREAS, COCO_THRESHOLDS, BoxSet, match, overlap, rank_boxes
from sightline.stats.ranked import ranked_intervals


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_match_equals_the_loop(data):
    shape = data.draw(st.tuples(st.integers(0, 6), st.integers(0, 5)))
    overlaps = data.draw(hnp.arrays(np.float64, shape, elements=st.sampled_from([0.0, 0.4, 0.5, 0.7, 0.9, 1.0])))
    ignored, crowd = data.draw(hnp.arrays(bool, (2, shape[1])))
    ours = match(overlaps, COCO_THRESHOLDS, ignored=ignored | crowd, crowd=crowd)
    expected = [oracle.match(overlaps.tolist(), t, ignored | crowd, crowd) for t in COCO_THRESHOLDS.tolist()]
    assert ours.tolist() == expected


def box_set(rows, image_ids):
    """Rows of COCO's JSON as boxes; images in the order of their ids."""
    xywh = np.array([row["bbox"] for row in rows], dtype=float).reshape(-1, 4)
    detected = all("score" in row for row in rows)
    return BoxSet(
        np.searchsorted(image_ids, [row["image_id"] for row in rows]),
        np.hstack([xywh[:, :2], xywh[:, :2] + xywh[:, 2:]]),
        score=np.array([row["score"] for row in rows], dtype=float) if detected else None,
        area=xywh[:, 2] * xywh[:, 3] if detected else np.array([row["area"] for row in rows], dtype=float),
        crowd=None if detected else np.array([row["iscrowd"] for row in rows], dtype=bool),
    )


def mask_set(rows, image_ids, sizes):
    """The same with masks: polygons or run lengths."""
    counts = []
    for row in rows:
        drawn, (height, width) = row["segmentation"], sizes[row["image_id"]]
        if isinstance(drawn, list):
            counts.append(masks.polygons(drawn, height, width))
        else:
            runs = drawn["counts"]
            counts.append(np.array(runs) if isinstance(runs, list) else masks.decompress(runs.encode()))
    boxed = [dict(row, bbox=[0, 0, 1, 1]) for row in rows]
    detected = all("score" in row for row in rows)
    made = box_set(boxed, image_ids)
    return replace(made, masks=counts, area=None if detected else made.area)


def our_scores(truth, detections, *, masked=False):
    """AP, AP50, AP75, small, medium, large."""
    image_ids = sorted(image["id"] for image in truth["images"])
    sizes = {image["id"]: (image["height"], image["width"]) for image in truth["images"]} if masked else {}
    rankings = {size: [] for size in COCO_AREAS}
    for category in truth["categories"]:
        said, there = (
            mask_set(rows, image_ids, sizes) if masked else box_set(rows, image_ids)
            for rows in (
                [row for row in some if row["category_id"] == category["id"]]
                for some in (detections, truth["annotations"])
            )
        )
        for size, area in COCO_AREAS.items():
            if said.score is None:
                said = BoxSet(said.image, said.box, score=np.zeros(0))
            rankings[size].append(rank_boxes(said, there, len(image_ids), area=area))
    whole = rankings.pop("all")
    groups = {"AP": whole, "AP50": [r.at([0]) for r in whole], "AP75": [r.at([5]) for r in whole], **rankings}
    return [found.value for found in ranked_intervals(groups, resamples=2).values()]


def their_scores(truth, detections, kind="bbox"):
    """The same by pycocotools; NaN for its −1."""
    with contextlib.redirect_stdout(io.StringIO()):
        coco = COCO()
        coco.dataset = truth
        coco.createIndex()
        evaluation = COCOeval(coco, coco.loadRes([dict(d) for d in detections]), kind)
        evaluation.evaluate()
        evaluation.accumulate()
        evaluation.summarize()
    return np.where(evaluation.stats[:6] < 0, np.nan, evaluation.stats[:6])


def row(draw, **more):
    side = st.sampled_from([4, 8, 10, 32, 60, 96, 120])
    x, y, w, h = draw(st.integers(0, 3)) * 4, draw(st.integers(0, 3)) * 4, draw(side), draw(side)
    place = {"image_id": draw(st.integers(1, 3)), "category_id": draw(st.integers(1, 2))}
    return {"bbox": [x, y, w, h], "area": w * h, **place, **more}


@st.composite
def evaluations(draw):
    """Few boxes that overlap much, of all sizes, with crowds and equal scores; at least one detection."""
    objects = [
        row(draw, id=i + 1, iscrowd=int(draw(st.integers(0, 4)) == 0)) for i in range(draw(st.integers(0, 7)))
    ]
    detections = [row(draw, score=draw(st.integers(0, 4)) / 4) for _ in range(draw(st.integers(1, 9)))]
    close = [dict(o, score=0.5) for o in objects if draw(st.booleans())]  # so that something is matched
    names = {"images": [{"id": i} for i in (1, 2, 3)], "categories": [{"id": 1}, {"id": 2}]}
    return names | {"annotations": objects}, detections + [
        {k: o[k] for k in ("bbox", "image_id", "category_id", "score")} for o in close
    ]


@settings(max_examples=60, deadline=None)
@given(evaluations())
def test_average_precision_equals_pycocotools(made):
    truth, detections = made
    assert our_scores(truth, detections) == pytest.approx(their_scores(truth, detections), abs=1e-9, nan_ok=True)


@pytest.mark.realdata
def test_average_precision_equals_pycocotools_on_its_own_example(real_data):
    folder = real_data / "coco-metric"
    truth = json.loads((folder / "instances_val2014_100.json").read_text())
    detections = json.loads((folder / "instances_val2014_fakebbox100_results.json").read_text())
    ours = our_scores(truth, detections)
    assert ours == pytest.approx(their_scores(truth, detections), abs=1e-9)
    assert np.round(ours, 3).tolist() == [0.505, 0.697, 0.573, 0.586, 0.519, 0.501]  # val2014_fake_eval_res.txt


@pytest.mark.realdata
def test_average_precision_of_masks_equals_pycocotools_on_its_own_example(real_data):
    folder = real_data / "coco-metric"
    truth = json.loads((folder / "instances_val2014_100.json").read_text())
    detections = json.loads((folder / "instances_val2014_fakesegm100_results.json").read_text())
    ours = our_scores(truth, detections, masked=True)
    assert ours == pytest.approx(their_scores(truth, detections, "segm"), abs=1e-9)
    assert np.round(ours, 3).tolist() == [0.320, 0.562, 0.299, 0.387, 0.310, 0.327]  # val2014_fake_eval_res.txt


def test_masks_overlap_where_boxes_do_not_tell():
    left, right = ([0, 4, 12], [8, 8]), ([4, 4, 8], [0, 4, 12])  # columns of four pixels
    there = BoxSet(np.zeros(2, int), np.tile([0.0, 0, 4, 4], (2, 1)), masks=left)
    said = BoxSet(np.zeros(2, int), np.tile([0.0, 0, 4, 4], (2, 1)), np.array([0.9, 0.8]), masks=right)
    assert rank_boxes(said, there, 1, thresholds=[0.5]).hit.tolist() == [[False, True]]
    assert said.areas.tolist() == [4, 4]


def test_only_the_surest_detections_of_an_image_are_looked_at():
    there = BoxSet(np.array([0]), np.array([[0.0, 0, 10, 10]]))
    said = BoxSet(
        np.zeros(3, int), np.array([[0.0, 0, 10, 10], [50, 50, 60, 60], [70, 70, 80, 80]]), np.arange(3.0)
    )
    assert rank_boxes(said, there, 1).hit[0].tolist() == [False, False, True]
    assert rank_boxes(said, there, 1, most=2).hit[0].tolist() == [False, False]


def test_boxes_without_area_overlap_nothing():
    assert overlap(np.zeros((1, 4)), np.zeros((1, 4)), np.array([True])).tolist() == [[0.0]]


def test_detections_without_scores_are_refused():
    some = BoxSet(np.array([0]), np.array([[0.0, 0, 1, 1]]))
    with pytest.raises(ConfigError, match="scores"):
        rank_boxes(some, some, 1)
