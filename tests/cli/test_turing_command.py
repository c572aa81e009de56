"""``sightline turing``: asking, writing a test, vocabularies, corpora, and a person who answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import sightline
from exams.turing.turing_toy import toy_scenes
from sightline.api import run_folders
from sightline.cli.demo_command import show_turing
from sightline.errors import ConfigError
from sightline.exams.run import Run
from sightline.exams.turing.estimate.estimator import NONE_MADE, Assumptions, named_assumptions
from sightline.exams.turing.vocabulary.files import load_vocabulary, parse_vocabulary
from sightline.generation import generate
from sightline.store import write_scenes

Cli = Callable[..., Any]
KEYS = {"step", "type", "text", "region", "p_yes", "support", "answer", "labels"}


@pytest.fixture
def first(generated: Path) -> str:
    return next(iter(sightline.open(generated))).id


def asked(cli: Cli, data: Path, image: str, *more: object) -> list[dict[str, Any]]:
    got = cli("turing", "ask", data, "--image", image, "--min-support", 2, "--json", *more)
    assert got.code == 0, got.err
    steps: list[dict[str, Any]] = got.json
    return steps


def test_ask_prints_the_fixed_json(cli: Cli, generated: Path, first: str) -> None:
    steps = asked(cli, generated, first)
    assert [s["step"] for s in steps] == [*range(1, len(steps) + 1)]
    assert len(steps) > 3
    for s in steps:
        assert s.keys() >= KEYS
        assert s["type"] in ("exist", "unique", "attribute", "relation")
        assert s["answer"] in ("yes", "no", "ambiguous")
        assert 0.35 - 1e-9 <= s["p_yes"] <= 0.65 + 1e-9
        assert s["support"] >= 2
        assert s["text"].endswith("?")
        if s["region"] is not None:
            assert s["type"] in ("exist", "unique")
            assert 0 <= s["region"][0] < s["region"][2] <= 1
            assert "designated region" in s["text"]
    searches = [s for s in steps if s["type"] in ("exist", "unique")]
    assert searches[0]["support"] <= 5  # six images, and the one asked about is not learned from
    given = [s["label"] for s in steps if s["label"]]
    assert steps[-1]["labels"] == given[: len(steps[-1]["labels"])]


def test_seeds_streams_and_lengths(cli: Cli, generated: Path, first: str) -> None:
    whole = asked(cli, generated, first)
    assert asked(cli, generated, first) == whole
    assert asked(cli, generated, first, "--questions", 3)[:2] == whole[:2]
    assert any(asked(cli, generated, first, "--seed", seed) != whole for seed in (1, 2))
    assert any(asked(cli, generated, first, "--stream", k) != whole for k in (1, 2))


def test_the_transcript_reads_as_in_the_paper(cli: Cli, generated: Path, first: str, tmp_path: Path) -> None:
    steps = asked(cli, generated, first)
    sheet = tmp_path / "new" / "story.png"
    got = cli("turing", "ask", generated, "--image", first, "--min-support", 2, "--save", sheet)
    assert got.code == 0, got.err
    assert "learned from 5 images" in got.out
    assert "designated" not in got.out
    for s in steps:
        assert f"{s['step']}.  Q: " in got.out
        if s["label"]:
            assert f"(Label this {s['label']})" in got.out
    if any(s["region"] for s in steps):
        assert " (A)" in got.out
    assert str(sheet) in got.err
    with Image.open(sheet) as picture:
        assert picture.width > 800


def test_a_corpus_learns_the_same(cli: Cli, generated: Path, first: str, tmp_path: Path) -> None:
    folder = tmp_path / "corpus"
    made = cli("turing", "corpus", generated, "--out", folder, "--json")
    assert made.json["images"] == 6
    assert asked(cli, generated, first, "--corpus", folder) != []
    other = tmp_path / "other"
    scenes = toy_scenes(2, seed=1, split="test")
    foggy = [replace(s, objects=tuple(replace(o, category="fog") for o in s.objects)) for s in scenes]
    write_scenes(foggy, other, source="toy")
    refused = cli("turing", "ask", other, "--image", scenes[0].id, "--corpus", folder)
    assert (refused.code, "no object belongs to a type" in refused.err) == (2, True)
    again = cli("turing", "corpus", generated, "--out", folder)
    assert again.code == 2
    assert cli("turing", "corpus", generated, "--out", folder, "--overwrite").code == 0


@pytest.mark.long
def test_a_written_test_and_its_key(cli: Cli, generated: Path, first: str, tmp_path: Path) -> None:
    train, out = tmp_path / "train", tmp_path / "hand"
    generate("geospa/train", train, scenes=6, views=["original"], seed=9, size=(96, 64), depth=None)
    words = ("--train", train, "--out", out, "--images", 2, "--streams", 2, "--min-support", 2)
    told = cli("turing", "write", generated, *words, "--json")
    assert told.code == 0, told.err
    key = Path(told.json["key"])
    assert key.parent == out.parent
    assert (told.json["images"], told.json["streams"]) == (2, 4)
    assert '"seed"' not in (out / "test.json").read_text()  # with it the engine could be run on
    lines = [json.loads(line) for line in (out / "questions.jsonl").read_text().splitlines()]
    assert len(lines) == told.json["questions"] > 0
    assert not {"answer", "p_yes", "truth", "object_id"} & {k for line in lines for k in line}
    rows = [json.loads(line) for line in key.read_text().splitlines()]
    kept = [row for row in rows if (row["scene_id"], row["stream"]) == (first, 0)]
    said = asked(cli, generated, first, "--train", train, "--operator", key)
    assert [s["answer"] for s in said] == [row["answer"] for row in kept]
    assert cli("turing", "write", generated, *words).code == 2  # there already
    assert cli("turing", "write", generated, *words, "--overwrite").code == 0


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--image", "nowhere"], "no such image"),  # another scene's id
        (["--image", "{first}x"], "did you mean"),  # nearly right
        (["--image", "{first}", "--assume", "forget_fact"], "did you mean 'forget_facts'"),  # misspelt
        (["--image", "{first}", "--assume", "negatives", "--no-assumptions"], "contradict"),  # both at once
        (["--image", "{first}", "--corpus", "c", "--vocabulary", "worlds"], "--corpus, or the others"),
        (["--image", "{first}", "--operator", "nobody"], "truth, terminal, web or file:FILE"),  # no such operator
        (["--image", "{first}", "--operator", "file:"], "truth, terminal, web or file:FILE"),  # which file?
        (["--image", "{first}", "--answers", "a.jsonl"], "--operator terminal or web"),  # no person
        (["--image", "{first}", "--save", "story.gif"], ".png, .jpg or .jpeg, found .gif"),  # no such picture
        (["--image", "{first}", "--save", "story"], "found no suffix"),  # nor this
        (["--image", "{first}", "--operator", "gone.jsonl"], "gone.jsonl"),  # no such file
        (["--image", "{first}", "--vocabulary", "urbn"], "did you mean 'urban'"),  # no such words
        (["--image", "{first}", "--view", "below"], "below"),  # no such view
        (["--image", "{first}", "--train-split", "winter"], "winter"),  # no such split
    ],
)
def test_bad_wishes_are_told(cli: Cli, generated: Path, first: str, words: list[str], told: str) -> None:
    got = cli("turing", "ask", generated, *(w.replace("{first}", first) for w in words))
    assert got.code == 2
    assert told in got.err
    assert got.out == ""


def test_vocabularies(cli: Cli, generated: Path) -> None:
    listed = cli("turing", "vocabulary", "--json").json
    assert {row["name"] for row in listed} >= {"urban", "worlds", "vrd", "vrd25"}
    assert "urban" in cli("turing", "vocabulary").out
    assert parse_vocabulary(cli("turing", "vocabulary", "urban").out) == load_vocabulary("urban")
    assert parse_vocabulary(cli("turing", "vocabulary", generated).out).types
    assert cli("turing", "vocabulary", "urban", "--counts").code == 2
    found = cli("turing", "vocabulary", generated, "--json").json
    assert found["images"] == 6
    for kind in found["types"]:
        assert all(sum(told.values()) == kind["objects"] for told in kind["attributes"].values())
    assert all(sum(told.values()) == found["pairs"] for told in found["relations"].values())
    shown = cli("turing", "vocabulary", generated, "--counts").out
    assert f"{found['types'][0]['objects']:,}" in shown


@pytest.mark.parametrize(
    ("words", "none", "made"),
    [
        ([], False, Assumptions()),  # all of them
        ([], True, NONE_MADE),  # none
        (["forget_facts,objects_pooled"], False, Assumptions(True, False, False, False, False, True, True)),
        (["-negatives"], False, Assumptions(negatives=False)),  # all but one
        (["forget_facts", "-negatives"], False, Assumptions(True, False, False, False, False, False, False)),
    ],
)
def test_assumptions(words: list[str], none: bool, made: Assumptions) -> None:
    assert named_assumptions(words, none=none) == made


def test_unknown_assumptions() -> None:
    with pytest.raises(ConfigError, match="no assumption 'nothing'"):
        named_assumptions(["nothing"])


@pytest.mark.long
def test_the_demo_asks_and_examines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs, story = show_turing(tmp_path, tmp_path / "runs", train=40, scenes=2, size="96x64", streams=1)
    assert story.exists()
    shown = capsys.readouterr().out
    for words in ("turing ask", "exam turing"):
        assert f"$ sightline {words}" in shown
    assert {Run.open(folder).name for folder in run_folders([runs])} >= {"always_yes", "always_no", "turing_engine"}
