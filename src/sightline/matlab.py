"""MATLAB's .mat files, versions 5 to 7, as plain values: no more memory than the limits say, no code run.

Numbers become arrays of their MATLAB shape, logicals bool arrays, texts str (rows joined by line breaks), cells
arrays of objects, struct arrays arrays of dicts; objects, functions, complex and sparse matrices are None.
`Struct` reads fields of such dicts and names file, record and field where something is missing or does not fit.
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NoReturn

import numpy as np
from numpy.typing import NDArray

from sightline.errors import DataError
from sightline.files import read_bytes

MOST_BYTES: Final = 1 << 28
"""Bytes of a file at most; MOST_INFLATED what its compressed parts may unpack to."""

MOST_INFLATED: Final = 1 << 30

MOST_DEPTH: Final = 32
"""Structs and cells within one another at most."""

_HEADER: Final = 128
_HDF5: Final = b"\x89HDF\r\n\x1a\n"
_MATRIX, _COMPRESSED = 14, 15
_CELL, _STRUCT, _CHAR = 1, 2, 4
_STORED: Final = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
_TEXTS: Final = {2: "latin-1", 4: "utf-16", 16: "utf-8", 17: "utf-16", 18: "utf-32"}
_NUMBERS: Final = {6: "f8", 7: "f4", 8: "i1", 9: "u1", 10: "i2", 11: "u2", 12: "i4", 13: "u4", 14: "i8", 15: "u8"}
_LOGICAL: Final = 0x200
_COMPLEX: Final = 0x800


def read_mat(path: str | Path, *, skip: Collection[str] = ()) -> dict[str, Any]:
    """Variables of a .mat file by name.

    Args:
        path: The file.
        skip: Fields of structs that are passed over, wherever they stand.

    Raises:
        DataError: Not such a file, one of MATLAB v7.3 (HDF5) or v4, damaged, or beyond the limits.
    """
    data = read_bytes(path, most=MOST_BYTES)
    if data[:8] == _HDF5 or data[512:520] == _HDF5:
        expected = "MATLAB 5 to 7: load it and save it again with save(name, '-v7')"
        raise DataError("a MATLAB v7.3 (HDF5) file, which is not read", file=path, expected=expected)
    if len(data) < _HEADER or data[126:128] not in (b"IM", b"MI"):
        raise DataError("not a MATLAB file of version 5 to 7", file=path, expected="one saved with '-v7' or '-v6'")
    try:
        return dict(_Elements("<" if data[126:128] == b"IM" else ">", skip).variables(data))
    except _Damaged as damage:
        raise DataError(f"damaged MATLAB file: {damage}", file=path) from None


def is_mat(path: Path) -> bool:
    """Whether a file begins as a .mat file of any version since 5 does, v7.3 too, which is not read."""
    if path.suffix.lower() != ".mat" or not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            return file.read(8).startswith((b"MATLAB ", _HDF5))
    except OSError:
        return False


class _Damaged(Exception):  # noqa: N818 - never leaves this module: it becomes a DataError
    pass


class _Elements:
    """Reads the data elements of one file; `skip` names fields that are passed over."""

    def __init__(self, order: str, skip: Collection[str]) -> None:
        self.order, self.skip = order, frozenset(skip)
        self.pair = struct.Struct(f"{order}II").unpack_from
        self.left = MOST_INFLATED

    def variables(self, data: bytes) -> Iterator[tuple[str, Any]]:
        """Name and value of every variable."""
        at = _HEADER
        while at + 8 <= len(data):
            kind, begin, end, at = self.tag(data, at, len(data))
            if kind == _COMPRESSED:
                inner, at = self.inflate(data[begin:end]), end
                kind, begin, end, _ = self.tag(inner, 0, len(inner))
            else:
                inner = data
            if kind == _MATRIX and end > begin:
                yield self.matrix(inner, begin, end, 0)

    def inflate(self, packed: bytes) -> bytes:
        engine = zlib.decompressobj()
        try:
            data = engine.decompress(packed, self.left)
        except zlib.error as error:
            raise _Damaged(str(error)) from None
        if engine.unconsumed_tail:
            raise _Damaged(f"unpacks to more than {MOST_INFLATED:,} bytes")
        self.left = max(self.left - len(data), 1)
        return data

    def tag(self, data: bytes, at: int, limit: int) -> tuple[int, int, int, int]:
        """Kind of the element at a place, where its bytes begin and end, and where the next one begins."""
        if at + 8 > limit:
            raise _Damaged("it ends within an element")
        first, size = self.pair(data, at)
        if first >> 16:  # up to four bytes stand in the tag itself
            kind, size, begin, after = first & 0xFFFF, first >> 16, at + 4, at + 8
        else:
            kind, begin, after = first, at + 8, at + 8 + (size + 7 & ~7)
        end = begin + size
        if end > limit:
            raise _Damaged("an element is longer than what holds it")
        return kind, begin, end, after

    def matrix(self, data: bytes, begin: int, end: int, depth: int) -> tuple[str, Any]:
        """Name and value of an array of any class."""
        if depth > MOST_DEPTH:
            raise _Damaged(f"more than {MOST_DEPTH} structs within one another")
        _, at, stop, after = self.tag(data, begin, end)
        if stop - at != 8:
            raise _Damaged("an array without its class")
        flags = self.pair(data, at)[0]
        kind = flags & 0xFF
        _, at, stop, after = self.tag(data, after, end)
        dims = tuple(np.frombuffer(data, f"{self.order}i4", (stop - at) // 4, at).tolist())
        if len(dims) < 2 or min(dims) < 0:
            raise _Damaged("an array without its size")
        _, at, stop, after = self.tag(data, after, end)
        name = data[at:stop].decode("latin-1")
        if kind == _CHAR:
            return name, self.text(data, after, end, dims)
        if kind in _NUMBERS:
            value = self.numbers(data, after, end, dims, kind)
            if flags & _COMPLEX:
                return name, None
            return name, value.astype(bool) if flags & _LOGICAL else value
        count = math.prod(dims)
        if kind == _CELL:
            return name, _shaped(list(self.values(data, after, end, count, depth)), dims)
        if kind == _STRUCT:
            return name, _shaped(self.structs(data, after, end, count, depth), dims)
        return name, None

    def values(self, data: bytes, at: int, end: int, count: int, depth: int) -> Iterator[Any]:
        if count > (end - at) // 8:
            raise _Damaged("a cell array is shorter than its size")
        for _ in range(count):
            kind, begin, stop, at = self.tag(data, at, end)
            yield self.value(data, kind, begin, stop, depth)

    def value(self, data: bytes, kind: int, begin: int, stop: int, depth: int) -> Any:
        if kind != _MATRIX:
            raise _Damaged("something that is no array")
        return self.matrix(data, begin, stop, depth + 1)[1] if stop > begin else np.zeros((0, 0))

    def structs(self, data: bytes, at: int, end: int, count: int, depth: int) -> list[dict[str, Any]]:
        _, begin, stop, after = self.tag(data, at, end)
        width = self.pair(data[begin:stop].ljust(8, b"\0"), 0)[0]
        _, begin, stop, at = self.tag(data, after, end)
        fields = (stop - begin) // width if 0 < width <= 64 else 0
        names = [
            data[begin + i * width : begin + (i + 1) * width].split(b"\0")[0].decode("latin-1")
            for i in range(fields)
        ]
        if count * max(fields, 1) > (end - at) // 8 and count * fields:
            raise _Damaged("a struct array is shorter than its size")
        if count > MOST_BYTES // 64:
            raise _Damaged("a struct array without fields is too large")
        listed = []
        for _ in range(count):
            one = {}
            for name in names:
                kind, begin, stop, at = self.tag(data, at, end)
                if name not in self.skip:
                    one[name] = self.value(data, kind, begin, stop, depth)
            listed.append(one)
        return listed

    def text(self, data: bytes, at: int, end: int, dims: tuple[int, ...]) -> str:
        kind, begin, stop, _ = self.tag(data, at, end)
        if kind not in _TEXTS:
            raise _Damaged("a text of an unknown coding")
        coding = _TEXTS[kind]
        if coding[-2:] in ("16", "32"):
            coding += "-le" if self.order == "<" else "-be"
        text = data[begin:stop].decode(coding, "replace")
        rows = dims[0]
        return text if rows <= 1 else "\n".join(text[row::rows].rstrip() for row in range(min(rows, len(text))))

    def numbers(self, data: bytes, at: int, end: int, dims: tuple[int, ...], kind: int) -> NDArray[Any]:
        stored, begin, stop, _ = self.tag(data, at, end)
        if stored not in _STORED:
            raise _Damaged("numbers of an unknown kind")
        raw = np.dtype(f"{self.order}{_STORED[stored]}")
        if math.prod(dims) * raw.itemsize != stop - begin:
            raise _Damaged("an array is shorter than its size")
        values = np.frombuffer(data, raw, (stop - begin) // raw.itemsize, begin)
        return values.astype(_NUMBERS[kind]).reshape(dims, order="F")


def _shaped(values: list[Any], dims: tuple[int, ...]) -> NDArray[Any]:
    flat = np.empty(len(values), object)
    flat[:] = values
    return flat.reshape(dims, order="F")


def _brief(value: Any) -> Any:
    """A value as an error shows it: a few numbers or a text, else what kind of thing it is."""
    if isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "biuf" and value.size <= 12:
        return value.tolist()
    if value is None or isinstance(value, str | int | float):
        return value
    return (
        f"{type(value).__name__} of shape {value.shape}" if isinstance(value, np.ndarray) else type(value).__name__
    )


@dataclass(frozen=True, slots=True)
class Struct:
    """One record of a file: a mapping of fields, with the place it stands at.

    Attributes:
        fields: As `read_mat` gives them.
        file: For errors.
        row: ``objects(2).viewpoint``, for errors.
    """

    fields: Mapping[str, Any]
    file: Path
    row: str = ""

    def __contains__(self, name: str) -> bool:
        """Whether the field is there and not empty."""
        value = self.fields.get(name)
        return value is not None and not (isinstance(value, np.ndarray) and not value.size)

    def fail(self, name: str, expected: str, problem: str = "field does not fit") -> NoReturn:
        """Refuse a field."""
        raise self.error(name, expected, problem)

    def error(self, name: str, expected: str, problem: str) -> DataError:
        """The error that a field is refused with."""
        found = self.fields.get(name)
        if name not in self:
            problem, found = "field is missing", None
        return DataError(problem, file=self.file, row=self.row or None, field=name, expected=expected, found=found)

    def numbers(self, name: str, count: int | None = None) -> tuple[float, ...]:
        """Finite numbers of a field, so many of them; in MATLAB's order."""
        value = self.fields.get(name)
        wanted = "numbers" if count is None else "a number" if count == 1 else f"{count} numbers"
        if not isinstance(value, np.ndarray | np.generic | int | float):
            self.fail(name, wanted)
        flat = np.asarray(value).ravel(order="F")
        if flat.dtype.kind not in "biuf" or (count is not None and flat.size != count):
            self.fail(name, wanted)
        if not np.isfinite(flat).all():
            self.fail(name, f"{wanted}, finite")
        return tuple(float(x) for x in flat)

    def number(self, name: str, default: float | None = None) -> float:
        """A finite number; the default where the field is missing or empty."""
        return default if default is not None and name not in self else self.numbers(name, 1)[0]

    def flag(self, name: str) -> bool:
        """Whether a mark is set; not where it is missing."""
        value = self.number(name, 0.0)
        if value not in (0.0, 1.0):
            self.fail(name, "0 or 1")
        return value == 1.0

    def text(self, name: str, default: str | None = None) -> str:
        """A text that says something; the default where the field is missing or empty."""
        if default is not None and name not in self:
            return default
        value = self.fields.get(name)
        if not isinstance(value, str) or not value.strip():
            self.fail(name, "a text")
        return value.strip()

    def structs(self, name: str) -> list[Struct]:
        """Records of a field, from the first on; none where it is empty."""
        if name not in self:
            return []
        value = self.fields[name]
        listed = [value] if isinstance(value, Mapping) else np.asarray(value, object).ravel(order="F").tolist()
        if not all(isinstance(one, Mapping) for one in listed):
            self.fail(name, "records (a struct)")
        place = f"{self.row}.{name}" if self.row else name
        many = len(listed) > 1
        return [Struct(one, self.file, f"{place}({i})" if many else place) for i, one in enumerate(listed, start=1)]

    def struct(self, name: str) -> Struct:
        """The one record of a field."""
        found = self.structs(name)
        if len(found) != 1:
            self.fail(name, "one record (a struct)")
        return found[0]
