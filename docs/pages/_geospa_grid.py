"""Cells and tables of GeoSpa's pages."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from sightline.show.table import Cell, Row, Table, shared
from sightline.stats import Comparison, Interval


def grid(columns: Iterable[str], rows: Mapping[str, Iterable[Any]]) -> str:
    """A Markdown table; intervals in per cent, cells as they are."""
    made = (Row(head, tuple(_shown(cell) for cell in cells)) for head, cells in rows.items())
    return Table("", tuple(columns), tuple(made)).to_markdown().replace("\\_", "_")


def _shown(cell: Any) -> Cell:
    return cell if isinstance(cell, Cell) else shared(cell) if isinstance(cell, Interval) else Cell(str(cell))


def points(row: Comparison) -> Cell:
    """A difference in percentage points over its interval."""
    if not math.isfinite(row.difference):
        return Cell("–")
    return Cell(f"{100 * row.difference:+.2f}", f"{100 * row.low:+.2f} to {100 * row.high:+.2f}")


def odds(p: float) -> Cell:
    """A p-value; the smallest one that 2,000 swaps can give is said as such."""
    return Cell("–" if math.isnan(p) else "< 0.001" if p < 0.001 else f"{p:.3f}")
