"""The four flat tables every dataset is made of, and the version of that layout.

Rows of all tables are sorted by ``scene_id`` (then in the source's order), so that one scene is one contiguous
run of rows in each table and a filter on ``scene_id`` prunes row groups.
"""

from __future__ import annotations

import re
from typing import Any, Final

import polars as pl

SCHEMA_VERSION: Final = 1

UNITS: Final = ("pixels", "normalised")

SPLIT_WORDS: Final = {
    **dict.fromkeys(("train", "training"), "train"),
    **dict.fromkeys(("val", "valid", "validation", "dev"), "validation"),
    **dict.fromkeys(("test", "testing"), "test"),
}
"""What files and people call a split → what we call it."""


def usual_split(name: str) -> str | None:
    """The one of *train*, *validation* and *test* that a split's name begins with; None where it is none of them.

    >>> [usual_split(name) for name in ("val", "val_default", "test-2017", "trainer", "kitchen", "")]
    ['validation', 'validation', 'test', None, None, None]
    """
    return SPLIT_WORDS.get(re.split(r"[^a-z]", name.lower(), maxsplit=1)[0])


_COLUMNS: Final[dict[str, dict[str, Any]]] = {
    "views": {
        "scene_id": pl.String,
        "split": pl.String,
        "source": pl.String,
        "view_id": pl.String,
        "image": pl.String,  # null: no picture
        "width": pl.Int32,  # null: the source never told
        "height": pl.Int32,
        "units": pl.String,  # one of UNITS
        "camera": pl.String,  # JSON {"k": [9], "world_to_camera": [12]} or null
        "depth": pl.String,  # blob reference or null
        "ids": pl.String,  # blob reference or null
        "stuff": pl.String,  # blob reference or null
        "stuff_classes": pl.List(pl.String),  # class i of the stuff map is number i - 1 here; null without a map
        "scene_category": pl.String,  # the kind of scene; null: none told
    },
    "objects": {
        "scene_id": pl.String,
        "object_id": pl.String,
        "category": pl.String,
        "attributes": pl.String,  # JSON object or null
        "pose": pl.List(pl.Float64),  # 16 numbers or null
        "shape": pl.String,
    },
    "sightings": {
        "scene_id": pl.String,
        "view_id": pl.String,
        "object_id": pl.String,
        "x0": pl.Float64,
        "y0": pl.Float64,
        "x1": pl.Float64,
        "y1": pl.Float64,
        "visible_mask": pl.Binary,
        "amodal_mask": pl.Binary,
        "occluded_fraction": pl.Float64,
        "flags": pl.List(pl.String),  # never null, may be empty
        "landmarks": pl.String,  # JSON list or null
        "viewpoint": pl.String,  # JSON object or null
    },
    "relations": {
        "scene_id": pl.String,
        "subject": pl.String,
        "object": pl.String,
        "object_scene": pl.String,  # null: the same scene
        "aspect": pl.String,
        "predicate": pl.String,  # null: the raters found no majority
        "votes": pl.List(pl.String),  # never null, may be empty
        "view_id": pl.String,  # null: holds of the scene, or of its only view
    },
}

SCHEMAS: Final[dict[str, pl.Schema]] = {name: pl.Schema(columns) for name, columns in _COLUMNS.items()}
"""Table name → columns and types, in order."""

PIXELS: Final = ("image", "depth", "ids", "stuff")
"""Columns of `views` that refer to pixels."""

LATER: Final[dict[str, frozenset[str]]] = {
    "views": frozenset({"stuff", "stuff_classes", "scene_category"}),
    "relations": frozenset({"view_id"}),
}
"""Columns that older files of this version lack; they are read as null, and all null they leave no trace in the
fingerprint, so that old and new files of the same content have the same one."""
