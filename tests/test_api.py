"""The front of the package: a dataset, an examination, its results, a comparison and a card, in a few lines."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sightline as sl
from sightline.api import data_path, run_folders
from sightline.exams.budget import Budget
from sightline.exams.results import ComparisonSet, Results
from sightline.exams.run import Run
from sightline.exams.scoring import RunComparison
from sightline.show.page import Page

BASELINES = 4


class Never:
    """Says no to every predicate."""

    name = "never"
    calls = 0

    def predicates(self, queries: Any) -> sl.Verdicts:
        type(self).calls += 1
        return sl.Verdicts(np.zeros((len(queries), len(queries), 8), dtype=np.int8))


class Both(Never):
    """Has the skills of two exams, and no way to be hashed."""

    name = "both"
    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return self is other

    def relate(self, pairs: sl.Pairs) -> sl.Judgements:
        return sl.Judgements(np.ones(len(pairs), np.int8), np.zeros(len(pairs), np.int8))


@pytest.fixture(scope="module")
def data(generated: Path) -> sl.Dataset:
    return sl.open(generated)


@pytest.fixture(scope="module")
def results(data: sl.Dataset, tmp_path_factory: pytest.TempPathFactory) -> Results:
    return sl.examine([Never(), "shape_prior"], data, "predicates", out=tmp_path_factory.mktemp("runs"))


def test_generate_without_a_folder_is_found_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIGHTLINE_CACHE", str(tmp_path / "cache"))
    how: dict[str, Any] = {"scenes": 1, "size": "48x32", "depth": None}
    first = sl.generate("geospa/train", **how)
    assert first.path.is_relative_to(tmp_path / "cache")
    (shard,) = (first.path / "views").glob("*.parquet")
    written = shard.stat().st_mtime_ns
    again = sl.generate("geospa/train", **how)
    assert (again.path, again.fingerprint) == (first.path, first.fingerprint)
    assert shard.stat().st_mtime_ns == written
    assert sl.generate("geospa/train", **{**how, "seed": 1}).path != first.path


def test_results_are_runs_that_print_themselves(results: Results) -> None:
    assert len(results) == 1 + BASELINES  # the one that is both a model and a baseline stands once
    assert [result.name for result in results][:2] == ["never", "shape_prior"]
    first = results[0]
    accuracy = first.scores.at("scene_accuracy", "all")
    assert accuracy is not None
    assert 0.5 < accuracy.low < accuracy.value < accuracy.high < 1
    assert first.scores.at("scene_accuracy", "nowhere") is None
    assert list(first.scores.below("scene_all_by"))[:3] == ["all", "spatial", "geometric"]
    shown = str(results)
    for word in ("scene accuracy", "never", "shape_prior", "headline", "weakest point", "can_support"):
        assert word in shown
    assert str(first).count("never") >= 1
    html = results._repr_html_()
    assert html.count("<table") >= 4
    assert "never" in html


def test_the_document(results: Results) -> None:
    (document,) = results.to_dict()
    assert [entry["model"] for entry in document["models"]] == ["never", "shape_prior"]
    assert list(document["baselines"]) == ["majority", "shape_prior", "size_prior", "shape_size_prior"]
    assert document["model"] == "never"
    assert document["f1"] == document["models"][0]["scores"]["f1"]
    json.dumps(document, allow_nan=False)


def test_a_run_is_scored_again_from_disk(results: Results) -> None:
    first = results[0]
    for given in (first, first.run, first.run.folder, str(first.run.folder)):
        assert sl.score(given).scores.to_dict() == first.scores.to_dict()
    with pytest.raises(sl.ConfigError, match="the predicates exam has no --protocol"):
        sl.score(first, protocol="paper")


def test_the_same_call_asks_nobody_again(data: sl.Dataset, tmp_path: Path) -> None:
    calls = Never.calls
    sl.examine(Never(), data, "predicates", out=tmp_path, baselines=False, limit=2)
    assert Never.calls == calls + 2
    whole = sl.examine(Never(), data, sl.PredicatesExam(), out=tmp_path, baselines=False)
    assert (Never.calls, whole[0].run.status) == (calls + 6, "finished")
    part = sl.examine(Never(), data, "predicates", out=tmp_path, baselines=False, limit=2)
    assert Never.calls == calls + 6
    assert part[0].records.items.height == 2
    assert part[0].scores.to_dict()["n_scenes"] == 2


def test_two_runs_compared(results: Results) -> None:
    made = sl.compare(results[0], results[1], resamples=200)
    assert isinstance(made, RunComparison)
    assert (made.a, made.b, made.exam, made.dropped) == ("never", "shape_prior", "predicates", 0)
    assert made.comparisons[0].name == "scene accuracy"
    assert "a = never, b = shape_prior; predicates" in str(made)
    again = sl.compare(results[0].run.folder, str(results[1].run.folder), resamples=200)
    assert again.to_dict() == made.to_dict()
    with pytest.raises(sl.ConfigError, match="the predicates exam has no --protocol"):
        sl.compare(results[0], results[1], protocol="paper")


def test_an_unfinished_run_counts_for_what_it_was_asked(data: sl.Dataset, results: Results, tmp_path: Path) -> None:
    class Tired(Never):
        name = "tired"

        def predicates(self, queries: Any) -> sl.Verdicts:
            if self.calls == 3:
                raise KeyboardInterrupt
            return super().predicates(queries)

    Tired.calls = 0
    with pytest.raises(KeyboardInterrupt):
        sl.examine(Tired(), data, "predicates", out=tmp_path, baselines=False)
    (folder,) = run_folders([tmp_path])
    stopped = sl.score(folder)
    assert (stopped.run.status, stopped.finished, stopped.scores.to_dict()["n_scenes"]) == ("stopped", False, 3)
    made = sl.compare(stopped, results[0], resamples=200)
    assert isinstance(made, RunComparison)
    assert (made.dropped, {row.difference for row in made.comparisons if row.name == "scene accuracy"}) == (
        3,
        {0.0},
    )
    assert "not asked the same in both runs: 3 scenes" in str(made)
    warnings = sl.report([folder, *results], resamples=100).parts[0].warnings
    assert any("tired is unfinished (stopped): 3 of 6 scenes answered" in words for words in warnings)


def test_two_sets_of_runs_compared(data: sl.Dataset, simulated: Path, results: Results, tmp_path: Path) -> None:
    ours = sl.examine(["shape_prior", "size_prior"], data, "predicates", out=tmp_path / "a", baselines=False)
    sl.examine("size", simulated, "relations", out=tmp_path / "a", baselines=False)
    shutil.copytree(ours[0].run.folder, tmp_path / "a" / "twice")
    made = sl.compare(tmp_path / "a", [*results, *_relations(simulated, tmp_path)], resamples=200, protocol="paper")
    assert isinstance(made, ComparisonSet)
    assert {(one.exam, one.a, one.b) for one in made} == {
        ("predicates", "shape_prior", "shape_prior"),
        ("predicates", "size_prior", "size_prior"),
        ("relations", "size", "size"),
    }
    of_relations = next(one for one in made if one.exam == "relations")
    assert of_relations.options == {"protocol": "paper"}
    reasons = Counter(why.partition(" ")[0] == "no" for why in made.unmatched.values())
    assert reasons == {True: 3, False: 1}  # three others of the larger set, and the copy
    assert "not compared: " in str(made)
    assert set(made.to_dict()) == {"pairs", "unmatched"}
    with pytest.raises(sl.ConfigError, match="no exam of these runs has --protocl"):
        sl.compare(tmp_path / "a", [*results], protocl="paper")
    with pytest.raises(sl.ConfigError, match="no run of one set matches"):
        sl.compare([*results][:1], ours)
    with pytest.raises(sl.ConfigError, match="expected a run, a folder of runs or results"):
        sl.compare(results, 3)


def _relations(simulated: Path, folder: Path) -> Results:
    return sl.examine("size", simulated, "relations", out=folder / "b", baselines=False)


def test_a_report(results: Results, tmp_path: Path) -> None:
    page = sl.report(results, tmp_path / "card.html", resamples=100)
    assert isinstance(page, Page)
    assert {path.name for path in tmp_path.iterdir()} == {"card.html", "card.json", "card.md"}
    assert [part.exam for part in page.parts] == ["predicates"]
    assert page.parts[0].document["focus"] == "never"
    assert json.loads((tmp_path / "card.json").read_text(encoding="utf-8"))["title"] == "never"
    assert sl.report(results[0].run.folder, resamples=100).title == "never"  # no file
    with pytest.raises(sl.ConfigError, match="no run of the exam 'turing' here; there are runs of predicates"):
        sl.report(results, exam="turing")


def test_questions_about_one_image(tmp_path: Path) -> None:
    data = sl.generate(
        "geospa/train", tmp_path / "d", scenes=40, seed=5, image_format=None, depth=None, size="48x32"
    )
    image = next(iter(data)).id
    asked = sl.ask(data, image, min_support=8)
    assert asked.scene.id == image
    assert asked.learned == 39
    assert asked.rows()[0]["text"].endswith("?")
    assert image in str(asked)


def test_every_exam_that_model_and_data_allow(data: sl.Dataset, tmp_path: Path) -> None:
    both = Both()
    made = sl.examine([both, both, "coin"], data, out=tmp_path, limit=3)
    taken = {exam.exam.name: exam for exam in made.exams}
    assert {"relations", "predicates"} <= set(taken)
    for name in ("relations", "predicates"):
        assert [result.name for result in taken[name].models] == ["both"]
        assert any(note.startswith("coin: the exam needs the skill") for note in taken[name].notes)
    assert set(taken) | set(made.skipped) == {
        "relations",
        "predicates",
        "turing",
        "statements",
        "viewpoint",
        "context",
    }
    assert len({result.run.folder.parent.name for result in made}) == len(taken)
    assert "headline" in str(made)
    names = {run.exam for run in map(Run.open, run_folders([tmp_path]))}
    assert names == set(taken)


def test_exams_that_cannot_be_taken_say_why(simulated: Path, tmp_path: Path) -> None:
    made = sl.examine("size", simulated, out=tmp_path, baselines=False, limit=3)
    assert [exam.exam.name for exam in made.exams] == ["relations"]
    assert set(made.skipped) == {"predicates", "turing", "statements", "viewpoint", "context"}
    assert "predicates: not taken, " in str(made)
    with pytest.raises(sl.ConfigError, match="no exam can be taken: relations: shape_prior: the exam needs"):
        sl.examine("shape_prior", simulated, out=tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_workers_load_models_by_name(generated: Path, data: sl.Dataset, tmp_path: Path) -> None:
    one, two = (
        sl.examine("shape_prior", given, "predicates", out=tmp_path / str(n), workers=n)
        for given, n in ((generated, 2), (data, 0))
    )
    assert [r.scores.to_dict() for r in one] == [r.scores.to_dict() for r in two]
    with pytest.raises(sl.ConfigError, match="never is an object of this process, which workers cannot load"):
        sl.examine(Never(), data, "predicates", out=tmp_path / "o", workers=2)
    assert not (tmp_path / "o").exists()


def test_two_models_of_one_name_are_refused(data: sl.Dataset, tmp_path: Path) -> None:
    class Rule(Never):
        name = "size_prior"

    never = Never()
    twice = sl.examine([never, never, "shape_prior", "shape_prior"], data, "predicates", out=tmp_path, limit=1)
    assert [result.name for result in twice.exams[0].models] == ["never", "shape_prior"]
    for models in ([Never(), Never()], [Rule()]):
        with pytest.raises(sl.ConfigError, match="two models are called"):
            sl.examine(models, data, "predicates", out=tmp_path / "x", limit=1)
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda d: sl.examine("size_prior", d, "predicate"), "did you mean 'predicates'"),  # a misspelt exam
        (lambda d: sl.examine("size_piror", d, "predicates"), "did you mean 'size_prior'"),  # a misspelt model
        (lambda _: sl.examine("size_prior", None, "predicates"), "needs a dataset"),  # no data
        (lambda _: sl.examine("size_prior"), "needs a dataset"),
        (lambda _: sl.examine("size_prior", 3, "predicates"), "expected a dataset or the path of one"),
        (lambda d: sl.examine([], d, "predicates", baselines=False), "nobody to examine"),
        (lambda d: sl.report(d.path), "no run here"),  # a dataset is no run
        (lambda d: sl.score(d.path), "manifest"),
        (lambda _: sl.report([]), "no runs to report"),
        (lambda _: sl.RelationsExam(boxes="detcted"), "boxes: unknown 'detcted', did you mean 'detected'"),
        (lambda _: sl.RelationsExam(protocol="papr"), "protocol: unknown 'papr', did you mean 'paper'"),
    ],
)
def test_what_cannot_be_is_said(data: sl.Dataset, call: Callable[[sl.Dataset], object], says: str) -> None:
    with pytest.raises(sl.SightlineError, match=says):
        call(data)


def test_runs_without_a_folder_go_with_the_process(data: sl.Dataset, tmp_path: Path) -> None:
    program = f"""
import sightline as sl
for models, limit in ((["size_prior"], 1), ([], 1)):
    try:
        (result,) = sl.examine(models, {str(data.path)!r}, "predicates", baselines=False, limit=limit)
        print(result.run.folder.is_dir(), result.run.folder)
    except sl.SightlineError as error:
        print(error)
"""
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith(f"True {tmp_path}/sightline-runs-")
    assert "nobody to examine" in done.stdout
    assert not list(tmp_path.glob("sightline-*"))


def test_where_the_data_of_runs_lies(results: Results, data: sl.Dataset) -> None:
    assert data_path([result.run for result in results]).resolve() == data.path.resolve()


def test_progress_is_shown_where_it_is_asked_for(
    data: sl.Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    how: dict[str, Any] = {"baselines": False, "limit": 2}
    monkeypatch.setenv("FORCE_COLOR", "1")  # rich takes it for a terminal
    sl.examine(Never(), data, "predicates", out=tmp_path / "quiet", **how)
    assert capsys.readouterr().err == ""
    sl.examine(Never(), data, "predicates", out=tmp_path / "shown", show=True, **how)
    shown = capsys.readouterr()
    assert "never" in shown.err
    assert "2/2" in shown.err
    assert shown.out == ""
    monkeypatch.delenv("FORCE_COLOR")
    sl.examine(Never(), data, "predicates", out=tmp_path / "a file", show=True, **how)
    assert capsys.readouterr().err == ""  # no terminal: nothing to draw a bar on


@pytest.mark.parametrize("budget", [3, "3", "3 requests"])
def test_a_budget_is_written_as_on_the_command_line(budget: int | str) -> None:
    made = Budget.of(budget)
    assert made is not None
    assert (made.limit, made.unit) == (3, "requests")
    assert Budget.of(made) is made  # what is spent is shared
    assert Budget.of(None) is None


def test_a_budget_that_is_none_is_refused(data: sl.Dataset) -> None:
    with pytest.raises(sl.ConfigError, match=r"a budget is a number of requests, .* found '0'"):
        sl.examine(Never(), data, "predicates", budget=0)


def test_a_run_whose_data_is_gone_is_named(results: Results, data: sl.Dataset, tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("a", "b")]
    for folder, result in zip(folders, results, strict=False):
        shutil.copytree(result.run.folder, folder)
    manifest = json.loads((folders[1] / "manifest.json").read_text())
    manifest["identity"]["data_fingerprint"] = "0" * 12
    (folders[1] / "manifest.json").write_text(
        json.dumps(manifest | {"data": "gone", "data_absolute": f"{tmp_path}/gone"})
    )
    with pytest.raises(sl.ConfigError, match=f"{folders[1]} was made on gone, which is not there: give --data"):
        sl.report(folders)
    known = data.fingerprint[:12]
    with pytest.raises(
        sl.ConfigError, match=f"b was made on gone, .*; .* is other data .fingerprint {known}, expected 0000"
    ):
        sl.report(folders, data=data)
