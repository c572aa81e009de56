"""The Turing exam on the report card: figures, whether it leaks, streams on show, written tests."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from exams.made_cards import (
    HOSTILE,
    card,
    check_hostile,
    check_in_browser,
    check_page,
    check_same_words,
    document,
    entry,
    shown,
    words_of,
)
from exams.turing_runs import Guesser, exam, runs, scenes
from sightline.errors import ConfigError
from sightline.exams.base import given_options
from sightline.exams.run import Run
from sightline.exams.runner import run_exam
from sightline.exams.scoring import score_records
from sightline.exams.turing.card import TYPES
from sightline.exams.turing.exam import TuringExam, write_exam
from sightline.exams.turing.vocabulary.vocabulary import Vocabulary
from sightline.models.registry import candidate
from sightline.plain import plain
from sightline.show.page import FigureRow, Page
from sightline.store import Dataset

SECTIONS = ("scores", "parts", "guessed", "streams")


@pytest.fixture(scope="module")
def train(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return scenes(tmp_path_factory.mktemp("train") / "d", 30, 1)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return scenes(tmp_path_factory.mktemp("test") / "d", 6, 2)


@pytest.fixture(scope="module")
def several(train: Dataset, data: Dataset, tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    """Hostile names, two models, blind baselines, two streams an image, an unfinished run."""
    folder = tmp_path_factory.mktemp("runs")
    made = runs(train, data, folder, Guesser(HOSTILE), Guesser("dull"), streams=2)
    return [*made, run_exam(exam(train, streams=2), candidate("coin"), data, folder / "part", limit=3)]


@pytest.fixture(scope="module")
def page(several: list[Run], data: Dataset) -> Page:
    return card(several, data, focus=HOSTILE, resamples=100, examples=2)


@pytest.fixture(scope="module")
def focused(several: list[Run]) -> Run:
    return next(run for run in several if run.name == HOSTILE)


def test_page_is_sound_and_has_all_sections(page: Page) -> None:
    check_page(page, "turing", SECTIONS)
    text = words_of(page)
    for words in ("At a glance", "By story line", "By support of the estimate", "Share of yes, by type"):
        assert words in text
    for words in (
        "Share of yes, by step",
        "Calibration",
        "Could it be guessed?",
        "How long streams are",
        "Options",
    ):
        assert words in text
    assert len(page.examples) >= 4
    assert "unfinished" in text
    assert "data:image/jpeg;base64," in page.to_html()


def test_hostile_names_are_words(page: Page) -> None:
    check_hostile(page)


def test_html_json_and_markdown_say_the_same(several: list[Run], data: Dataset) -> None:
    check_same_words(card([run for run in several if run.name != HOSTILE], data, examples=1))


def test_scores_are_the_exams_own(page: Page, several: list[Run], data: Dataset) -> None:
    for run in several:
        expected = score_records(TuringExam(), run.read(), lambda: data, details=True, resamples=100, seed=0)
        (of_run,) = [one for one in document(page)["runs"] if one["spec"] == run.spec]
        assert of_run["scores"] == json.loads(json.dumps(expected.to_dict()))
    by_label = {one["label"]: one["scores"] for one in document(page)["runs"]}
    (table,) = [t for s in page.parts[0].sections for t in s.tables if t.title == "At a glance"]
    for row in table.rows:
        scores = by_label[row.head.removesuffix(" (unfinished)")]
        for kind, column in TYPES.items():
            value = scores["accuracy"].get(kind, {}).get("value")
            said = entry(table, row, "all" if kind == "all" else column)
            assert said == f"{100 * value:.1f} %" if value is not None else said in ("–", None)
    assert {"yes", "no", "abstain", "unparsed"} <= {*table.columns}


def test_headline_is_computed(page: Page) -> None:
    lead = " ".join(page.parts[0].lead).replace("\u00a0", " ")
    best = max((one for one in document(page)["runs"] if not one["blind"]), key=lambda one: rank(one["scores"]))
    accuracy = {kind: of["value"] for kind, of in best["scores"]["accuracy"].items() if of["value"] is not None}
    assert f"The best of the 2 models, {best['label']}, answers {100 * accuracy.pop('all'):.1f} % (" in lead
    assert " of the questions as is true." in lead
    low, high = min(accuracy.values()), max(accuracy.values())
    assert f"{best['label']} is weakest in " in lead
    assert f" questions ({100 * low:.1f} %) and best in " in lead
    assert f" questions ({100 * high:.1f} %)." in lead


def rank(scores: Mapping[str, Any]) -> float:
    return float(scores["accuracy"]["all"]["value"])


def test_facts_say_what_was_asked(page: Page, train: Dataset, data: Dataset, tmp_path: Path) -> None:
    facts = dict(page.parts[0].facts)
    scores = next(one for one in document(page)["runs"] if one["label"] == HOSTILE)["scores"]
    assert facts["asked"] == f"{scores['n_questions']:,} questions in 12 streams about 6 images"
    assert facts["vocabulary"] == document(page)["options"]["vocabulary"] == "worlds"
    assert facts["true answers"] == "told after each question"
    secret = replace(exam(train), withhold=True)
    withheld = card([run_exam(secret, candidate("always_yes"), data, tmp_path)], data, examples=0)
    assert dict(withheld.parts[0].facts)["true answers"] == "withheld"


def test_shown_streams_tell_every_answer(page: Page, focused: Run) -> None:
    rows = focused.read().rows
    ours = [one for one in page.examples if one.model == HOSTILE]
    assert len(ours) >= 3
    for one in ours:
        of = rows.filter(pl.col("item") == one.id)
        questions = one.facts["questions"]
        assert [question["number"] for question in questions] == of["step"].to_list()
        assert all(question["said"].endswith("?") for question in questions)
        assert not any("designated" in question["said"] for question in questions)
        assert one.table is not None
        assert [row.head for row in one.table.rows] == [str(step) for step in of["step"]]
        asked, right = of.filter(pl.col("truth") != "ambiguous").height, int(of["right"].sum())
        ambiguous = of.filter(pl.col("truth") == "ambiguous").height
        words = f"{asked - right} of {asked} answers not right" if right < asked else f"all {asked} answers right"
        assert one.note.startswith(words)
        assert (f"{ambiguous} ambiguous" in one.note) == (ambiguous > 0)
        for question in questions:
            if question.get("label"):
                assert question["label"] in one.html
        assert "designated" not in one.html
    shares = []
    for one in ours:
        if one.kind == "worst":
            of = rows.filter((pl.col("item") == one.id) & (pl.col("truth") != "ambiguous"))
            shares.append(of["right"].sum() / of.height)
    assert shares == sorted(shares)


def test_numbers_of_the_card(page: Page) -> None:
    values = document(page)
    yes = next(one for one in values["runs"] if one["name"] == "always_yes")["scores"]["accuracy"]["all"]["value"]
    assert yes == pytest.approx(values["monitor"]["yes_by_type"]["all"]["value"])
    assert sum(values["lengths"].values()) == 12
    focused = next(one for one in values["runs"] if one["label"] == values["focus"])
    assert sum(int(k) * n for k, n in values["lengths"].items()) == focused["scores"]["n_questions"]
    assert set(values["monitor"]["overall"]) == {"turing_engine"}  # as in the exam: those who know the history
    assert any("coin is unfinished" in warning for warning in page.parts[0].warnings)


def test_a_leak_is_a_warning(
    page: Page, several: list[Run], data: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    leaky = document(page)["monitor"]["leaky"]
    assert any("The stream leaks" in warning for warning in page.parts[0].warnings) == leaky
    across = TuringExam.across

    def guessed(*arguments: Any, **how: Any) -> dict[str, Any]:
        watched = across(*arguments, **how)["monitor"]
        return {"monitor": watched | {"leaky": True, "verdict": "leaky", "reasons": ["a blind baseline knew"]}}

    monkeypatch.setattr(TuringExam, "across", guessed)
    made = card(several, data, examples=0)
    assert "The stream leaks: a blind baseline knew." in made.parts[0].warnings


def test_charts(page: Page) -> None:
    rows = {s.id: [c for c in s.content if isinstance(c, FigureRow)] for s in page.parts[0].sections}
    titles = {name: [figure.title for row in of for figure in row.figures] for name, of in rows.items()}
    assert titles["scores"] == ["Share of right answers", "By type of question"]
    assert titles["parts"] == ["By step of the stream", "By story line", "By support of the estimate"]
    assert titles["guessed"] == ["Share of yes, step by step", "Are the estimates right?", "How long streams are"]
    assert "a coin" in rows["scores"][0].figures[0].svg


def test_files_beside_the_page(page: Page, tmp_path: Path) -> None:
    html, data, text = page.write(tmp_path / "new")
    values = json.loads(data.read_text(encoding="utf-8"))
    of = values["parts"][0]["document"]
    assert of["exam"] == "turing"
    assert {one["name"] for one in of["runs"]} >= {"dull", "always_no"}
    worst = [one for one in values["examples"] if one["kind"] == "worst" and one["model"] == HOSTILE]
    assert len(worst) == 2
    assert worst[0]["facts"]["questions"][0]["said"].endswith("?")
    assert html.stat().st_size > 20_000
    assert "|  | question | true answer |" in text.read_text(encoding="utf-8")


def test_streams_of_the_images_asked_for(several: list[Run], data: Dataset) -> None:
    ids = list(dict.fromkeys(several[0].read().rows["scene_id"]))
    made = card(several, data, focus=HOSTILE, scenes=(ids[3], ids[0]))
    ours = [one for one in shown(made, "chosen") if one.model == HOSTILE]
    assert len(made.examples) == 2 * len(ours) == 8  # of the other model too
    assert [one.id for one in ours] == [f"{scene}#{stream}" for scene in (ids[3], ids[0]) for stream in (0, 1)]
    assert "· stream 1" in words_of(made)  # two of one image are told apart
    assert made.parts[0].commands[-1].endswith(f"--scene {ids[3]} --scene {ids[0]} --out report.html")
    with pytest.raises(ConfigError, match=f"has no scene '{ids[2][1:]}', did you mean '{ids[2]}'"):
        card(several, data, scenes=(ids[2][1:],))
    other = next(scene for scene in ids if scene not in {*several[-1].read().rows["scene_id"]})
    with pytest.raises(ConfigError, match=f"no answers to show on the scene '{other}': coin was asked about"):
        card(several, data, focus="coin", scenes=(other,))


def test_one_stream_an_image_needs_no_number(train: Dataset, data: Dataset, tmp_path: Path) -> None:
    made = card(runs(train, data, tmp_path, Guesser("dull"), blind=()), data, examples=1)
    assert [one.title for one in made.examples] == [one.id.removesuffix("#0") for one in made.examples]


def test_runs_that_do_not_belong_together(
    train: Dataset, data: Dataset, several: list[Run], tmp_path: Path
) -> None:
    other = run_exam(exam(train, streams=2, seed=7), candidate("always_yes"), data, tmp_path / "seed")
    both = card([several[0], other], data, examples=0)
    assert [part.exam for part in both.parts] == ["turing", "turing-2"]  # never in one table
    assert [part.document["options"]["seed"] for part in both.parts] == [0, 7]
    with pytest.raises(ConfigError, match="other data"):
        card(several[:1], train)
    with pytest.raises(ConfigError, match="no run of 'nobody'"):
        card(several, data, focus="nobody")


def test_a_written_test_has_its_card_too(train: Dataset, data: Dataset, tmp_path: Path) -> None:
    """Nothing but the handed out folder is at hand: pictures and regions are drawn, no object is."""
    folder, key = tmp_path / "hand", tmp_path / "key.jsonl"
    write_exam(exam(train), data, folder, key, images=2)
    written = TuringExam(test=folder, key=key)
    run = run_exam(written, candidate("coin"), written.open(None), tmp_path / "run")
    made = card([run], TuringExam(test=folder).open(folder))
    assert len({one.id for one in made.examples}) == len(made.examples) == 2
    assert all("data:image/jpeg" in one.html for one in made.examples)
    assert "test" in document(made)["options"]
    assert dict(made.parts[0].facts)["vocabulary"] == "worlds"
    line = "sightline exam turing --test hand --key key.jsonl --no-baselines --model coin --out runs"
    assert made.parts[0].commands[0] == line


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, ""),  # all as usual, the vocabulary made from the data
        ({"streams": 2, "seed": 7, "questions": 9}, " --streams 2 --questions 9 --seed 7"),
        ({"closed": True, "epsilon": 0.2, "min_support": 5}, " --closed --min-support 5 --epsilon 0.2"),
        ({"smoothing": 0.5}, " --smoothing 0.5"),
        ({"vocabulary": Path("some/mine.yaml")}, " --vocabulary mine.yaml"),
        ({"vocabulary": Vocabulary("mine", (), (), ())}, " --vocabulary VOCABULARY"),  # no file
        ({"assume": ("-negatives", "-forget_facts")}, " --assume=-negatives --assume=-forget_facts"),
        ({"halves": True}, " --halves"),  # learned from the other half
        ({"train": Path("some/where")}, " --train where"),
        ({"withhold": True, "deadline": 2.5}, " --withhold --deadline 2.5"),
    ],
)
def test_the_command_makes_the_streams_again(
    several: list[Run], data: Dataset, options: dict[str, Any], expected: str
) -> None:
    given = plain(given_options(TuringExam(**options)))
    run = Run(several[0].folder, {**several[0].manifest, "given": given})
    (line, _) = card([run], data, examples=0).parts[0].commands
    assert line == f"sightline exam turing --data d{expected} --no-baselines --model always_yes --out runs"


@pytest.mark.browser
def test_phone_has_no_sideways_scroll_and_asks_nobody(browser: Any, page: Page, tmp_path: Path) -> None:
    check_in_browser(browser, page, tmp_path)
