"""Replies on the report card: the commonest first, those that could not be read before all others."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from sightline.exams.replies import replies_table, reply_sections


def result(said: list[str | None] | None, answer: list[Any]) -> Any:
    columns = {"answer": answer} | ({} if said is None else {"said": said})
    return SimpleNamespace(name="m", records=SimpleNamespace(rows=pl.DataFrame(columns)))


@pytest.mark.parametrize(
    ("said", "answer", "rows"),
    [
        (
            ["Yes, it is", "Hm", "Yes, it is"],
            ["yes", "unparsed", "yes"],
            [("Hm", "not read", "1"), ("Yes, it is", "yes", "2")],
        ),
        (["so", "so"], [None, None], [("so", "not read", "2")]),  # silence
        (["3", "first\nthing"], [90.0, 0.0], [("3", "90.0", "1"), ("first thing", "0.0", "1")]),  # angles
        (["", None], ["yes", "no"], None),  # nothing was kept
        (None, ["yes"], None),  # no such column
    ],
)
def test_tables(said: Any, answer: list[Any], rows: Any) -> None:
    table = replies_table(result(said, answer))
    assert (None if table is None else [(r.head, *(c.text for c in r.cells)) for r in table.rows]) == rows


def test_sections() -> None:
    assert not list(reply_sections([result(None, ["yes"])]))
    (section,) = reply_sections(
        [result(["a"] * 20, ["yes"] * 20), result([f"r{i}" for i in range(15)], [None] * 15)]
    )
    assert [len(table.rows) for table in section.tables] == [1, 12]
    assert section.tables[1].note == "3 other replies; the records have all."
    assert section.folded
