"""Tables of the pages on trained relations networks, and the names of the sub-tasks and labels in them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from sightline.show.table import Cell, Row, Table, figure

TASKS = {
    "within_image/depth": "depth within",
    "within_image/occlusion": "occlusion",
    "across_images/depth": "depth across",
}
LABELS = {
    "within_image/depth": ("closer", "farther", "same"),
    "within_image/occlusion": ("none", "occludes", "occluded", "mutual"),
    "across_images/depth": ("closer", "farther"),
}

ATTRIBUTES = {
    "size": "share of the image, %",
    "vertical": "centre from the top, %",
    "horizontal": "from the left, %",
}
LAWS = {
    "symmetry": "closer both ways",
    "transitivity": "transitivity",
    "transitivity_strict": "… strict",
    "transitivity_all": "… of all triples",
}
DENOMINATORS = (
    "Transitivity of the triples whose premises both hold, of those whose premises are no *same*, and of all "
    "ordered triples that were asked."
)


def grid(columns: tuple[str, ...], rows: Mapping[str, list[str]]) -> str:
    """A Markdown table: head of a row → its cells."""
    made = (Row(head, tuple(Cell(text) for text in cells)) for head, cells in rows.items())
    return Table("", columns, tuple(made)).to_markdown()


def interval(found: Mapping[str, Any] | None) -> str:
    """A figure with its 95 % limits, where there are any; a dash for none."""
    if not found or found["value"] is None:
        return "–"
    limits = "" if found["low"] is None else f" ({figure(found['low'])}–{figure(found['high'])})"
    return f"{figure(found['value'])}{limits}"


def value(found: Mapping[str, Any] | None) -> str:
    """The figure alone."""
    return "–" if not found or found["value"] is None else figure(found["value"])


def size_or_place(made: Mapping[str, Any], title: str) -> Iterator[str]:
    """F1 of *closer* by the bins of both objects, with the pairs of each cell."""
    bins = [f"{low}–{high}" for low, high in pairwise(f"{100 * edge:.3g}" for edge in made["edges"])]
    rows = {
        name: [f"{'–' if f1 is None else figure(f1, 2)} ({n:,})" for f1, n in zip(scores, counts, strict=True)]
        for name, scores, counts in zip(bins, made["f1"], made["pairs"], strict=True)
    }
    yield f"*{title}*"
    yield grid(("", *bins), rows)
