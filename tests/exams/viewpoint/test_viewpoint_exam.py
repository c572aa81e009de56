"""The viewpoint exam: items, records, scores in given and in found boxes, priors, files of answers, comparisons."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import sightline as sl
from exams.viewpoint_runs import CLASSES, Finds, Knows, runs, scene, scenes
from reference import viewpoint_scores as oracle
from sightline.errors import ConfigError, DataError, ModelError
from sightline.exams.run import Run
from sightline.exams.viewpoint.exam import ViewpointExam
from sightline.exams.viewpoint.items import viewpoint_items
from sightline.geometry import Viewpoint
from sightline.models.registry import load
from sightline.scenes import Landmark, Object, Scene, Sighting, View
from sightline.skills import BoxedObjects, Detections, ViewAngles, ViewpointStudy
from sightline.store import write_scenes

BOX = ("x0", "y0", "x1", "y1")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return scenes(tmp_path_factory.mktemp("views") / "d", 30)


@pytest.fixture(scope="module")
def known(data, tmp_path_factory):
    return runs(data, tmp_path_factory.mktemp("given"), Knows(data))


@pytest.fixture(scope="module")
def found(data, tmp_path_factory):
    return runs(data, tmp_path_factory.mktemp("found"), Finds(data), boxes="detected")[0]


def scores(run: Run, **how):
    return sl.score(run, resamples=50, **how).scores


def angle_between(a, b):
    """Degrees between two viewpoints, from the matrices of the camera's turns."""

    def matrix(azimuth, elevation, theta):
        a, e, t = np.deg2rad([azimuth, elevation, theta])
        spin = np.array([[np.cos(-a), -np.sin(-a), 0], [np.sin(-a), np.cos(-a), 0], [0, 0, 1]])
        e = -(np.pi / 2 - e)
        tilt = np.array([[1, 0, 0], [0, np.cos(e), -np.sin(e)], [0, np.sin(e), np.cos(e)]])
        roll = np.array([[np.cos(t), -np.sin(t), 0], [np.sin(t), np.cos(t), 0], [0, 0, 1]])
        return roll @ tilt @ spin

    return np.rad2deg(np.arccos(np.clip((np.trace(matrix(*a).T @ matrix(*b)) - 1) / 2, -1, 1)))


def rows_of(run: Run):
    return run.read(columns=ViewpointExam.columns).rows.to_dicts()


def errors_of(run: Run):
    """Class → geodesic errors, by a loop over the records."""
    made = {name: [] for name in CLASSES}
    for row in rows_of(run):
        truth = row["truth"], row["truth_elevation"], row["truth_theta"]
        made[row["category"]].append(angle_between(truth, (row["answer"], row["elevation"], row["theta"])))
    return made


def test_given_boxes_are_scored_as_a_loop_scores_them(known):
    told, errors = scores(known[-1]), errors_of(known[-1])
    for name, of in errors.items():
        assert told.at("accuracy_pi_6", name).value == pytest.approx(np.mean(np.array(of) < 30))
        assert told.at("accuracy_pi_18", name).value == pytest.approx(np.mean(np.array(of) < 10))
        assert told.at("median_error", name).value == pytest.approx(np.median(of))
        assert told.facts["n_by_class"][name] == len(of)
    for measure in ("accuracy_pi_6", "median_error"):
        by_class = [told.at(measure, name).value for name in CLASSES]
        assert told.at(measure, "mean").value == pytest.approx(np.mean(by_class))
        others = [told.at(measure, name).value for name in CLASSES if name != "bottle"]
        assert told.at(measure, "mean without bottle").value == pytest.approx(np.mean(others))
    right = [error < 30 for of in errors.values() for error in of]
    assert sum(row["right"] for row in rows_of(known[-1])) == sum(right)


def test_flips_and_confusion_are_counted_apart(known):
    told = scores(known[-1])
    flips, table = 0, {name: np.zeros((8, 8), int) for name in CLASSES}
    for row in rows_of(known[-1]):
        truth = row["truth"], row["truth_elevation"], row["truth_theta"]
        said = row["answer"], row["elevation"], row["theta"]
        turned = row["answer"] + 180, row["elevation"], row["theta"]
        flips += row["category"] == "chair" and angle_between(truth, said) > 30 >= angle_between(truth, turned)
        table[row["category"]][oracle.section_of(row["truth"], 8), oracle.section_of(row["answer"], 8)] += 1
    assert told.at("flipped", "chair").value == pytest.approx(flips / told.facts["n_by_class"]["chair"])
    assert {name: np.array(rows).tolist() for name, rows in told.facts["confusion"].items()} == {
        name: rows.tolist() for name, rows in table.items()
    }
    shares = [row[i] / row.sum() for i, row in enumerate(table["chair"]) if row.sum()]
    assert told.at("confusion_diagonal", "chair").value == pytest.approx(np.mean(shares))


def test_symmetry_without_any_is_said_to_change_nothing(data, tmp_path):
    bare = [replace(s, objects=tuple(replace(o, attributes={}) for o in s.objects)) for s in data.scenes()]
    without = write_scenes(bare, tmp_path / "bare", source="made")
    (note,) = ViewpointExam(symmetry=True).entrants([], without, baselines=True).notes
    assert note == "no object has an attribute symmetry: --symmetry changes nothing"
    assert ViewpointExam().entrants([], without, baselines=True).notes == ()
    assert ViewpointExam(symmetry=True).entrants([], data, baselines=True).notes == ()


def test_symmetry_forgives_what_looks_the_same(known):
    strict, lenient = scores(known[-1]), scores(known[-1], symmetry=True)
    assert lenient.at("flipped", "bus").value == lenient.at("flipped", "bottle").value == 0.0  # 2 turns, and any
    assert lenient.at("flipped", "chair").value == strict.at("flipped", "chair").value
    for measure in ("accuracy_pi_6", "confusion_diagonal"):
        assert lenient.at(measure, "mean").value > strict.at(measure, "mean").value
    assert lenient.at("accuracy_pi_6", "chair").value == strict.at("accuracy_pi_6", "chair").value


@pytest.mark.parametrize("difficult", ["remove", "ignore"])
@pytest.mark.parametrize("literal", [False, True])
def test_found_boxes_are_scored_as_the_loops_of_the_script(found, difficult, literal):
    told = scores(found, difficult=difficult, literal=literal)
    rows = [
        {
            **row,
            "image": row["scene_id"],
            "class": row["category"],
            "box": [row[k] for k in ("x0", "y0", "x1", "y1")],
        }
        for row in rows_of(found)
    ]
    there = [row | {"azimuth": row["truth"]} for row in rows if row["kind"] == "object"]
    said = [row | {"azimuth": row["answer"]} for row in rows if row["kind"] == "detection"]
    expected = oracle.scores(there, said, (4, 8, 16, 24), difficult=difficult, literal=literal)
    for name in (*CLASSES, "mean"):
        assert told.at("ap", name).value == pytest.approx(expected[name]["ap"])
        for views, score in expected[name]["avp"].items():
            assert told.at("avp", f"{views}", name).value == pytest.approx(score)
    assert told.at("arp", "30", "bus").value <= told.at("ap", "bus").value
    near = scores(found, within=(180, 5), difficult=difficult, literal=literal)
    wide, narrow = (near.at("avp_within", degrees, "mean").value for degrees in ("180", "5"))
    assert narrow < told.at("avp", "4", "mean").value <= wide <= told.at("ap", "mean").value


def test_occlusion_thirds_have_normalised_precision(found):
    told = scores(found)
    rows = [row for row in rows_of(found) if row["category"] == "chair"]
    kept = [row for row in rows if row["kind"] == "object" and not row["difficult"]]
    for third, (low, high) in {"0–1/3": (-1, 1 / 3), "1/3–2/3": (1 / 3, 2 / 3), "2/3–1": (2 / 3, 1)}.items():
        wanted = {(row["scene_id"], row["object"]) for row in kept if low < row["occlusion"] <= high}
        judged = []
        for d in sorted((row for row in rows if row["kind"] == "detection"), key=lambda row: -row["score"]):
            boxes = [[row[k] for k in BOX] for row in (d, *kept)]
            same = [t for t in range(len(kept)) if kept[t]["scene_id"] == d["scene_id"]]
            best = max(same, key=lambda t: oracle.overlap(boxes[0], boxes[t + 1], 0), default=None)
            hit = best is not None and oracle.overlap(boxes[0], boxes[best + 1], 0) >= 0.5
            if not hit:
                judged.append(False)
            elif (kept[best]["scene_id"], kept[best]["object"]) in wanted:
                judged.append(True)
        recalls, precisions, hits = [], [], 0
        for said, hit in enumerate(judged, start=1):
            hits += hit
            share = hits / len(wanted) * len(kept) / 3  # R · N
            recalls.append(hits / len(wanted))
            precisions.append(share / (share + said - hits))
        assert told.at("normalised_ap", third, "chair").value == pytest.approx(oracle.area(recalls, precisions))


def test_truth_scores_one_and_is_found_right_everywhere(data, tmp_path):
    perfect = runs(data, tmp_path / "a", Knows(data, 0, 0))[-1]
    told = scores(perfect)
    assert told.at("accuracy_pi_18", "mean").value == told.at("confusion_diagonal", "mean").value == 1.0
    assert told.at("median_error", "mean").value == pytest.approx(0, abs=1e-6)

    class Exact(Finds):
        def detect(self, view):
            item = self.items[view.id]
            return Detections(item.boxes, np.ones(len(item.boxes)), item.categories, angles=item.angles)

    told = scores(runs(data, tmp_path / "b", Exact(data), boxes="detected")[0], difficult="ignore")
    assert {told.at(*path, "mean").value for path in (("ap",), ("avp", "24"), ("arp", "30"))} == {1.0}


def test_a_model_without_views_has_ap_alone(data, tmp_path):
    class Mute(Finds):
        viewpoint = None

        def detect(self, view):
            item = self.items[view.id]
            return Detections(item.boxes, np.ones(len(item.boxes)), item.categories)

    told = scores(runs(data, tmp_path, Mute(data), boxes="detected")[0], difficult="ignore")
    assert told.at("ap", "mean").value == 1.0
    assert np.isnan(told.at("avp", "8", "mean").value)
    assert told.headline[0].path == ("ap", "mean")


def test_what_a_model_does_not_say_is_wrong_and_told(data, tmp_path):
    class Silent(Knows):
        def viewpoint(self, objects):
            return ViewAngles(np.full((len(objects), 3), np.nan))

    told = scores(runs(data, tmp_path, Silent(data))[-1])
    assert told.at("accuracy_pi_6", "mean").value == 0.0
    assert told.at("unanswered", "mean").value == 1.0
    assert told.at("median_error", "mean").value == 180.0


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (lambda n: np.zeros((n, 3)), "must return ViewAngles"),  # an array
        (lambda n: ViewAngles(np.zeros((n, 2))), "angles of shape"),  # two angles
        (lambda n: ViewAngles(np.full((n, 3), np.inf)), "infinite"),  # no angle
        (lambda n: ViewAngles([["front"] * 3] * n), "else than numbers"),  # words
    ],
)
def test_a_model_that_breaks_the_protocol_is_refused(data, tmp_path, answer, told):
    class Broken(Knows):
        def viewpoint(self, objects):
            return answer(len(objects))

    with pytest.raises(ModelError, match=told):
        runs(data, tmp_path, Broken(data))


def study(count=40, own=False):
    made = [scene(i) for i in range(count)]
    pairs = [(s.id, o.category, t.viewpoint) for s in made for o, t in zip(s.objects, s.sightings, strict=True)]
    angles = np.array([(v.azimuth, v.elevation, v.theta) for *_, v in pairs])
    return ViewpointStudy(tuple(p[0] for p in pairs), tuple(p[1] for p in pairs), angles, own)


def test_priors_say_what_is_common_for_the_class(data):
    item = next(item for item in ViewpointExam().items(data) if item.categories[0] == "bus")
    given = study()
    buses = given.angles[[name == "bus" for name in given.categories]]
    commonest, mean, uniform = (load(f"view_{name}") for name in ("commonest", "mean", "uniform"))
    for prior in (commonest, mean, uniform):
        with pytest.raises(ModelError, match="nothing to learn from"):
            prior.viewpoint(item.boxed())
        prior.prepare_viewpoint(given)
    sections = [oracle.section_of(a, 8) for a in buses[:, 0]]
    expected = max(range(8), key=sections.count) * 45.0
    assert commonest.viewpoint(item.boxed()).angles[0].tolist() == [
        expected,
        pytest.approx(np.median(buses[:, 1])),
        pytest.approx(np.median(buses[:, 2])),
    ]
    turns = np.deg2rad(buses[:, 0])
    direction = np.rad2deg(np.arctan2(np.sin(turns).mean(), np.cos(turns).mean())) % 360
    assert mean.viewpoint(item.boxed()).angles[0, 0] == pytest.approx(direction)
    drawn = [uniform.viewpoint(item.boxed()).angles[0, 0] for item in ViewpointExam().items(data)]
    assert 90 < np.mean(drawn) < 270
    assert len(set(drawn)) == len(drawn)


def test_priors_never_use_a_scene_s_own_objects(data):
    item = ViewpointExam().items(data)[0]
    whole = study(own=True)
    changed = replace(
        whole, angles=np.where((np.array(whole.scenes) == item.scene_id)[:, None], 123.0, whole.angles)
    )
    answers = []
    for given in (whole, changed):
        prior = load("view_mean")
        prior.prepare_viewpoint(given)
        answers.append(prior.viewpoint(item.boxed()).angles)
    assert np.array_equal(*answers)


@pytest.mark.parametrize("by", ["commonest", "mean"])
def test_priors_know_nothing_of_a_scene_that_is_alone(data, by):
    item = ViewpointExam().items(data)[0]
    whole = study(own=True)
    rows = [i for i, scene_id in enumerate(whole.scenes) if scene_id == item.scene_id]
    alone = ViewpointStudy((item.scene_id,) * len(rows), item.categories[: len(rows)], whole.angles[rows], own=True)
    prior = load(f"view_{by}")
    prior.prepare_viewpoint(alone)
    assert not prior.viewpoint(item.boxed()).angles.any()


def test_priors_learn_from_the_training_split_where_there_is_one(tmp_path):
    data = scenes(tmp_path / "d", 20, splits=True)
    exam = ViewpointExam(split="val").settled(data)
    learned = exam.study(load("view_mean"), data)
    assert not learned.own
    assert set(learned.scenes) == {f"s{i:03}" for i in range(0, 20, 2)}
    assert exam.study(Knows(data), data) is not None
    assert ViewpointExam().study(Knows(data), data) is None  # nobody sees the truth of what is asked
    assert ViewpointExam(split="val", train_split="").study(load("view_mean"), data).own
    with pytest.raises(ConfigError, match="no training split"):
        ViewpointExam(split="val", train_split="tests").study(Knows(data), data)


def test_models_are_compared_by_image(data, known, found, tmp_path):
    rows = sl.compare(known[-1], known[0], resamples=100).comparisons
    by_name = {row.name: row for row in rows}
    assert by_name["accuracy at π/6"].difference > 0.3
    assert by_name["accuracy at π/6"].p_value < 0.05
    assert by_name["median error, degrees"].difference < 0
    worse = runs(data, tmp_path, Finds(data, noise=60), boxes="detected")[0]
    rows = {row.name: row for row in sl.compare(found, worse, resamples=100).comparisons}
    assert rows["AP"].difference == 0
    assert rows["AVP, 8 views"].difference > 0.2
    assert rows["AVP, 8 views"].p_value < 0.05


def test_answers_and_boxes_from_files(data, known, tmp_path):
    lines = [
        {
            "scene_id": r["scene_id"],
            "object": r["object"],
            "azimuth": r["answer"],
            "elevation": r["elevation"],
            "theta": r["theta"],
        }
        for r in rows_of(known[-1])
    ]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, lines)))
    table = [",".join(lines[0]), *(",".join(map(str, line.values())) for line in lines)]
    (tmp_path / "a.csv").write_text("\n".join(table) + "\n")
    boxes = ["image_id,entity,xmin,xmax,ymin,ymax,score,azimuth,elevation,theta"]
    for item in ViewpointExam().items(data):
        for name, (x0, y0, x1, y1), angles in zip(item.categories, item.boxes, item.angles, strict=True):
            boxes.append(",".join(map(str, (item.scene_id, name, x0, x1, y0, y1, 0.5, *angles))))
    (tmp_path / "d.csv").write_text("\n".join(boxes) + "\n")
    told = sl.examine(
        [str(tmp_path / f"a.{k}") for k in ("jsonl", "csv")], data, "viewpoint", out=tmp_path / "r", baselines=False
    )
    expected = scores(known[-1]).at("accuracy_pi_6", "mean").value
    assert [run.scores.at("accuracy_pi_6", "mean").value for run in told] == [pytest.approx(expected)] * 2
    exam = ViewpointExam(boxes="detected", detections=tmp_path / "d.csv", difficult="ignore")
    told = {run.name.partition(" ")[0]: run.scores for run in sl.examine([], data, exam, out=tmp_path / "s")}
    assert told["d.csv"].at("avp", "24", "mean").value == 1.0
    assert told["view_commonest"].at("ap", "mean").value == 1.0  # the same boxes, another word on the view
    assert told["view_commonest"].at("avp", "8", "mean").value < 0.6


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ({"scene_id": "s001", "object": "9"}, ("row 1, object", "nothing of that name")),  # no such object
        ({"scene_id": "s999", "object": "0"}, ("row 1, scene_id", "nothing of that name")),  # no such scene
        ({"scene_id": "s001", "object": "0", "azimuth": "left"}, ("row 1, azimuth", "degrees")),  # a word
    ],
)
def test_bad_answers_are_named(data, tmp_path, line, told):
    usual = {"azimuth": 0.0, "elevation": 0.0, "theta": 0.0}
    (tmp_path / "a.jsonl").write_text(json.dumps(usual | line))
    with pytest.raises(DataError) as caught:
        sl.examine(str(tmp_path / "a.jsonl"), data, "viewpoint", out=tmp_path / "r", baselines=False)
    for words in told:
        assert words in str(caught.value)


def test_scenes_with_several_views_and_without_sizes(tmp_path):
    turn = Viewpoint(370.0, 10.0)
    views = (View("front", size=(10, 20)), View("side", units="normalised"))
    seen = (Sighting("front", "0", (1, 2, 5, 20), viewpoint=turn), Sighting("side", "0", (0.1, 0.2, 0.3, 0.4)))
    one = Scene("a", views=views, objects=(Object("0", "car"),), sightings=seen)
    bare = Scene(
        "b",
        views=(View("v"),),
        objects=(Object("0", "car"), Object("1", "cat")),
        sightings=(Sighting("v", "0", (1, 2, 5, 20), viewpoint=turn), Sighting("v", "1", (1, 2, 5, 20))),
    )
    items = viewpoint_items(write_scenes([one, bare], tmp_path / "d"), None)
    assert [item.id for item in items] == ["a/front", "a/side", "b"]
    assert [item.cluster_id for item in items] == ["a", "a", "b"]
    assert items[0].boxes.tolist() == [[0.1, 0.1, 0.5, 1.0]]
    assert items[0].angles.tolist() == [[10.0, 10.0, 0.0]]
    assert [len(item.asked) for item in items] == [1, 0, 1]
    assert items[2].categories == ("car",)  # a class without any viewpoint takes no part
    assert items[2].boxes.tolist() == [[1, 2, 5, 20]]  # nobody knows the size of its picture


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"boxes": "found"}, "boxes: unknown 'found'"),
        ({"views": ("four",)}, "views: expected whole numbers"),
        ({"views": (0,)}, "views must be different"),
        ({"within": ("far",)}, "within: expected numbers"),
        ({"within": (0,)}, "more than 0°"),
        ({"difficult": "keep"}, "removed or ignored"),
        ({"overlap": 2.0}, "overlap"),
    ],
)
def test_options_that_cannot_be_honoured(options, told):
    with pytest.raises(ConfigError, match=told):
        ViewpointExam(**options)


def test_data_without_viewpoints_is_refused(tmp_path):
    bare = Scene(
        "a", views=(View("v"),), objects=(Object("0", "car"),), sightings=(Sighting("v", "0", (0, 0, 1, 1)),)
    )
    with pytest.raises(DataError, match="no object has a viewpoint"):
        ViewpointExam().items(write_scenes([bare], tmp_path / "d"))


COMMONEST = {"bottle": 99, "train": 74, "tvmonitor": 71, "sofa": 66, "bus": 45, "chair": 36, "boat": 17}


@pytest.mark.realdata
def test_the_commonest_view_of_real_objects(real_data):
    """Share of the commonest of eight views in 23,223 real poses, per cent, counted apart from this code."""
    names, azimuths = [], []
    for file in ("train.csv", "val.csv"):
        for line in (real_data / "pascal3d" / file).read_text().splitlines()[1:]:
            cells = line.split(",")
            names.append(cells[0].split("\\")[1].partition("_")[0])
            azimuths.append(float(cells[6]))
    assert len(names) == 23_223
    angles = np.column_stack([azimuths, np.zeros((len(names), 2))])
    prior = load("view_commonest")
    prior.prepare_viewpoint(ViewpointStudy(tuple(map(str, range(len(names)))), tuple(names), angles))
    for name, share in COMMONEST.items():
        asked = BoxedObjects("s", View("s"), np.zeros((1, 4)), (name,))
        said = prior.viewpoint(asked).angles[0, 0]
        of = [oracle.section_of(a, 8) for a, n in zip(azimuths, names, strict=True) if n == name]
        assert round(100 * of.count(oracle.section_of(said, 8)) / len(of)) == share


@pytest.mark.parametrize(
    ("given", "turns"), [("2", 2), ("0", 0), ("007", 7), ("361", 0), ("9" * 5000, 0), ("x", None)]
)
def test_turns_that_look_the_same_are_read_from_an_attribute(given, turns, tmp_path):
    seen = Sighting("v", "0", (1, 1, 9, 9), viewpoint=Viewpoint(20.0, 10.0))
    thing = Object("0", "bus", {"symmetry": given})
    data = write_scenes([Scene("s", "", "", (View("v", size=(10, 10)),), (thing,), (seen,))], tmp_path / "d")
    if turns is None:
        with pytest.raises(DataError, match="row s, symmetry: not a symmetry"):
            viewpoint_items(data, None)
    else:
        assert viewpoint_items(data, None)[0].symmetry.tolist() == [turns]


STRANGE = {
    "angles": ("bus", Viewpoint(20.0, 10.0), ()),  # distance 0, no landmarks
    "hidden": ("bus", Viewpoint(200.0, 10.0, 9.0, 0.0, (5.0, 5.0)), ("occluded", "truncated")),  # all landmarks
    "unknown": ("bus", Viewpoint(20.0, 10.0), ("unknown", "unknown")),  # landmarks of which nothing is said
    "bare": ("bus", None, ()),  # no viewpoint
    "new": ("spaceship", Viewpoint(90.0, 0.0), ("visible",)),  # a class that nobody knows
}


def test_what_is_missing_or_strange_is_left_out_of_what_it_would_spoil(tmp_path):
    made = []
    for name, (category, view, states) in STRANGE.items():
        marks = tuple(
            Landmark(f"p{i}", *([5.0, 5.0] if state == "visible" else [None, None]), state)
            for i, state in enumerate(states)
        )
        seen = Sighting("v", "0", (1, 1, 9, 9), landmarks=marks, viewpoint=view)
        made.append(Scene(name, "", "", (View("v", size=(10, 10)),), (Object("0", category),), (seen,)))
    data = write_scenes(made, tmp_path / "d")

    class Sees(Knows):
        def detect(self, view):
            item = self.items[view.id]
            boxes = np.vstack([item.boxes, item.boxes])
            return Detections(boxes, np.ones(2), (*item.categories, "ufo"), angles=np.zeros((2, 3)))

    truth = {item.id: item for item in ViewpointExam(boxes="detected").items(data)}
    given = runs(data, tmp_path / "g", Knows(data, noise=0.0, flips=0.0))[-1]
    told = scores(given)
    assert {row["scene_id"] for row in rows_of(given)} == set(STRANGE) - {"bare"}  # nothing to ask there
    assert told.facts["n_by_class"] == {"bus": 3, "spaceship": 1}
    assert told.at("accuracy_pi_6", "occlusion", "2/3–1").value == 1.0
    assert told.at("accuracy_pi_6", "occlusion", "1/3–2/3") is None  # there is none
    assert told.at("segmentation", "true", "mean") is None  # no masks
    finder = Sees(data)
    finder.items = truth
    found = runs(data, tmp_path / "f", finder, boxes="detected")[0]
    told = scores(found)
    assert told.at("ap", "bus").value == told.at("ap", "spaceship").value == 1.0
    assert told.at("ap", "ufo") is None  # nothing of that class is there, so nothing is said of it
    assert told.at("avp", "4", "bus").value == 0.625  # the first and last of four are right: precision 1, ½, ⅓, ½
    assert told.at("normalised_ap", "2/3–1", "bus").value == 1.0
    document = told.to_dict()["normalised_ap"]
    assert document["1/3–2/3"]["bus"]["value"] is None


def test_scores_of_detections_are_calibrated_where_they_are_chances(data, tmp_path):
    """Against counting by hand; a score that is no chance is not taken for one."""
    run = runs(data, tmp_path / "chances", Finds(data), boxes="detected")[0]
    checks = scores(run).to_dict()["checks"]
    told = checks["detection_calibration"]
    rows = rows_of(run)
    sure = [row["score"] for row in rows if row["kind"] == "detection"]
    # The box in the corner is nobody's; of the others each is on its object, but for objects that do not count.
    gone = {(r["item"], r["category"], round(r["x0"] + 0.01, 6)) for r in rows if r.get("difficult")}
    right = [
        row["x0"] > 0.0 and (row["item"], row["category"], round(row["x0"], 6)) not in gone
        for row in rows
        if row["kind"] == "detection"
    ]
    assert told["n"] == len(sure)
    squares = [(c - r) ** 2 for c, r in zip(sure, right, strict=True)]
    assert told["brier"]["value"] == pytest.approx(np.mean(squares))

    class Margins(Finds):
        def detect(self, view):
            found = super().detect(view)
            return Detections(found.boxes, found.scores * 5 - 2, found.categories, angles=found.angles)

    run = runs(data, tmp_path / "margins", Margins(data), boxes="detected")[0]
    assert "detection_calibration" not in scores(run).to_dict()["checks"]


def test_a_confidence_of_viewpoints_is_kept_and_held_against_the_truth(data, tmp_path):
    class Sure(Knows):
        name = "sure"

        def viewpoint(self, objects):
            return ViewAngles(super().viewpoint(objects).angles, confidence=np.full(len(objects), 0.7))

    run = runs(data, tmp_path, Sure(data, noise=0, flips=0))[-1]
    assert {row["confidence"] for row in rows_of(run)} == {0.7}
    told = scores(run).to_dict()["checks"]["calibration"]
    assert told["ece"]["value"] == pytest.approx(0.3)  # all is right, and 0.7 was said

    class Wrong(Knows):
        def viewpoint(self, objects):
            return ViewAngles(super().viewpoint(objects).angles, confidence=np.full(len(objects), 1.2))

    with pytest.raises(ModelError, match="confidences outside 0…1"):
        runs(data, tmp_path / "w", Wrong(data))
