"""The relations exam on the report card: sections, sentences, the human reference, mistakes on show."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from exams.made_cards import (
    HOSTILE,
    card,
    check_hostile,
    check_in_browser,
    check_page,
    check_same_words,
    document,
    words_of,
)
from exams.relations_runs import Contrary, Mute, boxes_by_scene, dataset, runs
from sightline.errors import ConfigError
from sightline.exams.base import Candidate
from sightline.exams.relations.drawing import unanimity, worst_examples
from sightline.exams.relations.exam import RelationsExam
from sightline.exams.relations.marks import mark_pairs
from sightline.exams.run import Run
from sightline.exams.runner import run_exam
from sightline.models.registry import candidate
from sightline.show.page import Page
from sightline.store import Dataset, Tables

SECTIONS = ("scores", "tasks", "behaviour", "grids", "data")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return dataset(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def three(data: Dataset, tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    return runs(data, tmp_path_factory.mktemp("runs"), ("majority", "bottom_edge"), Contrary())


@pytest.fixture(scope="module")
def plain(three: list[Run], data: Dataset) -> Page:
    return card(three, data)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Page:
    """Hostile names, an unfinished run, detected boxes and a transfer."""
    folder = tmp_path_factory.mktemp("hostile")
    data = dataset(folder, category=HOSTILE)
    model = Contrary(HOSTILE, boxes_by_scene(data))
    who = Candidate(f"evil.py:{HOSTILE}", HOSTILE, model)
    several = runs(data, folder, ("majority",), model)
    several.append(run_exam(RelationsExam(boxes="detected"), who, data, folder / "detected"))
    several.append(run_exam(RelationsExam(study_plan="joint"), candidate("object_class"), data, folder / "joint"))
    several.append(run_exam(RelationsExam(), candidate("bottom_edge"), data, folder / "part", limit=9))
    return card(several, data, resamples=100)


def test_page_is_sound_and_has_all_sections(page: Page) -> None:
    parsed = check_page(page, "relations", SECTIONS)
    headings = ("F1 by difficulty", "Contradictions", "Silence", "Transfer: object_class", "F1 on detected boxes")
    headings += ("F1 by predicate, depth within an image", "Accuracy where the usual cues mislead")
    headings += ("What is in it", "Agreement of the raters", "How far blind rules get", "How judgements ended")
    headings += ("Which labels go with which classes", "Which classes there are", "F1, all pairs together")
    text = words_of(page)
    assert [heading for heading in headings if heading not in text] == []
    assert [tag for tag, _ in parsed.elements].count("svg") > 20


def test_what_a_model_was_not_asked_is_said(data: Dataset, tmp_path: Path) -> None:
    class Near(Contrary):
        unable = {"across_images": "it looks at one image"}  # noqa: RUF012

    page = card(runs(data, tmp_path, ("bottom_edge", "majority"), Near("near")), data)
    text = words_of(page)
    assert "near was not asked about pairs across two images: it looks at one image." in text
    assert "data has no such labels" not in text
    table = next(t for s in page.parts[0].sections for t in s.tables if t.title == "F1, all pairs together")
    rows = {row.head: [cell.text for cell in row.cells] for row in table.rows}
    assert rows["near"][2:] == ["–", "–"]
    assert "–" not in rows["bottom_edge"]
    blind = max(["bottom_edge", "majority"], key=lambda name: float(rows[name][0]))
    assert f"Without a look at any picture, {blind} reaches {rows[blind][0]} (" in text  # the model's own figure
    [line] = [row for row in page.summary.rows if row.cells[0].text == "near"]
    assert line.cells[3].text.startswith(f"{blind} {rows[blind][0]}")
    check_same_words(page)


def test_hostile_names_are_words(page: Page) -> None:
    check_hostile(page)


def test_html_json_and_markdown_say_the_same(plain: Page) -> None:
    check_same_words(plain)


def test_unfinished_run_is_said_on_the_page(page: Page) -> None:
    assert "bottom_edge is unfinished (stopped): 9 of" in words_of(page)
    assert "bottom_edge (unfinished)" in words_of(page)


def test_facts_name_pairs_images_and_the_protocol(plain: Page, data: Dataset, three: list[Run]) -> None:
    facts = dict(plain.parts[0].facts)
    tables = RelationsExam().tables(data)
    for setting, words in (("within_image", "within an image"), ("across_images", "across two images")):
        table = tables[setting]  # type: ignore[index]
        assert facts[words].startswith(f"{len(table):,} pairs, ")
    assert (facts["protocol"], facts["split"]) == ("default", "test")
    paper = card(three, data, scoring={"protocol": "paper"}, examples=0)
    assert dict(paper.parts[0].facts)["protocol"] == "paper"
    assert "Paper protocol. Depth pools closer, farther and same" in words_of(paper)


def test_headline_names_one_rater_and_the_weakest_sub_task(plain: Page) -> None:
    lead = " ".join(plain.parts[0].lead)
    human = document(plain)["described"]["human"]
    mean = sum(one["value"] for one in human.values()) / 3
    assert f"A single rater judged by the other raters reaches {mean:.3f}." in lead
    (contrary,) = [one for one in document(plain)["runs"] if one["label"] == "contrary"]
    f1 = {name: of["micro"]["all"]["f1"]["value"] for name, of in contrary["scores"]["subtasks"].items()}
    assert min(f1, key=lambda name: f1[name]) == "within_image/depth"
    assert f"contrary is weakest in depth within an image ({f1['within_image/depth']:.3f})." in lead
    (table,) = [t for s in plain.parts[0].sections for t in s.tables if t.title == "F1, all pairs together"]
    assert table.columns[1:] == (
        "Depth within an image", "Occlusion within an image", "Depth across two images", "Average",
    )  # fmt: skip
    assert [cell.text for cell in table.rows[-1].cells] == [f"{human[n]['value']:.3f}" for n in f1] + [
        f"{mean:.3f}"
    ]
    by_head = {row.head: [cell.text for cell in row.cells] for row in table.rows}
    average = contrary["scores"]["average"]["value"]
    assert by_head["contrary"] == [f"{value:.3f}" for value in (*f1.values(), average)]


def test_charts_mark_one_rater(plain: Page) -> None:
    (scores,) = [s for s in plain.parts[0].sections if s.id == "scores"]
    figures = scores.content[0].figures  # type: ignore[union-attr]
    titles = [figure.title for figure in figures]
    assert titles == [
        "Depth within an image", "Occlusion within an image", "Depth across two images", "Average F1",
    ]  # fmt: skip
    assert all("one rater" in figure.svg for figure in figures)


def test_no_human_reference_under_the_official_protocol(three: list[Run], data: Dataset) -> None:
    official = card(three[:1], data, scoring={"protocol": "official"})
    assert not document(official)["described"]["human"]
    assert document(official)["protocol"] == "official"
    assert "one rater" not in words_of(official)
    assert "single rater judged by the other" not in words_of(official)
    assert "recall there cannot exceed one half" in words_of(official)


@pytest.mark.parametrize(
    ("setting", "absent", "first"),
    [
        ("within_image", "Depth across two images", "depth within an image"),  # one image only
        ("across_images", "Occlusion within an image", "depth across two images"),  # pairs of images only
    ],
)
def test_one_setting_only(tmp_path: Path, setting: str, absent: str, first: str) -> None:
    data = dataset(tmp_path, 12, setting=setting)
    made = card(runs(data, tmp_path / "runs", ("majority",), Contrary()), data)
    assert absent not in words_of(made)
    assert "average F1" not in " ".join(made.parts[0].lead)
    assert f"contrary reaches an F1 in “{first}” of" in " ".join(made.parts[0].lead)
    assert not [row for row in made.summary.rows if "average" in row.cells[2].text]


def test_one_scene_has_no_interval(tmp_path: Path) -> None:
    whole = dataset(tmp_path, 8, setting="within_image").tables("test")
    first = whole.relations["scene_id"][0]
    kept = Tables(**{name: frame.filter(frame["scene_id"] == first) for name, frame in whole.frames()})
    data = Dataset.from_tables(kept, tmp_path)
    made = card(runs(data, tmp_path / "runs", ("size",)), data)
    f1 = document(made)["runs"][0]["scores"]["subtasks"]["within_image/depth"]["micro"]["all"]["f1"]
    assert f1["low"] is None
    check_page(made, "relations", SECTIONS)


def test_undefined_scores_are_dashes(tmp_path: Path) -> None:
    data = dataset(tmp_path, 8)
    made = card(runs(data, tmp_path / "runs", (), Mute()), data)
    check_page(made, "relations", SECTIONS)
    assert "nan" not in re.sub(r"<[^>]*>", " ", made.to_html()).lower().split()
    assert "No blind baseline is among the runs" in words_of(made)
    assert "nothing to show" in words_of(made)


def test_answers_on_own_boxes_alone_have_no_grids(tmp_path: Path) -> None:
    data = dataset(tmp_path, 8)
    who = Candidate("mine.py:net", "net", Contrary(boxes=boxes_by_scene(data)))
    made = card([run_exam(RelationsExam(boxes="detected"), who, data, tmp_path / "run")], data)
    assert "net has no answers on given boxes." in words_of(made)
    assert made.examples == ()


def test_worst_scenes_are_mistakes_the_raters_agree_on(plain: Page, three: list[Run], data: Dataset) -> None:
    marks = mark_pairs(three[2].read().rows, RelationsExam().tables(data))
    again = list(worst_examples(marks, data, each=4, clusters=set()))
    facts = [example.facts for example in plain.examples if example.model == "contrary"]
    assert [dict(one) for one in facts] == [example.to_dict() for example in again]  # the same ones
    assert len(facts) > 6
    for one in facts:
        assert one["truth"] not in ("unsure", one["answer"])
        assert next(iter(one["votes"])) == one["truth"]
        assert 0 < one["weight"] <= one["wrong"] <= one["asked"]
    for example in again:
        assert len(example.images) == (1 if example.subtask.startswith("within_image/") else 2)
        ends = zip((example.images[0], example.images[-1]), example.pair, strict=True)
        assert all(i < len(image.objects) for image, i in ends)
    for shown in plain.examples:
        assert f"{shown.facts['wrong']} of {shown.facts['asked']} answers " in shown.note


def test_silence_is_no_mistake(data: Dataset, tmp_path: Path) -> None:
    made = card(runs(data, tmp_path, ("majority",), Mute()), data)
    assert document(made)["focus"] == "mute"
    assert made.examples == ()


def test_unanimity_without_votes_is_full() -> None:
    assert unanimity(np.zeros((1, 4), dtype=np.int16)).tolist() == [1.0]


def test_scenes_asked_for(three: list[Run], data: Dataset) -> None:
    scene = data.tables("test").relations["scene_id"][0]
    made = card(three, data, scenes=(scene,))
    assert made.examples
    assert all(example.kind == "chosen" and scene in example.id for example in made.examples)
    with pytest.raises(ConfigError, match="has no scene 'nowhere'; contrary was asked about"):
        card(three, data, scenes=("nowhere",))


def test_how_many_are_shown(three: list[Run], data: Dataset) -> None:
    tasks = [example.facts["subtask"] for example in card(three, data, examples=1).examples]
    assert len(tasks) == len(set(tasks)) > 1
    assert card(three, data, examples=0).examples == ()


@pytest.mark.long
@pytest.mark.browser
def test_phone_has_no_sideways_scroll_and_asks_nobody(browser: Any, page: Page, tmp_path: Path) -> None:
    check_in_browser(browser, page, tmp_path)
