"""The leaderboard, planning and thresholds: from runs on disk, by the library and by the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import counting_exam
import numpy as np
import pytest
import relations_runs
from typer.testing import CliRunner

import sightline as sl
from sightline.cli import app
from sightline.errors import ConfigError
from sightline.exams.relations import simulate
from sightline.exams.thresholds import Threshold, parse_threshold, shortfalls
from sightline.skills import Judgements, Pairs
from sightline.store.writer import write

RUNNER = CliRunner()


class Sometimes:
    """Judges by boxes, and in a share of its answers says the other thing; by seed."""

    def __init__(self, name: str, wrong: float) -> None:
        self.name, self.wrong = name, wrong

    def relate(self, pairs: Pairs) -> Judgements:
        lower = pairs.boxes_a[:, 3] > pairs.boxes_b[:, 3]
        rng = np.random.default_rng([len(pairs), int(1e6 * pairs.boxes_a.sum())])
        lower = np.where(rng.random(len(pairs)) < self.wrong, ~lower, lower)
        return Judgements(np.where(lower, 1, 2).astype(np.int8), np.zeros(len(pairs), np.int8))


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three models and the baselines on sixteen images."""
    folder = tmp_path_factory.mktemp("board")
    data = write(relations_runs.dataset(folder / "d", 16).tables(), folder / "d")
    models = [Sometimes("steady", 0.0), Sometimes("shaky", 0.5), Sometimes("alike", 0.02)]
    sl.examine(models, data, "relations", out=folder / "runs")
    return folder / "runs"


def invoke(*words: object) -> Any:
    return RUNNER.invoke(app, [str(word) for word in words])


def test_ranks_are_ranges_and_pairs_are_tested(runs: Path, tmp_path: Path) -> None:
    done = invoke("board", runs, "--out", tmp_path / "board.html", "--resamples", 200, "--json")
    assert done.exit_code == 0, done.output
    (exam,) = json.loads(done.stdout)["exams"]
    rows = {row["model"]: row for row in exam["rows"]}
    assert {"steady", "shaky", "alike", "bottom_edge"} <= set(rows)
    n = len(exam["rows"])
    assert all(1 <= row["ranks"][0] <= row["ranks"][1] <= n for row in rows.values())
    assert len(exam["pairs"]) == n * (n - 1) // 2
    for row in rows.values():  # who is better than another is not worse than it too
        assert not set(row["better_than"]) & set(row["worse_than"])
        for other in row["better_than"]:
            assert row["model"] in rows[other]["worse_than"]
            assert row["value"]["value"] > rows[other]["value"]["value"]
    values = [row["value"]["value"] for row in exam["rows"]]
    assert values == sorted(values, reverse=True)
    assert not rows["shaky"]["blind"]
    assert rows["bottom_edge"]["blind"]
    page = (tmp_path / "board.html").read_text()
    assert "http://" not in page.replace("http://www.w3.org", "") and "https://" not in page  # noqa: PT018
    assert "steady" in page


def test_the_same_seed_gives_the_same_board(runs: Path) -> None:
    assert sl.board(runs, resamples=100).to_dict() == sl.board(runs, resamples=100).to_dict()


def test_a_table_for_a_pull_request(runs: Path) -> None:
    text = invoke("board", runs, "--resamples", 100, "--markdown").stdout
    lines = [line for line in text.splitlines() if line.startswith("|")]
    assert {line.count(" | ") for line in lines} == {3}
    assert lines[1].startswith("| --- | ---:")
    assert "| steady |" in text
    assert invoke("board", runs, "--markdown", "--json").exit_code != 0


def test_an_unfinished_run_has_no_rank(runs: Path, tmp_path: Path) -> None:
    data = sl.open(runs.parent / "d")
    one, other = Sometimes("whole", 0.0), Sometimes("half", 0.1)
    sl.examine(one, data, "relations", out=tmp_path, baselines=False)
    sl.examine(other, data, "relations", out=tmp_path, baselines=False, limit=3)
    (exam,) = sl.board(tmp_path, resamples=100).exams
    assert {row.model: row.ranks for row in exam.rows} == {"whole": (1, 1), "half": None}
    assert "unfinished" in sl.board(tmp_path, resamples=100).to_html()


@pytest.mark.browser
def test_the_page_filters_and_fits_a_phone(runs: Path, tmp_path: Path, browser: Any) -> None:
    sl.board(runs, tmp_path / "b.html", resamples=100)
    page = browser.new_page(viewport={"width": 390, "height": 844})
    problems: list[str] = []
    page.on("console", lambda message: problems.append(message.text))
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto((tmp_path / "b.html").as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.uncheck("input[name=blind]")
    shown = page.evaluate(
        "[...document.querySelectorAll('section.exam tbody tr:not([hidden]) > th')].map(t => t.innerText)"
    )
    assert {"steady", "shaky", "alike"} <= set(shown)
    assert "bottom_edge" not in shown
    page.fill("input[name=model]", "shak")
    assert page.inner_text("output").startswith("1 of")
    page.close()
    assert not problems


def test_planning_says_how_many_scenes(runs: Path) -> None:
    done = invoke("plan", runs, "--difference", 0.05, "--json")
    assert done.exit_code == 0, done.output
    document = json.loads(done.stdout)
    assert {pair["a"] for pair in document["pairs"]} | {pair["b"] for pair in document["pairs"]} == {
        "steady",
        "shaky",
        "alike",
    }  # models that look are planned, blind ones only where there are no two of those
    for pair in document["pairs"]:
        if pair["plan"]["clusters"] is not None:
            assert pair["plan"]["low"] <= pair["plan"]["clusters"] <= pair["plan"]["high"]
    near, far = (
        next(p for p in document["pairs"] if {p["a"], p["b"]} == {"steady", other} and p["figure"] == "average")
        for other in ("alike", "shaky")
    )
    assert near["plan"]["clusters"] < far["plan"]["clusters"]  # who says nearly the same is sooner told apart
    assert "needed" in invoke("plan", runs, "--difference", 0.05).stdout
    for words in (["--difference", "0"], ["--difference", "0.1", "--power", "1.5"]):
        assert isinstance(invoke("plan", runs, *words).exception, ConfigError)


def test_one_model_cannot_be_planned(runs: Path, tmp_path: Path) -> None:
    data = sl.open(runs.parent / "d")
    results = sl.examine(Sometimes("alone", 0.1), data, "relations", out=tmp_path, baselines=False)
    with pytest.raises(ConfigError, match="two models"):
        sl.plan(results, 0.02)


def test_the_card_says_where_a_comparison_was_too_small(runs: Path) -> None:
    part = sl.report(runs, focus="steady").parts[0]
    assert any("Too few" in warning and "alike" in warning for warning in part.warnings)
    assert any(section.id == "sample-size" for section in part.sections)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("f1=0.7", Threshold(("f1",), 0.7)),  # a short path
        (
            "subtasks.within_image_depth.f1=.5",
            Threshold(("subtasks", "within_image_depth", "f1"), 0.5),
        ),  # a long one
        ("f1", ConfigError),  # no number
        ("=0.7", ConfigError),  # no path
        ("f1=nan", ConfigError),  # nothing can be below
        ("f1..all=1", ConfigError),  # a step is missing
    ],
)
def test_thresholds_are_read(text: str, wanted: Any) -> None:
    if wanted is ConfigError:
        with pytest.raises(ConfigError, match=r"f1=0\.7"):
            parse_threshold(text)
    else:
        assert parse_threshold(text) == wanted


def test_the_headline_goes_by_its_measure(tmp_path: Path) -> None:
    simulate(tmp_path / "labels", images=8)
    results = sl.examine("size", tmp_path / "labels", "relations", out=tmp_path / "r", baselines=False)
    headline = results[0].scores.headline
    assert headline is not None
    for word in ("f1", "average"):
        (short,) = shortfalls(results.exams, [Threshold((word,), 1.01)])
        assert short.value == headline[1].value


def test_models_below_a_threshold_fail_and_baselines_do_not(generated: Path, tmp_path: Path) -> None:
    class Two(counting_exam.Three):
        number, name = 2, "two"

    results = sl.examine(Two(), generated, counting_exam.CountingExam(), out=tmp_path)
    value = results[0].scores.at("accuracy", "all").value
    taken = results.exams
    assert not shortfalls(taken, [Threshold(("accuracy",), value)])  # `all` may be left out
    (short,) = shortfalls(taken, [Threshold(("accuracy", "all"), value + 0.01)])
    assert short.model == "two"
    with pytest.raises(ConfigError, match="did you mean 'accuracy"):
        shortfalls(taken, [Threshold(("acuracy",), 0.5)])


def test_the_command_exits_with_one(generated: Path, tmp_path: Path) -> None:
    words = ["exam", "relations", "--data", generated, "--model", "size", "--no-baselines", "--out", tmp_path]
    assert invoke(*words, "--fail-under", "checks.accuracy=0.01").exit_code == 0
    failed = invoke(*words, "--fail-under", "checks.accuracy=0.999", "--json")
    assert failed.exit_code == 1
    assert json.loads(failed.stdout)["models"]  # all is printed all the same


def test_an_unknown_path_is_told_after_one_item(generated: Path, tmp_path: Path) -> None:
    words = ["exam", "relations", "--data", generated, "--model", "size", "--no-baselines", "--out", tmp_path]
    refused = invoke(*words, "--fail-under", "subtaks.within_image_depth=0.5")
    assert "did you mean 'subtasks" in str(refused.exception)
    (records,) = tmp_path.rglob("records.jsonl")
    assert records.read_bytes().count(b"\n") == 1
