"""What a dataset contains, as one sha256."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sightline.store.schema import LATER, SCHEMA_VERSION, SCHEMAS
from sightline.store.tables import Tables


class Fingerprint:
    """A running sha256 over the values of tables, fed part by part.

    It depends on: the schema version; every cell of all four tables, nulls apart from empty texts and empty lists;
    the order of the rows. A column of `schema.LATER` counts only where it is not all null. It does not depend on:
    compression, row groups, how the rows are cut into parts or shards, file names, source, recipe, or the time of
    writing. Pictures kept as blobs are covered, for their names are the sha256 of their bytes; of a picture that is
    only a path, the path is covered and not the pixels. Every NaN counts as the same value; −0.0 and 0.0 differ.

    Each column is a few byte streams (which rows are null, lengths, little-endian values), each stream with its
    own hash, so that parts can be fed one after another; the fingerprint is the hash of those hashes.

    >>> import polars as pl
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
                self._array(f"{name}.{column}", frame[column].to_arrow())

    def hexdigest(self) -> str:
        """The fingerprint of everything fed so far, 64 hex digits."""
        unused = self._unused()
        digests = sorted((key, h.hexdigest()) for key, h in self._streams.items() if key not in unused)
        text = "\n".join([f"sightline schema {SCHEMA_VERSION}", *(f"{key} {digest}" for key, digest in digests)])
        return hashlib.sha256(text.encode()).hexdigest()

    def _unused(self) -> set[str]:
        """The validity streams of later columns that hold nothing."""
        later = (f"{name}.{column}" for name, columns in LATER.items() for column in columns)
        return {f"{key}#valid" for key in later if f"{key}#length" not in self._streams}

    def _array(self, key: str, array: Any) -> None:
        self._bytes(f"{key}#valid", array.is_valid().to_numpy(zero_copy_only=False).astype(np.uint8))
        values = array.drop_null()
        if pa.types.is_large_list(values.type):
            self._bytes(f"{key}#length", pc.list_value_length(values).to_numpy(zero_copy_only=False).astype("<i8"))
            self._array(f"{key}#item", values.flatten())
        elif pa.types.is_large_string(values.type) or pa.types.is_large_binary(values.type):
            values = values.cast(pa.large_binary())
            self._bytes(f"{key}#length", pc.binary_length(values).to_numpy(zero_copy_only=False).astype("<i8"))
            self._bytes(f"{key}#data", _joined(values))
        else:
            self._bytes(f"{key}#data", _canonical(values.to_numpy(zero_copy_only=False)))

    def _bytes(self, stream: str, data: Any) -> None:
        # An empty part must leave no trace, or the cutting into parts would show.
        if len(data):
            self._streams.setdefault(stream, hashlib.sha256()).update(data)


def fingerprint(tables: Tables) -> str:
    """Fingerprint of one set of tables; see `Fingerprint` for what it depends on."""
    running = Fingerprint()
    running.update(tables)
    return running.hexdigest()


def _joined(values: Any) -> memoryview:
    """All bytes of a large_binary array without gaps, not copied."""
    if not len(values):
        return memoryview(b"")
    offsets = np.frombuffer(values.buffers()[1], dtype=np.int64)
    first, last = offsets[values.offset], offsets[values.offset + len(values)]
    data = values.buffers()[2]
    return memoryview(b"") if data is None else memoryview(data)[first:last]


def _canonical(values: Any) -> Any:
    if values.dtype.kind == "f":
        values = np.where(np.isnan(values), np.nan, values)
    return np.ascontiguousarray(values.astype(values.dtype.newbyteorder("<")))
