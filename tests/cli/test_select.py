"""Choosing scenes by the classes in them on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import sightline
from sightline.cli import app
from sightline.generation import generate


@pytest.fixture(scope="module")
def streets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("streets") / "d"
    generate("context/street/train", folder, scenes=8, size=(96, 64), seed=0)
    return folder


def run(*words: object, code: int = 0) -> str:
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == code, (result.output, result.exception)
    return result.stdout if code == 0 else str(result.exception)


def test_streets_by_company(streets: Path, tmp_path: Path) -> None:
    three = ("--stuff", "--classes", "car,road,sidewalk")
    chosen: dict[str, set[str]] = {}
    for company in ("full", "cooccur", "single"):
        told = json.loads(
            run("select", streets, "--out", tmp_path / company, "--company", company, *three, "--json")
        )
        made = sightline.open(tmp_path / company)
        chosen[company] = {scene.id for scene in made}
        assert (told["scenes"], told["of"]) == (len(made), 8)
    assert chosen["cooccur"] | chosen["single"] == chosen["full"]
    kinds = {scene.category for scene in sightline.open(tmp_path / "single")}
    assert kinds <= {"lane", "path", "meadow"}
    assert {s.category for s in sightline.open(tmp_path / "cooccur")} <= {"traffic", "highway", "quiet"}


def test_scenes_with_a_car_can_still_be_made_without_it(streets: Path, tmp_path: Path) -> None:
    run("select", streets, "--out", tmp_path / "cars", "--with", "car")
    run("select", streets, "--out", tmp_path / "rest", "--without", "car")
    cars, rest = (sightline.open(tmp_path / name) for name in ("cars", "rest"))
    assert len(cars) + len(rest) == 8
    assert all("car" not in {o.category for o in scene.objects} for scene in rest)
    first = next(iter(cars))
    assert "car" not in {o.category for o in first.without(category="car").objects}


def test_a_split_is_known_by_its_other_names(streets: Path, tmp_path: Path) -> None:
    told = json.loads(run("select", streets, "--out", tmp_path / "d", "--split", "training", "--json"))
    assert told["scenes"] == 8  # the data calls it train


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--with", "cra"], "no object is a 'cra', did you mean 'car'"),
        (["--classes", "cat"], "is a 'cat'"),
        (["--company", "out-of-context"], "go together"),
        (["--learned", "."], "go together"),
        (["--with", "car", "--without", "car"], "no scene of"),
        (["--split", "no"], "has no split 'no'"),
    ],
)
def test_what_cannot_be_chosen_is_refused(streets: Path, tmp_path: Path, words: list[str], said: str) -> None:
    assert said in run("select", streets, "--out", tmp_path / "d", *words, code=1)
    assert not (tmp_path / "d").exists()


def test_out_of_context(streets: Path, tmp_path: Path) -> None:
    learned = ("--company", "out-of-context", "--learned", streets, "--usual", "0.6")
    run("select", streets, "--out", tmp_path / "odd", *learned, "--stuff", "--classes", "car,road,sidewalk")
    # five of seven cars stand on a road, and five of six sidewalks have one beside them
    assert [scene.category for scene in sightline.open(tmp_path / "odd")] == ["meadow", "path", "meadow"]
