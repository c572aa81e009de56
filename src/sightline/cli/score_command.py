"""``sightline score``: mark a predictions file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sightline.cli.console import ExamName, Json, ProtocolName, err, number, out, print_json, table
from sightline.errors import ConfigError
from sightline.text import counted

if TYPE_CHECKING:
    from sightline.exams.relations.boxed import BoxRange


def command(
    exam: ExamName,
    objects: Annotated[Path, typer.Option(help="2.5VRD objects CSV.")],
    truth: Annotated[Path, typer.Option(help="2.5VRD labels CSV; votes are not looked at.")],
    predictions: Annotated[Path, typer.Option(help="Predictions CSV, both directions of every pair.")],
    protocol: ProtocolName = "default",
    iou: Annotated[float, typer.Option(help="Overlap that both boxes of a pair must exceed.")] = 0.5,
    check_entity: Annotated[
        bool, typer.Option("--check-entity", help="Both classes must be right too, as the official tool can ask.")
    ] = False,
    window: Annotated[
        str, typer.Option(help="Only pairs whose boxes lie in a range: vertical=0:0.5 (horizontal, area).")
    ] = "",
    window_a: Annotated[str, typer.Option(help="The same for the first box of each pair alone.")] = "",
    window_b: Annotated[str, typer.Option(help="The same for the second box alone.")] = "",
    json: Json = False,
) -> None:
    """Score predictions that carry their own boxes, matched to the truth by IoU."""
    from sightline.exams.relations import Protocol, score_files
    from sightline.exams.relations.boxed import BoxWindow

    both = parse_range("--window", window)
    first, second = (
        parse_range(f"--window-{end}", text) or both for end, text in (("a", window_a), ("b", window_b))
    )
    scores = score_files(
        objects,
        truth,
        predictions,
        protocol=Protocol(protocol),
        iou=iou,
        classes=check_entity,
        window=BoxWindow(first, second) if first or second else None,
    )
    if scores.nothing:
        err.print(f"note: {scores.nothing}")
    if json:
        print_json(scores.to_dict())
    if json or scores.nothing:
        return
    heads = ("relationship", "label", "precision", "recall", "F1", "95 %", "F1 by scene")
    printed = table(f"{exam}: {predictions}, {protocol} protocol", *heads)
    for row in scores.rows:
        low, high = number(row.f1.low), number(row.f1.high)
        figures = [number(x.value) for x in (row.precision, row.recall, row.f1)]
        cells = (*figures, f"[{low}, {high}]", str(row.macro_f1))
        printed.add_row(row.relationship, f"{row.label} {row.word}", *cells)
    out.print(printed)
    outcomes = ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in scores.outcomes.items())
    out.print(f"depth judgements: {outcomes}")
    if scores.unseen:
        where = "outside the window, or " if first or second else ""
        said = f"{counted(scores.unseen, 'prediction')} {where}on image pairs without truth"
        err.print(f"note: not looked at: {said}")


def parse_range(option: str, text: str) -> BoxRange | None:
    """``vertical=0:0.5`` → a range of boxes; None for no text."""
    from sightline.exams.relations.boxed import BoxRange

    if not text:
        return None
    problem = f"{option} {text!r}: expected vertical, horizontal or area, then =low:high"
    name, _, span = text.partition("=")
    low, _, high = span.partition(":")
    if name not in ("vertical", "horizontal", "area"):
        raise ConfigError(problem)
    try:
        limits = (float(low), float(high))
    except ValueError:
        raise ConfigError(problem) from None
    if not limits[0] < limits[1]:
        raise ConfigError(problem + ", low < high")
    attribute: Any = name
    return BoxRange(attribute, *limits)
