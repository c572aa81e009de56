"""The context exam from data to scores: known answers, controls, what is streamed, and bad input."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import sightline as sl
from exams.context.context_models import Fixed, Looks, Sees
from exams.context_runs import CLASSES, Grey, Table, made_item, made_scene, records_of, scenes
from sightline.cli import app
from sightline.edits import Removal
from sightline.edits.fills import ExactFill, OpenCVFill
from sightline.errors import ConfigError, DataError, ModelError, PictureError
from sightline.exams.context.counts import ContextRecords
from sightline.exams.context.exam import ContextExam
from sightline.exams.context.items import Ahead, ContextItem, EditLoader, edits_of
from sightline.exams.context.segmented import companions
from sightline.exams.variants import KINDS, varied_model
from sightline.generation import generate
from sightline.geometry.masks import encode
from sightline.scenes import View
from sightline.store import write_scenes

pytest.importorskip("cv2", reason="the fills telea and ns need OpenCV")

TELEA = ContextExam(fill="telea", radius=1)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> sl.Dataset:
    return scenes(tmp_path_factory.mktemp("context") / "data", 40)


def scored(results: Any, name: str) -> Any:
    return next(result.scores for result in results if result.name == name)


def test_known_answers(data: sl.Dataset, tmp_path: Path) -> None:
    results = sl.examine(["pixel_count", "context_only"], data, TELEA, out=tmp_path)
    counts, context = (scored(results, name) for name in ("pixel_count", "context_only"))
    assert {i.value for of in ("v_min", "v_mean") for i in counts.below(of).values()} == {0.0}
    assert {i.value for of in ("v_min", "v_mean") for i in context.below(of).values()} == {1.0}
    assert counts.at("map", "full").value == 1.0
    frequency = scored(results, "class_frequency")
    assert (frequency.at("v_min", "mean").value, frequency.at("ties_min", "mean").value) == (0.0, 1.0)
    prior = scored(
        results, "cooccurrence"
    )  # a car makes a sign likely: removing it is believed, and takes the sign
    assert prior.at("v_min", "sign").value > 0.5
    assert prior.at("map", "full").value > frequency.at("map", "full").value


@pytest.mark.long
def test_exact_counterfactuals_know_the_answers_too(tmp_path: Path) -> None:
    made = generate("context/unbiased", tmp_path / "data", scenes=4, seed=2, size=(96, 64))
    exam = ContextExam(radius=1)
    assert exam.settled(made).fill == "exact"
    results = sl.examine(["pixel_count", "context_only"], made, exam, out=tmp_path / "runs")
    assert scored(results, "pixel_count").at("v_min", "mean").value == 0.0
    assert scored(results, "context_only").at("v_min", "mean").value == 1.0
    assert 0 < scored(results, "chance").at("v_min", "mean").value < 1


def test_what_a_hole_covers_is_not_the_models_mistake() -> None:
    """The hole of the tree covers the sign on it, so a model that sees the sign loses it: V^min 1, half left 0."""
    scene = made_scene("s", [("tree", 2, 2, 4, 4), ("sign", 3, 3, 2, 2), ("car", 9, 5, 2, 2)])
    item = made_item(scene)
    drawn = item.masks()
    drawn["tree"] |= drawn["sign"]  # as COCO's polygons do

    def says(view: str, name: str) -> float:
        return 0.0 if f"without/{name}" in view or (name == "sign" and "without/tree" in view) else 1.0

    records = records_of([replace_masks(item, drawn)], Table(says), "classify", Removal(0, 0.5))
    read = ContextRecords.of(records)
    assert read is not None
    older = replace(read, rows=read.rows.drop("left"))  # as runs of before have it
    assert older.cases_left.is_empty()
    assert older.cases_left.columns == read.cases.columns
    rows = dict(read.rows.filter(pl.col("category") == "sign").select("gone", "left").iter_rows())
    assert rows == {"": None, "tree": 0.0, "sign": None, "car": 1.0}
    sign = pl.col("category") == "sign"
    assert read.cases.filter(sign).select("k", "lowest").row(0) == (2, 0.0)
    assert read.cases_left.filter(sign).select("k", "lowest").row(0) == (1, 1.0)
    exact = edits_of(item, Removal(0, 0.5), ExactFill(whole=True), controls=False)
    assert exact.left(exact.shown[-1], drawn) == {"car": 1.0, "sign": 1.0}
    holed = edits_of(item, Removal(2, 0.5), Grey(), controls=False)
    whole = edits_of(item, Removal(2, 0.5), ExactFill(whole=True), controls=False)
    assert holed.pixels("s/without/tree") == {"car": 4, "sign": 0}
    assert whole.pixels("s/without/tree") == {"car": 4, "sign": 4}  # the sign is there where the tree was


def replace_masks(item: ContextItem, masks: dict[str, Any]) -> ContextItem:
    """The item with other masks of its classes."""
    things = {thing.id: thing.category for thing in item.scene.objects}
    seen = [replace(s, visible_mask=encode(masks[things[s.object_id]])) for s in item.scene.sightings]
    return replace(item, scene=replace(item.scene, sightings=tuple(seen)))


def test_a_segmenter_that_needs_the_car_is_found_out(data: sl.Dataset, tmp_path: Path) -> None:
    both = [Sees(), Sees(needs_car=True)]
    results = sl.examine(both, data, TELEA, out=tmp_path, baselines=False)
    sees, needs = (scored(results, model.name) for model in both)
    assert sees.at("ar", "max", "mean").value == 0.0
    assert sees.at("comes_back").value < 0.2  # Telea leaves a smear of other colours, seldom the class's own
    assert needs.at("ar", "pairs", "road", "car").value == 1.0
    assert needs.at("delta_iou", "road", "car").value == pytest.approx(-1.0)
    assert needs.at("ar", "pairs", "road", "sign").value == 0.0
    assert needs.at("ar", "max", "road").value == 1.0
    assert needs.facts["turned"]["road"]["car"]["to"] == {"sidewalk": 1.0}
    assert 0 < needs.facts["turned"]["road"]["car"]["distance"] < 1
    assert needs.at("iou_by_companion", "road", "with").value > 0.99
    assert needs.at("iou_by_companion", "road", "without").value < 0.5
    assert needs.facts["companions"]["road"] == "car"
    assert needs.facts["ar"] == {"alpha": 0.1, "sparsity": pytest.approx(1 - 2 / needs.facts["n_pairs"], abs=0.2)}
    for model, affected in zip(both, (0.0, 0.3), strict=True):
        of = scored(results, model.name)
        assert of.at("controls", "false_edit").value == of.at("controls", "empty_region").value == 0.0
        assert (of.at("controls", "removal").value > 0) == (affected > 0)
    assert needs.facts["v_min"] is None
    assert "skill classify" in needs.facts["reasons"]["v_min"]
    difference = sl.compare(results[0], results[1])
    row = next(row for row in difference.comparisons if row.name == "max AR, mean over classes")
    assert row.difference < 0


class Doubts(Sees):
    """Takes everything for a class of its own that the data does not have, unless it is held to the data's."""

    classes = (*Sees.classes, "lawn")

    def segment(self, views: Sequence[View]) -> sl.LabelMaps:
        maps = super().segment(views).maps
        return sl.LabelMaps(self.classes, tuple(np.full_like(one, self.classes.index("lawn")) for one in maps))

    def segment_among(self, views: Sequence[View], classes: Sequence[str]) -> sl.LabelMaps:
        assert set(classes) == set(Sees.classes)
        return sl.LabelMaps(self.classes, super().segment(views).maps)


def test_a_segmenter_is_held_to_the_classes_of_the_data(data: sl.Dataset, tmp_path: Path) -> None:
    (held,) = sl.examine(Doubts(), data, TELEA, out=tmp_path / "held", baselines=False, limit=6)
    (sees,) = sl.examine(Sees(), data, TELEA, out=tmp_path / "sees", baselines=False, limit=6)
    assert held.records.rows.equals(sees.records.rows)
    model: Any = varied_model(Doubts(), "mirror", KINDS["mirror"][0])
    shown = [TELEA.items(data)[0].view]
    mirrored = model.segment_among(shown, Sees.classes).maps[0]
    assert np.array_equal(mirrored, Sees().segment(shown).maps[0])


def test_rows_of_names_of_ones_own(data: sl.Dataset, tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("same:\n  - [car, motorwagen]\n  - [sign, schild]\n")
    model = Fixed(("motorwagen", "schild", "tree"))
    exam = replace(TELEA, labels=file)
    (own,) = sl.examine(model, data, exam, out=tmp_path / "runs", baselines=False, limit=6)
    assert own.run.manifest["classes_not_known"] == ["bench"]
    assert set(own.records.rows["category"]) == {"car", "sign", "tree"}
    (built_in,) = sl.examine(model, data, TELEA, out=tmp_path / "runs", baselines=False, limit=6)
    assert built_in.run.manifest["classes_not_known"] == ["bench", "car", "sign"]
    file.write_text("same:\n  - [car, motorwagen]\n")  # other rows are another run
    (fewer,) = sl.examine(model, data, exam, out=tmp_path / "runs", baselines=False, limit=6)
    assert len({result.run.folder for result in (own, built_in, fewer)}) == 3
    answers = sl.examine(Looks(), data, replace(exam, skill="answer"), out=tmp_path / "a", baselines=False, limit=2)
    assert answers[0].records.rows.height  # asked by the data's own words
    file.write_text("same:\n  - [car, motorwagen]\n  - [car, schild]\n")
    with pytest.raises(DataError, match="class stands in two rows"):
        sl.examine(model, data, exam, out=tmp_path / "refused", baselines=False)
    words = ("exam", "context", "--data", data.path, "--model", "pixel_count", "--fill", "telea", "--limit", 2)
    made = CliRunner().invoke(app, [*map(str, words), "--labels", "nowhere.yaml", "--out", str(tmp_path / "cli")])
    assert made.exit_code, made.output


def test_who_looks_understands_and_who_always_says_yes_is_stubborn(data: sl.Dataset, tmp_path: Path) -> None:
    model = Looks()
    exam = ContextExam(fill="telea", radius=1, skill="answer")
    results = sl.examine([model, "always_yes", "coin"], data, exam, out=tmp_path)
    assert {result.name for result in results} == {
        "looks",
        "always_yes",
        "always_no",
        "coin",
    }  # no classifiers beside them
    looks, stubborn = scored(results, "looks"), scored(results, "always_yes")
    assert "Is there a bench?" in model.asked
    assert looks.at("beaf", "true_understanding").value == looks.at("beaf", "f1").value == 1.0
    assert looks.at("beaf", "indecision").value == looks.at("comes_back").value == 0.0
    assert stubborn.at("beaf", "stubborn_yes").value == 1.0
    assert stubborn.at("beaf", "f1").value == 0.0
    coin = scored(results, "coin").below("beaf")
    fair = {"true_understanding": 0.25, "ignorance": 0.25, "stubborn_yes": 0.25, "stubborn_no": 0.25}
    for name, share in (fair | {"indecision": 0.5}).items():  # seeded by the picture too
        assert coin[name].low < share < coin[name].high, (name, str(coin[name]))


def test_thin_figures_are_told(data: sl.Dataset, tmp_path: Path) -> None:
    few = sl.examine(Sees(), data, TELEA, out=tmp_path / "few", baselines=False, limit=3)
    facts = few[0].scores.facts
    assert facts["ar"] is None
    said = list(TELEA.remarks(few, {}))
    pairs = facts["n_pairs"]
    assert (
        f"thin: {pairs} of {pairs} pairs of classes in fewer than 5 images, left out of AR, its maxima" in said[0]
    )
    assert said[1] == "no AR: no two classes, one of them removable, stand together in 5 images"
    by_companion = facts["n_by_companion"]["road"]
    assert sum(by_companion.values()) == 3
    assert any(f"road with {facts['companions']['road']} ({by_companion['with']})" in line for line in said[2:])
    printed = few[0].scores.figures
    label = next(name.label for name in printed if name.path == ("iou_by_companion", "road", "with"))
    assert label == f"road, with {facts['companions']['road']} ({by_companion['with']})"
    exam = ContextExam(fill="telea", radius=1, skill="answer")
    answers = sl.examine(Looks(), data, exam, out=tmp_path / "answers", baselines=False, limit=3)
    removed = answers[0].scores.facts["n_removed_by_class"]
    said = list(exam.remarks(answers, {}))
    assert any(line.startswith(f"thin: {len(removed)} of {len(removed)} classes in fewer than 5") for line in said)
    first = next(iter(removed))
    names = {name.path: name for name in answers[0].scores.figures}
    name = names["true_understanding", first]
    assert (name.label, name.part) == (f"{first} ({removed[first]})", False)  # too few for anybody's weakest point
    sl.report(few, tmp_path / "card.html", data, resamples=100, examples=1)
    assert "No AR: no two classes" in (tmp_path / "card.html").read_text(encoding="utf-8")


def test_the_companion_is_chosen(data: sl.Dataset, tmp_path: Path) -> None:
    exam = replace(TELEA, companion="car")
    (result,) = sl.examine(Sees(needs_car=True), data, exam, out=tmp_path, baselines=False, limit=20)
    facts = result.scores.facts
    assert set(facts["companions"].values()) == {"car"}
    assert "car" not in facts["companions"]
    counts = facts["n_by_companion"]["sidewalk"]
    assert min(counts.values()) > 0
    assert counts["with"] + counts["without"] == 20
    ious = result.scores.below("iou_by_companion", "sidewalk")
    assert ious["with"].value > 0.99 > ious["without"].value
    with pytest.raises(ConfigError, match=r"--companion: .* has no class 'caar', did you mean 'car'\?"):
        sl.examine(Sees(), data, replace(TELEA, companion="caar"), out=tmp_path / "refused", baselines=False)
    alone = sl.examine(Sees(), data, exam, out=tmp_path / "alone", baselines=False, limit=0)
    assert not alone[0].records.items.height


def test_of_equally_common_companions_the_larger_counts() -> None:
    scenes = [
        made_item(made_scene(f"s{i}", [("sign", 0, 0, 1, 2), ("tree", 3, 1, 3, 4), ("car", 9, 0, 1, 1)]))
        for i in range(2)
    ]
    scenes.append(made_item(made_scene("s2", [("car", 0, 0, 1, 2), ("tree", 3, 1, 3, 4), ("sign", 9, 0, 1, 1)])))
    read = ContextRecords.of(records_of(scenes, Sees(), "segment", Removal(0, 0.5)))
    assert read is not None
    assert companions(read)["road"] == companions(read)["car"] == "tree"
    assert companions(read)["tree"] == "sign"  # 5 pixels, the car has 4


def test_edits_are_one_call_a_picture_and_their_pictures_are_made_ahead(data: sl.Dataset, tmp_path: Path) -> None:
    model = Sees()
    sl.examine(model, data, TELEA, out=tmp_path, baselines=False, limit=5)
    items = TELEA.items(data)
    assert model.calls == [len(TELEA.edits(item).shown) for item in items[:5]]
    ahead = Ahead(TELEA.edits, items)
    for number, item in enumerate(items[:4]):
        edits = ahead.edits(item)
        ready = [
            "_pixels" in vars(view.load_image) for view in edits.views if isinstance(view.load_image, EditLoader)
        ]
        assert all(ready) == (number > 0)  # the first was looked at
        for view, plain in zip(edits.views, TELEA.edits(item).views, strict=True):
            assert np.array_equal(view.image(), plain.image())
    idle = Ahead(TELEA.edits, items)
    for item in items[:3]:
        made = idle.edits(item)  # nobody looks: nothing is filled
        assert not any("_pixels" in vars(v.load_image) for v in made.views if isinstance(v.load_image, EditLoader))


@pytest.mark.parametrize(
    ("models", "beside"),
    [
        ([Sees()], 0),  # a segmenter alone: no scores of classifiers in its table
        ([Sees(), Fixed()], 3),
        ([], 3),  # the baselines alone
    ],
)
def test_baselines_stand_beside_classifiers(
    models: list[Any], beside: int, data: sl.Dataset, tmp_path: Path
) -> None:
    results = sl.examine(models, data, TELEA, out=tmp_path, limit=4)
    assert sum(result.name in ContextExam.baselines for result in results) == beside


def test_another_model_finds_the_edits_of_the_first(
    data: sl.Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SIGHTLINE_CACHE", str(tmp_path / "cache"))
    first = sl.examine(Sees(), data, TELEA, out=tmp_path / "a", baselines=False, limit=6)

    def fill(*_: Any) -> Any:
        raise AssertionError("filled again")

    monkeypatch.setattr(OpenCVFill, "fill", fill)
    again = sl.examine(Sees(), data, TELEA, out=tmp_path / "b", baselines=False, limit=6)
    assert again[0].records.rows.equals(first[0].records.rows)
    assert list((tmp_path / "cache" / "edits").glob("??/*.png"))


def test_edits_say_what_was_removed_and_what_could_not_be() -> None:
    scene = made_scene("s", [("tree", 0, 0, 9, 8), ("car", 10, 1, 1, 1), ("sign", 10, 5, 2, 2)])
    edits = edits_of(made_item(scene), Removal(0, 0.3), Grey(), controls=True)
    assert edits.removable == ("car", "sign")
    assert edits.kept == {"tree": "too large to remove"}
    assert [(edit.kind, edit.gone, edit.view.id) for edit in edits.shown[:3]] == [
        ("original", "", "s"),
        ("removal", "car", "s/without/car"),
        ("removal", "sign", "s/without/sign"),
    ]
    assert {edit.kind for edit in edits.shown[3:]} <= {"false", "empty"}
    assert edits.pixels("s") == {"tree": 72, "car": 1, "sign": 4}
    assert edits.pixels("s/without/sign") == {"tree": 72, "car": 1}
    changed = edits.shown[2].view.image() != edits.shown[0].view.image()
    assert np.array_equal(changed.any(axis=2), edits.shown[2].hole)


@pytest.mark.parametrize(
    ("model", "exam", "error", "complaint"),
    [
        (
            Fixed(("dog", "cat")),
            TELEA,
            ModelError,
            "the classes do not match: the model knows cat, dog; the data has",
        ),
        (
            object(),
            TELEA,
            ModelError,
            "the exam needs the skill 'classify', 'segment' or 'answer', i.e. a method classify(), segment() or ",
        ),  # a model without a skill
        (object(), replace(TELEA, skill="segment"), ModelError, "the exam needs the skill 'segment', i.e."),
        (
            Fixed(),
            ContextExam(fill="exact"),
            ConfigError,
            "needs generated scenes",
        ),  # photos have no counterfactual
        (Fixed(), ContextExam(fill="tela"), ConfigError, "did you mean 'telea'?"),  # a fill nobody knows
        (Fixed(), ContextExam(fill="telea", split="vall"), DataError, "no such split"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_written(
    model: Any, exam: ContextExam, error: type[Exception], complaint: str, data: sl.Dataset, tmp_path: Path
) -> None:
    with pytest.raises(error) as caught:
        sl.examine(model, data, exam, out=tmp_path / "runs", baselines=False)
    assert complaint in str(caught.value)
    assert not list(tmp_path.rglob("records.jsonl"))


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"alpha": 0.0}, "alpha must lie above 0"),
        ({"skill": "segmnt"}, "did you mean 'segment'?"),
        ({"radius": -1}, "radius of a removal"),
        ({"most": 1.5}, "largest share of a removal"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ConfigError) as caught:
        ContextExam(**options)
    assert complaint in str(caught.value)


def test_data_without_masks_cannot_be_examined(tmp_path: Path) -> None:
    bare = made_scene("s", [])
    with pytest.raises(DataError, match="no object has a mask"):
        ContextExam(fill="telea").items(write_scenes([bare], tmp_path / "data", source="made"))


def test_a_broken_picture_is_listed_and_does_not_end_the_run(data: sl.Dataset, tmp_path: Path) -> None:
    class Trips(Fixed):
        def classify(self, views: Sequence[View]) -> sl.ClassScores:
            if views[0].id == "p001":
                raise PictureError("picture is cut short", row=views[0].id)
            return super().classify(views)

    (result,) = sl.examine(Trips(), data, TELEA, out=tmp_path, baselines=False, limit=4)
    assert list(result.run.broken) == ["p001"]
    assert result.records.items.height == 3


def test_what_could_not_be_removed_is_told(tmp_path: Path) -> None:
    bare = made_scene("a", [("tree", 0, 0, 2, 2), ("car", 10, 1, 1, 1), ("sign", 10, 5, 1, 1)])
    bare = replace(bare, sightings=(replace(bare.sightings[0], visible_mask=None), *bare.sightings[1:]))
    made = [bare, *(made_scene(name, [("tree", 0, 0, 9, 8), ("car", 10, 1, 1, 1)]) for name in "bc")]
    made.append(made_scene("d", [("tree", 0, 0, 12, 8)]))
    stored = write_scenes(made, tmp_path / "data", source="made")
    results = sl.examine(Fixed(), stored, TELEA, out=tmp_path / "runs", baselines=False)
    facts = results[0].scores.facts
    whole = "the mask covers the whole image: nothing is left to fill it from"
    expected = {"too large to remove": 2, "an object has no mask": 1, whole: 1}
    assert facts["n_not_removable"] == expected
    said = "not removable: 4 of 8 classes in images: too large to remove (2); an object has no mask (1); " + whole
    assert f"{said} (1)" in list(TELEA.remarks(results, {}))
    sl.report(results, tmp_path / "card.html", stored, resamples=100, examples=1)
    assert said[1:] in (tmp_path / "card.html").read_text(encoding="utf-8")


def test_models_with_other_classes_are_compared_on_those_they_share(data: sl.Dataset, tmp_path: Path) -> None:
    models = [Fixed(), Fixed((*CLASSES[:3], "dog"), "fewer")]
    results = sl.examine(models, data, TELEA, out=tmp_path, baselines=False, limit=12)
    assert results[1].run.manifest["classes_not_known"] == [CLASSES[3]]
    names = {row.name.strip() for row in sl.compare(results[0], results[1]).comparisons}
    assert f"V^min, {CLASSES[0]}" in names
    assert f"V^min, {CLASSES[3]}" not in names
    other = sl.examine(Sees(), data, TELEA, out=tmp_path / "other", baselines=False, limit=12)
    with pytest.raises(ConfigError, match="different skills cannot be compared: classify and segment"):
        sl.compare(results[0], other[0])


def test_the_command_prints_the_fixed_keys(data: sl.Dataset, tmp_path: Path) -> None:
    words = ["exam", "context", "--data", data.path, "--model", "pixel_count", "--fill", "telea", "--json"]
    made = CliRunner().invoke(app, [*map(str, words), "--out", str(tmp_path), "--no-baselines"])
    assert made.exit_code == 0, made.output
    document = json.loads(made.stdout)
    assert document["v_min"]["mean"]["value"] == 0.0
    assert set(document["v_min"]) == {"mean", "pooled", *CLASSES}
    assert document["v_mean"]["mean"]["value"] == 0.0
    assert set(document["map"]) == {"full", "cooccur", "single"}
    assert document["map"]["full"]["value"] == 1.0
    assert document["ar"] is None
    nowhere = {f"map.{subset}" for subset, n in document["n_by_subset"].items() if not n}
    assert {key for key in document["reasons"] if key.startswith("map.")} == nowhere
    assert (document["map"]["single"]["value"] is None) == ("map.single" in nowhere)
    assert "skill segment" in document["reasons"]["ar"]
    assert document["options"]["fill"] == "telea"


def test_baselines_learn_from_the_training_split(tmp_path: Path) -> None:
    made = scenes(tmp_path / "data", 20, splits=True)
    exam = ContextExam(fill="telea", radius=1, split="val")
    results = sl.examine("cooccurrence", made, exam, out=tmp_path / "runs", baselines=False)
    assert results[0].records.items.height == 10
    study = exam.study(type("T", (), {"cross_fits": True})(), made)
    assert study is not None
    assert (len(study.scenes), study.own) == (10, False)
    with pytest.raises(ConfigError, match="no training split 'nowhere'"):
        ContextExam(fill="telea", split="val", train_split="nowhere").study(object(), made)
