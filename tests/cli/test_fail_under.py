"""``exam --fail-under``: the exit code of a model that falls short, and figures that nobody has."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sightline.exams.run import Run

Cli = Callable[..., Any]


@pytest.fixture
def words(generated: Path, tmp_path: Path) -> tuple[object, ...]:
    where = ("--data", generated, "--out", tmp_path / "r", "--no-baselines")
    return ("exam", "predicates", "--model", "shape_prior", *where)


def test_who_falls_short_is_said_and_told_by_the_exit_code(cli: Cli, words: tuple[object, ...]) -> None:
    short = cli(*words, "--fail-under", "scene_accuracy.all=0.99,f1=0.98")
    assert short.code == 1
    assert "predicates: shape_prior is below --fail-under scene_accuracy.all=0.99: 0." in short.err
    assert "is below --fail-under f1=0.98: 0." in short.err
    assert "6 scenes asked\n" in short.err  # the first of them to see whether the figures are known
    assert cli(*words, "--fail-under", "scene_accuracy=0.1").code == 0


@pytest.mark.parametrize("overwrite", [False, True])
def test_what_is_asked_to_know_the_figures_is_counted_once(
    cli: Cli, words: tuple[object, ...], *, overwrite: bool
) -> None:
    cli(*words, "--limit", 2)
    more = ("--overwrite",) if overwrite else ()
    told = cli(*words, "--fail-under", "f1=0.1", "--json", *more).json["models"][0]
    assert (told["items_asked"], told["items_kept"]) == ((6, 0) if overwrite else (4, 2))


def test_a_figure_that_nobody_has_is_refused_after_one_item(
    cli: Cli, words: tuple[object, ...], tmp_path: Path
) -> None:
    refused = cli(*words, "--fail-under", "f2.all=0.9")
    assert refused.code == 2
    assert "the predicates exam has no figure 'f2.all'" in refused.words
    (folder,) = (tmp_path / "r" / "predicates").iterdir()
    assert Run.open(folder).records()["item"].n_unique() == 1


@pytest.mark.parametrize("text", ["f1", "f1=high", "=0.5"])
def test_what_is_no_threshold_is_refused_before_anybody_is_asked(
    cli: Cli, words: tuple[object, ...], tmp_path: Path, text: str
) -> None:
    assert cli(*words, "--fail-under", text).code == 2
    assert not (tmp_path / "r").exists()
