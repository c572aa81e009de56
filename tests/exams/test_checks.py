"""Runs under variations: figures against counting by hand, every exam by one mechanism, and single judgements."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import context_runs
import counting_exam
import numpy as np
import polars as pl
import pytest
import relations_runs
import turing_runs
import viewpoint_runs
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import sightline as sl
from reference import checks as oracle
from sightline.cli import app
from sightline.exams.checks import line_up, variation_scores
from sightline.exams.context.exam import ContextExam
from sightline.exams.judgement_figures import judgement_figures
from sightline.exams.run import RunRecords
from sightline.exams.statements import StatementsExam
from sightline.exams.variants import KINDS
from sightline.scenes import View
from sightline.scenes.labels import PREDICATES
from sightline.skills import (
    Asked,
    BoxedObjects,
    Detections,
    Judgements,
    Pairs,
    Queries,
    ScoredReply,
    Verdicts,
    ViewAngles,
)
from sightline.variations import Mirror


def records(rows: list[dict[str, Any]]) -> RunRecords:
    frame = pl.DataFrame(rows).with_columns(scene_id="cluster_id")
    return RunRecords(frame, frame.select("item", "scene_id", "cluster_id").unique(maintain_order=True))


JUDGED = st.lists(
    st.tuples(
        st.sampled_from("abcd"), st.sampled_from("yn"), st.lists(st.sampled_from("yn"), min_size=3, max_size=3)
    ),
    min_size=1,
    max_size=20,
)


@settings(max_examples=40, deadline=None)
@given(JUDGED, st.randoms())
def test_figures_are_those_of_the_definitions(judged: list[tuple[str, str, list[str]]], rng: Any) -> None:
    """A question's truth, and what was answered as it is and in two variants; items come in any order."""
    runs = []
    for k in range(3):
        rows = [
            {"item": f"{item}{i}", "cluster_id": item, "truth": truth, "answer": said[k], "right": said[k] == truth}
            for i, (item, truth, said) in enumerate(judged)
        ]
        rng.shuffle(rows)
        runs.append(records(rows))
    found = variation_scores(StatementsExam(), "noise", runs[0], {"one": runs[1], "two": runs[2]}, resamples=20)
    pairs = [[(said[k], said[k] == truth) for _, truth, said in judged] for k in range(3)]
    wanted = oracle.variation(pairs[0], pairs[1:])
    shown = (found.consistency, found.right, found.right_under_all, found.change)
    assert [of.value for of in shown if of is not None] == pytest.approx(list(wanted))
    assert found.variants["two"].consistency.value == pytest.approx(oracle.variation(pairs[0], [pairs[2]])[0])
    assert found.judgements == len(judged)


def test_only_what_stands_in_all_runs_is_counted() -> None:
    row = {"cluster_id": "s", "truth": "y", "answer": "y", "right": True}
    ours = records(
        [{"item": "a", **row}, {"item": "a", **row, "answer": "n", "right": False}, {"item": "b", **row}]
    )
    theirs = records([{"item": "b", **row}, {"item": "c", **row}, {"item": "a", **row}])
    frames = line_up(StatementsExam(), [ours, theirs])
    assert [frame["item"].to_list() for frame in frames] == [["a", "b"], ["a", "b"]]
    nothing = variation_scores(StatementsExam(), "mirror", ours, {"mirror": records([{"item": "z", **row}])})
    assert nothing.to_dict()["reason"] == "no judgement stands in both runs"


class Boxes:
    """Judges by boxes alone: the same in every picture, mirrored or not; counts how often it is asked."""

    name = "boxes"

    def __init__(self) -> None:
        self.asked = 0

    def relate(self, pairs: Pairs) -> Judgements:
        self.asked += 1
        gap = pairs.boxes_a[:, 3] - pairs.boxes_b[:, 3]
        return Judgements(np.select([gap > 0, gap < 0], [1, 2], 3).astype(np.int8), np.zeros(len(pairs), np.int8))


class Leftish(Boxes):
    """Calls closer what is farther left: a mirror turns every answer round."""

    name = "leftish"

    def relate(self, pairs: Pairs) -> Judgements:
        gap = (pairs.boxes_b - pairs.boxes_a)[:, [0, 2]].sum(axis=1)
        return Judgements(np.select([gap > 0, gap < 0], [1, 2], 3).astype(np.int8), np.zeros(len(pairs), np.int8))


def test_relations_under_variations_and_what_they_say(generated: Path, tmp_path: Path) -> None:
    kinds = ["mirror", "swap", "noise", "paraphrase"]
    steady, leftish = Boxes(), Leftish()
    results = sl.examine([steady, leftish], generated, "relations", out=tmp_path, baselines=False, vary=kinds)
    document = results.to_dict()[0]
    found = {entry["model"]: entry["variations"] for entry in document["models"]}
    assert document["variations"] == found["boxes"]  # the first model's also stand at top level
    for kind in ("mirror", "swap", "noise"):
        assert found["boxes"][kind]["consistency"]["value"] == 1.0
        assert found["boxes"][kind]["right_under_all"] == found["boxes"][kind]["right"]
    assert set(found["boxes"]["noise"]["variants"]) == {"noise-5", "noise-15", "noise-40"}
    assert "not asked in words" in found["boxes"]["paraphrase"]["reason"]
    assert found["boxes"]["paraphrase"]["consistency"] is None
    # Of pairs with a clear order the mirrored answer is the other one, so depth is never right both ways.
    assert found["leftish"]["mirror"]["consistency"]["value"] < 0.6
    assert found["leftish"]["mirror"]["right_under_all"]["value"] < found["leftish"]["mirror"]["right"]["value"]
    assert found["leftish"]["swap"]["consistency"]["value"] == 1.0
    assert "right_under_all_variations" in document
    assert any("not varied by paraphrase" in note for note in results.exams[0].notes)
    assert "variations" in str(results)


def test_predicates_are_swapped_pair_by_pair(generated: Path, tmp_path: Path) -> None:
    """Of who calls the first one left, whichever it is, nothing stays; what has no converse is not counted."""

    class FirstIsLeft:
        name = "first is left"

        def predicates(self, queries: Queries) -> Verdicts:
            n = len(queries)
            answers = np.zeros((n, n, len(PREDICATES)), np.int8)
            answers[..., PREDICATES.index("left")] = 1
            return Verdicts(answers)

    class NeverSays(FirstIsLeft):
        name = "never says"

        def predicates(self, queries: Queries) -> Verdicts:
            return Verdicts(np.zeros_like(super().predicates(queries).answers))

    how: dict[str, Any] = {"out": tmp_path, "baselines": False, "vary": ["swap"]}
    results = sl.examine([FirstIsLeft(), NeverSays()], generated, "predicates", **how)
    found = {entry["model"]: entry["variations"]["swap"] for entry in results.to_dict()[0]["models"]}
    # left and right turn round; front and behind, which are said of nobody, stay.
    assert found["first is left"]["consistency"]["value"] == 0.5
    assert found["never says"]["consistency"]["value"] == 1.0
    assert found["never says"]["judgements"] == results[0].records.rows.height / 2


def test_a_varied_run_is_resumed_and_no_run_of_its_own(generated: Path, tmp_path: Path) -> None:
    model = Boxes()
    how: dict[str, Any] = {"out": tmp_path, "baselines": False, "vary": ["mirror"]}
    sl.examine(model, generated, "relations", **how, limit=2)
    asked = model.asked
    sl.examine(model, generated, "relations", **how, limit=2)
    assert model.asked == asked
    results = sl.examine(model, generated, "relations", **how)
    assert model.asked == 12  # six scenes, each once as it is and once mirrored
    (run,) = results
    folder = run.run.folder
    manifest = json.loads((folder / "variations/mirror/manifest.json").read_text())
    assert manifest["identity"]["options"]["variation"] == "mirror"
    assert "variations" in json.loads((folder / "metrics.json").read_text())
    page = sl.report(tmp_path)
    assert page.to_dict()["parts"][0]["document"]["runs"][0]["variations"]["mirror"]["consistency"]["value"] == 1.0
    assert len(page.to_dict()["parts"][0]["document"]["runs"]) == 1
    sections = {section.id: section for section in page.parts[0].sections}
    assert "mirror" in str(sections["variations"].tables[0])


def test_answers_of_a_file_cannot_be_varied_and_say_so(generated: Path, tmp_path: Path) -> None:
    answers = tmp_path / "answers.csv"
    data = sl.open(generated)
    exam = sl.RelationsExam().settled(data)
    lines = ["image_id_1,entity_1,xmin_1,ymin_1,xmax_1,ymax_1,image_id_2,entity_2,xmin_2,ymin_2,xmax_2,ymax_2"]
    assert exam.items(data)
    lines[0] += ",occlusion,distance"
    asked = exam.items(data)[0].pairs
    image, edges = exam.items(data)[0].scene_id, [",".join(map(str, b[0])) for b in (asked.boxes_a, asked.boxes_b)]
    lines.append(f"{image},x,{edges[0]},{image},x,{edges[1]},0,1")
    answers.write_text("\n".join(lines) + "\n")
    done = CliRunner().invoke(
        app,
        [
            *("exam", "relations", "--data", str(generated), "--model", str(answers), "--no-baselines"),
            *("--vary", "mirror,swap", "--out", str(tmp_path / "runs"), "--json"),
        ],
    )
    assert done.exit_code == 0, done.output
    document = json.loads(done.stdout)
    assert all("stored" in of["reason"] for of in document["variations"].values())
    assert not list((tmp_path / "runs").rglob("variations"))


class NeverLooks(viewpoint_runs.Knows):
    """Knows the true angles of the pictures as they are, and says them of changed ones too."""

    name = "never looks"

    def viewpoint(self, objects: BoxedObjects) -> ViewAngles:
        return super().viewpoint(replace(objects, view=replace(objects.view, id=objects.view.id.split("@")[0])))


class Looks(NeverLooks):
    """Of a mirrored picture it says the mirrored angles, as who looks would."""

    name = "looks"

    def viewpoint(self, objects: BoxedObjects) -> ViewAngles:
        said = super().viewpoint(objects).angles
        if objects.view.id.endswith("@mirror"):
            said = np.column_stack([(-said[:, 0]) % 360, said[:, 1], -said[:, 2]])
        return ViewAngles(said)


def test_viewpoints_come_back_from_the_mirror(tmp_path: Path) -> None:
    data = viewpoint_runs.scenes(tmp_path / "d", 8)
    how: dict[str, Any] = {"out": tmp_path / "runs", "baselines": False, "vary": ["mirror", "swap"]}
    results = sl.examine([Looks(data), NeverLooks(data)], data, "viewpoint", **how)
    entries = {entry["model"]: entry["variations"] for entry in results.to_dict()[0]["models"]}
    assert entries["looks"]["mirror"]["consistency"]["value"] == 1.0
    assert entries["never looks"]["mirror"]["consistency"]["value"] < 0.5
    assert "no ordered pairs" in entries["looks"]["swap"]["reason"]


@pytest.mark.parametrize("skill", ["classify", "segment", "answer"])
def test_context_in_each_skill(skill: Any, tmp_path: Path) -> None:
    data = context_runs.scenes(tmp_path / "d", 6)

    class Colours:
        """Sees a class where its colour is, wherever that is."""

        name, classes = "colours", context_runs.CLASSES

        def _there(self, view: View) -> dict[str, np.ndarray]:
            pixels = view.image().astype(int)
            return {c: (np.abs(pixels - rgb).sum(axis=2) < 90) for c, rgb in context_runs.COLOURS.items()}

        def classify(self, views: Any) -> sl.ClassScores:
            rows = [[2.0 if self._there(v)[c].any() else -2.0 for c in self.classes] for v in views]
            return sl.ClassScores(self.classes, np.array(rows))

        def segment(self, views: Any) -> sl.LabelMaps:
            maps = []
            for view in views:
                labels = np.full(view.image().shape[:2], -1, np.int32)
                for i, mask in enumerate(self._there(view).values()):
                    labels[mask] = list(context_runs.COLOURS).index(list(context_runs.COLOURS)[i])
                maps.append(labels)
            return sl.LabelMaps(tuple(context_runs.COLOURS), tuple(maps))

        def answer(self, asked: Asked) -> str:
            return ScoredReply("yes" if self._there(asked.view)[asked.question["class"]].any() else "no", 0.9)

    exam = ContextExam(skill=skill, no_controls=True)
    how: dict[str, Any] = {"baselines": False, "vary": ["mirror", "blind", "circular"], "out": tmp_path / "runs"}
    document = sl.examine(Colours(), data, exam, **how).to_dict()[0]
    varied = document["variations"]
    assert varied["mirror"]["consistency"]["value"] == 1.0
    assert varied["blind"]["consistency"]["value"] < 0.9
    assert varied["blind"]["right_under_all"]["value"] < varied["mirror"]["right_under_all"]["value"]
    assert ("reason" in varied["circular"]) == (skill != "answer")
    calibrated = document["scores"]["checks"].get("calibration")
    assert (calibrated is None) == (skill == "segment")


def test_an_exam_of_another_package_is_varied_too(generated: Path, tmp_path: Path) -> None:
    class Bright:
        """Finds as many things as its picture is bright; a mirror changes nothing."""

        name = "bright"

        def detect(self, view: View) -> Detections:
            n = int(view.image().mean() // 30)
            return Detections(np.tile([0.1, 0.1, 0.5, 0.5], (n, 1)), np.ones(n), ("thing",) * n)

    exam = counting_exam.CountingExam()
    results = sl.examine(Bright(), generated, exam, out=tmp_path, baselines=False, vary=["mirror", "blind", "swap"])
    varied = results.to_dict()[0]["variations"]
    assert varied["mirror"]["consistency"]["value"] == 1.0
    assert "consistency" in varied["blind"]
    assert "no ordered pairs" in varied["swap"]["reason"]


def test_workers_vary_too(generated: Path, tmp_path: Path) -> None:
    results = sl.examine("size", generated, "relations", out=tmp_path, baselines=False, workers=2, vary=["mirror"])
    assert results.to_dict()[0]["variations"]["mirror"]["consistency"]["value"] == 1.0


def test_without_truth_the_exam_changes_pictures_itself(tmp_path: Path) -> None:
    data = relations_runs.dataset(tmp_path / "d", 8)
    exam = sl.RelationsExam(no_truth=True)
    results = sl.examine(Boxes(), data, exam, out=tmp_path / "r", baselines=False, vary=["mirror"])
    assert "--changes" in results.to_dict()[0]["variations"]["mirror"]["reason"]


def test_an_unknown_variation_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    words = ["exam", "relations", "--data", str(tmp_path / "none"), "--model", "size", "--vary", "miror"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code != 0
    assert "did you mean 'mirror'" in str(done.exception)


def test_every_kind_has_a_name_of_its_own_and_the_mirror_is_the_first_of_them() -> None:
    names = [variant.name for variants in KINDS.values() for variant in variants]
    assert len(names) == len(set(names)) == 11
    assert KINDS["mirror"][0].change == Mirror()  # type: ignore[attr-defined]


def test_chance_and_samples_of_single_judgements() -> None:
    rows = [
        {"item": f"i{i}", "cluster_id": f"s{i // 2}", "truth": truth, "answer": answer, "right": truth == answer}
        | {"samples": drawn, "confidence": sure}
        for i, (truth, answer, drawn, sure) in enumerate(
            [
                ("yes", "yes", ["yes", "yes", "no"], 0.9),
                ("yes", "no", ["no", "no", "no"], 0.6),
                ("no", "no", ["no", "no", "no"], 0.8),
                ("yes", "yes", ["yes", "yes", "yes"], 0.7),
            ]
        )
    ]
    figures, facts = judgement_figures(StatementsExam(), records(rows), resamples=50)
    values = {".".join(name.path[1:]): value.value for name, value in figures.items()}
    assert values["accuracy"] == 0.75
    assert (values["chance"], values["chance_adjusted"]) == (0.5, 0.5)
    assert (values["commonest"], values["commonest_adjusted"]) == (0.75, 0.0)
    assert values["kappa"] == pytest.approx(oracle.kappa([*"yyny"], [*"ynny"]))
    assert values["yes_ratio"] == 0.5
    assert facts["checks"]["true_yes_ratio"] == 0.75
    drawn = oracle.samples([row["samples"] for row in rows], [row["truth"] for row in rows])
    assert {key: values[f"samples.{key}"] for key in drawn} == pytest.approx(drawn)
    assert facts["checks"]["samples"]["k"] == 3
    assert facts["checks"]["samples"]["error_by_draw"] == pytest.approx(np.sqrt(2 / 3 * 1 / 3) / 4)
    sure, right = [row["confidence"] for row in rows], [row["right"] for row in rows]
    assert values["calibration.ece"] == pytest.approx(oracle.calibration_error(sure, right, 10))
    assert values["calibration.brier"] == pytest.approx(oracle.brier(sure, right))


@pytest.mark.long
def test_turing_questions_are_mirrored_and_reworded(tmp_path: Path) -> None:
    train, data = turing_runs.scenes(tmp_path / "train", 40, 1), turing_runs.scenes(tmp_path / "d", 6, 2)
    how: dict[str, Any] = {"out": tmp_path / "runs", "baselines": False}
    kinds = ["mirror", "paraphrase", "circular", "swap"]
    results = sl.examine(["turing_engine", "coin"], data, turing_runs.exam(train), vary=kinds, **how)
    engine, coin = (entry["variations"] for entry in results.to_dict()[0]["models"])
    assert engine["paraphrase"]["consistency"]["value"] == 1.0  # it reads the structured form
    assert engine["mirror"]["consistency"]["value"] > 0.8  # mirrored regions are regions of the vocabulary
    assert coin["paraphrase"]["consistency"]["value"] < 0.9  # it is tossed by the words
    assert "no ordered pairs" in coin["swap"]["reason"]
