"""Open Images V4 (and later): boxes, class descriptions and visual relationships, from the published CSV files.

An image becomes a scene ``<split>/<ImageID>`` with one view, ``"0"``, boxes in fractions of the image; objects are
numbered in file order and keep their MID as category. A relationship joins the boxes it names, found by class and
coordinates; a box that the boxes file does not have becomes a new object. The relationship ``is`` tells of one
object (*glass is transparent*), so it becomes that object's attribute ``is``: MIDs, separated by spaces.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import polars as pl

from sightline.errors import DataError
from sightline.store.formats.csvio import NUMBER, TEXT, Column, code, read_csv, refuse, refuse_boxes
from sightline.store.formats.hierarchy import read_descriptions
from sightline.store.formats.photos import VIEW, find_photos, photo_of
from sightline.store.tables import Tables

_SPLITS: Final = ("train", "validation", "test")
_SAME_BOX: Final = 1.5e-6  # the two files round the sixth decimal differently
_IMAGES_A_PART: Final = 20_000

_BOX: Final = ("XMin", "XMax", "YMin", "YMax")
_FLAGS: Final = {
    "IsOccluded": "occluded",
    "IsTruncated": "truncated",
    "IsGroupOf": "group",
    "IsDepiction": "depiction",
    "IsInside": "inside",
}
_FLAG: Final = code({"0": 0, "1": 1, "-1": -1}, problem="flag outside its range")
_BOX_COLUMNS: Final[dict[str, Column]] = {
    "ImageID": TEXT,
    "Source": TEXT,
    "LabelName": TEXT,
    "Confidence": NUMBER,
    **dict.fromkeys(_BOX, NUMBER),
    **dict.fromkeys(_FLAGS, _FLAG),
}
_CLICKS: Final = tuple(f"XClick{i}{axis}" for axis in "XY" for i in range(1, 5))  # since version 6
_BOXES: Final = tuple(tuple(f"{side}{end}" for side in _BOX) for end in "12")  # of a relationship
_RELATION_COLUMNS: Final[dict[str, Column]] = {
    "ImageID": TEXT,
    "LabelName1": TEXT,
    "LabelName2": TEXT,
    **dict.fromkeys((*_BOXES[0], *_BOXES[1]), NUMBER),
    "RelationshipLabel": TEXT,
}


def detect(path: Path) -> bool:
    """Whether this is a boxes or relationships file, or a folder that has one, by name."""
    return bool(_find(path, "annotations-bbox.csv") or _find(path, "-vrd.csv"))


def read(
    path: str | Path,
    *,
    split: str = "",
    images: str | Path | None = None,
    relationships: str | Path | None = None,
    descriptions: str | Path | None = None,
) -> Iterator[Tables]:
    """Read Open Images files, about twenty thousand images at a time.

    Args:
        path: A folder with ``*annotations-bbox.csv`` and ``*-vrd.csv`` (matched by the split in their names) and
            ``class-descriptions-boxable.csv``; or one boxes file.
        split: With a folder, the one split to read; with a file, its split if its name does not tell.
        images: A folder of photos named ``<ImageID>.jpg``; scenes whose photo is there refer to it.
        relationships: The relationships file, where `path` is a boxes file.
        descriptions: The class descriptions file, if not in the folder.

    Raises:
        DataError: Naming file, row, column, what was expected and what stood there.
    """
    place = Path(path)
    if descriptions is None and (place / "class-descriptions-boxable.csv").exists():
        descriptions = place / "class-descriptions-boxable.csv"
    names = read_descriptions(descriptions) if descriptions else {}
    photos = find_photos(images) if images else {}
    for name, boxes_csv, relations_csv in _pieces(place, split, relationships):
        boxes = read_boxes(boxes_csv) if boxes_csv else _NO_BOXES
        relations = read_relationships(relations_csv) if relations_csv else _NO_RELATIONS
        yield from _parts(_tables(boxes, relations, names, name, photos))


def read_boxes(path: str | Path) -> pl.DataFrame:
    """A boxes file, checked: coordinates in fractions of the image, flags 1 yes, 0 no, −1 unknown (Int8)."""
    file = Path(path)
    boxes = read_csv(file, _BOX_COLUMNS, ignored=_CLICKS)
    refuse_boxes(boxes, _BOX, file=file)
    unsure = ~pl.col("Confidence").is_between(0.0, 1.0)
    refuse(boxes, unsure, "confidence outside its range", file=file, field="Confidence", expected="within [0, 1]")
    return boxes


def read_relationships(path: str | Path) -> pl.DataFrame:
    """A relationships file, checked; no row may stand twice."""
    file = Path(path)
    relations = read_csv(file, _RELATION_COLUMNS)
    for names in _BOXES:
        refuse_boxes(relations, names, file=file)
    twice = ~pl.struct(pl.all()).is_first_distinct()
    fields = "ImageID, LabelName1, LabelName2, RelationshipLabel"
    refuse(relations, twice, "relationship stands twice", file=file, field=fields)
    return relations


def _empty(columns: Mapping[str, Column]) -> pl.DataFrame:
    cells = pl.DataFrame(schema=dict.fromkeys(columns, pl.String))
    return cells.select(column.parse(pl.col(name)).alias(name) for name, column in columns.items())


_NO_BOXES: Final = _empty(_BOX_COLUMNS)
_NO_RELATIONS: Final = _empty(_RELATION_COLUMNS)


def _find(path: Path, ending: str) -> list[Path]:
    if path.is_file():
        return [path] if path.name.endswith(ending) else []
    return sorted(path.glob(f"*{ending}")) if path.is_dir() else []


def _split_of(path: Path) -> str:
    """The split that a file's name tells, or nothing.

    >>> _split_of(Path("challenge-2018-train-vrd.csv"))
    'train'
    """
    return next((name for name in _SPLITS if name in re.split(r"[^a-z]+", path.name.lower())), "")


def _pieces(
    path: Path, split: str, relationships: str | Path | None
) -> Iterator[tuple[str, Path | None, Path | None]]:
    """(split, boxes file, relationships file) of all that is to be read."""
    if not path.is_dir():
        relations = Path(relationships) if relationships else None
        yield split or _split_of(path), path, relations
        return
    if relationships:
        raise DataError("give a boxes file, not a folder, with a relationships file", file=path)
    boxes, relations_of = _by_split(path, "annotations-bbox.csv"), _by_split(path, "-vrd.csv")
    wanted = [name for name in (*_SPLITS, "") if name in boxes or name in relations_of]
    chosen = [name for name in wanted if not split or name == split]
    if not chosen:
        problem = f"no Open Images files{f' of split {split}' if split else ''}"
        expected, found = "e.g. train-annotations-bbox.csv", ", ".join(wanted) or None
        raise DataError(problem, file=path, expected=expected, found=found)
    for name in chosen:
        yield name, boxes.get(name), relations_of.get(name)


def _by_split(folder: Path, ending: str) -> dict[str, Path]:
    files: dict[str, Path] = {}
    for file in _find(folder, ending):
        other = files.setdefault(_split_of(file), file)
        if other != file:
            problem = "two files of one kind and split; name the one to read"
            raise DataError(problem, file=folder, found=f"{other.name}, {file.name}")
    return files


def _tables(
    boxes: pl.DataFrame, relations: pl.DataFrame, names: Mapping[str, str], split: str, photos: Mapping[str, str]
) -> Tables:
    prefix = f"{split}/" if split else ""
    things, relations = _joined(boxes, relations)
    things = things.with_columns(scene_id=prefix + pl.col("ImageID"), view_id=pl.lit(VIEW))
    views = things.select("scene_id", "view_id", image=photo_of("ImageID", photos)).unique(maintain_order=True)
    tables = Tables.build(
        views=views.with_columns(split=pl.lit(split), source=pl.lit("openimages"), units=pl.lit("normalised")),
        objects=things.select("scene_id", "object_id", _attributes(things, names), category="LabelName"),
        sightings=things.select(
            "scene_id", "view_id", "object_id", _flag_list(), x0="XMin", y0="YMin", x1="XMax", y1="YMax"
        ),
        relations=relations.filter(pl.col("RelationshipLabel") != "is").select(
            scene_id=prefix + pl.col("ImageID"),
            subject="object_1",
            object="object_2",
            aspect=pl.lit("openimages"),
            predicate="RelationshipLabel",
        ),
    )
    return tables.sorted()  # added objects would else stand apart from their image's others


def _joined(boxes: pl.DataFrame, relations: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """All objects, numbered, with what they ``is``; and the relations with the objects they join."""
    things = boxes.with_row_index("thing")
    relations = relations.with_row_index("relation")
    is_a = pl.col("RelationshipLabel") == "is"
    ends = [_end(relations, "1"), _end(relations.filter(~is_a), "2")]
    for number, end in enumerate(ends):
        found = _matched(end, things)
        lacking = end.join(found, on="relation", how="anti", maintain_order="left")
        new = lacking.select("ImageID", "LabelName", *_BOX).unique(maintain_order=True)
        things = pl.concat([things, new.with_row_index("thing", offset=things.height)], how="diagonal")
        ends[number] = pl.concat([found, _matched(lacking, things)])
    things = things.sort("thing").with_columns(
        object_id=pl.int_range(pl.len()).over("ImageID", order_by="thing").cast(pl.String)
    )
    numbered = things.select("thing", "object_id")
    for number, end in enumerate(ends, start=1):
        named = end.join(numbered, on="thing").select("relation", pl.col("object_id").alias(f"object_{number}"))
        relations = relations.join(named, on="relation", how="left", maintain_order="left")
    said = (
        relations.filter(is_a)
        .join(ends[0], on="relation", maintain_order="left")
        .group_by("thing", maintain_order=True)
        .agg(pl.col("LabelName2").unique(maintain_order=True).str.join(" ").alias("is"))
    )
    return things.join(said, on="thing", how="left", maintain_order="left"), relations


def _end(relations: pl.DataFrame, end: str) -> pl.DataFrame:
    return relations.select(
        "relation",
        "ImageID",
        pl.col(f"LabelName{end}").alias("LabelName"),
        *(pl.col(f"{side}{end}").alias(side) for side in _BOX),
    )


def _matched(ends: pl.DataFrame, things: pl.DataFrame) -> pl.DataFrame:
    """relation, thing: for each relation's box the first thing with that class and place in the same image."""
    near = pl.all_horizontal((pl.col(side) - pl.col(f"{side}_right")).abs() <= _SAME_BOX for side in _BOX)
    return (
        ends.join(things.select("thing", "ImageID", "LabelName", *_BOX), on=["ImageID", "LabelName"])
        .filter(near)
        .group_by("relation")
        .agg(pl.col("thing").min())
    )


def _flag_list() -> pl.Expr:
    """Names of the flags that hold; an unknown one as ``<name>_unknown``. Added boxes tell of none."""
    named = [
        pl.when(pl.col(column) == 1).then(pl.lit(name)).when(pl.col(column) == -1).then(pl.lit(f"{name}_unknown"))
        for column, name in _FLAGS.items()
    ]
    return pl.concat_list(named).list.drop_nulls().alias("flags")


def _attributes(things: pl.DataFrame, names: Mapping[str, str]) -> pl.Series:
    """JSON of what is known of each object: name, source of the box, confidence if not 1, what it ``is``."""
    confidence = things["Confidence"].to_frame().select(pl.when(pl.all() != 1.0).then(pl.all().cast(pl.String)))
    facts = {
        "name": things["LabelName"].replace_strict(names, default=None, return_dtype=pl.String)
        if names
        else pl.Series([None] * things.height, dtype=pl.String),
        "source": things["Source"],
        "confidence": confidence.to_series(),
        "is": things["is"],
    }
    written = pl.DataFrame({key: _json_pairs(key, values) for key, values in facts.items()})
    inner = pl.concat_str(pl.all(), separator=", ", ignore_nulls=True)
    return written.select(pl.when(inner != "").then("{" + inner + "}").alias("attributes")).to_series()


def _json_pairs(key: str, values: pl.Series) -> pl.Series:
    """``"key": "value"`` of each value, null where it is null; few values are distinct."""
    distinct = values.drop_nulls().unique()
    pairs = {value: f"{json.dumps(key)}: {json.dumps(value)}" for value in distinct}
    if not pairs:
        return values.cast(pl.String)
    return values.replace_strict(pairs, default=None, return_dtype=pl.String)


def _parts(tables: Tables) -> Iterator[Tables]:
    """The scenes in runs of at most `_IMAGES_A_PART`."""
    for start in range(0, tables.views.height, _IMAGES_A_PART):
        views = tables.views.slice(start, _IMAGES_A_PART)
        if views.height == tables.views.height:
            yield tables
            return
        kept = views.select("scene_id")
        others = {
            name: frame.join(kept, on="scene_id", how="semi", maintain_order="left")
            for name, frame in tables.frames()
            if name != "views"
        }
        yield Tables(views=views, **others)
