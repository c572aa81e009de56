"""``sightline exam``: let models sit an exam."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from sightline.cli import exam_predicates, exam_relations, exam_turing
from sightline.cli.console import Json, ProtocolName
from sightline.cli.exam_relations import BASELINES, TRANSFERS, slug
from sightline.errors import ConfigError

__all__ = ["BASELINES", "TRANSFERS", "command", "slug"]


def command(
    exam: Annotated[Literal["relations", "predicates", "turing"], typer.Argument(help="Which exam.")],
    data: Annotated[Path | None, typer.Option(help="A Sightline dataset, or a folder of a known format.")] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(help="Name, name:key=value,…, file.py:object or a file of answers; may be repeated."),
    ] = None,
    to: Annotated[Path, typer.Option("--out", help="Folder of the runs; an interrupted one is resumed.")] = Path(
        "runs"
    ),
    baselines: Annotated[bool, typer.Option(help="Let the blind baselines sit beside the models.")] = True,
    split: Annotated[
        str | None, typer.Option(help="Split to sit; by default test (relations) or all scenes.")
    ] = None,
    train_split: Annotated[
        str | None,
        typer.Option(
            help="Split to learn from. Relations: by default validation, '' for none. Turing: all of --train."
        ),
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
    limit: Annotated[
        int | None, typer.Option(min=1, help="Ask and score only the first so many items; Turing: images.")
    ] = None,
    workers: Annotated[int, typer.Option(min=0, help="Processes; 0 works in this one.")] = 0,
    json: Json = False,
    views: Annotated[
        str | None,
        typer.Option(help="Predicates: views to show, as in original,top; by default those the model wants."),
    ] = None,
    train: Annotated[
        Path | None,
        typer.Option(help="Turing: annotated images the questions are learned from; by default --data."),
    ] = None,
    halves: Annotated[
        bool, typer.Option("--halves", help="Turing: learn from one half of the images, ask about the other.")
    ] = False,
    vocabulary: Annotated[
        str | None, typer.Option(help="Turing: a ready vocabulary or a YAML file; by default one that fits.")
    ] = None,
    streams: Annotated[int | None, typer.Option(min=1, help="Turing: streams an image, by default 1.")] = None,
    questions: Annotated[
        int | None, typer.Option(min=1, help="Turing: most questions of a stream; by default as many as there are.")
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Turing: seed of the streams, by default 0.")] = None,
    withhold: Annotated[
        bool, typer.Option("--withhold", help="Turing: keep the true answers from the model.")
    ] = False,
    deadline: Annotated[float | None, typer.Option(help="Turing: seconds for an answer.")] = None,
    closed: Annotated[
        bool, typer.Option("--closed", help="Turing: what the annotations do not say is not so.")
    ] = False,
    min_support: Annotated[
        int | None, typer.Option(min=1, help="Turing: what a chance must rest on at least, by default 30.")
    ] = None,
    epsilon: Annotated[
        float | None, typer.Option(help="Turing: how far from one half a chance may lie, by default 0.15.")
    ] = None,
    smoothing: Annotated[
        float | None, typer.Option(min=0.0, help="Turing: yes and no added to every count, by default none.")
    ] = None,
    corpora: Annotated[
        Path | None, typer.Option(help="Turing: folder to keep the training images in, laid out for counting.")
    ] = None,
    view: Annotated[str | None, typer.Option(help="Turing: view to ask about; by default the first.")] = None,
    assume: Annotated[
        list[str] | None,
        typer.Option(help="Turing: make only these assumptions, or all but -name; may be repeated."),
    ] = None,
    no_assumptions: Annotated[
        bool, typer.Option("--no-assumptions", help="Turing: learn from images that fit the whole history.")
    ] = False,
    test: Annotated[
        Path | None, typer.Option(help="Turing: folder of a written test, instead of --data and --train.")
    ] = None,
    key: Annotated[Path | None, typer.Option(help="Turing: the key of the written test.")] = None,
) -> None:
    """Sit an exam and print the scores with 95 % intervals by scene."""
    if exam == "turing":
        _refuse_others(exam, boxes, detections, study, protocol, views)
        exam_turing.sit_turing(
            exam_turing.Wishes(
                data=data,
                train=train,
                models=model or [],
                to=to,
                baselines=baselines,
                split=split,
                train_split=train_split,
                halves=halves,
                vocabulary=vocabulary,
                streams=streams,
                questions=questions,
                seed=seed,
                withhold=withhold,
                deadline=deadline,
                closed=closed,
                min_support=min_support,
                epsilon=epsilon,
                smoothing=smoothing,
                corpora=corpora,
                view=view,
                assume=assume or [],
                no_assumptions=no_assumptions,
                test=test,
                key=key,
                limit=limit,
                workers=workers,
                json=json,
            )
        )
        return
    _refuse(
        exam,
        train=train,
        halves=halves or None,
        vocabulary=vocabulary,
        streams=streams,
        questions=questions,
        seed=seed,
        withhold=withhold or None,
        deadline=deadline,
        closed=closed or None,
        min_support=min_support,
        epsilon=epsilon,
        smoothing=smoothing,
        corpora=corpora,
        view=view,
        assume=assume or None,
        no_assumptions=no_assumptions or None,
        test=test,
        key=key,
    )
    if data is None:
        raise typer.BadParameter("the exam needs a dataset", param_hint="'--data'")
    if exam == "relations":
        _refuse(exam, views=views)
        exam_relations.sit_relations(
            exam_relations.Wishes(
                data=data,
                models=model or [],
                to=to,
                baselines=baselines,
                split=split,
                train_split=train_split,
                boxes=boxes,
                detections=detections,
                study=study,
                protocol=protocol,
                limit=limit,
                workers=workers,
                json=json,
            )
        )
        return
    _refuse(exam, train_split=train_split)
    _refuse_others(exam, boxes, detections, study, protocol, None)
    exam_predicates.sit_predicates(
        exam_predicates.Wishes(
            data=data,
            models=model or [],
            to=to,
            baselines=baselines,
            split=split,
            views=None if views is None else tuple(v.strip() for v in views.split(",") if v.strip()),
            limit=limit,
            workers=workers,
            json=json,
        )
    )


def _refuse_others(
    exam: str, boxes: str, detections: Path | None, study: str, protocol: str, views: str | None
) -> None:
    """ConfigError for what only the relations exam has, and for views."""
    _refuse(
        exam,
        detections=detections,
        boxes=None if boxes == "truth" else boxes,
        study=None if study == "same" else study,
        protocol=None if protocol == "default" else protocol,
        views=views,
    )


def _refuse(exam: str, **given: object) -> None:
    """ConfigError for an option that only another exam has."""
    for name, value in given.items():
        if value is not None:
            raise ConfigError(f"the {exam} exam has no --{name.replace('_', '-')}")
