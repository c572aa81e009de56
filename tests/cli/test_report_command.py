"""``sightline report`` over runs of the predicates exam, alone and beside others."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import sightline as sl
from sightline.exams.predicates.exam import PredicatesExam
from sightline.exams.relations.exam import RelationsExam
from sightline.exams.relations.simulation import simulated_tables
from sightline.exams.run import MANIFEST
from sightline.exams.runner import run_exam
from sightline.generation import generate
from sightline.models.registry import candidate
from sightline.store import write

MODEL = """
import numpy as np
from sightline.skills import Verdicts

class Yes:
    name = "yes"

    def predicates(self, queries):
        return Verdicts(np.ones((len(queries), len(queries), 8), dtype=np.int8))

class Staring(Yes):
    def attention(self, queries):
        return np.ones((len(queries), len(queries.views), 2, 3))

yes, staring = Yes(), Staring()
"""

SCENES = [f"geospa/val_default/0/{number:08d}" for number in range(3)]

Cli = Callable[..., Any]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset and three runs on it."""
    folder = tmp_path_factory.mktemp("home")
    (folder / "mine.py").write_text(MODEL)
    data = generate("geospa/val_default", folder / "data", scenes=3, size=(60, 40), depth=None, canonical=1)
    for spec, name in (("predicates_majority", "m"), (f"{folder / 'mine.py'}:yes", "y")):
        run_exam(PredicatesExam(), candidate(spec), data, folder / "runs" / name)
    run_exam(PredicatesExam(), candidate(f"{folder / 'mine.py'}:staring"), data, folder / "stares" / "s")
    return folder


def test_scored_runs_are_counted(home: Path) -> None:
    counted: list[tuple[int, int]] = []
    sl.report(home / "runs", progress=lambda done, total: counted.append((done, total)), resamples=100)
    assert counted == [(1, 2), (2, 2)]


def test_the_seed_of_the_resampling_can_be_chosen_and_is_told(home: Path, tmp_path: Path, cli: Cli) -> None:
    words = ("report", home / "runs", "--out", tmp_path / "p.html", "--json")
    for more, told in ((("--resamples", 100, "--seed", 1), " --resamples 100 --seed 1 --out"), ((), "data --out")):
        (part,) = cli(*words, *more).json["parts"]
        assert part["document"]["seed"] == (1 if more else 0)
        assert told in part["commands"][-1]


def test_the_page_of_the_exam_at_hand(home: Path, tmp_path: Path, cli: Cli) -> None:
    done = cli("report", home / "runs", "--out", tmp_path / "p.html", "--resamples", 100, "--json")
    assert done.code == 0, done.err
    (part,) = done.json["parts"]
    assert (part["exam"], part["document"]["focus"]) == ("predicates", "yes")
    assert done.json == json.loads((tmp_path / "p.json").read_text(encoding="utf-8"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["p.html", "p.json", "p.md"]
    assert "Attention for object" not in (tmp_path / "p.html").read_text(encoding="utf-8")


def test_scenes_asked_for_in_the_order_given(home: Path, tmp_path: Path, cli: Cli) -> None:
    wanted = ("--scene", SCENES[2], "--scene", SCENES[0])
    done = cli("report", home / "runs", *wanted, "--out", tmp_path, "--resamples", 100, "--json")
    assert done.code == 0, done.err
    assert [(e["kind"], e["id"]) for e in done.json["examples"]] == [("chosen", SCENES[2]), ("chosen", SCENES[0])]
    page = (tmp_path / "report.html").read_text(encoding="utf-8").replace("<wbr>", "")
    assert page.index(f"<h5>{SCENES[2]}</h5>") < page.index(f"<h5>{SCENES[0]}</h5>")
    assert SCENES[1] not in page


def test_how_many_of_each_kind(home: Path, tmp_path: Path, cli: Cli) -> None:
    done = cli("report", home / "runs", "--examples", 1, "--out", tmp_path, "--resamples", 100, "--json")
    assert done.code == 0, done.err
    assert [e["kind"] for e in done.json["examples"]] == ["worst", "typical"]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--scene", "x"), "has no scene 'x'; size was asked about 24 scenes"),  # no such scene
        (("--attention",), "--attention goes with another exam; these are runs of relations"),
    ],
)
def test_relations_draw_single_mistakes(tmp_path: Path, cli: Cli, options: tuple[str, ...], says: str) -> None:
    data = write(simulated_tables(images=12, seed=3), tmp_path / "data", source="simulated")
    run_exam(RelationsExam(), candidate("size"), data, tmp_path / "runs" / "s")
    out = tmp_path / "out"
    refused = cli("report", tmp_path / "runs", *options, "--out", out, "--resamples", 100)
    assert refused.code == 2
    assert says in " ".join(refused.err.split())
    assert not out.exists()
    done = cli("report", tmp_path / "runs", "--examples", 1, "--out", out, "--resamples", 100, "--json")
    assert done.code == 0, done.err
    drawn = [example["facts"]["subtask"] for example in done.json["examples"]]
    assert len(drawn) == len(set(drawn)) > 1
    scene = next(iter(data)).id
    named = cli("report", tmp_path / "runs", "--scene", scene, "--out", out, "--resamples", 100, "--json")
    assert named.code == 0, named.err
    assert named.json["examples"]
    assert all(e["kind"] == "chosen" and scene in e["id"].split("|") for e in named.json["examples"])


def test_an_exam_without_a_report(home: Path, tmp_path: Path, cli: Cli) -> None:
    manifest = json.loads((home / "runs" / "m" / MANIFEST).read_text(encoding="utf-8"))
    manifest["identity"]["exam"] = "relation"
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")
    done = cli("report", tmp_path / "run", "--out", tmp_path / "p.html")
    assert done.code == 2
    assert "there is no exam 'relation', did you mean 'relations'?" in " ".join(done.err.split())


def test_attention_loads_nothing_that_a_run_names(home: Path, tmp_path: Path, cli: Cli) -> None:
    trap, run = tmp_path / "trap.py", tmp_path / "runs" / "s"
    trap.write_text(f"open({str(tmp_path / 'sprung')!r}, 'w').close()\nclass M: pass\nm = M()\n")
    shutil.copytree(home / "stares" / "s", run)
    manifest = json.loads((run / MANIFEST).read_text(encoding="utf-8"))
    manifest["identity"]["model"] = f"{trap}:m"
    (run / MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")
    words = ("report", tmp_path / "runs", "--out", tmp_path / "p.html", "--resamples", 100, "--attention")
    refused = cli(*words)
    assert refused.code == 2
    assert "--attention needs --model" in " ".join(refused.err.split())
    assert cli(*words, "--model", f"{home / 'mine.py'}:staring").code == 0
    assert not (tmp_path / "sprung").exists()


def test_attention_loads_the_model(home: Path, tmp_path: Path, cli: Cli) -> None:
    model = f"{home / 'mine.py'}:staring"
    done = cli("report", home / "stares", "--attention", "--model", model, "--out", tmp_path, "--resamples", 100)
    assert done.code == 0, done.err
    assert "Attention for object 1" in (tmp_path / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (
            ("--protocol", "paper"),
            "--protocol goes with another exam; these are runs of predicates",
        ),  # an option of the other exam
        (("--attention", "--model", "predicates_majority"), "no method attention(queries)"),  # the model has none
        (("--attention",), "--attention needs --model"),  # nothing a run names is loaded
        (("--exam", "relations"), "no run of the exam 'relations' here"),  # not there
        (("--scene", SCENES[0], "--scene", "00000002"), f"did you mean '{SCENES[2]}'?"),  # no such scene
        (("--scene", SCENES[0], "--examples", "2"), "with --scene it chooses none"),  # named and counted
    ],
)
def test_what_cannot_be_is_said(home: Path, tmp_path: Path, cli: Cli, options: tuple[str, ...], says: str) -> None:
    done = cli("report", home / "runs", *options, "--out", tmp_path / "p.html", "--resamples", 100)
    assert done.code != 0
    assert says in " ".join(done.err.split())
    assert not list(tmp_path.iterdir())


@pytest.mark.long
def test_several_exams_in_one_tree(home: Path, tmp_path: Path, cli: Cli) -> None:
    data = write(simulated_tables(images=12, seed=3), tmp_path / "data", source="simulated")
    run_exam(RelationsExam(), candidate("size"), data, tmp_path / "runs" / "s")
    places, how = (home / "runs", tmp_path / "runs"), ("--out", tmp_path / "p.html", "--resamples", 100, "--json")
    mixed = cli("report", *places, *how)
    assert mixed.code == 0, mixed.err
    assert {part["exam"] for part in mixed.json["parts"]} == {"predicates", "relations"}
    for more in (("--data", data.path), ("--protocol", "paper")):  # what only one of them can take serves that one
        assert cli("report", *places, *more, *how).code == 0
    one = cli("report", *places, "--exam", "predicates", *how)
    assert one.code == 0, one.err
    assert [part["exam"] for part in one.json["parts"]] == ["predicates"]
    strange = write(simulated_tables(images=12, seed=4), tmp_path / "strange", source="simulated")
    refused = cli("report", *places, "--data", strange.path, *how)
    assert (refused.code, "was made on other data" in refused.err) == (2, True)
