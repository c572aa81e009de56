"""``sightline import``: outside formats → a Sightline dataset."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sightline.cli import completion
from sightline.cli.console import AllowOutside, Json, counted, err, out, print_json, progress, table
from sightline.errors import ConfigError, DataError, PictureError

if TYPE_CHECKING:
    from sightline.show.progress import Update
    from sightline.store import Dataset, Tables
    from sightline.worlds.shapes.library import LibraryShape
    from sightline.worlds.shapes.sources import ShapeSource


def listing() -> str:
    """What the help ends with: the formats that can be read."""
    from sightline.store.formats import FORMATS
    from sightline.worlds.shapes.sources import SOURCES

    return f"Formats: {', '.join(sorted(FORMATS))}. Shapes for worlds: {', '.join(SOURCES)}."


def command(
    source: Annotated[Path, typer.Argument(help="File or folder to import.")],
    to: Annotated[Path, typer.Option("--out", help="Folder of the new dataset, or of the shape library.")],
    format_name: Annotated[
        str,
        typer.Option(
            "--format",
            help="One of those listed below; recognised if not given.",
            autocompletion=completion.readable,
        ),
    ] = "",
    images: Annotated[Path | None, typer.Option(help="Folder of the photos; they are copied in.")] = None,
    instances: Annotated[
        Path | None, typer.Option(help="Of coco-results: the instances file the results are about.")
    ] = None,
    split: Annotated[str, typer.Option(help="Which split to read; where files tell none, the name of all.")] = "",
    skip_broken: Annotated[
        bool, typer.Option("--skip-broken", help="Go on without photos that cannot be read; each is listed.")
    ] = False,
    overwrite: Annotated[bool, typer.Option(help="Replace a dataset that is already there.")] = False,
    allow_outside: AllowOutside = False,
    json: Json = False,
) -> None:
    """Read a dataset of another format, check every row, and store it as Parquet; or models, as a shape library."""
    from sightline.store import write
    from sightline.store.formats import pick
    from sightline.worlds.shapes.sources import source_of

    models = source_of(source, format_name)
    if models is not None:
        if images or instances or split:
            raise ConfigError(f"{models.name} has no import option images, instances or split")
        _import_shapes(models, source, to, overwrite=overwrite, json=json)
        return
    chosen = pick(source, format_name)
    options: dict[str, Any] = {
        k: v for k, v in (("instances", instances), ("images", images), ("split", split)) if v
    }
    notes = chosen.notes(source, **options)
    broken: list[PictureError] = []
    tables = chosen.read(source, allow_outside=allow_outside, **options)
    with progress("images", quiet=json) as show:
        parts = _some(tables, source, broken, skip_broken=skip_broken, show=show)
        data = write(
            parts, to, source=chosen.name, copy=True, on_broken=broken.append, ordered=True, overwrite=overwrite
        )
    notes += [str(fault) for fault in broken] + _without_photo(data, images)
    counts = {name: sum(shard.rows[name] for shard in data.shards) for name in data.shards[0].rows}
    if json:
        print_json(
            {
                "dataset": str(to),
                "format": chosen.name,
                "scenes": len(data),
                "rows": counts,
                "fingerprint": data.fingerprint,
                "notes": notes,
            }
        )
        return
    for note in notes:
        err.print(f"note: {note}")
    rows = ", ".join(counted(count, name.removesuffix("s")) for name, count in counts.items())
    out.print(f"{to}: {counted(len(data), 'scene')} ({rows}), fingerprint {data.fingerprint[:12]}")


def _import_shapes(models: ShapeSource, source: Path, to: Path, *, overwrite: bool, json: bool) -> None:
    """Write a shape library and tell what is in it."""
    from sightline.worlds.shapes.library import write_library

    left_out: list[DataError] = []
    shapes = write_library(to, models.read(source, left_out.append), overwrite=overwrite, read=source)
    by_category: dict[str, list[LibraryShape]] = {}
    for shape in shapes:
        by_category.setdefault(shape.category, []).append(shape)
    if json:
        facts = {"library": str(to), "format": models.name, "models": len(shapes), "shapes": shapes}
        print_json(facts | {"notes": [str(fault) for fault in left_out]})
        return
    for fault in left_out:
        err.print(f"note: {fault}")
    printed = table(f"{counted(len(shapes), 'model')} in {to}", "category", "models", "open", "faces", "landmarks")
    for category, members in by_category.items():
        faces, points = (
            f"{min(counts):,} … {max(counts):,}"
            for counts in ([m.faces for m in members], [len(m.landmarks) for m in members])
        )
        printed.add_row(category, str(len(members)), str(sum(not m.closed for m in members)), faces, points)
    out.print(printed)


def _some(
    parts: Iterator[Tables], source: Path, broken: Sequence[PictureError], *, skip_broken: bool, show: Update | None
) -> Iterator[Tables]:
    """The parts as they come; a DataError at the end if there was no image, or if pictures are broken."""
    views = 0
    for part in parts:
        yield part
        views += part.views.height
        if show is not None:
            show(views, None)  # how many there will be is known at the end
    if not views:
        raise DataError("there is nothing in it", file=source, expected="at least one image")
    if broken and not skip_broken:
        for fault in broken:
            err.print(str(fault))
        problem = f"{counted(len(broken), 'photo')} cannot be used: nothing was written"
        raise DataError(problem, file=source, expected="whole photos; --skip-broken goes on without these")


def _without_photo(data: Dataset, images: Path | None) -> list[str]:
    """Say how many images came without their photo, and how to bring them."""
    bare, total = data.pictureless
    if not bare:
        return []
    how = f"theirs are not in {images}" if images else "--images FOLDER takes them along"
    return [f"{bare:,} of {counted(total, 'image')} came without a photo: {how}"]
