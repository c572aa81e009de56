"""The predicates exam on the report card: figures, tables, scenes on show, attention."""

from __future__ import annotations

import json
import re
from pathlib import Path
from shlex import quote
from typing import Any

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
    names_of,
    shown,
    words_of,
)
from exams.predicates_runs import Noisy, Staring, renamed, runs, scenes
from sightline.errors import ConfigError, ModelError
from sightline.exams.base import Candidate
from sightline.exams.predicates.card import GROUPS
from sightline.exams.predicates.drawing import PHRASES
from sightline.exams.predicates.exam import PredicatesExam
from sightline.exams.runner import run_exam
from sightline.exams.scoring import score_records
from sightline.models.registry import candidate
from sightline.show.page import Page
from sightline.store import Dataset

SECTIONS = ("scores", "predicates", "slices", "measures")
MARKS = {"false_positive": "✗", "false_negative": "○", "unknown": "?", "true_positive": "✓"}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return scenes(tmp_path_factory.mktemp("scenes") / "d")


@pytest.fixture(scope="module")
def page(data: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Page:
    """Hostile names, an unfinished run, blind baselines, attention."""
    folder = tmp_path_factory.mktemp("runs")
    evil = renamed(data, HOSTILE)
    sharp = Staring(evil, HOSTILE, wrong=0.05)
    several = runs(evil, folder, sharp, Noisy(evil, "dull", wrong=0.3, unknown=0.0))
    several.append(run_exam(PredicatesExam(), candidate("size_prior"), evil, folder / "part", limit=3))
    return card(several, evil, resamples=100, examples=2, attention=True, model=sharp)


def test_page_is_sound_and_has_all_sections(page: Page) -> None:
    check_page(page, "predicates", SECTIONS)
    text = words_of(page)
    headings = (
        "At a glance",
        "Scene accuracy",
        "Scene-all accuracy",
        "F1",
        "Micro accuracy",
        "Could not say",
        "Worst",
    )
    assert [heading for heading in headings if heading not in text] == []
    assert "Every ordered pair of a scene’s objects is asked about eight predicates." in text
    assert "By placement of the object" in text
    kinds = [(one.model, one.kind) for one in page.examples]
    expected = [(HOSTILE, kind) for kind in ("worst", "typical", "perfect") for _ in range(2)]
    assert kinds == [*expected, ("dull", "worst"), ("dull", "worst")]


def test_hostile_names_are_words(page: Page) -> None:
    check_hostile(page)


def test_html_json_and_markdown_say_the_same(data: Dataset, tmp_path: Path) -> None:
    check_same_words(card(runs(data, tmp_path, Noisy(data), blind=("shape_prior",)), data, examples=1))


def test_scores_are_the_exams_own(data: Dataset, tmp_path: Path) -> None:
    (run,) = runs(data, tmp_path, Noisy(data), blind=())
    (of_run,) = document(card([run], data, examples=0))["runs"]
    expected = score_records(PredicatesExam(), run.read(), lambda: data, details=True, resamples=50, seed=0)
    assert of_run["scores"] == json.loads(json.dumps(expected.to_dict()))
    assert "slices" in of_run["scores"]


def test_tables_show_the_scores(page: Page) -> None:
    by_label = {one["label"]: one["scores"] for one in document(page)["runs"]}
    tables = {table.title: table for section in page.parts[0].sections for table in section.tables}
    for row in tables["At a glance"].rows:
        scores = by_label[row.head.removesuffix(" (unfinished)")]
        shares = [scores["scene_accuracy"][group]["value"] for group in ("all", "spatial", "geometric")]
        said = {name: entry(tables["At a glance"], row, name) for name in (*GROUPS, "scene-all", "F1", "unknown")}
        assert [said[group] for group in GROUPS] == [f"{100 * share:.1f} %" for share in shares]
        assert said["scene-all"] == f"{100 * scores['scene_all_by']['all']['value']:.1f} %"
        f1 = scores["f1"]["all"]["value"]
        assert said["F1"] == ("–" if f1 is None else f"{f1:.3f}")
        assert said["unknown"] == f"{100 * scores['unknown']['all']['value']:.1f} %"
    closely = {row.head: row for row in tables[""].rows}
    ours = by_label[HOSTILE]["scene_accuracy"]
    assert closely["can contain"].cells[0].text == f"{100 * ours['can_contain']['value']:.1f} %"
    assert {*names_of(tables[""])[6:]} == {"majority", "shape_prior", "size_prior"}
    for row in tables["By number of objects, all predicates"].rows:
        slices = by_label[row.head.removesuffix(" (unfinished)")]["slices"]["n_objects"]
        for column, cell in zip(tables["By number of objects, all predicates"].columns[1:], row.cells, strict=True):
            value = slices.get(column, {"scene_accuracy": {"all": {"value": None}}})["scene_accuracy"]["all"][
                "value"
            ]
            assert cell.text == ("–" if value is None else f"{100 * value:.1f} %")


def test_headline_is_computed(page: Page) -> None:
    lead = " ".join(page.parts[0].lead).replace("\u00a0", " ")
    scores = next(one for one in document(page)["runs"] if one["label"] == HOSTILE)["scores"]
    accuracy, whole = scores["scene_accuracy"], scores["scene_all_by"]["all"]["value"]
    assert f"The best of the 2 models, {HOSTILE}, has on average {100 * accuracy['all']['value']:.1f} %" in lead
    assert f"of a scene’s judgements right, and every single one in {100 * whole:.1f} % of the scenes." in lead
    groups = [f"{100 * accuracy[group]['value']:.1f} % of the {group}" for group in ("spatial", "geometric")]
    assert f"{HOSTILE} has {groups[0]} predicates right and {groups[1]} ones; it is weakest in “" in lead
    values = {name: accuracy[name]["value"] for name in accuracy if name not in ("all", "spatial", "geometric")}
    low = min(values, key=lambda name: values[name])
    assert f"“{low.replace('_', ' ')}” ({100 * values[low]:.1f} %)." in lead
    assert "Without a look at any picture, " in lead


def test_facts_say_how_much_was_asked(page: Page) -> None:
    facts = dict(page.parts[0].facts)
    scores = next(one for one in document(page)["runs"] if one["label"] == HOSTILE)["scores"]
    assert facts["asked"] == f"8 scenes, {scores['n_judgements']:,} judgements"
    assert facts["views shown"] == "original, top"
    assert facts["data"] == "d"


def test_scenes_say_what_the_model_said(page: Page) -> None:
    ours = [one for one in page.examples if one.model == HOSTILE]
    worst, typical, perfect = (
        [one.facts for one in ours if one.kind == k] for k in ("worst", "typical", "perfect")
    )
    assert worst[0]["right"] / worst[0]["asked"] <= worst[1]["right"] / worst[1]["asked"] < 1
    assert len({one.id for one in ours}) == len(ours) == 6
    assert all(one["right"] == one["asked"] for one in perfect)
    assert all(one["right"] < one["asked"] for one in typical)
    counts = dict.fromkeys(MARKS, 0)
    wrong = worst[0]["asked"] - worst[0]["right"]
    text = words_of(page)
    for predicate, of in worst[0]["predicates"].items():
        for kind, mark in MARKS.items():
            counts[kind] += len(of[kind])
            by_subject: dict[int, list[str]] = {}
            for subject, other in of[kind]:
                by_subject.setdefault(subject, []).append(str(other))
            for subject, others in by_subject.items():
                assert f"{mark} {subject} {PHRASES[predicate]} {', '.join(others)}" in text
    assert sum(counts[k] for k in ("false_positive", "false_negative", "unknown")) == wrong
    assert counts == {kind: worst[0][kind] for kind in MARKS}
    note = ours[0].note
    assert note.startswith(f"{wrong} of {worst[0]['asked']} judgements wrong")
    assert all(f"{MARKS[kind]} {n} " in note for kind, n in counts.items() if n)
    assert all(f"{MARKS[kind]} {n} " in text for kind, n in counts.items() if n)


def test_attention_is_shown_for_every_object_of_the_focus(page: Page) -> None:
    objects = sum(len(one.facts["objects"]) for one in page.examples if one.model == HOSTILE)
    assert page.to_html().count('alt="Attention for object') == 2 * objects > 0


def test_attention_of_a_model_that_has_changed_is_said_so(data: Dataset, tmp_path: Path) -> None:
    sharp = Staring(data, "sharp")
    several = runs(data, tmp_path, sharp, blind=())
    same = card(several, data, examples=1, attention=True, model=sharp)
    assert not any("has changed" in warning for warning in same.parts[0].warnings)
    other = card(several, data, examples=1, attention=True, model=sharp, fingerprint="another")
    assert any("sharp has changed since it took the exam" in warning for warning in other.parts[0].warnings)


def test_blind_baselines_stand_in_every_table(page: Page) -> None:
    (part,) = page.parts
    chosen = [section for section in part.sections if section.id != "sample-size"]  # that is of two models each
    tables = [table for section in chosen for table in section.tables]
    assert len(tables) > 12
    for table in tables:
        names = {*names_of(table), *(row.head for row in table.rows)}
        assert {"majority", "shape_prior"} <= names, table.title
    majority = next(one for one in document(page)["runs"] if one["label"] == "majority")
    assert majority["blind"]
    assert majority["scores"]["f1"]["all"]["value"] is None


def test_warnings(page: Page, data: Dataset, tmp_path: Path) -> None:
    text = words_of(page)
    assert "size_prior is unfinished (stopped): 3 of 8 scenes answered" in text
    assert "size_prior (unfinished)" in text
    alone = card(runs(data, tmp_path, Noisy(data), blind=()), data, examples=0)
    assert any("No blind baseline" in warning for warning in alone.parts[0].warnings)
    assert not any("No blind baseline" in warning for warning in page.parts[0].warnings)


def test_blind_runs_alone_and_nothing_answered(data: Dataset, tmp_path: Path) -> None:
    blind = card(runs(data, tmp_path), data, examples=1)
    assert "Only blind baselines took the exam" in words_of(blind)
    assert blind.examples[0].html.count("<figure><svg") == 2  # shown to the reader though not to the model
    none = run_exam(PredicatesExam(), Candidate("n.py:x", "none", Noisy(data)), data, tmp_path / "none", limit=0)
    empty = card([none], data)
    assert "No finished run has a score yet" in words_of(empty)
    assert "nothing to show" in words_of(empty)
    assert json.dumps(empty.to_dict(), allow_nan=False)
    check_page(empty, "predicates", ())


def test_focus_and_labels(data: Dataset, tmp_path: Path) -> None:
    several = runs(data, tmp_path, Noisy(data, wrong=0.3), Noisy(data, "other", wrong=0.01))
    twice = run_exam(
        PredicatesExam(views=("top",)), Candidate("mine.py:noisy", "noisy", Noisy(data)), data, tmp_path / "t"
    )
    made = document(card([*several, twice], data, examples=0))
    assert made["focus"] == "other"
    assert {one["label"] for one in made["runs"]} >= {"noisy · original, top", "noisy · top", "majority"}
    assert document(card(several, data, focus="noisy", examples=0))["focus"] == "noisy"
    with pytest.raises(ConfigError, match="no run of 'nobody'"):
        card(several, data, focus="nobody")


def test_scenes_asked_for_take_the_place_of_those_chosen(data: Dataset, tmp_path: Path) -> None:
    sharp = Staring(data, "sharp", wrong=0.05)
    several = runs(data, tmp_path, sharp)
    ids = list(sharp.truth)
    made = card(several, data, scenes=(ids[5], ids[0], ids[5]), attention=True, model=sharp)
    assert [(one.kind, one.id) for one in made.examples] == [("chosen", ids[5]), ("chosen", ids[0])]
    assert all("Attention for object" in one.html for one in made.examples)
    usual = card(several, data, examples=8)
    assert not shown(usual, "chosen")
    by_id = {one.id: one.facts for one in usual.examples}
    assert made.examples[0].facts == by_id[ids[5]]
    ids_on_page = re.findall(r'id="predicates-(chosen|worst|typical|perfect)"', made.to_html())
    assert ids_on_page == ["chosen"]
    assert f"**{ids[5].replace('_', chr(92) + '_')}** (chosen, sharp)" in made.to_markdown()


def test_commands_ask_for_the_same_scenes(page: Page, data: Dataset, tmp_path: Path) -> None:
    sharp = Staring(data, "sharp")
    several = runs(data, tmp_path, sharp, blind=())
    ids = list(sharp.truth)
    made = card(several, data, scenes=tuple(ids[1:3]))
    start = "sightline report runs --exam predicates --data d --resamples"
    attentive = f"--attention --model {quote(f'mine.py:{HOSTILE}')}"
    assert made.parts[0].commands[-1] == f"{start} 50 --scene {ids[1]} --scene {ids[2]} --out report.html"
    assert page.parts[0].commands[-1] == f"{start} 100 {attentive} --out report.html"
    assert "To do it again" in words_of(made)


def test_an_unknown_scene_is_refused_before_the_model_is_asked(data: Dataset, tmp_path: Path) -> None:
    """A scene that is there but was not asked about is another matter, and so is a run without answers."""
    several = runs(data, tmp_path, Noisy(data), blind=())
    part = run_exam(PredicatesExam(), candidate("size_prior"), data, tmp_path / "part", limit=3)
    none = run_exam(PredicatesExam(), Candidate("n.py:x", "none", Noisy(data)), data, tmp_path / "none", limit=0)
    ids = list(Noisy(data).truth)
    with pytest.raises(ConfigError, match=f"did you mean '{ids[1]}'"):  # not that it has no attention
        card(several, data, scenes=(ids[0], ids[1][1:]), attention=True, model=Noisy(data))
    with pytest.raises(ConfigError, match=f"on the scene '{ids[5]}': size_prior was asked about 3 scenes"):
        card([part], data, scenes=(ids[5],))
    with pytest.raises(ConfigError, match=f"on the scene '{ids[0]}': none was asked about 0 scenes"):
        card([none], data, scenes=(ids[0],))


def test_attention_of_a_model_without_any(data: Dataset, tmp_path: Path) -> None:
    several = runs(data, tmp_path, Noisy(data), blind=())
    with pytest.raises(ModelError, match="no method attention"):
        card(several, data, attention=True, model=Noisy(data))


@pytest.mark.long
@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_phone_has_no_sideways_scroll_and_asks_nobody(
    browser: Any, page: Page, tmp_path: Path, scheme: str
) -> None:
    check_in_browser(browser, page, tmp_path, scheme)
