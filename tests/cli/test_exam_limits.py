"""``sightline exam --limit``, the same in every exam; and what an interrupted one says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from exams.turing.turing_toy import toy_scenes, toy_vocabulary
from sightline.exams.run import Run

Cli = Callable[..., Any]
Words = Callable[[str], tuple[object, ...]]

STOPPING = """
from pathlib import Path
import numpy as np
from sightline.skills import Verdicts

class Slow:
    asked = 0
    def predicates(self, queries):
        stop = Path(__file__).with_name("stop")
        if stop.exists() and self.asked == int(stop.read_text()):
            raise KeyboardInterrupt
        self.asked += 1
        return Verdicts(np.zeros((len(queries), len(queries), 8), dtype=int))
"""


@pytest.fixture(scope="module")
def words(generated: Path, simulated: Path, tmp_path_factory: pytest.TempPathFactory) -> Words:
    """The words of a small sitting of an exam, two runs each."""
    from sightline.exams.turing.vocabulary.files import dump_vocabulary
    from sightline.store import write_scenes

    home = tmp_path_factory.mktemp("toys")
    for name, count in {"train": 100, "test": 8}.items():
        write_scenes(toy_scenes(count, seed=count, split=name), home / name, source="toy")
    (home / "toy.yaml").write_text(dump_vocabulary(toy_vocabulary()))
    streams = ("--vocabulary", home / "toy.yaml", "--min-support", 10, "--questions", 5, "--streams", 2)
    chosen: dict[str, tuple[object, ...]] = {
        "relations": ("--data", simulated, "--model", "size", "--model", "location"),
        "predicates": ("--data", generated, "--model", "shape_prior", "--model", "size_prior"),
        "turing": (
            "--data",
            home / "test",
            "--train",
            home / "train",
            *streams,
            "--model",
            "coin",
            "--model",
            "always_yes",
        ),
    }
    return lambda exam: ("exam", exam, *chosen[exam], "--no-baselines", "--json")


def told(document: dict[str, Any]) -> list[dict[str, Any]]:
    """The scores of all models, without where they lie and when they were made."""
    left_out = ("run", "items_asked", "items_kept", "kept_from")
    return [{k: v for k, v in one.items() if k not in left_out} for one in document["models"]]


@pytest.mark.long
@pytest.mark.parametrize(
    ("exam", "made", "workers"),
    [
        ("relations", 4, 0),
        ("predicates", 4, 0),
        ("turing", 8, 0),
        ("relations", 4, 1),  # workers are the same for all exams
    ],
)
def test_a_smaller_limit_scores_what_is_asked_for(
    cli: Cli, words: Words, tmp_path: Path, exam: str, made: int, workers: int
) -> None:
    how = ("--workers", workers)
    fresh = cli(*words(exam), "--limit", 2, "--out", tmp_path / "fresh", *how).json
    larger = cli(*words(exam), "--limit", 4, "--out", tmp_path / "runs", *how).json
    again = cli(*words(exam), "--limit", 2, "--out", tmp_path / "runs", *how).json
    assert told(again) == told(fresh) != told(larger)
    assert again.get("monitor") == fresh.get("monitor")
    for one in again["models"]:
        assert Run.open(Path(one["run"])).records()["item"].n_unique() == made  # the others stay
    assert told(cli(*words(exam), "--limit", 4, "--out", tmp_path / "runs", *how).json) == told(larger)


def test_what_a_limit_leaves_out_is_not_said_to_be_missing_in_the_data(
    cli: Cli, simulated: Path, tmp_path: Path
) -> None:
    words = ("exam", "relations", "--data", simulated, "--model", "size", "--no-baselines", "--out", tmp_path / "r")
    said = "Not scored, since not all items were asked, or the data has no such labels: depth across two images."
    for more, there in ((("--limit", 2), True), ((), False), (("--limit", 2), True)):
        assert (said in cli(*words, *more).out) == there


@pytest.mark.parametrize("exam", ["relations", "predicates", "turing"])
def test_nobody_is_asked_nothing(cli: Cli, words: Words, tmp_path: Path, exam: str) -> None:
    refused = cli(*words(exam), "--limit", 0, "--out", tmp_path / "runs")
    assert (refused.code, "'--limit'" in refused.err) == (2, True)
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("stop", "says"),
    [
        (2, "the same command goes on where it was"),  # two scenes are answered
        (0, "goes on from the start, nothing was answered yet"),  # none is
    ],
)
def test_an_interrupted_exam_says_how_to_go_on(
    cli: Cli, generated: Path, tmp_path: Path, stop: int, says: str
) -> None:
    (tmp_path / "own.py").write_text(STOPPING)
    (tmp_path / "stop").write_text(str(stop))
    asked = (
        "exam",
        "predicates",
        "--data",
        generated,
        "--no-baselines",
        "--model",
        f"{tmp_path / 'own.py'}:Slow",
        "--out",
        tmp_path / "runs",
        "--json",
    )
    stopped = cli(*asked)
    assert (stopped.code, stopped.out) == (130, "")
    assert says in stopped.err
    (tmp_path / "stop").unlink()
    whole = cli(*asked)
    assert (whole.json["status"], whole.json["n_scenes"]) == ("finished", 6)
    assert "interrupted" not in whole.err
