"""The page of every report: whole, escaped, alone, and the same in HTML, JSON and Markdown."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from jinja2 import UndefinedError
from made_page import HOSTILE, MODELS, PIXEL, page

from show.parsed_page import Parsed
from sightline.show.markup import markdown_text
from sightline.show.page import Page, render_part
from sightline.show.table import Cell, Row, Table


def test_page_is_sound_and_every_link_leads_somewhere() -> None:
    parsed = Parsed(page().to_html())
    ids = parsed.attributes("id")
    assert len(set(ids)) == len(ids)
    assert [name for name in ids if name in ("summary", "predicates", "turing", "examples", "made")] == [
        "summary", "predicates", "turing", "examples", "made",
    ]  # fmt: skip
    assert all(link[1:] in ids for link in parsed.attributes("href"))
    assert [tag for tag, _ in parsed.elements].count("article") == 12
    assert [tag for tag, _ in parsed.elements].count("details") == 3
    for words in (
        "best blind baseline",
        "To do it again",
        "Models in their own words",
        "Where it falls",
        "Mind this",
    ):
        assert words in parsed.text
    assert "None" not in parsed.text  # a table without a row


def test_hostile_words_stay_words() -> None:
    parsed = Parsed(page(HOSTILE).to_html())
    scripts = [attrs for tag, attrs in parsed.elements if tag == "script"]
    assert scripts == [{}]  # its own
    assert not [name for _, attrs in parsed.elements for name in attrs if name.startswith("on")]
    assert parsed.text.count("<script>alert('x')</script>") > 50
    assert "{{ 7*7 }}" in parsed.text
    assert "49 https" not in parsed.text


def test_nothing_is_loaded() -> None:
    parsed = Parsed(page(HOSTILE).to_html())
    assert {tag for tag, _ in parsed.elements} & {"link", "iframe", "object", "embed", "base"} == set()
    sources = [
        value for name in ("src", "href", "srcset", "action", "xlink:href") for value in parsed.attributes(name)
    ]
    assert {value for value in sources if not value.startswith("#")} == {PIXEL}
    assert not re.search(r"url\(|@import", page().to_html())
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", page().to_html())
    (policy,) = [attrs["content"] for tag, attrs in parsed.elements if "http-equiv" in attrs]
    assert policy is not None
    assert policy.startswith("default-src 'none'")


def test_html_json_and_markdown_say_the_same(tmp_path: Path) -> None:
    made = page("plain words")
    html, data, text = made.write(tmp_path / "new" / "folder")
    assert [path.name for path in (html, data, text)] == ["report.html", "report.json", "report.md"]
    document = json.loads(data.read_text(encoding="utf-8"))
    assert [part["exam"] for part in document["parts"]] == ["predicates", "turing"]
    assert document["parts"][0]["document"] == {"exam": "predicates", "score": None}
    assert [one["kind"] for one in document["examples"][:3]] == ["worst", "typical", "perfect"]
    shown = Parsed(html.read_text(encoding="utf-8")).text
    written = text.read_text(encoding="utf-8")
    for table in tables(document):
        for row in table["rows"]:
            assert row["head"] in shown
            assert markdown_text(row["head"]) in written
            for cell in row["cells"]:
                assert cell["text"] in shown
                assert cell["detail"] in shown
                assert markdown_text(cell["text"]) in written
                assert cell["detail"] in written
    for words in sentences(document):
        assert " ".join(words.split()) in shown
        assert markdown_text(words) in written


def tables(document: dict[str, Any]) -> list[dict[str, Any]]:
    sections = [s for part in document["parts"] for s in part["sections"]] + document["provenance"]
    return [document["summary"], *(table for section in sections for table in section["tables"])]


def sentences(document: dict[str, Any]) -> list[str]:
    own = [*document["lead"], *document["warnings"], *(one["note"] for one in document["examples"])]
    for part in document["parts"]:
        own += [*part["lead"], *part["warnings"], *part["facts"].values()]
        own += [words for section in part["sections"] for words in section["text"]]
    return own


def test_markdown_is_escaped() -> None:
    written = page(HOSTILE).to_markdown()
    words = [line for line in written.splitlines() if not line.startswith("    ")]  # commands stand in code blocks
    assert not [line for line in words if "<script" in line]
    rows = [line for line in written.splitlines() if line.startswith("| ")]
    for line in rows:
        assert len(re.findall(r"(?<!\\)\|", line)) >= 3
    assert written.count("\n## ") == 4  # summary, two exams, how this was made


@pytest.mark.parametrize(("name", "html"), [("a.html", "a.html"), ("a.HTM", "a.HTM"), ("a.b", "a.b/report.html")])
def test_where_a_page_is_written(tmp_path: Path, name: str, html: str) -> None:
    paths = page().write(tmp_path / name)
    assert paths[0] == tmp_path / html
    assert all(path.exists() and path.parent == paths[0].parent for path in paths)


def test_nothing_is_written_where_one_form_cannot_be_made(tmp_path: Path) -> None:
    made = page()
    bad = replace(made.parts[0], style=3)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        replace(made, parts=(bad, made.parts[1])).write(tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_bare_page() -> None:
    made = Page("nobody", "2026-01-02T03:04:05+00:00", (), Table("", ("exam",), ()), ())
    parsed = Parsed(made.to_html())
    assert "examples" not in parsed.attributes("id")
    assert made.to_markdown().startswith("# nobody\n")
    assert made.to_dict()["parts"] == []


def test_examples_of_an_exam_without_a_part() -> None:
    made = page()
    with pytest.raises(ValueError, match="examples of turing"):
        replace(made, parts=made.parts[:1])


def test_a_value_that_a_template_misses_is_an_error() -> None:
    with pytest.raises(UndefinedError):
        render_part("sightline.exams.turing", "legend.html.j2")


@pytest.mark.long
@pytest.mark.browser
def test_filters_choose_what_is_shown(browser: Any, tmp_path: Path) -> None:
    html, _, _ = page().write(tmp_path)
    tab = browser.new_page()
    errors: list[str] = []
    tab.on("pageerror", lambda error: errors.append(str(error)))
    tab.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    tab.goto(html.as_uri())
    visible = lambda: tab.locator(".example:visible").count()  # noqa: E731
    assert visible() == 12
    assert tab.locator("output").text_content() == "12 of 12 shown"
    tab.select_option("select[name=kind]", "worst")
    assert visible() == 4
    tab.select_option("select[name=model]", MODELS[1])
    assert visible() == 2
    tab.select_option("select[name=exam]", "turing")
    assert visible() == 1
    assert tab.locator("output").text_content() == "1 of 12 shown"
    assert not tab.locator("#predicates-examples").is_visible()
    assert not tab.locator("#turing-typical").is_visible()
    tab.select_option("select[name=kind]", "")
    assert visible() == 3
    assert errors == []
    tab.close()


@pytest.mark.long
@pytest.mark.browser
def test_everything_is_visible_without_scripts_and_on_a_phone(browser: Any, tmp_path: Path) -> None:
    html, _, _ = page("some words").write(tmp_path)
    context = browser.new_context(java_script_enabled=False, viewport={"width": 360, "height": 740})
    tab = context.new_page()
    tab.goto(html.as_uri())
    assert tab.locator(".example:visible").count() == 12
    assert not tab.locator(".filter").is_visible()
    context.close()
    tab = browser.new_page(viewport={"width": 360, "height": 740})
    tab.goto(html.as_uri())
    assert tab.evaluate("document.documentElement.scrollWidth") <= 360
    tab.close()


def test_a_long_name_in_a_cell_goes_on_after_an_underscore() -> None:
    table = Table("t", ("exam", "model"), (Row("depth", (Cell("a_name_<of>"),)),), words=("model",))
    made = replace(page(), summary=table).to_html()
    assert "a_<wbr>name_<wbr>&lt;of&gt;" in made
