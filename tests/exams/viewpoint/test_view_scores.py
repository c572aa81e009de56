"""AP, AVP and ARP of files of detections with viewpoints, against loops over the script's rules."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exams.viewpoint.rcnn_boxes import detections_of, truth_of
from reference import viewpoint_scores as oracle
from sightline.errors import ConfigError, DataError
from sightline.exams.viewpoint.files import score_view_files
from sightline.stats.viewed_boxes import VIEWS, ViewRules

ANGLES = st.one_of(st.none(), st.integers(-72, 144).map(lambda k: 5.0 * k + 1.25))
CORNER = st.integers(0, 3)


@st.composite
def rows(draw, detected):
    """Boxes of two classes in three images; corners on a coarse grid, so that overlaps tie and reach one half."""
    made = []
    for _ in range(draw(st.integers(0, 9))):
        x, y = draw(CORNER), draw(CORNER)
        row = {
            "image": draw(st.sampled_from("abc")),
            "class": draw(st.sampled_from(["car", "bottle"])),
            "box": [x, y, x + draw(CORNER), y + draw(CORNER)],
            "azimuth": draw(ANGLES),
        }
        more = {"score": draw(st.integers(0, 4))} if detected else {"difficult": draw(st.booleans())}
        made.append(row | more)
    return made


def scored(folder: Path, truth, detections, rules=None, **how):
    """What `score_view_files` finds in two files."""
    (folder / "t.json").write_text(json.dumps(truth))
    (folder / "d.json").write_text(json.dumps(detections))
    return score_view_files(folder / "t.json", folder / "d.json", rules, **how)


@settings(max_examples=200, deadline=None)
@given(rows(False), rows(True), st.sampled_from(["remove", "ignore"]), st.booleans(), st.booleans())
def test_scores_are_those_of_the_rules(tmp_path_factory, truth, detections, difficult, inclusive, literal):
    rules = ViewRules((4, 8), difficult=difficult, inclusive=inclusive, literal=literal)
    found = scored(tmp_path_factory.getbasetemp(), truth, detections, rules).to_dict()
    found["mean"].pop("without_bottle", None)
    expected = oracle.scores(truth, detections, (4, 8), difficult=difficult, plus=int(inclusive), literal=literal)
    for name, scores in expected.items():
        ours = found[name]
        assert ours["ap"] == pytest.approx(scores["ap"], abs=1e-12)
        for views, score in scores["avp"].items():
            assert ours["avp"][str(views)] == pytest.approx(score, abs=1e-12)
            assert score is None or name == "mean" or score <= scores["ap"] + 1e-12
    assert set(found) == set(expected)


def objects(n, seed=0, classes=("car",)):
    """One object an image, at any azimuth."""
    rng = np.random.default_rng(seed)
    return [
        {
            "image": f"{i}",
            "class": classes[i % len(classes)],
            "box": [10.0, 10.0, 60.0, 50.0],
            "azimuth": float(rng.uniform(0, 360)),
            "elevation": float(rng.uniform(-10, 40)),
            "theta": float(rng.uniform(-5, 5)),
            "difficult": False,
        }
        for i in range(n)
    ]


def answers(truth, turned=0.0, share=1.0, seed=1):
    """Right boxes with scores at random, the azimuth of a share of them right and of the others turned."""
    rng = np.random.default_rng(seed)
    wrong = rng.permutation(len(truth)) >= share * len(truth)
    return [
        {**row, "score": float(rng.uniform()), "azimuth": row["azimuth"] + turned * bool(wrong[i])}
        for i, row in enumerate(truth)
    ]


EVERY = ViewRules(within=(15.0, 30.0), rotations=(30.0,))


def test_truth_scores_one(tmp_path):
    truth = objects(40, classes=("car", "train"))
    found = scored(tmp_path, truth, answers(truth), EVERY).figures
    assert {score.value for row in found.values() for score in row.values()} == {1.0}


def test_views_turned_by_180_degrees_score_nothing(tmp_path):
    truth = objects(60)
    found = scored(tmp_path, truth, answers(truth, 180.0, share=0.0), EVERY).figures["car"]
    assert found.pop(("ap",)).value == 1.0
    assert {score.value for score in found.values()} == {0.0}


@pytest.mark.parametrize("share", [0.3, 0.5, 0.8])
def test_a_share_of_right_views_gives_that_share_of_avp_and_its_square_in_the_literal_reading(tmp_path, share):
    truth = objects(800)
    said = answers(truth, 180.0, share)
    official = scored(tmp_path, truth, said, EVERY).figures["car"]
    literal = scored(tmp_path, truth, said, ViewRules(literal=True)).figures["car"]
    for path, score in official.items():
        assert score.value == pytest.approx(1.0 if path == ("ap",) else share, abs=0.06)
    for views in VIEWS:
        assert literal["avp", f"{views}"].value == pytest.approx(share**2, abs=0.06)


CAR = {"image": "a", "class": "car", "box": [0, 0, 10, 10], "azimuth": 0, "difficult": False}


def row(score, box=(0, 0, 10, 10), azimuth=0.0, image="a"):
    return {"image": image, "class": "car", "box": list(box), "score": score, "azimuth": azimuth}


HARD = {**CAR, "difficult": True}


@pytest.mark.parametrize(
    ("truth", "said", "rules", "ap", "avp"),
    [
        ([CAR], [row(0.1), row(0.9, azimuth=180)], {}, 0.5, 0.5),  # the first in the file takes it, not the surest
        ([CAR], [row(0.9, azimuth=180), row(0.1)], {}, 1.0, 0.0),  # and the second, with the right view, is wrong
        ([CAR], [row(1, (0, 0, 10, 5))], {}, 1.0, 1.0),  # one half is enough
        ([CAR], [row(1, (0, 0, 10, 4.9))], {}, 0.0, 0.0),  # less is not
        ([CAR], [row(1, (0, 0, 10, 4.6))], {"inclusive": True}, 1.0, 1.0),  # 11 × 5.6 of 11 × 11 pixels
        ([CAR], [row(1)], {"overlap": 1.0}, 1.0, 1.0),  # the whole
        ([CAR, HARD | {"image": "b"}], [row(0.9, image="b"), row(0.5)], {}, 0.5, 0.5),  # removed: a false positive
        ([CAR, HARD | {"image": "b"}], [row(0.9, image="b"), row(0.5)], {"difficult": "ignore"}, 1.0, 1.0),
        ([HARD], [row(1)], {}, None, None),  # nothing to find
        ([CAR], [], {}, 0.0, 0.0),  # nothing said
        ([CAR | {"azimuth": None}], [row(1)], {}, 1.0, None),  # nobody knows the view
        ([CAR], [row(1, azimuth=None)], {}, 1.0, None),  # no view is given
        ([CAR], [row(1, azimuth=None), row(0.5, image="b")], {}, 1.0, 0.0),  # for one box none: it is not right
        ([CAR | {"azimuth": 350}], [row(1, azimuth=10)], {}, 1.0, 1.0),  # the first section goes round
        ([CAR | {"azimuth": 44}], [row(1, azimuth=46)], {}, 1.0, 0.0),  # two degrees, two sections
    ],
)
def test_single_cases(tmp_path, truth, said, rules, ap, avp):
    found = scored(tmp_path, truth, said, ViewRules((4,), **rules)).to_dict()
    assert found["car"] == found["mean"] == {"ap": pytest.approx(ap), "avp": {"4": pytest.approx(avp)}}


def test_continuous_thresholds_and_rotation(tmp_path):
    truth = [CAR | {"azimuth": 0, "elevation": 80, "theta": 0}]
    said = [row(1, azimuth=60) | {"elevation": 80, "theta": 0}]
    found = scored(tmp_path, truth, said, ViewRules((), within=(30.0, 61.0), rotations=(59.0,))).to_dict()["car"]
    assert found["avp_within"] == {"30": 0.0, "61": 1.0}
    assert found["arp"] == {"59": 0.0}  # nearly overhead: the same camera rolled by 60°
    said[0]["theta"] = 60  # which this undoes
    assert scored(tmp_path, truth, said, ViewRules((), rotations=(59.0,))).to_dict()["car"]["arp"] == {"59": 1.0}
    assert scored(tmp_path, [CAR], said, ViewRules((), rotations=(59.0,))).to_dict()["car"]["arp"] == {"59": None}


def test_means_with_and_without_bottle(tmp_path):
    truth = objects(40, classes=("car", "bottle"))
    said = [r for r in answers(truth) if r["class"] == "car"]
    mean = scored(tmp_path, truth, said).to_dict()["mean"]
    assert (mean["ap"], mean["without_bottle"]["ap"]) == (0.5, 1.0)


def test_intervals_by_image_hold_the_scores(tmp_path):
    truth = objects(300, classes=("car", "train"))
    found = scored(tmp_path, truth, answers(truth, 180.0, 0.7), resamples=200)
    for figures in found.figures.values():
        low, value, high = (getattr(figures["avp", "8"], name) for name in ("low", "value", "high"))
        assert 0 < low < value < high < 1
        assert high - low < 0.3
    document = found.to_dict()["mean"]
    assert document["intervals"]["avp 8"] == [figures["avp", "8"].low, figures["avp", "8"].high]
    assert math.isfinite(document["ap"])


@pytest.mark.parametrize(
    ("file", "content", "told"),
    [
        ("t.json", "{}", ("t.json", "not a list of boxes")),  # no list
        ("t.json", "[", ("t.json", "not JSON")),  # cut off
        ("t.json", [3], ("t.json", "row 1", "not a box")),  # no object
        ("t.json", [CAR, CAR | {"box": [0, 0, 1]}], ("row 2, box", "[x1, y1, x2, y2]")),  # three corners
        ("t.json", [CAR | {"box": [5, 0, 1, 3]}], ("row 1, box", "x1 ≤ x2")),  # reversed
        ("t.json", [CAR | {"azimuth": "front"}], ("row 1, azimuth", "degrees or null", "front")),  # a word
        ("t.json", [{k: v for k, v in CAR.items() if k != "azimuth"}], ("row 1, azimuth", "missing")),  # left out
        ("t.json", [CAR | {"difficult": 1}], ("row 1, difficult", "true or false")),  # a number
        ("t.json", [CAR | {"class": "mean"}], ("row 1, class", "other than 'mean'")),  # the mean's own name
        ("d.json", [row("high")], ("d.json", "row 1, score", "a number")),  # a word
        ("d.json", [row(True)], ("row 1, score", "a number")),  # a truth value
        ("d.json", [row(1) | {"image": ""}], ("row 1, image", "a text")),  # nothing
        ("d.json", '[{"image": "a", "class": "car", "score": NaN}]', ("d.json", "NaN")),  # no number of JSON
    ],
)
def test_bad_files_are_named_by_file_row_and_field(tmp_path, file, content, told):
    (tmp_path / "t.json").write_text(json.dumps([CAR]))
    (tmp_path / "d.json").write_text(json.dumps([row(1)]))
    (tmp_path / file).write_text(content if isinstance(content, str) else json.dumps(content))
    with pytest.raises(DataError) as caught:
        score_view_files(tmp_path / "t.json", tmp_path / "d.json")
    for words in told:
        assert words in str(caught.value)


@pytest.mark.parametrize(
    "rules", [{"views": (0,)}, {"views": (4, 4)}, {"within": (0.0,)}, {"rotations": (200.0,)}, {"overlap": 0.0}]
)
def test_rules_that_cannot_be_honoured(rules):
    with pytest.raises(ConfigError):
        ViewRules(**rules)


@pytest.mark.realdata
@pytest.mark.parametrize("category", ["aeroplane", "tvmonitor"])
def test_real_boxes_under_the_official_protocol(tmp_path, real_data, category):
    folder = real_data / "pascal3d"
    truth = [row for row in truth_of(folder) if row["class"] == category]
    said = detections_of(folder, category)
    found = scored(tmp_path, truth, said, ViewRules((8,), inclusive=True)).to_dict()[category]
    expected = oracle.class_scores(truth, said, (8,), plus=1)
    assert found["ap"] == pytest.approx(expected["ap"], abs=1e-12)
    assert found["ap"] > 0.4
    assert found["avp"] == {"8": None}
