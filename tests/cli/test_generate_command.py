"""``sightline generate``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

import sightline
from sightline.cli.generate_command import command
from sightline.errors import ConfigError

APP = typer.Typer()
APP.command()(command)
SMALL = ["--size", "48x32", "--workers", "0"]


def _run(*words: object) -> str:
    result = CliRunner().invoke(APP, list(map(str, words)), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_a_dataset_and_its_summary(tmp_path: Path) -> None:
    words = ("geospa/train", "--scenes", 2, "--views", "original,top", "--seed", 3, "--out", tmp_path / "d", *SMALL)
    told = json.loads(_run(*words, "--json"))
    data = sightline.open(tmp_path / "d")
    assert told | {"seconds": 0} == {
        "dataset": str(tmp_path / "d"),
        "scenes": 2,
        "made": 2,
        "seconds": 0,
        "fingerprint": data.fingerprint,
    }
    [first, _] = data
    assert first.id == "geospa/train/3/00000000"
    assert [(view.id, view.size) for view in first.views] == [("original", (48, 32)), ("top", (48, 32))]
    again = _run(*words)
    assert "2 scenes, fingerprint" in again  # nothing made, so no speed
    assert "2 scenes there already" not in again  # that is a note, on standard error
    more = _run(*[3 if word == 2 else word for word in words])
    assert "3 scenes, " in more
    assert "a second" in more


def test_a_world_file(tmp_path: Path) -> None:
    (tmp_path / "two.yaml").write_text("objects: [2, 2]\nshapes: [cube, cylinder]\nresolution: [40, 30]\n")
    _run(
        tmp_path / "two.yaml",
        "--scenes",
        1,
        "--format",
        "webp",
        "--depth",
        "none",
        "--out",
        tmp_path / "d",
        "--workers",
        0,
    )
    [scene] = sightline.open(tmp_path / "d")
    assert {o.category for o in scene.objects} <= {"cube", "cylinder"}
    assert scene.views[0].size == (40, 30)
    assert scene.views[0].image_ref is not None
    assert scene.views[0].image_ref.endswith(".webp")
    assert scene.views[0].load_depth is None


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["geospa/train", "--views", "original,left"], "no view 'left': choose from original, side_1"),
        (["geospa/none"], "has no split 'none'"),
        (["nothing.yaml"], "no world file nothing.yaml"),
        (["geospa/train", "--size", "big"], "--size 'big': expected width and height"),
        (["geospa/train", "--format", "gif"], "unknown image format 'gif'"),
        (["geospa/train", "--sensor", "x"], "unknown sensor 'x'; there are none, phone, webcam"),
    ],
)
def test_bad_options(tmp_path: Path, words: list[str], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        _run(*words, "--scenes", 1, "--out", tmp_path / "d", "--workers", 0)
    assert list(tmp_path.iterdir()) == []


def test_canonical_views(tmp_path: Path) -> None:
    from sightline.generation import canonical_of

    _run("geospa/train", "--scenes", 1, "--canonical", 2, "--out", tmp_path / "d", *SMALL)
    data = sightline.open(tmp_path / "d")
    [scene] = data
    assert canonical_of(data, scene.objects[0]).shape == (2, 32, 32, 3)


def test_ctrl_c(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("sightline.generation.run.generate", interrupted)
    kept = f"finished scenes are kept in {tmp_path}; the same command goes on"
    for folder, word in ((tmp_path / "none", "no scene was finished"), (tmp_path, kept)):
        with pytest.raises(KeyboardInterrupt):
            command("geospa/train", folder, 1)
        assert capfd.readouterr().err == f"interrupted: {word}\n"
