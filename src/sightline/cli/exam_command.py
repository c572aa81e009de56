"""``sightline exam``: let models sit an exam."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from sightline.cli import exam_predicates, exam_relations
from sightline.cli.console import Json, ProtocolName
from sightline.cli.exam_relations import TRANSFERS, slug
from sightline.errors import ConfigError

__all__ = ["TRANSFERS", "command", "slug"]


def command(
    exam: Annotated[Literal["relations", "predicates"], typer.Argument(help="Which exam.")],
    data: Annotated[Path, typer.Option(help="A Sightline dataset, or a folder of a known format.")],
    model: Annotated[
        list[str] | None,
        typer.Option(help="Name, name:key=value,…, file.py:object or a file of answers; may be repeated."),
    ] = None,
    to: Annotated[Path, typer.Option("--out", help="Folder of the runs; an interrupted one is resumed.")] = Path(
        "runs"
    ),
    baselines: Annotated[bool, typer.Option(help="Let the blind baselines sit beside the models.")] = True,
    split: Annotated[
        str | None, typer.Option(help="Split to sit; by default test (relations) or all scenes (predicates).")
    ] = None,
    train_split: Annotated[
        str | None,
        typer.Option(help="Relations: split models may fit and tune on; by default validation, '' for none."),
    ] = None,
    boxes: Annotated[
        Literal["truth", "detected", "perfect"],
        typer.Option(help="Relations: whose boxes are judged (the paper's Table 5)."),
    ] = "truth",
    detections: Annotated[
        Path | None, typer.Option(help="Relations: CSV of boxes, instead of a model's own.")
    ] = None,
    study: Annotated[
        Literal["same", "within_image", "across_images", "joint"],
        typer.Option(help="Relations: which setting's pairs models learn from (the paper's Table 8)."),
    ] = "same",
    protocol: ProtocolName = "default",
    limit: Annotated[int | None, typer.Option(min=0, help="Only the first so many items.")] = None,
    workers: Annotated[int, typer.Option(min=0, help="Processes; 0 works in this one.")] = 0,
    json: Json = False,
    views: Annotated[
        str | None,
        typer.Option(help="Predicates: views to show, as in original,top; by default those the model wants."),
    ] = None,
) -> None:
    """Sit an exam and print the scores with 95 % intervals by scene."""
    if exam == "relations":
        _refuse(exam, views=views)
        exam_relations.sit_relations(
            exam_relations.Wishes(
                data=data, models=model or [], to=to, baselines=baselines, split=split, train_split=train_split,
                boxes=boxes, detections=detections, study=study, protocol=protocol, limit=limit, workers=workers,
                json=json,
            )
        )  # fmt: skip
        return
    _refuse(
        exam, train_split=train_split, detections=detections, boxes=None if boxes == "truth" else boxes,
        study=None if study == "same" else study, protocol=None if protocol == "default" else protocol,
    )  # fmt: skip
    exam_predicates.sit_predicates(
        exam_predicates.Wishes(
            data=data, models=model or [], to=to, baselines=baselines, split=split,
            views=None if views is None else tuple(v.strip() for v in views.split(",") if v.strip()),
            limit=limit, workers=workers, json=json,
        )
    )  # fmt: skip


def _refuse(exam: str, **given: object) -> None:
    """ConfigError for an option that only the other exam has."""
    for name, value in given.items():
        if value is not None:
            raise ConfigError(f"the {exam} exam has no --{name.replace('_', '-')}")
