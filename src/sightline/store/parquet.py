"""The lengths a Parquet file states, checked before polars decodes it.

Polars tells most damage by an error, but trusts one length: where a page states a negative number of values it asks
for 2 EiB of memory, which ends the process. So what states lengths, the footer and the header of every page, is
read here first (it is in Thrift's compact encoding), in time and memory proportional to its bytes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, NamedTuple

from sightline.errors import DataError

MAGIC: Final = b"PAR1"
_DEEPEST: Final = 16
"""Structures within structures; Parquet's own have at most six."""
_MOST_COLUMNS: Final = 1_000
_TRUE, _FALSE, _BYTE, _DOUBLE, _TEXT, _LIST, _SET, _STRUCT = 1, 2, 3, 7, 8, 9, 10, 12
_INTEGERS: Final = (4, 5, 6)


class _Chunk(NamedTuple):
    """Where the pages of one column in one row group lie, and how many values they have together."""

    start: int
    end: int
    values: int


def refuse_pages(data: bytes, path: Path) -> None:
    """Refuse a Parquet file whose footer or pages state lengths that cannot be; `path` is named in the error."""
    try:
        for chunk in _chunks(data):
            _walk(data, chunk)
    except ValueError as error:
        raise DataError(f"table cannot be decoded: {error}", file=path) from error
    except (LookupError, TypeError, AttributeError) as error:  # a field is missing, or of another kind
        raise DataError("table cannot be decoded: its footer or a page lacks a field", file=path) from error


def _chunks(data: bytes) -> list[_Chunk]:
    """The column chunks that the footer names."""
    if len(data) < 12 or data[:4] != MAGIC or data[-4:] != MAGIC:
        raise ValueError("it is no Parquet file, or cut short")
    footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    if footer < 4:
        raise ValueError("its footer is longer than the file")
    meta = _Reader(data, footer, len(data) - 8).struct()
    if len(meta[2]) > _MOST_COLUMNS:
        raise ValueError(f"it states {len(meta[2])} columns, at most {_MOST_COLUMNS} are read")
    chunks = []
    for group in meta.get(4, ()):
        for column in group[1]:
            facts = column[3]
            start = facts.get(11, facts[9])  # of the dictionary, else of the first page of values
            chunk = _Chunk(start, start + facts[7], facts[5])
            if not (4 <= chunk.start <= chunk.end <= footer and chunk.values >= 0):
                raise ValueError("a column lies outside of the file")
            chunks.append(chunk)
    return chunks


def _walk(data: bytes, chunk: _Chunk) -> None:
    """Check the headers of a column's pages; a ValueError where a length cannot be."""
    at, seen = chunk.start, 0
    while seen < chunk.values:
        reader = _Reader(data, at, chunk.end)
        head = reader.struct()
        at = reader.at + head[3]
        kinds = [head[kind] for kind in (5, 7, 8) if kind in head]  # values, a dictionary, values (second edition)
        lengths = [head[2], head[3], *(kind[1] for kind in kinds)]
        lengths += [head[8][name] for name in (2, 3, 5, 6)] if 8 in head else []
        if min(lengths) < 0 or at > chunk.end:
            raise ValueError("a page lies outside of its column")
        seen += sum(head[kind][1] for kind in (5, 8) if kind in head)
        if seen > chunk.values:
            raise ValueError("its pages have more values than their column")


class _Reader:
    """Reads Thrift's compact encoding: a structure as {number of field: value}."""

    def __init__(self, data: bytes, at: int, end: int) -> None:
        self.data, self.at, self.end = data, at, end

    def struct(self, depth: int = 0) -> dict[int, Any]:
        """The structure that begins here."""
        fields: dict[int, Any] = {}
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._integer()
            kind = head & 15
            fields[number] = kind == _TRUE if kind in (_TRUE, _FALSE) else self._value(kind, depth)
        return fields

    def _value(self, kind: int, depth: int) -> Any:
        if kind in _INTEGERS:
            return self._integer()
        if kind in (_TRUE, _FALSE, _BYTE):
            return self._byte()
        if kind in (_TEXT, _DOUBLE):
            return self._bytes(8 if kind == _DOUBLE else self._number())
        if depth >= _DEEPEST:
            raise ValueError(f"it is nested more than {_DEEPEST} levels")
        if kind == _STRUCT:
            return self.struct(depth + 1)
        if kind in (_LIST, _SET):
            head = self._byte()
            length = head >> 4 if head >> 4 != 15 else self._number()
            if length > self.end - self.at:  # every entry takes a byte
                raise ValueError("a list is longer than the file")
            return [self._value(head & 15, depth + 1) for _ in range(length)]
        raise ValueError(f"it has a field of unknown kind {kind}")

    def _byte(self) -> int:
        if self.at >= self.end:
            raise ValueError("it ends in the middle of a header")
        self.at += 1
        return self.data[self.at - 1]

    def _bytes(self, length: int) -> bytes:
        if length > self.end - self.at:
            raise ValueError("a text is longer than the file")
        self.at += length
        return self.data[self.at - length : self.at]

    def _number(self) -> int:
        number = 0
        for shift in range(0, 70, 7):
            byte = self._byte()
            number |= (byte & 127) << shift
            if byte < 128:
                return number
        raise ValueError("a number is longer than 64 bits")

    def _integer(self) -> int:
        number = self._number()
        return (number >> 1) ^ -(number & 1)
