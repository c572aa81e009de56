"""``sightline select``: some scenes of a dataset, by the classes in them, as a dataset of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from sightline.cli.console import AllowOutside, DataPath, Json, counted, out, print_json, words_of
from sightline.errors import ConfigError


def command(
    data: DataPath,
    to: Annotated[Path, typer.Option("--out", help="Folder of the new dataset.")],
    company: Annotated[
        Literal["full", "cooccur", "single", "out-of-context"] | None,
        typer.Option(
            help="Scenes with one class or more, two or more, exactly one; or with a class whose usual company "
            "(--learned) is not there."
        ),
    ] = None,
    having: Annotated[list[str] | None, typer.Option("--with", help="Scenes with each of these classes.")] = None,
    lacking: Annotated[list[str] | None, typer.Option("--without", help="Scenes with none of them.")] = None,
    classes: Annotated[
        list[str] | None, typer.Option(help="Count these classes alone, such as car,road,sidewalk.")
    ] = None,
    stuff: Annotated[
        bool, typer.Option("--stuff", help="Count stuff, such as road and sky, as classes too.")
    ] = False,
    learned: Annotated[
        Path | None, typer.Option(help="Of out-of-context: the training set that tells the usual company.")
    ] = None,
    usual: Annotated[
        float, typer.Option(help="Of out-of-context: share of a class's scenes that its usual company is in.")
    ] = 0.5,
    split: Annotated[str, typer.Option(help="Of this split only.")] = "",
    overwrite: Annotated[bool, typer.Option(help="Replace a dataset that is already there.")] = False,
    allow_outside: AllowOutside = False,
    json: Json = False,
) -> None:
    """Write the scenes with a certain company (Full, Co-occur, Single, out of context), with or without a class."""
    from sightline.exams.base import split_named
    from sightline.store import open_dataset, write_some
    from sightline.store.presence import class_presence

    if (company == "out-of-context") != (learned is not None):
        raise ConfigError("--company out-of-context and --learned DATA go together")
    counted_alone = words_of(classes) or None
    opened = open_dataset(data, allow_outside=allow_outside)
    with opened.faults_told():
        known = class_presence(opened, split_named(split, opened) or None, stuff=stuff, classes=counted_alone)
        scenes = set(known.scenes)
        if learned is not None:
            before = class_presence(open_dataset(learned), stuff=stuff, classes=counted_alone)
            scenes = set(known.out_of_context(before, usual))
        elif company is not None:
            scenes = set(known.splits()[company])
        for word, names in (("with", having), ("without", lacking)):
            for name in words_of(names):
                scenes &= set(known.by_class(name)[word])
        if not scenes:
            raise ConfigError(f"no scene of {data} is so")
        made = write_some(opened, scenes, to, overwrite=overwrite)
    if json:
        print_json({"dataset": str(to), "scenes": len(made), "of": len(opened), "fingerprint": made.fingerprint})
        return
    out.print(f"{to}: {counted(len(made), 'scene')} of {len(opened):,}, fingerprint {made.fingerprint[:12]}")
