"""What a dataset contains, as one sha256."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import polars as pl

from sightline.store.schema import LATER, SCHEMA_VERSION, SCHEMAS
from sightline.store.tables import Tables

_JOINED = 1 << 16
"""Texts joined at once: bounds the copy."""


class Fingerprint:
    """A running sha256 over the values of tables, fed part by part.

    It depends on: the schema version; every cell of all four tables, nulls apart from empty texts and empty lists;
    the order of the rows. A column of `schema.LATER` counts only where it is not all null. It does not depend on:
    compression, row groups, how the rows are cut into parts or shards, file names, source, recipe, or the time of
    writing. Pictures kept as blobs are covered, for their names are the sha256 of their bytes; of a picture that is
    only a path, the path is covered and not the pixels. Every NaN counts as the same value; −0.0 and 0.0 differ.

    Each column is a few byte streams (which rows are null, lengths, little-endian values), each stream with its
    own hash, so that parts can be fed one after another; the fingerprint is the hash of those hashes.

    >>> whole, halves = Fingerprint(), Fingerprint()
    >>> tables = Tables.build(views=pl.DataFrame({"scene_id": ["a", "b"], "view_id": ["0", "0"]}))
    >>> whole.update(tables)
    >>> for row in (0, 1):
    ...     halves.update(Tables.build(views=tables.views[row : row + 1]))
    >>> whole.hexdigest() == halves.hexdigest()
    True
    """

    def __init__(self) -> None:
        self._streams: dict[str, Any] = {}

    def update(self, tables: Tables) -> None:
        """Add the rows of a part."""
        for name, frame in tables.frames():
            for column in SCHEMAS[name]:
                self._column(f"{name}.{column}", frame[column])

    def hexdigest(self, *, pictures: bool = True) -> str:
        """The fingerprint of everything fed so far, 64 hex digits; without `pictures` that of the truth alone."""
        unused = self._unused() if pictures else self._unused() | {k for k in self._streams if _is_picture(k)}
        digests = sorted((key, h.hexdigest()) for key, h in self._streams.items() if key not in unused)
        text = "\n".join([f"sightline schema {SCHEMA_VERSION}", *(f"{key} {digest}" for key, digest in digests)])
        return hashlib.sha256(text.encode()).hexdigest()

    def _unused(self) -> set[str]:
        """The validity streams of later columns that hold nothing."""
        later = (f"{name}.{column}" for name, columns in LATER.items() for column in columns)
        return {f"{key}#valid" for key in later if f"{key}#length" not in self._streams}

    def _column(self, key: str, column: pl.Series) -> None:
        self._bytes(f"{key}#valid", column.is_not_null().to_numpy().astype(np.uint8))
        values = column.drop_nulls()
        if values.dtype == pl.List:
            lengths = values.list.len()
            self._bytes(f"{key}#length", lengths.to_numpy().astype("<i8"))
            # exploding would turn an empty list into a null
            self._column(f"{key}#item", values.filter(lengths > 0).explode())
        elif values.dtype == pl.String:
            self._bytes(f"{key}#length", values.str.len_bytes().to_numpy().astype("<i8"))
            for start in range(0, len(values), _JOINED):
                self._bytes(f"{key}#data", values[start : start + _JOINED].str.join().item().encode())
        elif values.dtype == pl.Binary:
            self._bytes(f"{key}#length", values.bin.size().to_numpy().astype("<i8"))
            for start in range(0, len(values), _JOINED):
                self._bytes(f"{key}#data", b"".join(values[start : start + _JOINED].to_list()))
        else:
            self._bytes(f"{key}#data", _canonical(values.to_numpy()))

    def _bytes(self, stream: str, data: Any) -> None:
        # An empty part must leave no trace, or the cutting into parts would show.
        if len(data):
            self._streams.setdefault(stream, hashlib.sha256()).update(data)


def _is_picture(stream: str) -> bool:
    return stream.partition("#")[0] == "views.image"


def fingerprint(tables: Tables) -> str:
    """Fingerprint of one set of tables; see `Fingerprint` for what it depends on."""
    running = Fingerprint()
    running.update(tables)
    return running.hexdigest()


def _canonical(values: Any) -> Any:
    if values.dtype.kind == "f":
        values = np.where(np.isnan(values), np.nan, values)
    return np.ascontiguousarray(values.astype(values.dtype.newbyteorder("<")))
