"""The predicates exam end to end on generated scenes: what is asked, what is marked, resuming, what is refused."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from zlib import crc32

import numpy as np
import polars as pl
import pytest

import sightline
from sightline.errors import ConfigError, DataError, ModelError, SightlineError
from sightline.exams.base import Candidate
from sightline.exams.predicates.counts import PredicateScores, scores
from sightline.exams.predicates.exam import BASELINES, PredicatesExam
from sightline.exams.predicates.items import PredicatesItem
from sightline.exams.predicates.measures import coded
from sightline.exams.predicates.patches import patches_of
from sightline.exams.run import Run
from sightline.exams.runner import run_exam
from sightline.generation import canonical_of
from sightline.models import candidate
from sightline.plain import plain
from sightline.scenes import Relation, Scene
from sightline.scenes.labels import PREDICATES
from sightline.skills import UNKNOWN, Queries, QuerySpec, Verdicts
from sightline.store import Dataset, Tables, tables_from_scenes, write


@pytest.fixture(scope="module")
def data(generated: Path) -> Dataset:
    return sightline.open(generated)


class Oracle:
    """Knows everything; keeps what it was shown."""

    def __init__(self, data: Dataset) -> None:
        self.truth = {scene.id: slow_truth(scene) for scene in data}
        self.shown: list[Queries] = []

    def predicates(self, queries: Queries) -> Verdicts:
        self.shown.append(queries)
        return Verdicts(self.truth[queries.scene_id].astype(np.int8))


class Shy(Oracle):
    """Knows everything but says nothing about left and right."""

    def predicates(self, queries: Queries) -> Verdicts:
        answers = super().predicates(queries).answers
        answers[:, :, :2] = UNKNOWN
        return Verdicts(answers)


def slow_truth(scene: Scene) -> np.ndarray:
    ids = [thing.id for thing in scene.objects]
    facts = {(r.subject, r.predicate, r.object) for r in scene.relations if r.aspect in ("spatial", "geometry")}
    return np.array([[[(a, p, b) in facts for p in PREDICATES] for b in ids] for a in ids])


def score_records(records: pl.DataFrame) -> PredicateScores:
    return scores(coded(records).counts())


def taken(model: object, data: Dataset, folder: Path, exam: PredicatesExam | None = None, **more: int) -> Run:
    return run_exam(exam or PredicatesExam(), Candidate("m", "m", model), data, folder, **more)


def changed(data: Dataset, folder: Path, change: object) -> Dataset:
    """A copy of the dataset with its scenes changed, canonical views and all."""
    scenes = [change(scene) for scene in data]  # type: ignore[operator]
    write(tables_from_scenes(scenes), folder, images=data.blobs)
    shutil.copytree(data.path / "canonical", folder / "canonical")
    return sightline.open(folder)


def test_all_that_is_known_scores_one(data: Dataset, tmp_path: Path) -> None:
    model = Oracle(data)
    run = taken(model, data, tmp_path / "r")
    found = score_records(run.records())
    assert {name: i.value for name, i in found.scene_accuracy.items()} == dict.fromkeys(found.scene_accuracy, 1.0)
    assert found.scene_all.value == found.f1["all"].value == 1.0
    assert found.n_scenes == len(data) == 6
    assert found.n_judgements == sum(len(s.objects) * (len(s.objects) - 1) * 8 for s in data)
    assert run.manifest["views"] == ["original", "top"]
    assert run.manifest["left_out"] == 0


def test_the_model_sees_pictures_patches_and_looks_but_no_truth(data: Dataset, tmp_path: Path) -> None:
    model = Oracle(data)
    taken(model, data, tmp_path / "r")
    for scene, shown in zip(data, model.shown, strict=True):
        assert shown.scene_id == scene.id
        assert [view.id for view in shown.views] == ["original", "top"]
        for view, stored in zip(shown.views, scene.views, strict=True):
            np.testing.assert_array_equal(view.image(), stored.image())
            for secret in (view.depth, view.ids, view.amodal, view.normals):
                with pytest.raises(DataError):
                    secret()
        for patch, look, thing in zip(shown.patches, shown.appearance, scene.objects, strict=True):
            number = crc32(f"{scene.id}/{thing.id}".encode()) % 2
            np.testing.assert_array_equal(patch, canonical_of(data, thing)[number])
            attributes = {key: thing.attributes[key] for key in ("size", "color", "material")}
            assert look == {"shape": thing.category, **attributes}


def test_records_say_what_slices_need(data: Dataset, tmp_path: Path) -> None:
    records = taken(Shy(data), data, tmp_path / "r").records()
    kinds = {(p, a) for p, a in records.select("predicate", "answer").unique().iter_rows()}
    assert {a for p, a in kinds if p in ("left", "right")} == {"unknown"}
    assert {a for p, a in kinds if p not in ("left", "right")} == {"yes", "no"}
    assert records["views"].unique().to_list() == ["original,top"]
    for scene in data:
        hidden = {s.object_id: s.occluded_fraction for s in scene.seen_in("original")}
        how = dict.fromkeys([o.id for o in scene.objects], "independent")
        how |= {r.object: "supported" for r in scene.relations if r.predicate == "supports"}
        how |= {r.object: "contained" for r in scene.relations if r.predicate == "contains"}
        facts = {(r.subject, r.predicate, r.object) for r in scene.relations}
        rows = records.filter(pl.col("scene_id") == scene.id)
        assert set(rows["n_objects"]) == {len(scene.objects)}
        for row in rows.iter_rows(named=True):
            a, b = row["subject"], row["object"]
            assert row["truth"] == ((a, row["predicate"], b) in facts)
            assert row["hidden"] == pytest.approx(max(hidden[a], hidden[b]), abs=1e-4)
            assert row["hidden"] <= max(hidden[a], hidden[b])
            assert (row["subject_how"], row["object_how"]) == (how[a], how[b])
    assert set(records["subject_how"]) >= {"supported", "independent"}


def test_unknown_is_not_right_and_counted_apart(data: Dataset, tmp_path: Path) -> None:
    found = score_records(taken(Shy(data), data, tmp_path / "r").records())
    assert found.scene_accuracy["left"].value == 0
    assert found.scene_accuracy["all"].value == pytest.approx(0.75)
    assert found.unknown["all"].value == pytest.approx(0.25)
    assert found.unknown["right"].value == 1
    assert found.unknown["geometric"].value == 0
    assert plain(found)["f1"]["left"]["value"] is None


def test_a_run_cut_short_resumes_exactly(data: Dataset, tmp_path: Path) -> None:
    whole = taken(Oracle(data), data, tmp_path / "whole").records()
    first = taken(Oracle(data), data, tmp_path / "r", limit=2)
    assert (first.status, len(coded(first.records()).scenes)) == ("stopped", 2)
    with (tmp_path / "r" / "records.jsonl").open("ab") as file:
        file.write(b'{"item": "torn')
    rest = Oracle(data)
    run = taken(rest, data, tmp_path / "r")
    assert len(rest.shown) == len(data) - 2
    assert run.status == "finished"
    assert run.records().equals(whole)


@pytest.mark.parametrize(
    ("wish", "model", "any_views", "shown"),
    [
        (None, None, False, ["original", "top"]),  # nobody says
        (None, ("top",), False, ["top"]),  # the model says
        (("original",), ("top",), False, ["original"]),  # the exam has the last word
        (("top", "original"), None, False, ["top", "original"]),  # in that order
        (None, ("original", "side_1", "top"), True, ["original", "top"]),  # what there is
        (None, "top", False, ["top"]),  # one, not its letters
        (None, (), False, []),  # a blind one
    ],
)
def test_views(
    data: Dataset, tmp_path: Path, wish: tuple[str, ...] | None, model: object, any_views: bool, shown: list[str]
) -> None:
    asked = Oracle(data)
    if model is not None:
        asked.views, asked.any_views = model, any_views  # type: ignore[attr-defined]
    run = taken(asked, data, tmp_path / "r", PredicatesExam(views=wish), limit=1)
    assert [view.id for view in asked.shown[0].views] == shown
    assert run.manifest["views"] == shown
    assert run.records()["views"][0] == ",".join(shown)


class Small(Oracle):
    def check(self, spec: QuerySpec) -> None:
        raise ModelError(f"told {spec.views}, {spec.most_objects}, {spec.patch}, {sorted(spec.sizes)}")


def broken(views: object = None, check: object = None, any_views: bool = False) -> object:
    class Model:
        def predicates(self, queries: Queries) -> Verdicts:
            raise AssertionError

    model = Model()
    model.any_views = any_views  # type: ignore[attr-defined]
    if views is not None:
        model.views = views  # type: ignore[attr-defined]
    if check is not None:
        model.check = check  # type: ignore[attr-defined]
    return model


@pytest.mark.parametrize(
    ("exam", "model", "error", "says"),
    [
        (PredicatesExam(views=("orginal",)), broken(), ConfigError, "did you mean 'original'?"),  # misspelt
        (PredicatesExam(views=("x",)), broken(), ConfigError, "; all scenes share original, top"),  # nothing near
        (PredicatesExam(split="tset"), broken(), DataError, "no such split"),  # no such split
        (PredicatesExam(), broken(("side_1",)), ModelError, "wants the view 'side_1'"),  # a view there is not
        (PredicatesExam(), broken(("a", "b"), any_views=True), ModelError, "wants the view 'a'"),  # none of them
        (PredicatesExam(), broken(check=lambda *a: [][0]), ModelError, "check() failed: IndexError"),  # it breaks
        (PredicatesExam(), object(), ModelError, "needs the skill 'predicates'"),  # it cannot
    ],
)
def test_refused_before_anything_is_written(
    data: Dataset, tmp_path: Path, exam: PredicatesExam, model: object, error: type[Exception], says: str
) -> None:
    with pytest.raises(error) as raised:
        taken(model, data, tmp_path / "r", exam)
    assert says in str(raised.value)
    assert not (tmp_path / "r").exists()


def test_the_models_own_check_is_told_everything(data: Dataset, tmp_path: Path) -> None:
    most = max(len(scene.objects) for scene in data)
    with pytest.raises(ModelError, match=rf"told \('original', 'top'\), {most}, 32, \[\(\d+, \d+\)\]"):
        taken(Small(data), data, tmp_path / "r")
    assert not (tmp_path / "r").exists()


def test_a_dataset_without_canonical_views(data: Dataset, tmp_path: Path) -> None:
    """Photos from elsewhere have none: patches are cut from the first view."""
    bare = write(data.tables(), tmp_path / "plain", images=data.blobs)
    run = taken(Oracle(data), bare, tmp_path / "r")
    assert run.manifest["patches"] == "cut from the photos"
    [item, *_] = PredicatesExam().items(bare)
    scene = bare.scene(item.scene_id)
    assert len(item.patches) == len(scene.objects)
    expected = patches_of(scene)
    np.testing.assert_array_equal(np.stack(item.patches), np.stack(expected))
    hidden = replace(data.tables(), sightings=data.tables().sightings[:0])
    unseen = write(hidden, tmp_path / "u", images=data.blobs)
    with pytest.raises(DataError, match="has no box in view original to cut a patch by"):
        taken(Oracle(data), unseen, tmp_path / "r2")
    assert not (tmp_path / "r2").exists()


def test_another_kind_of_dataset(simulated: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no spatial or geometry relations"):
        taken(broken(), sightline.open(simulated), tmp_path / "r")
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize(
    ("relation", "says"),
    [
        (Relation("0", "1", "spatial", "above"), "not a predicate (expected left, right"),  # another word
        (Relation("0", "1", "spatial", None), "not a predicate"),  # no word
        (Relation("9", "1", "spatial", "left"), "no such object in the scene (found '9')"),  # a stranger
        (Relation("0", "9", "geometry", "contains"), "no such object"),  # likewise
        (Relation("0", "1", "spatial", "left", object_scene="x"), "no such object"),  # of another scene
        (Relation("1", "1", "spatial", "left"), "related to itself"),  # itself
    ],
)
def test_facts_that_cannot_be(data: Dataset, relation: Relation, says: str) -> None:
    scene = next(iter(data))
    told = tables_from_scenes([replace(scene, relations=(*scene.relations, relation))])
    with pytest.raises(DataError) as raised:
        PredicatesExam().items(Dataset.from_tables(told, path=data.path))
    assert says in str(raised.value)
    assert scene.id in str(raised.value)


def test_scenes_without_a_pair_are_left_out_and_counted(data: Dataset, tmp_path: Path) -> None:
    lonely = {scene.id for scene in list(data)[:2]}

    def thinned(scene: Scene) -> Scene:
        if scene.id not in lonely:
            return scene
        seen = tuple(s for s in scene.sightings if s.object_id == "0")
        return replace(scene, objects=scene.objects[:1], sightings=seen, relations=())

    fewer = changed(data, tmp_path / "d", thinned)
    run = taken(Oracle(fewer), fewer, tmp_path / "r")
    assert (run.manifest["items"], run.manifest["left_out"]) == (4, 2)
    assert not lonely & set(run.records()["scene_id"])
    lonely |= {scene.id for scene in data}
    none = changed(data, tmp_path / "none", thinned)
    with pytest.raises(DataError, match="no scene has two objects"):
        PredicatesExam().items(none)


def test_hidden_is_null_for_what_is_outside_the_image(data: Dataset, tmp_path: Path) -> None:
    def gone(scene: Scene) -> Scene:
        return replace(scene, sightings=tuple(s for s in scene.sightings if s.object_id != "1"))

    records = taken(Oracle(data), changed(data, tmp_path / "d", gone), tmp_path / "r").records()
    named = (pl.col("subject") == "1") | (pl.col("object") == "1")
    assert records.filter(named)["hidden"].is_null().all()
    assert records.filter(~named)["hidden"].is_not_null().all()


def test_a_view_that_some_scenes_lack(data: Dataset, tmp_path: Path) -> None:
    first = next(iter(data)).id

    def without_top(scene: Scene) -> Scene:
        kept = tuple(v for v in scene.views if v.id != "top" or scene.id != first)
        seen = tuple(s for s in scene.sightings if any(v.id == s.view_id for v in kept))
        told = tuple(r for r in scene.relations if r.view is None or any(v.id == r.view for v in kept))
        return replace(scene, views=kept, sightings=seen, relations=told)

    fewer = changed(data, tmp_path / "d", without_top)
    with pytest.raises(ConfigError, match="no view 'top' in the data; all scenes share original"):
        taken(Oracle(data), fewer, tmp_path / "r", PredicatesExam(views=("top",)))
    run = taken(Oracle(data), fewer, tmp_path / "r")
    assert run.manifest["views"] == ["original"]


def test_a_view_without_a_picture(data: Dataset) -> None:
    tables = data.tables()
    views = tables.views.with_columns(image=pl.lit(None, pl.String))
    blank = Dataset.from_tables(Tables(views, tables.objects, tables.sightings, tables.relations), path=data.path)
    with pytest.raises(DataError, match=r"original: view has no picture"):
        PredicatesExam().check(Oracle(data), blank)
    PredicatesExam().check(candidate("shape_prior").model, blank)  # does not look


class Looking(Oracle):
    """Knows everything, and looks at every picture."""

    def predicates(self, queries: Queries) -> Verdicts:
        for view in queries.views:
            view.image()
        return super().predicates(queries)


@pytest.mark.parametrize("damage", ["missing", "empty", "cut short", "text"])
def test_a_picture_that_cannot_be_read_is_listed_and_its_scene_left_out(
    data: Dataset, tmp_path: Path, damage: str
) -> None:
    shutil.copytree(data.path, tmp_path / "d")
    holed = sightline.open(tmp_path / "d")
    scene = list(holed)[3]
    picture = holed.blobs.locate(str(scene.view("top").image_ref))
    content = picture.read_bytes()
    picture.unlink()
    if damage != "missing":
        picture.write_bytes(
            {"empty": b"", "cut short": content[: len(content) // 2], "text": b"no picture"}[damage]
        )
    run = taken(Looking(data), holed, tmp_path / "r")
    assert run.status == "finished"
    assert list(run.broken) == [scene.id]
    assert picture.name in run.broken[scene.id]
    assert Run.open(tmp_path / "r").broken == run.broken
    assert set(run.records()["scene_id"]) == {one.id for one in holed} - {scene.id}
    again = taken(Looking(data), holed, tmp_path / "r")
    assert (again.status, list(again.broken)) == ("finished", [scene.id])
    picture.write_bytes(content)
    mended = taken(Looking(data), holed, tmp_path / "r")
    assert (mended.status, mended.broken) == ("finished", {})
    assert mended.manifest["broken"] == {}
    assert scene.id in set(mended.records()["scene_id"])


def test_no_picture_at_all_is_an_error(data: Dataset, tmp_path: Path) -> None:
    shutil.copytree(data.path, tmp_path / "d")
    holed = sightline.open(tmp_path / "d")
    for scene in holed:
        holed.blobs.locate(str(scene.view("top").image_ref)).unlink()
    with pytest.raises(DataError, match="picture is missing"):
        taken(Looking(data), holed, tmp_path / "r", PredicatesExam(views=("top",)))
    assert not (tmp_path / "r").exists()
    assert taken(Looking(data), holed, tmp_path / "r", PredicatesExam(views=("original",))).status == "finished"
    assert run_exam(PredicatesExam(), candidate("shape_prior"), holed, tmp_path / "blind").status == "finished"


def test_a_model_that_knows_certain_scenes_is_told_all_of_the_data(data: Dataset, tmp_path: Path) -> None:
    told: dict[str, int] = {}

    class Local(Oracle):
        def check(self, spec: QuerySpec) -> None:
            told.update(spec.objects)
            raise ModelError("knows other scenes")

    lonely = next(iter(data))

    def divided(scene: Scene) -> Scene:
        if scene.id != lonely.id:
            return scene
        return replace(scene, split="other", objects=(), sightings=(), relations=())

    mixed = changed(data, tmp_path / "d", divided)
    with pytest.raises(ModelError, match="knows other scenes"):
        taken(Local(data), mixed, tmp_path / "r", PredicatesExam(split=lonely.split))
    assert told == {scene.id: len(scene.objects) for scene in data} | {lonely.id: 0}
    assert not (tmp_path / "r").exists()


class Unfit:
    def __init__(self, given: object) -> None:
        self.given, self.asked = given, 0

    def predicates(self, queries: Queries) -> object:
        self.asked += 1
        if self.asked < 3:
            return Verdicts(np.zeros((len(queries), len(queries), 8), dtype=np.int8))
        return self.given(len(queries)) if callable(self.given) else self.given


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (Verdicts(np.zeros((1, 1, 8), dtype=np.int8)), "of shape (1, 1, 8), expected"),  # another shape
        (lambda n: Verdicts(np.full((n, n, 8), 7)), "an answer other than −1, 0 and 1"),  # another value
        (lambda n: 1 // (n - n), "predicates() failed: ZeroDivisionError"),  # it breaks
        (None, "must return Verdicts, not NoneType"),  # nothing
    ],
)
def test_an_unfit_answer_stops_the_run_and_names_the_scene(
    data: Dataset, tmp_path: Path, given: object, says: str
) -> None:
    with pytest.raises(ModelError) as raised:
        taken(Unfit(given), data, tmp_path / "r")
    assert str(raised.value).startswith(f"scene {list(data)[2].id}: Unfit: predicates()")
    assert says in str(raised.value)
    stopped = Run.open(tmp_path / "r")
    assert (stopped.status, stopped.manifest["items_done"]) == ("failed", 2)


def test_nobody_but_a_baseline_is_told_the_truth(data: Dataset, tmp_path: Path) -> None:
    class Curious(Oracle):
        def prepare(self, study: object) -> None:
            raise AssertionError

    assert taken(Curious(data), data, tmp_path / "r").status == "finished"


@pytest.mark.parametrize("spec", BASELINES.values())
def test_the_baselines_sit(data: Dataset, tmp_path: Path, spec: str) -> None:
    run = run_exam(PredicatesExam(), candidate(spec), data, tmp_path / "r")
    found = score_records(run.records())
    assert 0.5 < found.scene_accuracy["all"].value < 0.95
    assert found.unknown["all"].value == 0
    assert run.manifest["views"] == []
    again = run_exam(PredicatesExam(), candidate(spec), data, tmp_path / "again")
    assert again.records().equals(run.records())


def test_a_hook_of_this_exam_goes_before_the_one_for_all(data: Dataset, tmp_path: Path) -> None:
    called: list[str] = []

    class Hooked(Oracle):
        sees_truth = True

        def check(self, spec: object) -> None:
            raise AssertionError

        def check_predicates(self, spec: QuerySpec) -> None:
            called.append(type(spec).__name__)

        def prepare(self, study: object) -> None:
            called.append(type(study).__name__)

    assert taken(Hooked(data), data, tmp_path / "r").status == "finished"
    assert called == ["QuerySpec", "PredicatesStudy"]


def test_items_are_made_once_a_dataset(data: Dataset) -> None:
    items: tuple[PredicatesItem, ...] = PredicatesExam().items(data)
    assert PredicatesExam().items(data) is items
    assert PredicatesExam(split=data.splits[0]).items(data) is not items


def test_foreign_records() -> None:
    with pytest.raises(DataError, match="not records of the predicates exam"):
        coded(pl.DataFrame({"scene_id": ["s"], "truth": [True]}))
    row = {"scene_id": "s", "predicate": ["left"], "truth": [True], "answer": "yes", "n_objects": 2, "hidden": 0.0}
    row |= {"subject_how": "independent", "object_how": "independent"}
    for key, value in {"predicate": "above", "answer": "maybe", "truth": None}.items():
        with pytest.raises(SightlineError, match=f"{key}: not a"):
            coded(pl.DataFrame(row | {key: [value]}))
