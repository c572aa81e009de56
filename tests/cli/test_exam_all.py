"""``sightline exam all``, and what the exams' sub-commands share: options, data opened once, broken pictures."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Cli = Callable[..., Any]

OWN = """
import numpy as np
from sightline.skills import Judgements, Verdicts

class Able:
    views = ("original",)

    def relate(self, pairs):
        return Judgements(np.ones(len(pairs), np.int8), np.zeros(len(pairs), np.int8))

    def predicates(self, queries):
        for view in queries.views:
            view.image()
        return Verdicts(np.zeros((len(queries), len(queries), 8), dtype=int))

    def answer(self, asked):
        return "yes"
"""


@pytest.fixture
def able(tmp_path: Path) -> str:
    """The spec of a model that can take every exam."""
    (tmp_path / "own.py").write_text(OWN)
    return f"{tmp_path / 'own.py'}:Able"


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Enough small scenes for every exam."""
    from sightline.generation import generate

    folder = tmp_path_factory.mktemp("worlds") / "d"
    generate("geospa/train", folder, scenes=120, seed=5, size=(48, 32), depth=None, canonical=1)
    return folder


@pytest.mark.long
def test_every_exam(cli: Cli, worlds: Path, able: str, tmp_path: Path) -> None:
    words = ("exam", "all", "--data", worlds, "--model", able, "--limit", 3, "--out", tmp_path / "runs")
    done = cli(*words, "--json")
    assert done.code == 0, done.err
    assert [one["exam"] for one in done.json] == ["relations", "predicates", "turing", "context"]
    for one in done.json:
        assert [entry["model"] for entry in one["models"]] == ["own.py:Able"]
        assert one["baselines"]
        for entry in (*one["models"], *one["baselines"].values()):
            assert list(entry)[:5] == ["model", "run", "status", "options", "scores"]
            assert Path(entry["run"]).parent == tmp_path / "runs" / one["exam"]
    assert done.json[2]["options"]["halves"] is True  # there is nothing else to learn from
    apart = cli(*words[:-1], tmp_path / "apart", "--workers", 2, "--no-baselines", "--json")
    assert apart.code == 0, apart.err
    assert [one["models"][0]["scores"] for one in apart.json] == [one["models"][0]["scores"] for one in done.json]
    shown = cli(*words)
    assert shown.code == 0
    for word in (
        "2.5D relations",
        "Geometric predicates",
        "Turing test",
        "Context",
        "best without looking",
        "weakest point",
    ):
        assert word in shown.out
    assert "sightline report" in shown.err
    card = cli("report", tmp_path / "runs", "--out", tmp_path / "card.html", "--resamples", 100, "--json")
    assert card.code == 0, card.err
    assert {part["exam"] for part in card.json["parts"]} == {"relations", "predicates", "turing", "context"}
    same = cli("compare", tmp_path / "runs", tmp_path / "runs", "--resamples", 100, "--json")
    assert same.code == 0, same.err
    assert len(same.json["pairs"]) == sum(len(one["baselines"]) + 1 for one in done.json)
    assert same.json["unmatched"] == {}


@pytest.mark.long
def test_what_to_learn_from(cli: Cli, worlds: Path, tmp_path: Path) -> None:
    train = Path(shutil.copytree(worlds, tmp_path / "train"))
    words = ("--model", "coin", "--limit", 1, "--no-baselines", "--out", tmp_path / "runs", "--json")
    done = cli("exam", "all", "--data", worlds, "--train", train, *words)
    assert (done.code, "would be learned from" in done.err) == (0, True)  # a copy is the same data
    assert [one["exam"] for one in done.json] == ["context"]  # which learns nothing


def test_why_not_is_said(cli: Cli, simulated: Path, tmp_path: Path) -> None:
    words = ("exam", "all", "--data", simulated, "--no-baselines", "--limit", 3, "--out", tmp_path / "runs")
    for more in ((), ("--json",)):
        done = cli(*words, "--model", "size", "--model", "coin", *more)
        assert done.code == 0
        assert "note: coin: the exam needs the skill 'relate'" in done.err
        for exam in ("predicates", "turing"):
            assert f"note: {exam} was not taken: " in done.err
    assert [one["exam"] for one in done.json] == ["relations"]
    refused = cli(*words, "--model", "coin")
    assert (refused.code, "no exam can be taken" in refused.err) == (2, True)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("exam", "relation"), "Did you mean 'relations'"),  # a misspelt exam
        (("exam", "all", "--data", "x"), "Missing option '--model'"),
        (("exam", "all", "--model", "size"), "Missing option '--data'"),
        (("exam", "all", "--data", "x", "--model", "size", "--boxes", "detected"), "No such option: --boxes"),
        (("exam", "predicates", "--split-of"), "No such option: --split-of (Possible options: --split)"),
        (("exam", "turing", "--strems", "2"), "No such option: --strems (Possible options: --resume, --streams)"),
        (("exam", "relations", "--boxes", "detcted"), "'detcted' is not one of 'truth', 'detected', 'perfect'"),
        (("exam", "turing", "--streams", "0"), "should be greater than or equal to 1"),
    ],
)
def test_what_nobody_knows(cli: Cli, words: tuple[str, ...], says: str) -> None:
    refused = cli(*words)
    assert refused.code == 2
    assert says in " ".join(refused.err.replace("│", " ").split())


@pytest.mark.parametrize("exam", ["relations", "predicates", "turing", "all"])
def test_help_names_the_options_of_the_exam(cli: Cli, exam: str) -> None:
    own = {"relations": "--boxes", "predicates": "--views", "turing": "--streams", "all": "--train"}
    shown = cli("exam", exam, "--help")
    assert shown.code == 0
    assert own[exam] in shown.out
    others = {"--boxes", "--views", "--streams"} - {own[exam]}
    assert not [option for option in others if option in shown.out]
    listed = cli("exam", "--help")
    assert all(name in listed.out for name in own)


def test_data_is_opened_once(cli: Cli, simulated: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sightline.exams.relations import pairs
    from sightline.generation import open as opening

    opened: Counter[str] = Counter()
    made: Counter[tuple[str, str]] = Counter()
    open_dataset, pair_table = opening.open_dataset, pairs.pair_table

    def counted_open(path: Path, **how: Any) -> Any:
        opened[str(path)] += 1
        return open_dataset(path, **how)

    def counted_table(tables: Any, setting: Any, split: str) -> Any:
        made[setting, split] += 1
        return pair_table(tables, setting, split)

    monkeypatch.setattr(opening, "open_dataset", counted_open)
    monkeypatch.setattr(pairs, "pair_table", counted_table)
    done = cli("exam", "relations", "--data", simulated, "--out", tmp_path / "runs", "--json")
    assert len(done.json["baselines"]) == 11
    assert opened == {str(simulated): 1}
    assert made == {(s, p): 1 for s in ("within_image", "across_images") for p in ("test", "validation")}


def test_a_broken_picture_is_listed(cli: Cli, worlds: Path, able: str, tmp_path: Path) -> None:
    import sightline

    data = sightline.open(Path(shutil.copytree(worlds, tmp_path / "d")))
    scene = list(data)[2]
    data.blobs.locate(str(scene.views[0].image_ref)).write_bytes(b"no picture")
    words = ("exam", "predicates", "--data", data.path, "--model", able, "--no-baselines", "--limit", 4)
    for more in (("--json",), ()):
        done = cli(*words, "--out", tmp_path / "runs", *more)
        assert done.code == 0
        assert "note: own.py:Able: 1 scene left out, pictures cannot be read; the first: " in done.err
        if more:
            (entry,) = done.json["models"]
            assert list(entry["broken"]) == [scene.id]
            assert entry["scores"]["n_scenes"] == 3


def test_two_specs_and_one_model_twice(cli: Cli, simulated: Path, tmp_path: Path) -> None:
    words = ("exam", "relations", "--data", simulated, "--no-baselines", "--limit", 2, "--out", tmp_path / "runs")
    done = cli(*words, "--model", "size", "--model", "size", "--model", "size:margin=0.1", "--json")
    assert done.code == 0, done.err
    assert len(done.json["models"]) == len({entry["run"] for entry in done.json["models"]}) == 2
