"""``sightline exam``: whose answers a run holds, what models are called, which data they were asked about."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sightline as sl
from sightline.exams.registry import exam_names
from sightline.exams.run import Run
from sightline.store import write_scenes

Cli = Callable[..., Any]

MODEL = """
import numpy as np
from helpers import CODE
from sightline import Judgements

class M:
    def relate(self, pairs):
        import later
        return Judgements(np.full(len(pairs), later.same(CODE)), np.zeros(len(pairs), np.int8))
"""


class Constant:
    """Says the same of every pair."""

    name = "constant"

    def __init__(self, code: int) -> None:
        self.code, self.calls = code, 0

    def relate(self, pairs: sl.Pairs) -> sl.Judgements:
        self.calls += 1
        return sl.Judgements(np.full(len(pairs), self.code), np.zeros(len(pairs), np.int8))


def write_model(folder: Path, code: int) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "m.py").write_text(MODEL)
    (folder / "helpers.py").write_text(f"CODE = {code}\n")
    (folder / "later.py").write_text("def same(code): return code\n")
    return folder / "m.py"


@pytest.mark.parametrize("exam", exam_names())
@pytest.mark.parametrize(("model", "says"), [("botom_edge", "mean 'bottom_edge'"), ("m.py:M", "no such file")])
def test_a_model_that_is_not_there_is_found_before_data(
    cli: Cli, tmp_path: Path, exam: str, model: str, says: str
) -> None:
    """The data is not there either: nobody has looked."""
    said = cli("exam", exam, "--data", tmp_path / "nowhere", "--model", model, "--out", tmp_path / "runs")
    assert said.code == 2
    assert says in said.err
    assert not (tmp_path / "runs").exists()


@pytest.fixture(scope="module")
def labels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from sightline.exams.relations import simulate

    folder = tmp_path_factory.mktemp("labels")
    simulate(folder, images=8, seed=1)
    return folder


@pytest.fixture
def words(labels: Path, tmp_path: Path) -> list[object]:
    return [
        "exam",
        "relations",
        "--data",
        labels,
        "--no-baselines",
        "--limit",
        3,
        "--out",
        tmp_path / "runs",
        "--json",
    ]


def answers(run: str | Path) -> set[str]:
    return set(Run.open(Path(run)).records().filter(pl.col("aspect") == "depth")["answer"])


def test_a_changed_neighbour_is_asked_again_only_when_told(cli: Cli, words: list[object], tmp_path: Path) -> None:
    file = write_model(tmp_path / "own", 1)
    words += ["--model", f"{file}:M"]
    began = datetime.now(UTC) - timedelta(seconds=1)
    first = cli(*words)
    assert (first.json["items_asked"], first.json["items_kept"], first.json["kept_from"]) == (3, 0, None)
    assert "m.py:M: 3 items asked\n" in first.err
    again = cli(*words)
    assert (again.json["items_asked"], again.json["items_kept"]) == (0, 3)
    assert began <= datetime.fromisoformat(again.json["kept_from"]) <= datetime.now(UTC)
    assert re.search(r"m\.py:M: 0 items asked, 3 there already from \d{4}-\d\d-\d\d \d\d:\d\d\n", again.err)
    before = answers(first.json["run"])

    (tmp_path / "own" / "helpers.py").write_text("CODE = 2\n")
    refused = cli(*words)
    assert (refused.code, refused.out) == (2, "")
    assert "holds answers of m.py:M from 20" in refused.err
    assert "it has changed since" in refused.err
    assert "--overwrite asks everything again, --resume goes on" in refused.err
    kept = cli(*words, "--resume", "--limit", 4)
    assert (kept.json["items_asked"], kept.json["items_kept"]) == (1, 3)
    (earlier,) = Run.open(Path(first.json["run"])).manifest["resumed"]
    assert earlier["items"] == 3
    plain = cli(*words, "--limit", 4)
    assert plain.json["items_kept"] == 4  # the run is the new model's now
    assert "4 there already from 20" in plain.err
    assert ", 3 of these by an earlier state of the model\n" in plain.err
    (part,) = sl.report(tmp_path / "runs", resamples=100).parts
    assert any("3 of its items were answered by an earlier state of the model" in words for words in part.warnings)
    over = cli(*words, "--overwrite")
    assert (over.json["items_asked"], over.json["items_kept"]) == (3, 0)
    assert not answers(over.json["run"]) & before
    both = cli(*words, "--overwrite", "--resume")
    assert (both.code, "exclude each other" in both.err) == (2, True)


def test_workers_say_it_too(cli: Cli, words: list[object], tmp_path: Path) -> None:
    words += ["--model", f"{write_model(tmp_path / 'own', 1)}:M", "--workers", 1, "--name", "mine"]
    first = cli(*words)
    assert [first.json[key] for key in ("items_asked", "items_kept")] == [3, 0]
    again = cli(*words)
    assert [again.json[key] for key in ("model", "items_asked", "items_kept")] == ["mine", 0, 3]


def test_a_run_without_an_answer_is_nobodys(cli: Cli, words: list[object], tmp_path: Path) -> None:
    file = write_model(tmp_path / "own", 1)
    (tmp_path / "own" / "later.py").write_text("def same(code): raise ValueError('a mistake')\n")
    words += ["--model", f"{file}:M"]
    assert "a mistake" in cli(*words).err
    (tmp_path / "own" / "later.py").write_text("def same(code): return code\n")
    assert cli(*words).json["items_asked"] == 3  # mended, without any option


def test_an_object_whose_attribute_has_changed(labels: Path, tmp_path: Path) -> None:
    how: dict[str, Any] = {"out": tmp_path, "baselines": False, "limit": 3}
    model = Constant(1)
    first = sl.examine(model, labels, "relations", **how)
    assert "constant: 3 items asked" in str(first)
    assert model.calls == 3
    (again,) = sl.examine(model, labels, "relations", **how)  # it has counted, and is the same model
    assert again.asking is not None
    assert (model.calls, again.asking.asked, again.asking.kept) == (3, 0, 3)
    assert sl.examine(Constant(1), labels, "relations", **how)[0].asking == again.asking
    with pytest.raises(sl.ConfigError, match="has changed since"):
        sl.examine(Constant(2), labels, "relations", **how)
    model.code = 2
    with pytest.raises(sl.ConfigError, match="has changed since"):
        sl.examine(model, labels, "relations", **how)
    over = sl.examine(model, labels, "relations", overwrite=True, **how)
    assert model.calls == 6
    assert over[0].scores.to_dict() != first[0].scores.to_dict()


def test_an_object_of_a_console_is_taken_up_only_when_told(labels: Path, tmp_path: Path) -> None:
    typed: dict[str, Any] = {"__name__": "console", "np": np, "sl": sl}
    exec(
        "class Typed:\n    calls = 0\n    def relate(self, pairs):\n        Typed.calls += 1\n"
        "        return sl.Judgements(np.ones(len(pairs), np.int8), np.zeros(len(pairs), np.int8))\n",
        typed,
    )
    how: dict[str, Any] = {"out": tmp_path, "baselines": False}
    kind = typed["Typed"]
    sl.examine(kind(), labels, "relations", limit=2, **how)
    for limit in (None, 2):  # unfinished, and as far as it was asked for
        with pytest.raises(sl.ConfigError, match=r"cannot be told .* source of Typed cannot be seen"):
            sl.examine(kind(), labels, "relations", limit=limit, **how)
    assert kind.calls == 2
    (kept,) = sl.examine(kind(), labels, "relations", limit=3, resume=True, **how)
    assert (kind.calls, kept.asking and kept.asking.kept) == (3, 2)
    sl.examine(kind(), labels, "relations", limit=3, overwrite=True, **how)
    assert kind.calls == 6


def test_neighbours_of_the_same_name_are_kept_apart(cli: Cli, words: list[object], tmp_path: Path) -> None:
    for name, code in {"a": 1, "b": 2}.items():
        words += ["--model", f"{write_model(tmp_path / name, code)}:M", "--name", name]
    (tmp_path / "a" / "later.py").write_text("from helpers import CODE\ndef same(code): return CODE\n")
    a, b = cli(*words).json["models"]
    assert [one["model"] for one in (a, b)] == ["a", "b"]
    assert answers(a["run"]) != answers(b["run"])
    assert a["scores"] != b["scores"]


@pytest.mark.parametrize("spelling", ["m.py:M", "./m.py:M", "../own/m.py:M", "{}/m.py:M"])
def test_two_spellings_of_a_path_are_one_run(
    cli: Cli, words: list[object], tmp_path: Path, spelling: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_model(tmp_path / "own", 1)
    monkeypatch.chdir(tmp_path / "own")
    run = cli(*words, "--model", "m.py:M").json["run"]
    again = cli(*words, "--model", spelling.format(tmp_path / "own")).json
    assert (again["run"], again["items_kept"], Run.open(Path(run)).spec) == (run, 3, "m.py:M")


def test_names(cli: Cli, words: list[object], tmp_path: Path) -> None:
    done = cli(*words, "--model", "size", "--name", "larger is closer", "--model", "size", "--name", "again").json
    assert [one["model"] for one in done["models"]] == ["larger is closer", "again"]
    assert Path(done["run"]).name.startswith("larger-is-closer")
    shown = cli(*[word for word in words if word != "--json"], "--model", "size", "--name", "again")
    assert "again" in shown.out
    assert "again: 0 items asked, 3 there already" in shown.err
    few = cli(*words, "--model", "size", "--model", "location", "--name", "one")
    assert (few.code, "1 name for 2 models: give --name once for each --model, in the same order" in few.err) == (
        2,
        True,
    )
    twice = cli(*words, "--model", "size", "--name", "x", "--model", "location", "--name", "x")
    assert (twice.code, "two models are called 'x'" in twice.err) == (2, True)
    assert "--name must not be empty" in cli(*words, "--model", "size", "--name", "").err


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("vlm:tiny", "did you mean 'hf:tiny'?"),
        ("vlm:org/name", "did you mean 'hf:org/name'?"),
        ("huggingface:org/name", "did you mean 'hf:org/name'?"),
        ("org/name", "did you mean 'hf:org/name'?"),
        ("gpt:gpt-4o", "did you mean 'openai:gpt-4o,url=BASE_URL'?"),
        ("ollama:llava", "did you mean 'openai:llava,url=http://localhost:11434/v1'?"),
        ("openai:http://localhost:1/v1", "Name it behind the address: BASE_URL#MODEL"),
        ("http://localhost:8000/answer", "did you mean 'http:url=http://localhost:8000/answer'?"),
        ("https://example.org/answer", "did you mean 'http:url=https://example.org/answer'?"),
        ("http:localhost:8000", "did you mean 'http:url=http://localhost:8000'?"),
        ("depth:maps", "did you mean 'depth:folder=maps'?"),
        ("predictions:p.csv", "did you mean 'predictions:path=p.csv'?"),
        ("siz", "did you mean 'size'?"),
        ("size:margin", "expected option=value, found 'margin'"),
    ],
)
def test_the_right_spelling_is_suggested(cli: Cli, words: list[object], spec: str, says: str) -> None:
    refused = cli(*words, "--model", spec)
    assert (refused.code, refused.out) == (2, "")
    assert says in refused.err


def test_a_suggestion_repeats_no_secret(cli: Cli, words: list[object]) -> None:
    refused = cli(*words, "--model", "https://example.org/answer?token=hunter2")
    assert "did you mean 'http:url=https://example.org/answer?" in refused.err
    assert "hunter2" not in refused.err


def test_another_word_for_a_split(cli: Cli, words: list[object]) -> None:
    words += ["--model", "size"]
    val, whole = (cli(*words, "--split", name).json for name in ("val", "validation"))
    assert (val["run"], val["options"]["split"], whole["items_kept"]) == (whole["run"], "validation", 3)
    for given, meant in {"tset": "test", "vali": "validation"}.items():
        near = cli(*words, "--split", given)
        assert (near.code, f"no such split, did you mean {meant!r}? (expected " in near.err) == (2, True)
    trained = cli(*words, "--train-split", "val", "--model", "size_tuned")
    assert trained.json["options"]["train_split"] == "validation"


@pytest.mark.parametrize("split", ["val", "mine"])
def test_the_only_split_is_the_default(labels: Path, tmp_path: Path, split: str) -> None:
    scenes = [replace(scene, split=split) for scene in sl.open(labels).scenes("test")]
    write_scenes(scenes, tmp_path / "data", source="toy")
    (result,) = sl.examine("size", tmp_path / "data", "relations", out=tmp_path / "runs", baselines=False, limit=2)
    assert result.run.options["split"] == split


def test_runs_find_their_data_from_elsewhere(
    cli: Cli, labels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(labels.parent)
    words = ("exam", "relations", "--data", labels.name, "--no-baselines", "--model", "size", "--json")
    run = cli(*words, "--out", tmp_path / "runs", "--limit", 3).json["run"]
    manifest = json.loads((Path(run) / "manifest.json").read_text())
    assert (manifest["data"], manifest["data_absolute"]) == (labels.name, str(labels))
    (tmp_path / labels.name).mkdir()  # something else of that name
    monkeypatch.chdir(tmp_path)
    shown = cli("report", tmp_path / "runs", "--out", tmp_path / "r.html")
    assert shown.code == 0, shown.err
    assert sl.score(run, protocol="official").scores.figures


def test_limited_runs_are_compared_and_reported(cli: Cli, words: list[object], tmp_path: Path) -> None:
    words += ["--model", "size", "--model", "location"]
    a, b = (one["run"] for one in cli(*words).json["models"])
    made = cli("compare", a, b, "--json").json
    names = [row["name"] for row in made["comparisons"]]
    assert len(names) == len(set(names))
    assert all(name == name.strip() for name in names)
    assert {"within_image depth", "within_image depth, closer"} <= set(names)
    assert made["apart"]["model"] == {"a": "size", "b": "location"}
    assert "model: size / location" in cli("compare", a, b).out
    page = cli("report", tmp_path / "runs", "--out", tmp_path / "r.html")
    assert page.code == 0, page.err
    text = (tmp_path / "r.md").read_text()
    assert "Only 3 of 16 items were asked, by a limit" in text
    assert "unfinished" not in text
    assert "No finished run" not in text
    assert re.search(r"(size|location).* reaches", text)


def test_what_tells_two_runs_of_one_model_apart(cli: Cli, words: list[object], tmp_path: Path) -> None:
    one = cli(*words, "--model", "class_prior").json["run"]
    other = cli(*words, "--model", "class_prior", "--study", "joint", "--out", tmp_path / "other").json["run"]
    manifest = json.loads((Path(one) / "manifest.json").read_text()) | {"answered": "2020-01-01T00:00:00+00:00"}
    (Path(one) / "manifest.json").write_text(json.dumps(manifest))
    apart = cli("compare", one, other, "--json").json["apart"]
    assert apart["option study"] == {"a": "same", "b": "joint"}
    assert apart["when"]["a"].startswith("2020")
    assert apart["run"] == {"a": one, "b": other}
    assert "model" not in apart
    assert re.search(r"^  when: (2020|2019)-.* / 20", cli("compare", one, other).out, re.MULTILINE)
