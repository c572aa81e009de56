"""A contact sheet as one or more PNG files."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from PIL import Image, ImageDraw

from sightline.report.contact.canvas import cut, width_of, write
from sightline.report.contact.colours import INK, MUTED, PAPER, RULE, kind_colour
from sightline.report.contact.exhibit import Exhibit, Link
from sightline.report.contact.panel import TITLES, panel

MARGIN: Final = 32
GUTTER: Final = 10
GAP: Final = 32
"""Between views, pixels; GUTTER is between the panels of one view."""

HEADER: Final = 64
TALLEST: Final = 12_000
"""Pixels of one file's height: more rows go into another, so that memory does not grow with the sheet."""

ACROSS: Final = 2080
_LINE: Final = 18
_MOST_LINES: Final = 16


@dataclass(frozen=True, slots=True)
class Plan:
    """How a sheet is laid out: layers of each panel, panel width in pixels, views side by side."""

    panels: tuple[tuple[str, ...], ...]
    width: int = 480
    columns: int | None = None

    @property
    def across(self) -> int:
        """Views side by side: as told, or as many as fit `ACROSS` pixels."""
        return self.columns or max(1, (ACROSS - 2 * MARGIN + GAP) // (self.cell + GAP))

    @property
    def cell(self) -> int:
        """Width of one view's panels together."""
        return len(self.panels) * (self.width + GUTTER) - GUTTER


def pages(shown: Iterable[Exhibit], plan: Plan, title: str, subtitle: str) -> Iterator[bytes]:
    """PNG files, one after the other; in memory is one file's pixels."""
    rows: list[Image.Image] = []
    height = HEADER
    rest = iter(shown)
    while cells := list(islice(rest, plan.across)):
        row = _row(cells, plan)
        if rows and height + row.height > TALLEST:
            yield _page(rows, title, subtitle)
            rows, height = [], HEADER
        rows.append(row)
        height += row.height
    yield _page(rows, title, subtitle)


def _page(rows: Sequence[Image.Image], title: str, subtitle: str) -> bytes:
    wide = max((row.width for row in rows), default=640)
    sheet = Image.new("RGB", (wide, HEADER + sum(row.height for row in rows) + MARGIN - GAP), PAPER)
    draw = ImageDraw.Draw(sheet)
    room = wide - 2 * MARGIN
    shown = cut(title, 24, room)
    write(draw, (MARGIN, 44), shown, 24)
    rest = room - width_of(shown, 24) - 16
    write(draw, (MARGIN + width_of(shown, 24) + 16, 44), cut(subtitle, 15, rest) if rest > 60 else "", 15, MUTED)
    top = HEADER
    for row in rows:
        sheet.paste(row, (0, top))
        top += row.height
    buffer = io.BytesIO()
    sheet.save(buffer, format="PNG", compress_level=6)
    return buffer.getvalue()


def _row(cells: Sequence[Exhibit], plan: Plan) -> Image.Image:
    made = [_cell(shown, plan) for shown in cells]
    wide = 2 * MARGIN + plan.across * (plan.cell + GAP) - GAP
    row = Image.new("RGB", (wide, max(cell.height for cell in made) + GAP), PAPER)
    for i, cell in enumerate(made):
        row.paste(cell, (MARGIN + i * (plan.cell + GAP), 0))
    return row


def _cell(shown: Exhibit, plan: Plan) -> Image.Image:
    """A view: what it is, a rule, its panels with their titles, and beneath them its relations in words."""
    drawn = [panel(shown, layers, plan.width) for layers in plan.panels]
    listed = any("relations" in layers for layers in plan.panels)
    links, rest = _lines(shown) if listed else ((), "")
    rows = -(-len(links) // len(drawn))
    top, high = 34, max(picture.height for picture in drawn)
    foot = top + high + 24
    lines = rows + bool(rest)
    cell = Image.new("RGB", (plan.cell, foot + (6 + _LINE * lines if lines else 0)), PAPER)
    draw = ImageDraw.Draw(cell)
    _heading(draw, shown, plan.cell)
    for i, (layers, picture) in enumerate(zip(plan.panels, drawn, strict=True)):
        left = i * (plan.width + GUTTER)
        cell.paste(picture, (left, top))
        write(draw, (left, foot - 7), ", ".join(TITLES[name] for name in layers), 13, MUTED)
        for k, link in enumerate(links[i * rows : (i + 1) * rows]):
            _told(draw, shown, link, (left, foot - 1 + _LINE * (k + 1)), plan.width)
    write(draw, (0, foot - 1 + _LINE * lines), cut(rest, 13, plan.cell) if rest else "", 13, MUTED)
    return cell


def _heading(draw: ImageDraw.ImageDraw, shown: Exhibit, wide: int) -> None:
    number = len(shown.things)
    facts = [
        "" if shown.view == "0" else shown.view,
        f"{number} object" if number == 1 else f"{number} objects",
        shown.split,
    ]
    right = " · ".join(fact for fact in facts if fact)
    name = cut(shown.scene, 16, wide)
    write(draw, (0, 18), name, 16)
    if width_of(name, 16) + width_of(right, 13) + 16 <= wide:
        write(draw, (wide, 18), right, 13, MUTED, "rs")
    draw.line((0, 26, wide, 26), fill=RULE)


def _lines(shown: Exhibit) -> tuple[Sequence[Link], str]:
    """The links that are told one by one, and a line about the rest."""
    more = len(shown.links) - _MOST_LINES
    rest = [f"{more} more drawn"] if more > 0 else []
    rest += [f"{count} {word.replace('_', ' ')}" for word, count in shown.others.items()]
    return shown.links[:_MOST_LINES], "and " + ", ".join(rest) if rest else ""


def _told(draw: ImageDraw.ImageDraw, shown: Exhibit, link: Link, place: tuple[int, int], room: int) -> None:
    x, y = place
    draw.rounded_rectangle((x, y - 8, x + 14, y - 4), 2, fill=kind_colour(link.predicate))
    ends = [shown.things[end] for end in (link.subject, link.object)]
    subject, other = (f"{thing.tag} {thing.category.replace('_', ' ')}" for thing in ends)
    words = f"{subject}  {link.predicate.replace('_', ' ')}  {other}"
    write(draw, (x + 22, y), cut(words, 13, room - 22), 13, INK)
