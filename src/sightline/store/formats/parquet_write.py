"""Views as Parquet files that Hugging Face's ``datasets`` opens, from disk and without a network.

A folder with ``data/<split>-00000-of-00001.parquet`` and a ``README.md`` that names the splits; scenes without a
split are ``train``, as ``datasets`` has it. A row is a view: ``image`` (the photo's own bytes), ``scene_id``,
``view_id``, ``width`` and ``height``, the ``camera`` as JSON, ``depth`` in whole millimetres, ``ids`` and ``stuff``
as PNG, and two lists, ``objects`` (boxes xyxy in ``units``, masks as COCO's run lengths) and ``relations``. The
features stand in each file, so that pictures come as pictures. Open it in Python::

    datasets.load_dataset("FOLDER")
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, Final

import polars as pl
import yaml

from sightline.files import staged_folder
from sightline.plain import plain
from sightline.scenes import Object, Sighting
from sightline.scenes.types import Loader
from sightline.store.blobs import Blobs
from sightline.store.encodings import Kind, encode
from sightline.store.formats.jsonio import dump
from sightline.store.formats.labelled import ExportedView, exported_views
from sightline.store.tables import Tables
from sightline.text import counted

ROWS: Final = 500
"""Views in a file."""

_README: Final = "README.md"
_UNSPLIT: Final = "train"
_RESERVED: Final = "all"

_TEXTS: Final[pl.DataType] = pl.List(pl.String)
_NUMBERS: Final[pl.DataType] = pl.List(pl.Float64)
_PICTURE: Final = pl.Struct({"bytes": pl.Binary, "path": pl.String})
_OBJECT: Final = pl.Struct(
    {
        "object_id": pl.String,
        "category": pl.String,
        "bbox": _NUMBERS,
        "visible_mask": pl.String,
        "amodal_mask": pl.String,
        "occluded_fraction": pl.Float64,
        "flags": _TEXTS,
        "attributes": pl.String,
        "pose": _NUMBERS,
        "shape": pl.String,
        "viewpoint": pl.String,
        "landmarks": pl.String,
    }
)
_RELATION: Final = pl.Struct(
    dict.fromkeys(("subject", "object", "object_scene", "aspect", "predicate"), pl.String) | {"votes": _TEXTS}
)
_COLUMNS: Final[dict[str, Any]] = {
    "image": _PICTURE,
    "scene_id": pl.String,
    "view_id": pl.String,
    "source": pl.String,
    "scene_category": pl.String,
    "width": pl.Int32,
    "height": pl.Int32,
    "units": pl.String,
    "camera": pl.String,
    "depth": _PICTURE,
    "ids": _PICTURE,
    "stuff": _PICTURE,
    "stuff_classes": _TEXTS,
    "objects": pl.List(_OBJECT),
    "relations": pl.List(_RELATION),
}
SCHEMA: Final = pl.Schema(_COLUMNS)
"""Columns of a row, in order; JSON stands as text."""

_ARROW: Final = b"ARROW:schema"
_DTYPES: Final[dict[Any, str]] = {pl.String: "string", pl.Float64: "float64", pl.Int32: "int32"}


def write(tables: Tables | Iterable[Tables], path: str | Path, *, blobs: Blobs | None = None) -> None:
    """Write a folder of Parquet files, a row a view, that ``datasets.load_dataset`` opens.

    Args:
        tables: Scenes; what is not known of them is null.
        path: The folder, which must not exist or be empty; it appears whole or not at all.
        blobs: Where the pictures are.
    """
    whole = tables if isinstance(tables, Tables) else Tables.concat(tables)
    places: dict[str, list[str]] = {}
    for split in sorted(whole.views["split"].unique()):
        places.setdefault(split_name(split), []).append(split)
    metadata = {"huggingface": json.dumps({"info": {"features": features(SCHEMA)}})}
    with staged_folder(path, owned=(), marker=_README, overwrite=False) as stage:
        (stage / "data").mkdir()
        for place, splits in places.items():
            part = _of_splits(whole, splits)
            files = -(-part.views.height // ROWS)
            shown = exported_views(part, blobs, boxes=False)
            for number in range(files):
                file = stage / "data" / f"{place}-{number:05d}-of-{files:05d}.parquet"
                rows = [_row(one) for one in islice(shown, ROWS)]
                buffer = io.BytesIO()
                pl.DataFrame(rows, schema=SCHEMA).write_parquet(buffer, metadata=metadata)
                file.write_bytes(_without_arrow_types(buffer.getvalue()))
        (stage / _README).write_text(_readme(list(places)), encoding="utf-8")


def left_out(tables: Tables) -> list[str]:
    """What is less exact than in the store: depth that was kept finer than millimetres."""
    finer = tables.views.filter(pl.col("depth").str.ends_with(".npz")).height
    return [f"parts of a millimetre in {counted(finer, 'depth map')}"] if finer else []


def split_name(split: str) -> str:
    """What ``datasets`` may call a split: letters, digits and underscores.

    >>> split_name("val_default"), split_name("../val 1"), split_name(""), split_name("all")
    ('val_default', 'val_1', 'train', 'all_')
    """
    name = re.sub(r"[^A-Za-z0-9_]+", "_", split).strip("_") or _UNSPLIT
    return f"{name}_" if name == _RESERVED else name


def features(schema: Mapping[str, Any]) -> dict[str, Any]:
    """What ``datasets`` calls the columns: pictures, lists, and values of a type.

    >>> features({"a": pl.List(pl.String), "i": _PICTURE})
    {'a': [{'dtype': 'string', '_type': 'Value'}], 'i': {'_type': 'Image'}}
    """
    return {name: _feature(kind) for name, kind in schema.items()}


def _feature(kind: Any) -> Any:
    if kind == _PICTURE:
        return {"_type": "Image"}
    if isinstance(kind, pl.List):
        return [_feature(kind.inner)]
    if isinstance(kind, pl.Struct):
        return {field.name: _feature(field.dtype) for field in kind.fields}
    return {"dtype": _DTYPES[kind], "_type": "Value"}


def _without_arrow_types(data: bytes) -> bytes:
    """The Parquet file with polars' own types under another key of its footer.

    Where they stand under theirs, Arrow takes the description of the columns from them alone, and does not see the
    features.
    """
    start = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    footer = data[start:]
    return data[:start] + footer.replace(_ARROW, _ARROW.replace(b"ARROW", b"POLAR"))


def _of_splits(tables: Tables, splits: list[str]) -> Tables:
    views = tables.views.filter(pl.col("split").is_in(splits))
    ids = views["scene_id"].unique().implode()
    others = {
        name: frame.filter(pl.col("scene_id").is_in(ids)) for name, frame in tables.frames() if name != "views"
    }
    return Tables(views=views, **others)


def _row(shown: ExportedView) -> dict[str, Any]:
    scene, view = shown.scene, shown.view
    seen = {one.object_id: one for one in shown.sightings}
    photo = shown.photo_bytes()
    suffix = "" if shown.photo is None else shown.photo.suffix.lower()
    width, height = view.size or (None, None)
    return {
        "image": None if photo is None else {"bytes": photo, "path": shown.name + suffix},
        "scene_id": scene.id,
        "view_id": view.id,
        "source": scene.source,
        "scene_category": scene.category or None,
        "width": width,
        "height": height,
        "units": view.units,
        "camera": None if view.camera is None else dump(plain(view.camera)),
        "depth": _map("depth", view.load_depth, shown.name),
        "ids": _map("ids", view.load_ids, shown.name),
        "stuff": _map("stuff", view.load_stuff, shown.name),
        "stuff_classes": list(view.stuff_classes),
        "objects": [_object(thing, seen.get(thing.id)) for thing in scene.objects],
        "relations": [plain(r) for r in scene.relations if r.view in (None, view.id)],
    }


def _map(kind: Kind, load: Loader | None, name: str) -> dict[str, Any] | None:
    """A map of a view as PNG; depth in whole millimetres."""
    return None if load is None else {"bytes": encode(kind, load(), "png")[0], "path": f"{name}.{kind}.png"}


def _object(thing: Object, seen: Sighting | None) -> dict[str, Any]:
    """An object of the scene, with its box and masks where the view shows it."""
    entry: dict[str, Any] = {
        "object_id": thing.id,
        "category": thing.category,
        "pose": thing.pose,
        "shape": thing.shape,
        "flags": [],
    }
    entry |= {"attributes": dump(dict(thing.attributes), ascii_only=False)} if thing.attributes else {}
    if seen is None:
        return entry
    rles = {"visible_mask": seen.visible_mask, "amodal_mask": seen.amodal_mask}
    entry |= {name: rle.decode("ascii", "replace") for name, rle in rles.items() if rle is not None}
    entry |= {"viewpoint": dump(plain(seen.viewpoint))} if seen.viewpoint else {}
    entry |= {"landmarks": dump(plain(seen.landmarks), ascii_only=False)} if seen.landmarks else {}
    return entry | {"bbox": seen.box, "occluded_fraction": seen.occluded_fraction, "flags": sorted(seen.flags)}


def _readme(splits: list[str]) -> str:
    files = [{"split": split, "path": f"data/{split}-*"} for split in splits]
    head = yaml.safe_dump({"configs": [{"config_name": "default", "data_files": files}]}, sort_keys=False)
    return f"---\n{head}---\n\nWritten by `sightline export parquet`; `datasets.load_dataset` opens this folder.\n"
