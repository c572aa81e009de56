"""Report cards of runs in memory, and what every one of them must hold."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from show.parsed_page import Parsed
from sightline.exams.base import Candidate
from sightline.exams.card import CardOptions
from sightline.exams.report import report_card
from sightline.exams.run import Run
from sightline.models import is_blind
from sightline.show.markup import markdown_text
from sightline.show.page import Example, Page
from sightline.show.table import Row, Table
from sightline.store import Dataset

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>\"&'{{ 7*7 }}|_`"


def card(
    runs: Sequence[Run], data: Dataset, *, model: object = None, fingerprint: str = "", **options: Any
) -> Page:
    """The card of runs over one dataset; `model` is loaded where the attention of the focus is wanted."""

    def load(run: Run) -> Candidate:
        assert model is not None, "no model was to be loaded"
        return Candidate(run.spec, run.name, model, fingerprint)

    options = {"resamples": 50} | options
    return report_card(runs, lambda _: data, CardOptions(**options), blind=is_blind, load=load)


def document(page: Page) -> dict[str, Any]:
    """JSON of the only exam on a page."""
    (part,) = page.parts
    values: dict[str, Any] = part.to_dict()["document"]
    return values


def shown(page: Page, kind: str) -> list[Example]:
    """Examples of one kind."""
    return [example for example in page.examples if example.kind == kind]


def names_of(table: Table) -> list[str]:
    """Headings of all columns, those of columns that are one apart."""
    return [name for heading in table.columns for name in heading.split(", ")]


def entry(table: Table, row: Row, column: str) -> str | None:
    """What a row says in a column, which may be one with others; None where no row has a figure there."""
    for heading, cell in zip(table.columns[1:], row.cells, strict=True):
        if column in heading.split(", "):
            return cell.text
    assert column in table.note, f"{table.title} has no column {column}"
    return None


def words_of(page: Page) -> str:
    """What a reader sees, a soft break being none."""
    return Parsed(page.to_html().replace("<wbr>", "")).text.replace("\u00a0", " ")


def check_page(page: Page, exam: str, sections: Sequence[str]) -> Parsed:
    """The page is sound: all sections once and in order, every link leads somewhere, nothing is loaded."""
    html = page.to_html()
    parsed = Parsed(html)
    ids = parsed.attributes("id")
    assert len(set(ids)) == len(ids)
    assert [name for name in ids if name in {f"{exam}-{s}" for s in sections}] == [f"{exam}-{s}" for s in sections]
    links = [v for name in ("href", "src", "xlink:href", "srcset", "action") for v in parsed.attributes(name)]
    assert all(link[1:] in ids if link.startswith("#") else link.startswith("data:image/") for link in links)
    tags = [tag for tag, _ in parsed.elements]
    assert not {"link", "iframe", "object", "embed", "base"} & set(tags)
    assert tags.count("script") == 1  # the page's own
    assert tags.count("article") == len(page.examples)
    assert not [name for _, attributes in parsed.elements for name in attributes if name.startswith("on")]
    bare = html.replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert not re.search(r"https?://|url\(|@import|//cdn", bare)
    return parsed


def check_hostile(page: Page, words: str = HOSTILE) -> None:
    """Hostile words are shown as they are, in HTML and Markdown alike, and stay in their cells."""
    html, text = page.to_html(), page.to_markdown()
    assert "<script>alert" not in html
    assert "<img src=x" not in html
    assert "{{ 7*7 }}" in words_of(page)
    assert ">49<" not in html
    assert words in words_of(page)
    assert "<script" not in "\n".join(line for line in text.splitlines() if not line.startswith("    "))
    blocks = re.findall(r"(?:^\|.*\n)+", text, flags=re.MULTILINE)
    assert len(blocks) > 5
    for block in blocks:
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}) == 1


def check_same_words(page: Page) -> None:
    """JSON is free of NaN, and its tables and sentences stand in HTML and in Markdown."""
    values = json.loads(json.dumps(page.to_dict(), allow_nan=False))
    text = page.to_markdown()
    html = words_of(page)
    sections = [section for part in values["parts"] for section in part["sections"]] + values["provenance"]
    tables = [values["summary"], *(table for section in sections for table in section["tables"])]
    assert len(tables) > 4
    for table in tables:
        for row in table["rows"]:
            for cell in row["cells"]:
                assert markdown_text(cell["text"]) in text
                assert " ".join(cell["text"].split()) in html
                assert cell["detail"] in html
    for part in values["parts"]:
        for sentence in (*part["lead"], *part["warnings"], *(t for s in part["sections"] for t in s["text"])):
            assert " ".join(sentence.split()).replace("\u00a0", " ") in html
            assert markdown_text(sentence) in text


def check_in_browser(browser: Any, page: Page, folder: Path, scheme: str = "light") -> None:
    """On a phone nothing scrolls sideways, no picture is broken, nothing is asked for and nothing goes wrong."""
    html = page.write(folder)[0]
    view = browser.new_page(viewport={"width": 390, "height": 844}, color_scheme=scheme)
    asked: list[str] = []
    problems: list[str] = []
    view.on("request", lambda request: asked.append(request.url))
    view.on("console", lambda message: problems.append(message.text))
    view.on("dialog", lambda dialog: problems.append(dialog.message))
    view.goto(html.as_uri())
    view.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    wide, inner = view.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    broken = view.evaluate("[...document.images].filter(i => !i.complete || !i.naturalWidth).length")
    marks = view.evaluate(
        "[...new Set([...document.querySelectorAll('.legend span')].map(one => {"
        " const s = getComputedStyle(one);"
        " return [s.color, s.backgroundColor, s.borderTopStyle].join() }))].length"
    )
    picture = view.screenshot(full_page=True)
    view.close()
    assert wide <= inner == 390
    assert broken == 0
    assert marks == (4 if page.parts[0].examples_legend else 0)
    assert len(picture) > 50_000
    assert [url for url in asked if not url.startswith("data:")] == [html.as_uri()]
    assert problems == []
