"""The relations exam without truth: what is asked, what is counted, and that it says what it is not."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from reference import consistency as oracle
from sightline.errors import ConfigError, DataError
from sightline.exams.relations import RelationsExam, mark_pairs
from sightline.exams.relations.agreement import agreements
from sightline.exams.relations.consistency import MEANING, ORIGINAL, box_tables, within_against_across
from sightline.exams.relations.consistency_card import contradictions
from sightline.exams.run import Run
from sightline.exams.runner import run_exam
from sightline.exams.scoring import RunResult, compare_runs, score_records
from sightline.generation import open_any
from sightline.models import candidate
from sightline.scenes import Depth, Occlusion, View, words
from sightline.skills import Judgements, Pairs
from sightline.store import Dataset, open_dataset
from sightline.variations import VARIATIONS

EXAM = RelationsExam(no_truth=True)


@pytest.fixture(scope="module")
def photos(generated: Path) -> Dataset:
    return open_any(generated)


def said(pairs: Pairs, lead: np.ndarray) -> Judgements:
    depth = np.array([Depth.FARTHER, Depth.UNSURE, Depth.CLOSER], dtype=np.int8)[np.sign(lead).astype(int) + 1]
    return Judgements(depth, np.full(len(pairs), Occlusion.NONE, dtype=np.int8))


class LeftIsCloser:
    """By boxes alone, and wrong in a mirror."""

    def relate(self, pairs: Pairs) -> Judgements:
        return said(pairs, (pairs.boxes_b[:, ::2].sum(axis=1) - pairs.boxes_a[:, ::2].sum(axis=1)).round(9))


class Looking:
    """By the mean colour in the boxes; keeps what it was shown."""

    def __init__(self) -> None:
        self.shown: list[Pairs] = []

    def relate(self, pairs: Pairs) -> Judgements:
        self.shown.append(pairs)
        return said(pairs, _crops(pairs.view_a, pairs.boxes_a) - _crops(pairs.view_b, pairs.boxes_b))


def _crops(view: View, boxes: np.ndarray) -> np.ndarray:
    """(n,) mean of the pixels in each box."""
    pixels = view.image().astype(np.float64)
    height, width = pixels.shape[:2]
    edges = np.rint(boxes * [width, height, width, height]).astype(int)
    return np.array([pixels[y0:y1, x0:x1].mean() for x0, y0, x1, y1 in edges])


def run_of(model: object, data: Dataset, folder: Path, exam: RelationsExam = EXAM, name: str = "") -> RunResult:
    who = candidate(model)
    run = run_exam(exam, who, data, folder)
    opened, records = Run.open(run.folder), run.read()
    scores = score_records(exam, records, lambda: data, resamples=100)
    return RunResult(opened, exam, name or who.name, records, scores, blind=who.name == "bottom_edge")


def value(result: RunResult, *path: str) -> float:
    figure = result.scores.at(*path)
    assert figure is not None, path
    return figure.value


def test_pairs_are_sampled_bounded_and_seeded(photos: Dataset) -> None:
    full, few, again, other = (
        box_tables(photos, "", ("within_image", "across_images"), objects=n, seed=seed)
        for n, seed in ((9, 0), (2, 0), (2, 0), (2, 1))
    )
    assert few is not again
    for setting, table in few.items():
        assert (table.first == again[setting].first).all()
        ends = np.concatenate([table.first, table.second])
        most = np.bincount(table.object_scene[np.unique(ends)]).max()
        assert most <= 2
        assert len(table) < len(full[setting])
        assert not (table.depth >= 0).any()  # relations of the data are not looked at
    assert any(few[s].first.tolist() != other[s].first.tolist() for s in few)
    assert full["within_image"].aspects == ("depth", "occlusion")
    assert full["across_images"].aspects == ("depth",)


def test_a_rule_on_boxes_never_contradicts_itself(photos: Dataset, tmp_path: Path) -> None:
    result = run_of(LeftIsCloser(), photos, tmp_path / "r")
    assert value(result, "both_ways") == 1.0
    assert value(result, "contradictions", "within_image/depth", "transitivity", "share") == 0.0
    assert value(result, "contradictions", "within_against_across", "transitivity", "share") == 0.0
    assert value(result, "changes", "within_image/depth", "mirror") < 0.1  # but for ties, leftmost is rightmost now
    assert value(result, "changes", "within_image/depth", "jpeg") == 1.0
    assert value(result, "changes", "within_image/occlusion", "mirror") == 1.0
    assert result.scores.facts["meaning"] == MEANING
    assert set(result.records.rows["truth"].to_list()) == set(result.records.rows["right"].to_list()) == {None}


def test_changed_pictures_come_with_changed_boxes_under_ids_of_their_own(photos: Dataset, tmp_path: Path) -> None:
    model = Looking()
    result = run_of(model, photos, tmp_path / "r")
    by_id = {pairs.cluster_id: pairs for pairs in model.shown if pairs.setting == "within_image"}
    scenes = [name for name in by_id if "@" not in name]
    assert {name.partition("@")[2] for name in by_id} == {"", *VARIATIONS}
    for scene in scenes:
        plain, mirrored = by_id[scene], by_id[f"{scene}@mirror"]
        assert mirrored.view_a.id == f"{scene}@mirror"
        np.testing.assert_allclose(mirrored.boxes_a[:, [0, 2]], 1 - plain.boxes_a[:, [2, 0]])
        np.testing.assert_allclose(
            _crops(mirrored.view_a, mirrored.boxes_a), _crops(plain.view_a, plain.boxes_a), rtol=1e-9
        )
    across = [pairs for pairs in model.shown if pairs.setting == "across_images"]
    assert {p.cluster_id for p in across} >= {"|".join(sorted((p.view_a.id, p.view_b.id))) for p in across}
    assert value(result, "changes", "within_image/depth", "mirror") == 1.0
    assert 0.9 < value(result, "changes", "within_image/depth", "jpeg") <= 1.0


def test_within_against_across_equals_the_loops(photos: Dataset, tmp_path: Path) -> None:
    result = run_of("random", photos, tmp_path / "r")
    rows = result.records.rows.filter((pl.col("variant") == ORIGINAL) & (pl.col("aspect") == "depth"))
    code = {word: number for number, word in enumerate(words("depth"))}
    within: dict[str, dict[tuple[str, str], int]] = {}
    across: dict[str, dict[tuple[tuple[str, str], tuple[str, str]], int]] = {}
    for row in rows.iter_rows(named=True):
        ends = (row["subject"], row["object"])
        if row["setting"] == "within_image":
            within.setdefault(row["scene_id"], {})[ends] = code[row["answer"]]
        else:
            keys = ((row["scene_id"], ends[0]), (row["other_scene"], ends[1]))
            across.setdefault(row["cluster_id"], {})[keys] = code[row["answer"]]
    marks = mark_pairs(rows, EXAM.tables(photos))
    expected = oracle.within_against_across(within, {tuple(k.split("|")): of for k, of in sorted(across.items())})
    assert within_against_across(marks)["transitivity"].tolist() == expected
    assert 0.2 < value(result, "contradictions", "within_against_across", "transitivity", "share") < 0.7


def test_contradictions_on_show_equal_the_loops(photos: Dataset, tmp_path: Path) -> None:
    result = run_of("random", photos, tmp_path / "r")
    rows = result.records.rows.filter(variant=ORIGINAL).to_dicts()
    said = {
        (r["aspect"], r["scene_id"], r["subject"], r["other_scene"], r["object"]): r["answer"]
        for r in rows
        if r["answer"] not in (None, "unsure")
    }
    turned = {"closer": "farther", "farther": "closer", "occludes": "occluded", "occluded": "occludes"}
    against = {
        key
        for key, word in said.items()
        if (back := said.get((key[0], *key[3:], *key[1:3]))) is not None and word != turned.get(back, back)
    }
    found = contradictions(result.records.rows)
    names = ("aspect", "scene_id", "subject", "other_scene", "object")
    assert {tuple(row[name] for name in names) for row in found.iter_rows(named=True)} == against
    assert against
    per_cluster = found.group_by("cluster_id", "aspect").agg(pl.len(), pl.col("against").first())
    assert (per_cluster["len"] == per_cluster["against"]).all()


def test_agreement_equals_its_definition(photos: Dataset, tmp_path: Path) -> None:
    one = run_of("random", photos, tmp_path / "a", name="one")
    two = run_of("bottom_edge", photos, tmp_path / "b", name="two")
    (found,) = agreements([one, two], resamples=50, seed=0)
    assert (found["a"], found["b"]) == ("one", "two")
    keys = ["item", "subject", "object", "aspect", "variant", "setting"]
    both = one.records.rows.join(two.records.rows, on=keys).filter(variant=ORIGINAL)
    for task, of in found["subtasks"].items():
        setting, aspect = task.split("/")
        pairs = both.filter(setting=setting, aspect=aspect).select("answer", "answer_right").rows()
        share, kappa = oracle.cohen(pairs)
        assert of["pairs"] == len(pairs)
        assert of["agreement"]["value"] == pytest.approx(share)
        assert of["kappa"]["value"] == pytest.approx(kappa)
        assert of["agreement"]["low"] <= share <= of["agreement"]["high"]
    assert len(found["subtasks"]) == 3


def test_one_image_has_figures_without_intervals(photos: Dataset, tmp_path: Path) -> None:
    models = ("random", "bottom_edge")
    runs = [run_exam(EXAM, candidate(model), photos, tmp_path / model, limit=1) for model in models]
    results = []
    for run, name in zip(runs, models, strict=True):
        records = run.read(run.asked)
        results.append(RunResult(run, EXAM, name, records, score_records(EXAM, records, lambda: photos)))
    shared = EXAM.across(results, resamples=20, seed=0)
    assert shared["consistency"]["agreement"][0]["subtasks"]["within_image/depth"]["agreement"]["low"] is None
    assert any("%" in str(shown) and "κ" in str(shown) for shown in EXAM.remarks(results, shared))


def test_without_photos_nothing_is_changed_and_that_is_said(simulated: Path, tmp_path: Path) -> None:
    data = open_dataset(simulated)
    result = run_of(LeftIsCloser(), data, tmp_path / "r")
    assert set(result.records.rows["variant"]) == {ORIGINAL}
    assert "changes" not in result.scores.to_dict()
    (line,) = [
        str(one) for one in EXAM.remarks([result], EXAM.across([result], resamples=20, seed=0)) if "Not" in str(one)
    ]
    assert line.endswith("images and image pairs: no photo to change.")


def test_stored_answers_are_not_asked_about_changed_pictures(photos: Dataset, tmp_path: Path) -> None:
    class FromFiles(LeftIsCloser):
        stored_answers = True

    stored, looking = (run_of(m, photos, tmp_path / type(m).__name__) for m in (FromFiles(), LeftIsCloser()))
    assert set(stored.records.rows["variant"]) == {ORIGINAL}
    assert "stored" in next(iter(stored.scores.facts["not_changed"]))
    compared = compare_runs(EXAM, stored.run, looking.run, lambda: photos, resamples=50)
    assert not any("mirror" in row.name for row in compared.comparisons)  # both were asked about the originals only
    assert any("transitivity" in row.name for row in compared.comparisons)


def test_a_run_with_truth_is_never_compared_with_one_without(photos: Dataset, tmp_path: Path) -> None:
    with_truth = run_of("bottom_edge", photos, tmp_path / "a", RelationsExam())
    without = run_of("bottom_edge", photos, tmp_path / "b")
    assert "no_truth" not in with_truth.run.options  # what a run with truth is called has not changed
    with pytest.raises(ConfigError, match=r"no_truth|changes"):
        compare_runs(EXAM, with_truth.run, without.run, lambda: photos)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"changes": ("blur",)}, "changes: unknown 'blur'"),  # no such change
        ({"boxes": "detected"}, "goes without --boxes"),  # boxes of the data are asked about
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        RelationsExam(no_truth=True, **options)  # type: ignore[arg-type]


def test_the_title_says_what_it_is_not() -> None:
    assert EXAM.title == "2.5D relations, without truth"
    assert RelationsExam().title == "2.5D relations"


def test_data_without_two_boxes_is_refused(tmp_path: Path) -> None:
    empty = {
        "images": [{"id": 1, "file_name": "1.jpg", "width": 9, "height": 9}],
        "annotations": [],
        "categories": [],
    }
    (tmp_path / "i.json").write_text(json.dumps(empty))
    with pytest.raises(DataError, match="no two boxes to ask about"):
        EXAM.items(open_any(tmp_path / "i.json"))
