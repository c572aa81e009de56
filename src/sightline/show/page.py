"""A report as data, and its three files: one HTML page that needs nothing else, JSON and Markdown of the same.

Exams fill it; nothing here knows any of them. All words are escaped. Markup is only what `sightline.show.chart` and
the drawings make, and what an exam renders with `render_part` for an item on show.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, Literal, get_args

from markupsafe import Markup

from sightline import __version__
from sightline.files import atomic_write
from sightline.plain import plain
from sightline.show.markup import markdown_text, part_style, render_part
from sightline.show.svg import THEME_CSS
from sightline.show.table import Table

__all__ = ["ExamPart", "Example", "ExampleKind", "Figure", "FigureRow", "Page", "Section", "render_part"]

FILE: Final = "report.html"
"""Name of the page in a folder."""
_FILTERS: Final = ("exam", "model", "kind")

ExampleKind = Literal["worst", "perfect", "typical", "chosen"]
"""Why an item is on show; what is right stands next to what is wrong. ``chosen``: it was asked for by id."""


@dataclass(frozen=True)
class Figure:
    """A drawing with its heading; `svg` is markup made by our own functions, which escape their texts."""

    title: str
    svg: str
    note: str = ""


@dataclass(frozen=True)
class FigureRow:
    """Figures side by side.

    Attributes:
        title: Above them; may be empty.
        figures: All of them.
        text: A sentence above them.
        key: What the marks mean: (mark, words), a mark being ``model``, ``rival``, ``blind``, ``dash`` or nothing.
        small: Three in a row of a wide page, not two.
    """

    title: str
    figures: tuple[Figure, ...]
    text: str = ""
    key: tuple[tuple[str, str], ...] = ()
    small: bool = False


@dataclass(frozen=True)
class Section:
    """A titled piece of a page.

    Attributes:
        id: What a link to it says; unique in its exam.
        title: Its heading.
        text: Paragraphs above the content.
        content: Tables and figures in order; a table without a row is left out.
        folded: Whether a reader has to open it.
    """

    id: str
    title: str
    text: tuple[str, ...] = ()
    content: tuple[Table | Figure | FigureRow, ...] = ()
    folded: bool = False

    @property
    def tables(self) -> tuple[Table, ...]:
        """Its tables that have a row."""
        return tuple(shown for shown in self.content if isinstance(shown, Table) and shown.rows)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON: words and tables; drawings show what the exam's document holds."""
        return {"id": self.id, "title": self.title, "text": list(self.text), "tables": plain(self.tables)}


@dataclass(frozen=True)
class Example:
    """One item on show.

    Attributes:
        exam: Name of the exam.
        model: Label of the model that answered.
        kind: Why it is on show.
        id: Id of the item.
        title: Its heading; often the id.
        html: What is shown: markup from `render_part`, trusted.
        note: A sentence on what happened.
        facts: The same as plain values for JSON.
        table: The same for Markdown, where a sentence does not tell it.
    """

    exam: str
    model: str
    kind: ExampleKind
    id: str
    title: str
    html: str
    note: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)
    table: Table | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON: everything but the markup."""
        names = ("exam", "model", "kind", "id", "title", "note", "facts")
        return {name: plain(getattr(self, name)) for name in names}


@dataclass(frozen=True)
class ExamPart:
    """What a page says of one exam.

    Attributes:
        exam: Name of the exam; anchors begin with it.
        title: Its heading.
        lead: What the scores mean, in a few sentences.
        facts: (name, value) in short: the data, the split, how much was asked.
        sections: Everything else.
        warnings: What a reader must know before trusting the figures.
        commands: Command lines that do it again.
        document: The exam's results for JSON.
        examples_lead: Paragraphs above its items on show.
        examples_legend: What the marks on them mean: markup from `render_part`, trusted.
        kinds: ExampleKind → how items of this kind were chosen, in a sentence.
        style: Style sheet of its items on show, trusted.
    """

    exam: str
    title: str
    lead: tuple[str, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    sections: tuple[Section, ...] = ()
    warnings: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    document: Mapping[str, Any] = field(default_factory=dict)
    examples_lead: tuple[str, ...] = ()
    examples_legend: str = ""
    kinds: Mapping[ExampleKind, str] = field(default_factory=dict)
    style: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON: the words and tables of the page, and the exam's own document."""
        names = ("exam", "title", "lead", "facts", "warnings", "sections", "commands", "document")
        return {name: plain(getattr(self, name)) for name in names} | {"facts": dict(self.facts)}


@dataclass(frozen=True)
class Page:
    """A whole report: a summary first, a part an exam, items on show, and where it all comes from.

    Attributes:
        title: Whose report it is.
        made: When, ISO 8601 in UTC.
        lead: What the report says, in a few sentences.
        summary: Exams × models: the headline with its interval, the best blind baseline, the weakest point.
        parts: One an exam.
        examples: Items on show, of all exams, in order.
        provenance: Models in their own words, versions, fingerprints.
        warnings: What a reader must know before anything else.
        kind: What the page is, in words above its title.
    """

    title: str
    made: str
    lead: tuple[str, ...]
    summary: Table
    parts: tuple[ExamPart, ...]
    examples: tuple[Example, ...] = ()
    provenance: tuple[Section, ...] = ()
    warnings: tuple[str, ...] = ()
    kind: str = "report card"

    def __post_init__(self) -> None:
        strangers = {one.exam for one in self.examples} - {part.exam for part in self.parts}
        if strangers:
            raise ValueError(f"examples of {', '.join(sorted(strangers))}, which has no part on the page")

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; undefined ones are null."""
        names = ("title", "made", "lead", "warnings", "summary", "parts", "examples", "provenance")
        return {name: plain(getattr(self, name)) for name in names} | {"sightline": __version__}

    def to_markdown(self) -> str:
        """Words and tables as Markdown."""
        return "\n".join(_markdown(self)) + "\n"

    def to_html(self) -> str:
        """The page as text; it loads nothing, and runs no script but its own."""
        script = part_style("sightline.show", "page.js")
        styles = [THEME_CSS, part_style("sightline.show", "page.css"), *dict.fromkeys(p.style for p in self.parts)]
        return render_part(
            "sightline.show",
            "page.html.j2",
            page=self,
            galleries=self._galleries(),
            filters=self._filters(),
            css=Markup("".join(styles)),  # noqa: S704 - our own style sheets
            script=Markup(script),  # noqa: S704 - our own file
            script_hash=b64encode(sha256(script.encode()).digest()).decode(),
            version=__version__,
        )

    def _galleries(self) -> list[tuple[ExamPart, dict[str, list[Example]]]]:
        """Items on show, by exam and then by kind."""
        galleries = []
        for part in self.parts:
            kinds: dict[str, list[Example]] = {kind: [] for kind in get_args(ExampleKind)}
            for example in self.examples:
                if example.exam == part.exam:
                    kinds[example.kind].append(example)
            if any(kinds.values()):
                galleries.append((part, {kind: examples for kind, examples in kinds.items() if examples}))
        return galleries

    def _filters(self) -> dict[str, dict[str, str]]:
        """What the items on show can be chosen by: field → value → its words; only where there is a choice."""
        titles = {part.exam: part.title for part in self.parts}
        values = {name: dict.fromkeys(getattr(one, name) for one in self.examples) for name in _FILTERS}
        return {
            name: {value: titles[value] if name == "exam" else value for value in choices}
            for name, choices in values.items()
            if len(choices) > 1
        }

    def write(self, path: str | Path) -> tuple[Path, Path, Path]:
        """Write the page, and beside it ``.json`` and ``.md`` of the same name; returns the three paths.

        Nothing is written unless all three could be made.

        Args:
            path: The page's file (``*.html``, ``*.htm``), or a folder, which gets ``report.html``; made if missing.
        """
        path = Path(path)
        html = path if path.suffix.lower() in (".html", ".htm") else path / FILE
        data = json.dumps(self.to_dict(), indent=1, ensure_ascii=False, allow_nan=False) + "\n"
        texts = {html: self.to_html(), html.with_suffix(".json"): data, html.with_suffix(".md"): self.to_markdown()}
        html.parent.mkdir(parents=True, exist_ok=True)
        for file, text in texts.items():
            atomic_write(file, text.encode("utf-8", errors="replace"))
        return html, html.with_suffix(".json"), html.with_suffix(".md")


def _markdown(page: Page) -> Iterator[str]:
    yield f"# {markdown_text(page.title)}"
    yield f"\nSightline {__version__}; {markdown_text(page.made)}."
    yield from _warnings(page.warnings)
    yield from _paragraphs(page.lead)
    if page.summary.rows:
        yield f"\n{page.summary.to_markdown(heading=2)}"
    for part in page.parts:
        yield f"\n## {markdown_text(part.title)}"
        yield from [""] * bool(part.facts)
        yield from (f"- {markdown_text(name)}: {markdown_text(value)}" for name, value in part.facts)
        yield from _warnings(part.warnings)
        yield from _paragraphs([" ".join(part.lead)] if part.lead else [])
        for section in part.sections:
            yield from _section(section, 3)
        yield from _examples(part, [one for one in page.examples if one.exam == part.exam])
    if page.provenance or any(part.commands for part in page.parts):
        yield "\n## How this was made"
    for section in page.provenance:
        yield from _section(section, 3)
    for part in page.parts:
        if part.commands:
            yield f"\n### To do it again: {markdown_text(part.title)}\n"
            yield from (f"    {' '.join(command.split())}" for command in part.commands)


def _section(section: Section, level: int) -> Iterator[str]:
    yield f"\n{'#' * level} {markdown_text(section.title)}"
    yield from _paragraphs(section.text)
    for table in section.tables:
        yield f"\n{table.to_markdown(heading=level + 1)}"


def _examples(part: ExamPart, examples: list[Example]) -> Iterator[str]:
    """Items on show: what a sentence or a table can tell of them."""
    if examples:
        yield "\n### On show"
        yield from _paragraphs(part.examples_lead)
    for one in examples:
        words = f"{one.kind}, {markdown_text(one.model)}"
        yield f"\n**{markdown_text(one.title)}** ({words}){f': {markdown_text(one.note)}' if one.note else ''}"
        if one.table is not None and one.table.rows:
            yield f"\n{one.table.to_markdown()}"


def _warnings(warnings: tuple[str, ...]) -> Iterator[str]:
    yield from (f"\n> **Note:** {markdown_text(warning)}" for warning in warnings)


def _paragraphs(text: tuple[str, ...] | list[str]) -> Iterator[str]:
    yield from (f"\n{markdown_text(paragraph)}" for paragraph in text)
