"""2.5VRD: relative depth and occlusion of object pairs, within one image and across two; both ways.

A folder holds pairs of files ``{within_image,across_images}_{objects,vrd}_{train,validation,test}.csv``. Object
ids are local to a file, so a scene is ``<setting>/<split>/<image_id>`` with one view, ``"0"``. A pair becomes a
``depth`` relation and, within an image, an ``occlusion`` relation; a pair across images is a relation of the first
image's scene that points at the second's. The occlusion columns of across-images files say nothing and are made
anew on writing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, get_args

import polars as pl

from sightline.errors import DataError
from sightline.scenes import NO_MAJORITY, Occlusion
from sightline.store.formats.csvio import refuse, write_csvs
from sightline.store.formats.photos import find_photos, photo_of
from sightline.store.formats.vrd25_files import (
    BOX,
    DISTANCE,
    ENDS,
    LABEL_COLUMNS,
    OBJECT_COLUMNS,
    OCCLUSION,
    VOTE_COLUMNS,
    Setting,
    check_ends,
    check_objects,
    check_votes,
    read_objects,
    read_pairs,
)
from sightline.store.formats.vrd25_scoring import read_predictions, read_scoring_truth, write_predictions
from sightline.store.tables import Tables

__all__ = [
    "SETTINGS",
    "SPLITS",
    "detect",
    "read",
    "read_predictions",
    "read_scoring_truth",
    "skipped",
    "write",
    "write_predictions",
]

SETTINGS: Final[tuple[Setting, ...]] = get_args(Setting)
SPLITS: Final = ("train", "validation", "test")
_VIEW: Final = "0"
_ASPECTS: Final = (("depth", "distance", DISTANCE), ("occlusion", "occlusion", OCCLUSION))


def detect(path: Path) -> bool:
    """Whether this is a folder with files named as 2.5VRD's."""
    return path.is_dir() and any(file.exists() for _, _, *files in _places(path) for file in files)


def skipped(folder: str | Path) -> list[str]:
    """Files that `read` leaves out because their other half is missing, each with the reason."""
    notes = []
    for _, _, objects, pairs in _places(Path(folder)):
        for here, missing in ((objects, pairs), (pairs, objects)):
            if here.exists() and not missing.exists():
                notes.append(f"{here.name}: left out, {missing.name} is not there")
    return notes


def read(path: str | Path, *, images: str | Path | None = None) -> Iterator[Tables]:
    """All complete pairs of files, one part each.

    Args:
        path: The folder.
        images: A folder of photos named ``<image_id>.jpg``; scenes whose photo is there refer to it.

    Raises:
        DataError: For anything wrong in a file, or where no pair of files is complete.
    """
    folder = Path(path)
    photos = find_photos(images) if images else {}
    complete = [place for place in _places(folder) if place[2].exists() and place[3].exists()]
    if not complete:
        raise DataError(
            "no complete pair of 2.5VRD files",
            file=folder,
            expected="e.g. within_image_objects_test.csv and within_image_vrd_test.csv",
            found="; ".join(skipped(folder)) or None,
        )
    for setting, split, objects_csv, pairs_csv in complete:
        objects = read_objects(objects_csv)
        yield _tables(objects, read_pairs(pairs_csv, objects, setting), setting, split, photos)


def write(tables: Tables, path: str | Path) -> None:
    """Write scenes as 2.5VRD files into a folder, all of them or, on error, none.

    Boxes, classes, depth, occlusion and votes are kept, and the order of rows; the format has no place for more.

    Raises:
        DataError: Where a scene does not fit: another source or split, boxes in pixels, labels without votes…
    """
    folder, frames = Path(path), {}
    _check_views(tables.views, folder)
    for source, split in tables.views.select("source", "split").unique(maintain_order=True).iter_rows():
        setting: Setting = source
        views = tables.views.filter(pl.col("source") == setting, pl.col("split") == split)
        objects_csv, pairs_csv = _files(folder, setting, split)
        objects = check_objects(_objects_frame(tables, views, f"{setting}/{split}/", objects_csv), objects_csv)
        pairs = _pairs_frame(tables.relations, views, setting, f"{setting}/{split}/", pairs_csv)
        check_ends(pairs, objects, pairs_csv)
        check_votes(pairs, setting, pairs_csv)
        frames[objects_csv], frames[pairs_csv] = objects, _as_cells(pairs)
    write_csvs(frames)


def _places(folder: Path) -> Iterator[tuple[Setting, str, Path, Path]]:
    for setting in SETTINGS:
        for split in SPLITS:
            yield setting, split, *_files(folder, setting, split)


def _files(folder: Path, setting: str, split: str) -> tuple[Path, Path]:
    return folder / f"{setting}_objects_{split}.csv", folder / f"{setting}_vrd_{split}.csv"


def _tables(
    objects: pl.DataFrame, pairs: pl.DataFrame, setting: Setting, split: str, photos: Mapping[str, str]
) -> Tables:
    prefix = f"{setting}/{split}/"
    things = objects.rename({"entity": "category", "xmin": "x0", "ymin": "y0", "xmax": "x1", "ymax": "y1"})
    things = things.with_columns(scene_id=prefix + pl.col("image_id"), view_id=pl.lit(_VIEW))
    views = things.select("scene_id", "view_id", image=photo_of("image_id", photos)).unique(maintain_order=True)
    return Tables.build(
        views=views.with_columns(split=pl.lit(split), source=pl.lit(setting), units=pl.lit("normalised")),
        objects=things.select("scene_id", "object_id", "category"),
        sightings=things.select("scene_id", "view_id", "object_id", "x0", "y0", "x1", "y1"),
        relations=_relations(pairs, prefix, setting),
    )


def _relations(pairs: pl.DataFrame, prefix: str, setting: Setting) -> pl.DataFrame:
    across = setting == "across_images"
    parts = [
        pairs.select(
            scene_id=prefix + pl.col("image_id_1"),
            subject="object_id_1",
            object="object_id_2",
            object_scene=prefix + pl.col("image_id_2") if across else pl.lit(None, pl.String),
            aspect=pl.lit(aspect),
            predicate=pl.col(column).replace_strict(
                {int(label): label.word for label in codes.values()}, default=None, return_dtype=pl.String
            ),
            votes=f"raw_{column}",
        ).with_row_index("pair")
        for aspect, column, codes in (_ASPECTS[:1] if across else _ASPECTS)
    ]
    return pl.concat(parts).sort("pair", maintain_order=True).drop("pair")


def _check_views(views: pl.DataFrame, folder: Path) -> None:
    checks = (
        ("source", pl.col("source").is_in(SETTINGS), f"one of {', '.join(SETTINGS)}"),
        ("split", pl.col("split").is_in(SPLITS), f"one of {', '.join(SPLITS)}"),
        ("units", pl.col("units") == "normalised", "normalised"),
        ("view_id", pl.col("scene_id").is_unique(), "one view a scene"),
    )
    for field, right, expected in checks:
        wrong = views.filter(~right)
        if wrong.height:
            scene, found = wrong.select("scene_id", field).row(0)
            raise DataError(
                "scene does not fit 2.5VRD", file=folder, row=scene, field=field, expected=expected, found=found
            )
    if not views.height:
        raise DataError("there are no scenes to write", file=folder)


def _image_id(scene: str, prefix: str) -> pl.Expr:
    """The image's own id; a scene from elsewhere keeps its whole id."""
    return pl.col(scene).str.strip_prefix(prefix)


def _objects_frame(tables: Tables, views: pl.DataFrame, prefix: str, path: Path) -> pl.DataFrame:
    ours = tables.objects.join(views.select("scene_id"), on="scene_id", how="semi", maintain_order="left")
    seen = ours.join(tables.sightings, on=["scene_id", "object_id"], how="left", maintain_order="left")
    boxed = seen.select(
        _image_id("scene_id", prefix).alias("image_id"),
        "object_id",
        entity="category",
        xmin="x0",
        xmax="x1",
        ymin="y0",
        ymax="y1",
    )
    for name in BOX:
        bad = pl.col(name).is_null() | ~pl.col(name).is_finite()
        refuse(boxed, bad, "object without a box", file=path, field=name, found=pl.col("object_id"))
    _refuse_unreadable(boxed, ("image_id", "object_id", "entity"), path)
    return boxed


def _pairs_frame(
    relations: pl.DataFrame, views: pl.DataFrame, setting: Setting, prefix: str, path: Path
) -> pl.DataFrame:
    """One row a pair, in order of first appearance, with the columns that `read_pairs` gives."""
    ends = ["scene_id", "subject", "other", "object"]
    asked = relations.join(views.select("scene_id"), on="scene_id", how="semi", maintain_order="left").with_columns(
        other=pl.col("object_scene").fill_null(pl.col("scene_id"))
    )
    pairs = asked.filter(pl.col("aspect").is_in(["depth", "occlusion"])).select(ends).unique(maintain_order=True)
    if not pairs.height:
        raise DataError("there are no depth or occlusion labels to write", file=path)
    for aspect, column, codes in _ASPECTS:
        known = {label.word: int(label) for label in codes.values()}
        labels = asked.filter(pl.col("aspect") == aspect).select(
            *ends,
            pl.col("predicate").fill_null("").replace_strict(known | {"": NO_MAJORITY}, default=None).alias(column),
            pl.col("votes").alias(f"raw_{column}"),
        )
        pairs = pairs.join(labels, on=ends, how="left", maintain_order="left")
    if setting == "across_images":
        pairs = _without_occlusion(pairs)
    rows = pairs.select(
        _image_id("scene_id", prefix).alias("image_id_1"),
        pl.col("subject").alias("object_id_1"),
        _image_id("other", prefix).alias("image_id_2"),
        pl.col("object").alias("object_id_2"),
        pl.col("distance", "occlusion").cast(pl.Int8),
        "raw_distance",
        "raw_occlusion",
    )
    _refuse_unreadable(rows, ENDS, path)
    for name, reading in VOTE_COLUMNS.items():
        votes = pl.col(name)
        none = votes.is_null() | (votes.list.len() == 0)
        refuse(rows, none, "label without votes", file=path, field=name, found=pl.lit(""))
        refuse(
            rows, _vote_cells(name).is_null(), reading.problem, file=path, field=name, found=votes.list.join(",")
        )
    for name in ("distance", "occlusion"):
        refuse(
            rows,
            pl.col(name).is_null(),
            "label outside its range",
            file=path,
            field=name,
            expected=LABEL_COLUMNS[name].expected,
        )
    return rows


def _without_occlusion(pairs: pl.DataFrame) -> pl.DataFrame:
    """Across images every rater "said" none: what the format has in those columns."""
    none = pl.when(pl.element().is_not_null()).then(pl.lit(Occlusion.NONE.word))
    return pairs.with_columns(
        occlusion=pl.col("occlusion").fill_null(int(Occlusion.NONE)),
        raw_occlusion=pl.coalesce("raw_occlusion", pl.col("raw_distance").list.eval(none)),
    )


def _refuse_unreadable(frame: pl.DataFrame, names: tuple[str, ...], path: Path) -> None:
    for name in names:
        column = (OBJECT_COLUMNS | LABEL_COLUMNS)[name]
        bad = column.parse(pl.col(name)).is_null()
        refuse(frame, bad, column.problem, file=path, field=name, expected=column.expected)


def _vote_cells(name: str) -> pl.Expr:
    """Votes as the format writes them; null where one is not a word of the format."""
    labels = DISTANCE if name == "raw_distance" else OCCLUSION
    cells = {label.word: cell for cell, label in labels.items()}
    written = pl.element().replace_strict(cells, default=None, return_dtype=pl.String)
    return pl.col(name).list.eval(written).list.join(",", ignore_nulls=False)


def _as_cells(pairs: pl.DataFrame) -> pl.DataFrame:
    return pairs.with_columns(_vote_cells(name).alias(name) for name in VOTE_COLUMNS)
