"""People and the proctor on the command line: operators, photos, written tests put, agreement, the human score."""

from __future__ import annotations

import io
import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PIL import Image

import sightline
from exams.turing.turing_toy import toy_scenes, toy_vocabulary
from sightline.cli.turing_command import guessable_seed
from sightline.exams.turing.vocabulary.files import dump_vocabulary
from sightline.scenes import Scene
from sightline.store import write_scenes

Cli = Callable[..., Any]
FEW = ("--min-support", 5, "--questions", 4)


def seen(scene: Scene) -> Scene:
    """The scene with a picture, which shows nothing."""
    pixels = np.full((80, 100, 3), 99, np.uint8)
    return replace(scene, views=(replace(scene.views[0], load_image=lambda: pixels),))


@pytest.fixture(scope="module")
def toys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folders ``train``, ``test`` and ``photos``, and the vocabulary ``toy.yaml``."""
    folder = tmp_path_factory.mktemp("toys")
    for split, n in (("train", 200), ("test", 4)):
        scenes = [seen(scene) for scene in toy_scenes(n, seed=len(split), split=split)]
        write_scenes(scenes, folder / split, source="toy")
    (folder / "toy.yaml").write_text(dump_vocabulary(toy_vocabulary()))
    (folder / "photos").mkdir()
    for i in range(2):
        Image.new("RGB", (60, 40), (60 * i, 120, 40)).save(folder / "photos" / f"p{i}.jpg")
    (folder / "photos" / "spoilt.jpg").write_bytes(b"no picture")
    return folder


@pytest.fixture
def typing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[str], None]:
    """Sets what is typed at the terminal, letter by letter; commands run in a folder of their own."""
    monkeypatch.chdir(tmp_path)
    return lambda letters: monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{c}\n" for c in letters)))


def learned(toys: Path) -> tuple[object, ...]:
    return "--train", toys / "train", "--vocabulary", toys / "toy.yaml", *FEW


def test_photos_are_asked_about_without_annotation(
    cli: Cli, toys: Path, typing: Callable[[str], None], tmp_path: Path
) -> None:
    words = ("turing", "ask", toys / "photos", "--image", "p0", *learned(toys), "--operator", "terminal")
    typing("nyn")
    got = cli(*words, "--answers", "a.jsonl", "--save", "story.jpg", "--json")
    assert got.code == 0, got.err
    assert [step["answer"] for step in got.json] == ["no", "yes", "no"]
    with Image.open(tmp_path / "story.jpg") as picture:
        assert picture.format == "JPEG"
    typing("n")
    got = cli(*words, "--answers", "a.jsonl", "--json")
    assert [step["answer"] for step in got.json] == ["no", "yes", "no", "no"]
    assert "3 answers of an earlier session" in got.err
    again = cli(*words[:-1], "file:a.jsonl", "--json")
    assert again.json == got.json
    other = cli(*words[:-1], "file:a.jsonl", "--seed", 4)
    assert (other.code, "seed 4" in other.err) == (2, True)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--image", "spoilt", "--train", "{train}", "--operator", "terminal"), "picture cannot be read"),
        (("--image", "p0", "--operator", "terminal"), "annotated images: --train DATA, or --corpus"),
        (("--image", "p0", "--train", "{train}", "--operator", "file:none.jsonl"), "none.jsonl"),
    ],
)
def test_photos_that_cannot_be_asked_about(
    cli: Cli, toys: Path, typing: Callable[[str], None], words: tuple[str, ...], told: str
) -> None:
    typing("n")
    named = [word.replace("{train}", str(toys / "train")) for word in words]
    got = cli("turing", "ask", toys / "photos", *named)
    assert (got.code, got.out) == (2, "")
    assert told in got.err


def test_an_exam_on_photos(cli: Cli, toys: Path, typing: Callable[[str], None]) -> None:
    words = ("exam", "turing", "--data", toys / "photos", *learned(toys), "--model", "always_no", "--no-baselines")
    typing("nynq")
    stopped = cli(*words, "--operator", "terminal", "--answers", "a.jsonl")
    assert stopped.code == 130
    assert "kept in a.jsonl" in stopped.err
    typing("nnnnnnnnnnnnnn")
    got = cli(*words, "--operator", "terminal", "--answers", "a.jsonl", "--json")
    assert got.code == 0, got.err
    assert "1 stream left out" in got.err  # the spoilt photo
    runs = [json.loads(line) for line in Path("a.jsonl").read_text().splitlines()]
    assert {row["scene_id"] for row in runs} == {"p0", "p1"}
    same = cli(*words, "--operator", "file:a.jsonl", "--json")
    assert same.code == 0, same.err
    assert same.json["accuracy"]["all"] == got.json["accuracy"]["all"]
    refused = cli(*words, "--operator", "terminal", "--workers", 2)
    assert (refused.code, "leave --workers out" in refused.err) == (2, True)


def test_a_test_written_by_a_person_is_put_by_a_proctor(
    cli: Cli, toys: Path, typing: Callable[[str], None], tmp_path: Path
) -> None:
    typing("n" * 30)
    words = ("turing", "write", toys / "photos", *learned(toys), "--operator", "terminal", "--out", "hand")
    wrote = cli(*words, "--withhold", "--deadline", 60, "--json")
    assert wrote.code == 0, wrote.err
    assert [*wrote.json["left_out"]] == ["spoilt"]
    assert 0.3 < wrote.json["reading_ahead"]["accuracy"] <= 1
    told = (tmp_path / "hand" / "test.json").read_text()
    assert "photos" not in told
    assert '"withhold": true' in told
    lines = [json.loads(line) for line in Path("hand/questions.jsonl").read_text().splitlines()]
    requests = [json.dumps({"get": "next"})]
    for _ in lines:  # ids are drawn: a client learns each from the question
        sys.stdin = io.StringIO("\n".join(requests))
        asked = cli("turing", "proctor", "hand", "--key", "hand.key.jsonl", "--stdin")
        question = json.loads(asked.out.splitlines()[-1])
        sys.stdin = io.StringIO(json.dumps({"id": question["id"], "answer": "no"}) + "\n")
        outcome = json.loads(cli("turing", "proctor", "hand", "--key", "hand.key.jsonl", "--stdin").out)
        assert (outcome["status"], "truth" in outcome) == ("accepted", False)
    assert outcome["done"]
    exam = ("exam", "turing", "--test", "hand", "--key", "hand.key.jsonl", "--no-baselines", "--json")
    scored = cli(*exam, "--model", "hand.log.jsonl")
    assert scored.code == 0, scored.err
    manifest = next(Path("runs/turing").glob("*/manifest.json"))
    assert json.loads(manifest.read_text())["identity"]["options"]["withhold"] is True  # as the test says
    assert scored.json["accuracy"]["all"]["value"] == 1.0  # all was answered no
    typing("y" * 30)
    person = cli(*exam, "--model", "human:name=bo")
    assert person.code == 0, person.err
    assert person.json["accuracy"]["all"]["value"] == 0.0
    for bad in (("--stdin", "--port", 4), ("--deadline", -1)):
        assert cli("turing", "proctor", "hand", "--key", "hand.key.jsonl", *bad).code == 2


def test_training_pictures_are_handed_out_when_told(cli: Cli, toys: Path, tmp_path: Path) -> None:
    words = ("turing", "write", toys / "test", *learned(toys), "--out", tmp_path / "h", "--training-pictures")
    got = cli(*words)
    assert got.code == 0, got.err
    assert "reads ahead" in got.out
    pictures = sorted(file.name for file in (tmp_path / "h" / "training" / "pictures").iterdir())
    assert pictures == [f"{i:06d}.png" for i in range(200)]
    for file in (tmp_path / "h").rglob("*"):  # nothing leads back to set, seed or file
        assert not file.is_file() or not any(name in file.read_bytes() for name in (b"toy/train", b"toy/test"))
    assert "toy/test" in (tmp_path / "h.key.jsonl").read_text()


def test_scenes_that_anybody_could_generate_are_known(toys: Path, generated: Path) -> None:
    data = sightline.open(generated)
    assert guessable_seed(data) == 5
    secret = SimpleNamespace(recipe={**(data.recipe or {}), "seed": 7_426_915_301})
    assert guessable_seed(secret) is None  # type: ignore[arg-type]
    assert guessable_seed(sightline.open(toys / "test")) is None


def test_two_operators(cli: Cli, toys: Path, typing: Callable[[str], None]) -> None:
    for name, letters in (("a", "nyn"), ("b", "nya"), ("c", "nya")):
        typing(letters)
        words = ("turing", "ask", toys / "photos", "--image", "p1", *learned(toys), "--operator", "terminal")
        assert cli(*words, "--answers", f"{name}.jsonl").code == 0
    found = cli("turing", "agree", "a.jsonl", "b.jsonl", "--json").json
    assert (found["shared"], found["agreement"]["value"]) == (3, pytest.approx(2 / 3))
    shown = cli("turing", "agree", "a.jsonl", "b.jsonl", "--out", "one.jsonl", "--settle", "file:c.jsonl")
    assert "no / ambiguous" in shown.out
    assert "1 question settled" in shown.err
    assert [json.loads(line)["answer"] for line in Path("one.jsonl").read_text().splitlines()][-1] == "ambiguous"
    typing("y")
    assert cli("turing", "agree", "a.jsonl", "b.jsonl", "--out", "two.jsonl", "--settle", "ask").code == 0
    for bad in (("--settle", "ask"), ("--settle", "never", "--out", "x")):
        assert cli("turing", "agree", "a.jsonl", "b.jsonl", *bad).code == 2


@pytest.mark.long
@pytest.mark.parametrize("who", ["operator", "human"])
def test_ctrl_c_ends_the_waiting_at_once(toys: Path, tmp_path: Path, who: str) -> None:
    """At a real terminal, where polars' handler of the signal would have the reading start again."""
    import pty

    data = [str(word) for word in ("--data", toys / "test", *learned(toys))]
    model = ["--operator", "terminal", "--model", "always_no"]
    if who == "human":
        model = ["--model", "human"]
    program, terminal = pty.fork()
    if program == 0:
        os.chdir(tmp_path)
        os.execv(sys.executable, [sys.executable, "-m", "sightline", "exam", "turing", *data, *model])
    shown, start = b"", time.monotonic()
    while b"uit: " not in shown and time.monotonic() < start + 60:
        if select.select([terminal], [], [], 0.2)[0]:
            shown += os.read(terminal, 4096)
    os.write(terminal, b"\x03")
    start = time.monotonic()
    while os.waitpid(program, os.WNOHANG)[0] == 0:
        assert time.monotonic() < start + 5, "still waiting"
        if select.select([terminal], [], [], 0.05)[0]:
            with suppress(OSError):
                shown += os.read(terminal, 4096)
    os.close(terminal)
    assert b"interrupted: nothing was answered yet" in shown


@pytest.mark.long
def test_the_client_of_the_docs_is_put_the_test_by_a_proctor_that_was_killed(
    cli: Cli, toys: Path, tmp_path: Path
) -> None:
    """Over HTTP: two answers, a kill, a second proctor at the same address, and the rest."""
    page = Path(__file__).parents[2] / "docs" / "howto" / "turing.md"
    client = next(b for b in page.read_text().split("```python\n")[1:] if "urllib" in b).partition("```")[0]
    (tmp_path / "client.py").write_text(client)
    assert cli("turing", "write", toys / "test", *learned(toys), "--out", tmp_path / "hand").code == 0
    token = {"SIGHTLINE_TOKEN": "a-token-of-the-tests"}
    words = ["turing", "proctor", "hand", "--key", "hand.key.jsonl"]

    def start() -> tuple[subprocess.Popen[str], str]:
        command = [sys.executable, "-m", "sightline", *words]
        how: dict[str, Any] = {"stdout": subprocess.PIPE, "text": True, "cwd": tmp_path, "env": os.environ | token}
        process = subprocess.Popen(command, stderr=subprocess.PIPE, **how)
        assert process.stdout is not None
        return process, process.stdout.readline().strip()

    first, url = start()
    loop = "for _ in range(2):\n    call('answer', {'id': call('next')['id'], 'answer': 'no'})\n"
    two = client.partition("while not")[0] + loop
    subprocess.run([sys.executable, "-c", two, url], check=True, timeout=60)
    first.kill()
    first.communicate()
    second, url = start()
    assert url.endswith("/a-token-of-the-tests/")
    subprocess.run([sys.executable, tmp_path / "client.py", url], check=True, timeout=60)
    _, said = second.communicate(timeout=60)
    assert second.returncode == 0, said
    asked = len((tmp_path / "hand" / "questions.jsonl").read_text().splitlines())
    rows = [json.loads(line) for line in (tmp_path / "hand.log.jsonl").read_text().splitlines()]
    assert [row["number"] for row in rows] == [*range(1, asked + 1)]
    assert f"{asked} answers in" in said
