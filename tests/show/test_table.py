"""Tables: the same cells in a terminal, in Markdown, in JSON and in a notebook."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from sightline.show.table import Cell, Row, Table, figure, percent, scored, shared
from sightline.stats import Interval

NAN = math.nan


def interval(value: float, low: float, high: float) -> Interval:
    return Interval(value, low, high, 900, "percentile bootstrap")


SCORES = Table(
    "F1",
    ("model", "depth", "depth", "pairs"),
    (
        Row("mlp", (scored(interval(0.857, 0.85, 0.8641)), scored(interval(0.9, NAN, NAN)), Cell("1,2")), "focus"),
        Row("模型_b", (Cell("–"), Cell("3", "of 12"), Cell("7")), "blind"),
    ),
    groups=(("micro", 2), ("", 1)),
    note="All of them.",
)


def test_a_terminal_gets_columns() -> None:
    title, above, *lines, note = str(SCORES).splitlines()
    assert (title, above.split(), note) == ("F1", ["micro"], "All of them.")
    assert [line.split() for line in lines[1:]] == [
        ["mlp", "0.857", "[0.850,", "0.864]", "0.900", "1,2"],
        ["模型_b", "–", "3", "[of", "12]", "7"],
    ]
    assert len({cell_len(line) for line in lines}) == 1  # all end with the last column, set to the right


def test_words_are_set_to_the_left() -> None:
    rows = (Row("a", (Cell("short"), Cell("1"))), Row("b", (Cell("rather longer"), Cell("20"))))
    assert str(Table("", ("x", "says", "n"), rows, words=("says",))).splitlines() == [
        "x  says            n",
        "a  short           1",
        "b  rather longer  20",
    ]


def test_markdown() -> None:
    assert SCORES.to_markdown().splitlines() == [
        "| model | micro: depth | micro: depth | pairs |",
        "| --- | ---: | ---: | ---: |",
        "| mlp | 0.857 (0.850–0.864) | 0.900 | 1,2 |",
        "| 模型\\_b | – | 3 (of 12) | 7 |",
    ]
    framed = SCORES.to_markdown(heading=3).splitlines()
    assert framed[:2] == ["### F1", ""]
    assert framed[-2:] == ["", "All of them."]


def test_plain_values() -> None:
    assert SCORES.to_dict() == {
        "title": "F1",
        "columns": ["model", "micro: depth", "micro: depth", "pairs"],
        "rows": [
            {
                "head": "mlp",
                "kind": "focus",
                "cells": [
                    {"text": "0.857", "detail": "0.850–0.864"},
                    {"text": "0.900", "detail": ""},
                    {"text": "1,2", "detail": ""},
                ],
            },
            {
                "head": "模型_b",
                "kind": "blind",
                "cells": [
                    {"text": "–", "detail": ""},
                    {"text": "3", "detail": "of 12"},
                    {"text": "7", "detail": ""},
                ],
            },
        ],
        "note": "All of them.",
    }


def test_notebook_html_is_escaped() -> None:
    html = Table("<b>", ("<i>",), (Row("<script>", (Cell("<u>", "<s>"),)),), note="<p>")._repr_html_()
    for tag in ("<b>", "<i>", "<script>", "<u>", "<s>"):
        assert tag not in html
    assert "&lt;script&gt;" in html


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        (scored(None), "–"),  # not asked
        (scored(interval(NAN, NAN, NAN)), "–"),  # undefined
        (scored(interval(0.5, NAN, NAN)), "0.500"),  # no interval known
        (scored(interval(0.5, 0.25, 0.75), 1), "0.5 [0.2, 0.8]"),
        (shared(interval(0.5, 0.25, 0.75)), "50.0 % [25.0, 75.0]"),
        (shared(interval(0.5, NAN, NAN), 0), "50 %"),
        (shared(None), "–"),
        (Cell(figure(-0.0004)), "-0.000"),
        (Cell(percent(math.inf)), "–"),
    ],
)
def test_cells(cell: Cell, text: str) -> None:
    assert str(cell) == text


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.text(max_size=12), st.text(max_size=12)), min_size=1, max_size=4))
def test_any_words_stay_on_their_line(rows: list[tuple[str, str]]) -> None:
    table = Table("t", ("a", "b"), tuple(Row(head, (Cell(text),)) for head, text in rows))
    assert len(str(table).split("\n")) == len(rows) + 2
    assert len(table.to_markdown().split("\n")) == len(rows) + 2
    assert "\x1b" not in str(table)


def columns(*cells: list[Cell]) -> tuple[Row, ...]:
    return tuple(Row("ab"[i], tuple(column[i] for column in cells)) for i in range(2))


SOME = [Cell("0.60", ("0.5", "0.7")), Cell("0.70", ("0.6", "0.8"))]
OTHER = [Cell("0.60", ("0.4", "0.7")), Cell("0.70", ("0.6", "0.8"))]
ALIKE = [Cell("0.60", ("0.5", "0.7"))] * 2
COUNT, DASH, SHARE = [Cell("720")] * 2, [Cell("–")] * 2, [Cell("0.0 %")] * 2


@pytest.mark.parametrize(
    ("headings", "cells", "groups", "merged", "note"),
    [
        ("p r", (SOME, SOME), (), "p, r", ""),  # equal columns
        ("p r", (SOME, OTHER), (), "p|r", ""),  # another interval
        ("p r q", (SOME, OTHER, SOME), (), "p, q|r", ""),  # not neighbours
        ("p r", (SOME, SOME), (("x", 1), ("y", 1)), "p|r", ""),  # of two groups
        ("p n", (SOME, COUNT), (), "p", "The same in every row: n 720."),  # a count
        ("p n", (SOME, COUNT), (("x", 1), ("y", 1)), "p", "The same in every row: y: n 720."),  # with its group
        ("p d n", (SOME, DASH, COUNT), (), "p", "The same in every row: n 720. In no row a figure: d."),  # a dash
        ("p w", (SOME, [Cell("by eye")] * 2), (), "p", "The same in every row: by eye (w)."),  # words
        ("p q", (SOME, ALIKE), (), "p|q", ""),  # measured of each row
        ("p u", (SOME, SHARE), (), "p|u", ""),  # a share without an interval
        ("n m", (COUNT, DASH), (), "n|m", ""),  # something must stay
    ],
)
def test_equal_columns_are_one(
    headings: str, cells: tuple[list[Cell], ...], groups: tuple[tuple[str, int], ...], merged: str, note: str
) -> None:
    made = Table("t", ("model", *headings.split()), columns(*cells), groups).merged()
    assert "|".join(made.columns[1:]) == merged
    assert made.note == note
    assert all(len(row.cells) == len(made.columns) - 1 for row in made.rows)
    assert not made.groups or sum(span for _, span in made.groups) == len(made.columns) - 1


def test_a_single_row_keeps_its_columns() -> None:
    table = Table("t", ("model", "p", "r"), columns(SOME, SOME)[:1])
    assert table.merged() == table
