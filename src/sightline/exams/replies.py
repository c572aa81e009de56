"""Show what models that answer in words wrote: the commonest replies of a run, and how each was read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import polars as pl

from sightline.exams.scoring import RunResult
from sightline.show.page import Section
from sightline.show.table import Cell, Row, Table
from sightline.text import counted, printable

SAID: Final = "said"
"""Column of records that keeps what a model wrote, where that is more than the word it was read as."""
UNREAD: Final = ("unparsed", "unknown")
"""Answers of replies that could not be read; silence, which is null, is one too."""
_SHOWN: Final = 12
_LONGEST: Final = 160


def reply_sections(results: Sequence[RunResult]) -> Iterator[Section]:
    """A folded section with the commonest replies of each run that has some, those that could not be read first."""
    tables = [table for result in results if (table := replies_table(result)) is not None]
    if tables:
        text = "What the models wrote, word for word, and what it was read as; nothing is guessed."
        yield Section("replies", "Replies in their own words", (text,), tuple(tables), folded=True)


def replies_table(result: RunResult) -> Table | None:
    """The commonest replies of one run, unread ones first; None where it kept none."""
    rows = result.records.rows
    if SAID not in rows.columns:
        return None
    written = rows.filter(pl.col(SAID).fill_null("") != "")
    if not written.height:
        return None
    answer = pl.col("answer").cast(pl.String)
    unread = answer.is_null() | answer.is_in(UNREAD)
    counts = (
        written.group_by(SAID, answer.alias("answer"), unread.alias("unread"))
        .len()
        .sort("unread", "len", SAID, descending=[True, True, False])
    )
    lines = tuple(
        Row(_shortened(text), (Cell("not read" if lost else word), Cell(f"{number:,}")))
        for text, word, lost, number in counts.head(_SHOWN).iter_rows()
    )
    more = counts.height - len(lines)
    note = f"{counted(more, 'other reply', 'other replies')}; the records have all." if more else ""
    return Table(result.name, ("reply", "read as", "times"), lines, note=note, words=("reply",))


def _shortened(text: str) -> str:
    line = printable(" ".join(text.split()))
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"
