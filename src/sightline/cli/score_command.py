"""``sightline score``: mark a predictions file, of pairs (``relations``) or of detections (``viewpoint``)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import typer

from sightline.cli.console import Json, ProtocolName, err, number, out, print_json, table
from sightline.errors import ConfigError
from sightline.text import counted

if TYPE_CHECKING:
    from sightline.exams.relations.boxed import BoxRange

T = TypeVar("T", int, float)

app = typer.Typer(help="Score a predictions file.", no_args_is_help=True)


@app.command("relations")
def relations(
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
    printed = table(f"relations: {predictions}, {protocol} protocol", *heads)
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


@app.command("viewpoint")
def viewpoint(
    truth: Annotated[
        Path, typer.Option(help="JSON list of objects: image, class, box [x1, y1, x2, y2], azimuth, difficult.")
    ],
    detections: Annotated[Path, typer.Option(help="JSON list of boxes: image, class, box, score, azimuth.")],
    views: Annotated[str, typer.Option(help="Numbers of sections of the azimuth, one AVP each.")] = "4,8,16,24",
    within: Annotated[str, typer.Option(help="Degrees of azimuth below which a view is right, one AVP each.")] = "",
    rotation: Annotated[
        str, typer.Option(help="Degrees of rotation below which a view is right, one ARP each.")
    ] = "",
    difficult: Annotated[
        Literal["remove", "ignore"],
        typer.Option(help="Objects marked difficult: gone, so that a detection on one is wrong, or not counted."),
    ] = "remove",
    overlap: Annotated[float, typer.Option(help="Lowest intersection over union of a match.")] = 0.5,
    inclusive: Annotated[
        bool, typer.Option("--inclusive", help="Boxes hold their last column and row of pixels: overlap with + 1.")
    ] = False,
    literal: Annotated[
        bool, typer.Option("--literal", help="Recall of AVP too counts right views only, as the paper's text says.")
    ] = False,
    intervals: Annotated[bool, typer.Option("--intervals", help="95 % intervals, by image.")] = False,
    json: Json = False,
) -> None:
    """Score detections with viewpoints: AP, AVP and ARP by class, as the script of PASCAL3D+ does."""
    from sightline.exams.viewpoint.files import score_view_files
    from sightline.stats.viewed_boxes import ViewRules

    sections = _numbers("--views", views, int)
    if not sections:
        raise ConfigError(f"--views {views!r}: expected whole numbers ≥ 1 with commas between")
    rules = ViewRules(
        sections,
        _numbers("--within", within, float),
        _numbers("--rotation", rotation, float),
        difficult=difficult,
        overlap=overlap,
        inclusive=inclusive,
        literal=literal,
    )
    scores = score_view_files(truth, detections, rules, resamples=2000 if intervals else 0)
    if json:
        print_json(scores.to_dict())
        return
    words = {"ap": "AP", "avp": "AVP, {} views", "avp_within": "AVP, {}°", "arp": "ARP, {}°"}
    heads = [words[path[0]].format(*path[1:]) for path in rules.measures]
    printed = table(f"viewpoint: {detections}, per cent", "class", *heads)
    for name, row in scores.figures.items():
        limits = [
            f" [{number(100 * s.low, 1)}, {number(100 * s.high, 1)}]" if intervals else "" for s in row.values()
        ]
        printed.add_row(name, *(number(100 * s.value, 1) + t for s, t in zip(row.values(), limits, strict=True)))
    out.print(printed)


def _numbers(option: str, text: str, kind: type[T]) -> tuple[T, ...]:
    """``4,8`` → (4, 8); ConfigError for what is no number."""
    try:
        return tuple(kind(part) for part in text.split(",") if text)
    except ValueError:
        raise ConfigError(f"{option} {text!r}: expected numbers with commas between") from None


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
