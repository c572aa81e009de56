"""How a report card reads: long names, one scale, equal columns, one scene, no raters; and how it is laid out."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest

from exams import predicates_runs, relations_runs
from exams.made_cards import card, document, shown, words_of
from show.parsed_page import Parsed
from sightline.exams.base import Name
from sightline.exams.relations.drawing import unanimity, worst_examples
from sightline.exams.relations.exam import RelationsExam
from sightline.exams.relations.marks import mark_pairs
from sightline.exams.run import Run
from sightline.exams.scoring import Scores
from sightline.show.page import FigureRow, Page
from sightline.stats import Interval
from sightline.store import Dataset, Tables

LONG = (
    "vision-transformer-large-patch14-336_finetuned_on_geospa_v2.1",
    "vision-transformer-large-patch14-336_finetuned_on_geospa_v2.2",
    "m" * 60,
)
ALONE = re.compile(r"\b1 (?:scene|image|pair|judgement|question|stream|model|exam|answer|object|baseline|unit)s\b")


@pytest.fixture(scope="module")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return predicates_runs.scenes(tmp_path_factory.mktemp("scenes") / "d", 5)


@pytest.fixture(scope="module")
def predicates(scenes: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Page:
    models = [
        predicates_runs.Staring(scenes, name, wrong=wrong)
        for name, wrong in zip(LONG, (0.05, 0.1, 0.2), strict=True)
    ]
    runs = predicates_runs.runs(scenes, tmp_path_factory.mktemp("runs"), *models)
    return card(runs, scenes, model=models[0], attention=True, focus=LONG[0])


@pytest.fixture(scope="module")
def labels(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return relations_runs.dataset(tmp_path_factory.mktemp("labels"))


@pytest.fixture(scope="module")
def runs(labels: Dataset, tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    models = [relations_runs.Contrary(name) for name in LONG]
    return relations_runs.runs(labels, tmp_path_factory.mktemp("runs"), ("majority", "bottom_edge"), *models)


@pytest.fixture(scope="module")
def relations(runs: list[Run], labels: Dataset) -> Page:
    return card(runs, labels)


def charts(page: Page) -> list[str]:
    """The charts of the totals."""
    (row,) = [c for c in page.parts[0].sections[0].content if isinstance(c, FigureRow)]
    return [figure.svg for figure in row.figures]


def texts(svg: str) -> list[tuple[str, dict[str, str]]]:
    """Every text of a drawing with its attributes."""
    return [(e.text or "", dict(e.attrib)) for e in ElementTree.fromstring(svg).iter() if e.tag.endswith("}text")]


def test_the_title_names_as_many_models_as_fit(predicates: Page) -> None:
    assert predicates.title == f"{LONG[0]} and 2 more"


def test_long_names_stay_different_in_every_chart(predicates: Page) -> None:
    rows = [c for s in predicates.parts[0].sections for c in s.content if isinstance(c, FigureRow)]
    drawn = [figure.svg for row in rows for figure in row.figures]
    assert len(drawn) > 8
    for svg in drawn:
        names = [text for text, _ in texts(svg) if "…" in text or text in LONG]
        assert len({*names}) == len(names) == 3, names
        for name in LONG:
            assert name in svg  # for a pointer that rests on it, and for a reader that cannot see


@pytest.mark.parametrize("page", ["predicates", "relations"])
def test_charts_of_the_totals_share_a_scale_and_say_so(page: str, request: pytest.FixtureRequest) -> None:
    made = request.getfixturevalue(page)
    scales = []
    for svg in charts(made):
        ticks = [(text, a["x"]) for text, a in texts(svg) if a.get("text-anchor") == "middle"]
        scales.append([tick for tick in ticks if re.fullmatch(r"\d+(\.\d+)?", tick[0])])
    assert len(scales) > 2
    assert len(scales[0]) > 2
    assert all(scale == scales[0] for scale in scales)
    assert "; all on one scale" in words_of(made)


def test_equal_columns_are_one_and_counts_that_are_alike_stand_beneath(relations: Page) -> None:
    tables = {t.title: t for s in relations.parts[0].sections for t in s.tables}
    labels = tables["F1 by predicate, occlusion within an image"]
    assert "occludes, occluded" in labels.columns  # nobody here contradicts itself about occlusion
    pairs = document(relations)["runs"][0]["scores"]["subtasks"]["within_image/occlusion"]["pairs"]
    assert f"The same in every row: pairs {pairs}." in tables["Occlusion within an image"].note
    assert "pairs" not in tables["Occlusion within an image"].columns


def test_one_scene_is_one(tmp_path: Path) -> None:
    data = predicates_runs.scenes(tmp_path / "d", 1)
    runs = predicates_runs.runs(data, tmp_path, predicates_runs.Noisy(data))
    made = card(runs, data)
    for text in (words_of(made), made.to_markdown(), made.to_html()):
        assert not ALONE.findall(text)
        assert "intervals overlap" not in text
    assert "1 scene, " in dict(made.parts[0].facts)["asked"]
    assert "without an interval to tell them apart" in " ".join(made.parts[0].lead)


def test_a_model_alone_names_no_baselines(runs: list[Run], labels: Dataset) -> None:
    assert card(runs[2:3], labels, examples=0).lead == ("1 model took 1 exam: 2.5D relations.",)
    assert card(runs[:2], labels, examples=0).lead == ("2 blind baselines took 1 exam: 2.5D relations.",)


def interval(value: float) -> Interval:
    return Interval(value, value, value, 9, "")


@pytest.mark.parametrize(
    ("values", "weakest"),
    [
        ((0.5, 0.4, 0.6), "b"),  # the lowest
        ((0.5,), None),  # one part is also the best
        ((0.4, 0.4), None),  # all alike: the best is as weak
        ((0.4, float("nan")), None),  # one that is defined
        ((0.3, 0.4, 0.6), None),  # it is the headline
    ],
)
def test_the_weakest_is_never_the_best(values: tuple[float, ...], weakest: str | None) -> None:
    named = zip("abc", values, strict=False)
    figures = {Name((letter,), letter, part=True, headline=letter == "a"): interval(v) for letter, v in named}
    found = Scores("x", "scene", figures).weakest
    assert (found and found[0].label) == weakest


def test_a_right_answer_that_was_as_hard_stands_beside_each_mistake(runs: list[Run], labels: Dataset) -> None:
    marks = mark_pairs(runs[1].read().rows, RelationsExam().tables(labels))
    examples = worst_examples(marks, labels)
    with_one = [example for example in examples if example.beside is not None]
    assert len(with_one) > 5
    used = [(example.subtask, example.beside.cluster) for example in with_one if example.beside]
    assert len({*used}) == len(used)
    for example in with_one:
        right = example.beside
        assert right is not None
        assert (right.subtask, right.truth) == (example.subtask, right.answer)
        assert right.cluster != example.cluster
        assert example.truth != example.answer
        votes = [np.array([[*one.votes.values(), 0, 0, 0, 0]], dtype=np.int16) for one in (example, right)]
        assert unanimity(votes[0]) == unanimity(votes[1])
        assert example.note.endswith(f"Right beside it: {right.cluster}.")
        assert example.to_dict()["beside"]["cluster"] == right.cluster


def test_scenes_without_a_mistake_are_as_full_as_the_worst(predicates: Page) -> None:
    worst, perfect = shown(predicates, "worst"), shown(predicates, "perfect")
    assert worst
    assert perfect
    kinds = list(dict.fromkeys(re.findall(r'id="predicates-(worst|perfect|typical)"', predicates.to_html())))
    assert kinds[:2] == ["worst", "perfect"]


def test_no_raters_where_nobody_voted(labels: Dataset, tmp_path: Path) -> None:
    tables = labels.tables()
    relations = tables.relations.with_columns(votes=pl.lit([], dtype=tables.relations.schema["votes"]))
    data = Dataset.from_tables(Tables(tables.views, tables.objects, tables.sightings, relations), tmp_path / "d")
    made_runs = relations_runs.runs(data, tmp_path, ("bottom_edge",), relations_runs.Contrary())
    for protocol in ("default", "paper", "official"):
        made = card(made_runs, data, scoring={"protocol": protocol})
        for text in (words_of(made), made.to_markdown()):
            assert "rater" not in text.lower(), protocol
            assert "vote" not in text.lower(), protocol
        assert made.examples


@pytest.mark.parametrize("page", ["predicates", "relations"])
def test_every_picture_says_how_large_it_is(page: str, request: pytest.FixtureRequest) -> None:
    parsed = Parsed(request.getfixturevalue(page).to_html())
    pictures = [attributes for tag, attributes in parsed.elements if tag == "img"]
    assert all({"width", "height"} <= {*attributes} for attributes in pictures)
    drawings = [attributes for tag, attributes in parsed.elements if tag == "svg"]
    assert drawings
    assert all("viewbox" in attributes for attributes in drawings)
    if page == "predicates":
        heat = [a for a in pictures if str(a.get("alt", "")).startswith("Attention")]
        assert heat
        assert {(a["width"], a["height"]) for a in heat} == {("120", "80")}


OUTSIDE = """() => [...document.querySelectorAll("main svg text")].filter((text) => {
  const box = text.getBoundingClientRect(), svg = text.ownerSVGElement.getBoundingClientRect();
  return box.width && (box.left < svg.left - 1 || box.right > svg.right + 1);
}).map((text) => text.textContent)"""
SHIFTED = """() => new Promise((done) => {
  let sum = 0;
  new PerformanceObserver((list) => { for (const one of list.getEntries()) sum += one.value; })
    .observe({ type: "layout-shift", buffered: true });
  setTimeout(() => done(sum), 300);
})"""
CUT = """() => [...document.querySelectorAll(".scroll")].map((box) =>
  [box.scrollWidth > box.clientWidth + 1, box.nextElementSibling.matches(".more:not([hidden])")])"""


@pytest.mark.browser
@pytest.mark.parametrize("wide", [400, 1300])
@pytest.mark.parametrize("page", ["predicates", "relations"])
def test_nothing_overflows_or_jumps_and_wide_tables_say_so(
    browser: Any, tmp_path: Path, page: str, wide: int, request: pytest.FixtureRequest
) -> None:
    html = request.getfixturevalue(page).write(tmp_path)[0]
    tab = browser.new_page(viewport={"width": wide, "height": 900})
    tab.goto(html.as_uri())
    assert tab.evaluate(SHIFTED) == 0
    tab.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    tab.wait_for_timeout(100)
    assert tab.evaluate("document.documentElement.scrollWidth") <= wide
    assert tab.evaluate(OUTSIDE) == []
    cut = tab.evaluate(CUT)
    assert any(over for over, _ in cut)
    assert all(over == said for over, said in cut)
    tab.close()


@pytest.mark.browser
def test_a_choice_that_nothing_fits_says_so(browser: Any, tmp_path: Path, predicates: Page) -> None:
    tab = browser.new_page()
    tab.goto(predicates.write(tmp_path)[0].as_uri())
    tab.select_option("select[name=model]", LONG[1])
    tab.select_option("select[name=kind]", "perfect")
    assert tab.locator(".example:visible").count() == 0
    assert tab.locator("output").text_content() == "no example fits: set one choice back to all"
    tab.close()
