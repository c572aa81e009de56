"""Tables, said once and shown in HTML, Markdown, a terminal and a notebook alike."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeGuard

from rich.cells import cell_len

from sightline.show.markup import markdown_text, render_part
from sightline.stats import Interval

_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Characters that would move the cursor of a terminal or turn the way it writes."""


@dataclass(frozen=True)
class Cell:
    """One entry of a table: a figure or words, and what stands small beneath.

    Attributes:
        text: The figure or the words.
        detail: Beneath it: the two ends of an interval, or words such as a count.

    >>> print(Cell("0.857", ("0.850", "0.864")), Cell("3", "of 12"))
    0.857 [0.850, 0.864] 3 [of 12]
    """

    text: str
    detail: str | tuple[str, str] = ""

    @property
    def under(self) -> str:
        """What stands beneath, in words: an interval as ``low–high``, or ``−low to high``.

        >>> Cell("0.1", ("-0.2", "0.4")).under
        '−0.2 to 0.4'
        """
        if isinstance(self.detail, str):
            return self.detail
        low, high = (end.replace("-", "−") for end in self.detail)
        return f"{low} to {high}" if low.startswith("−") else f"{low}–{high}"

    def __str__(self) -> str:
        words = self.detail if isinstance(self.detail, str) else ", ".join(self.detail)
        return f"{self.text} [{words}]" if words else self.text


@dataclass(frozen=True)
class Row:
    """One line of a table: what it is of, its entries, and a kind for its looks (``focus``, ``blind`` or empty)."""

    head: str
    cells: tuple[Cell, ...]
    kind: str = ""


@dataclass(frozen=True)
class Table:
    """One table that shows itself.

    Attributes:
        title: What it shows.
        columns: Headings; the first is of the rows' heads.
        rows: All lines.
        groups: (words, columns spanned) above the headings, the first column aside; may be empty.
        note: A sentence beneath.
        words: Headings of columns that hold sentences, which are set to the left and may take several lines.

    >>> print(Table("F1", ("model", "depth"), (Row("mlp", (Cell("0.857", ("0.850", "0.864")),)),)))
    F1
    model                 depth
    mlp    0.857 [0.850, 0.864]
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    groups: tuple[tuple[str, int], ...] = ()
    note: str = ""
    words: tuple[str, ...] = ()

    def headings(self) -> list[str]:
        """Headings of all columns, each with the words of its group."""
        names = list(self.columns)
        at = 1
        for words, span in self.groups:
            for i in range(at, at + span):
                names[i] = f"{words}: {names[i]}" if words else names[i]
            at += span
        return names

    def merged(self) -> Table:
        """The same with equal columns made one, and with what every row says alike moved into the note.

        Columns are equal where all their entries are, intervals too; they must be of one group. A column of scores
        stays, since they were measured of each row; counts, words and dashes go.

        >>> rows = [Row(name, (Cell("0.6"), Cell("0.6"), Cell("720"))) for name in ("a", "b")]
        >>> rows[1] = replace(rows[1], cells=(Cell("0.7"), Cell("0.7"), Cell("720")))
        >>> print(Table("", ("model", "recall", "F1", "pairs"), tuple(rows)).merged())
        model  recall, F1
        a             0.6
        b             0.7
        The same in every row: pairs 720.
        """
        wide = len(self.columns) - 1
        if len(self.rows) < 2 or any(len(row.cells) != wide for row in self.rows):
            return self
        columns = [tuple(row.cells[i] for row in self.rows) for i in range(wide)]
        spans = self.groups or (("", wide),)
        group = [g for g, (_, span) in enumerate(spans) for _ in range(span)]
        alike = {i for i, cells in enumerate(columns) if len({*cells}) == 1 and not _measured(cells[0])}
        alike = alike if len(alike) < wide else set()
        names: dict[tuple[int, tuple[Cell, ...]], list[int]] = {}
        for i, cells in enumerate(columns):
            if i not in alike:
                names.setdefault((group[i], cells), []).append(i)
        kept = [of[0] for of in names.values()]
        headings = [", ".join(dict.fromkeys(self.columns[i + 1] for i in of)) for of in names.values()]
        widths = [(words, sum(group[i] == g for i in kept)) for g, (words, _) in enumerate(spans)]
        said = {i: str(columns[i][0]) for i in sorted(alike)}
        notes = [self.note]
        notes += [f"The same in every row: {words}." for words in [self._said(said, dash=False)] if words]
        notes += [f"In no row a figure: {words}." for words in [self._said(said, dash=True)] if words]
        return replace(
            self,
            columns=(self.columns[0], *headings),
            rows=tuple(replace(row, cells=tuple(row.cells[i] for i in kept)) for row in self.rows),
            groups=tuple(span for span in widths if span[1]) if self.groups else (),
            note=" ".join(filter(None, notes)),
            words=tuple(headings[k] for k, i in enumerate(kept) if self.columns[i + 1] in self.words),
        )

    def _said(self, entries: Mapping[int, str], *, dash: bool) -> str:
        """Columns with the entry that all rows have, or those in which it is a dash."""
        names = self.headings()
        if dash:
            return ", ".join(names[i + 1] for i, text in entries.items() if text == "–")
        said = [(names[i + 1], text) for i, text in entries.items() if text != "–"]
        return "; ".join(f"{name} {text}" if text[:1].isdigit() else f"{text} ({name})" for name, text in said)

    def to_markdown(self, heading: int = 0) -> str:
        """Write the table in Markdown; column groups go into the headings.

        Args:
            heading: Level of a heading with the title above it, and the note beneath; 0 for the table alone.
        """
        names = self.headings()
        lines = [_line(map(markdown_text, names)), _line(["---", *["---:"] * (len(names) - 1)])]
        lines += [_line(map(markdown_text, (row.head, *map(_bracketed, row.cells)))) for row in self.rows]
        if heading:
            lines = [f"{'#' * heading} {markdown_text(self.title)}", "", *lines] if self.title else lines
            lines += ["", markdown_text(self.note)] if self.note else []
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON: headings with their groups, and every row's entries as printed."""
        rows = [
            {"head": row.head, "kind": row.kind, "cells": [{"text": c.text, "detail": c.under} for c in row.cells]}
            for row in self.rows
        ]
        return {"title": self.title, "columns": self.headings(), "rows": rows, "note": self.note}

    def __str__(self) -> str:
        grid = [list(map(_printable, self.columns))]
        grid += [[_printable(text) for text in (row.head, *map(str, row.cells))] for row in self.rows]
        wide = [max(cell_len(line[i]) for line in grid if i < len(line)) for i in range(len(self.columns))]
        above, wide = _group_line(self.groups, wide)
        lines = [_printable(self.title)] if self.title else []
        lines += [above] if above else []
        lines += [_aligned(line, wide, [name in self.words for name in self.columns]) for line in grid]
        return "\n".join([*lines, *([_printable(self.note)] if self.note else [])])

    def _repr_html_(self) -> str:
        """The table for a notebook."""
        return render_part("sightline.show", "notebook.html.j2", table=self)


def figure(value: float | None, digits: int = 3) -> str:
    """Write a score to three decimals; a dash where there is none.

    >>> figure(0.85712), figure(float("nan"))
    ('0.857', '–')
    """
    return "–" if value is None or not math.isfinite(value) else f"{value:.{digits}f}"


def percent(share: float | None, digits: int = 1) -> str:
    """Write a share in per cent; a dash where there is none.

    >>> percent(0.1234), percent(None)
    ('12.3 %', '–')
    """
    return "–" if share is None or not math.isfinite(share) else f"{100 * share:.{digits}f} %"


def known(interval: Interval | None) -> TypeGuard[Interval]:
    """Whether there is a value to show."""
    return interval is not None and math.isfinite(interval.value)


def scored(interval: Interval | None, digits: int = 3) -> Cell:
    """Make a cell of a score over its interval.

    >>> print(scored(Interval(0.857, 0.85, 0.8641, 3000, "percentile bootstrap")))
    0.857 [0.850, 0.864]
    """
    return _over_limits(interval, lambda value: figure(value, digits))


def shared(interval: Interval | None, digits: int = 1) -> Cell:
    """Make a cell of a share in per cent over its interval.

    >>> print(shared(Interval(0.857, 0.85, 0.8641, 3000, "percentile bootstrap")))
    85.7 % [85.0, 86.4]
    """
    return _over_limits(interval, lambda value: percent(value, digits))


def _over_limits(interval: Interval | None, written: Callable[[float], str]) -> Cell:
    """The value over its limits, a unit at the value alone; a dash where there is no value."""
    if not known(interval):
        return Cell("–")
    low, high = (written(end).removesuffix(" %") for end in (interval.low, interval.high))
    return Cell(written(interval.value), "" if "–" in (low, high) else (low, high))


def _measured(cell: Cell) -> bool:
    """Whether an entry is a score or a share, not a count, words or a dash."""
    return not isinstance(cell.detail, str) or re.fullmatch(r"-?\d+\.\d+( %)?", cell.text) is not None


def _bracketed(cell: Cell) -> str:
    return f"{cell.text} ({cell.under})" if cell.under else cell.text


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _printable(text: str) -> str:
    """One line that a terminal shows as it is."""
    return _UNPRINTABLE.sub("\ufffd", " ".join(text.split()))


def _aligned(line: Sequence[str], wide: Sequence[int], words: Sequence[bool]) -> str:
    """Cells of a line in columns of these widths: the first and those of words to the left, others to the right."""
    room = [" " * (width - cell_len(text)) for text, width in zip(line, wide, strict=False)]
    parts = [
        text + blank if i == 0 or words[i] else blank + text
        for i, (text, blank) in enumerate(zip(line, room, strict=True))
    ]
    return "  ".join(parts).rstrip()


def _group_line(groups: Sequence[tuple[str, int]], wide: Sequence[int]) -> tuple[str, list[int]]:
    """The line of groups above the headings, each over its columns, and the widths that leave it room."""
    widths, at, parts = list(wide), 1, [" " * wide[0]]
    for words, span in groups:
        name = _printable(words)
        taken = sum(widths[at : at + span]) + 2 * (span - 1)
        widths[at + span - 1] += max(0, cell_len(name) - taken)
        parts.append(name + " " * (max(taken, cell_len(name)) - cell_len(name)))
        at += span
    return ("  ".join(parts).rstrip() if groups else ""), widths
