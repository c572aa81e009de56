"""JSON files of outside formats: read whole and key by key, with errors that name file, entry and key."""

from __future__ import annotations

import json
import math
import re
import reprlib
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from sightline.documents import read_json
from sightline.errors import DataError
from sightline.files import atomic_write
from sightline.store.check import POSE_FAULTS

_HEAD: Final = 1 << 16
_LARGEST: Final = 2**63 - 1
_REQUIRED: Final = "\x00required"


def load(path: Path, sections: Collection[str], what: str = "COCO instances") -> dict[str, Any]:
    """The file's top-level object, with each of the sections a list; `what` names the format in errors.

    Raises:
        DataError: Where the file cannot be read, is not JSON in UTF-8, is no object or lacks a section.
    """
    content = read_json(path, entries=True)
    if not isinstance(content, dict):
        raise DataError(f"not {what}", file=path, expected="a JSON object", found=type(content).__name__)
    for section in sections:
        if section not in content:
            raise DataError("key is missing", file=path, field=section, found=", ".join(map(reprlib.repr, content)))
        if not isinstance(content[section], list):
            raise DataError(
                "not a list", file=path, field=section, expected="a list", found=type(content[section]).__name__
            )
    return content


def names_keys(path: Path, *keys: str, any_of: bool = False, lists: bool = False) -> bool:
    """Whether a JSON object that names each of the keys near its beginning or end seems to stand there.

    Large files are not read whole: this only tells formats from each other.

    Args:
        path: The file.
        keys: Keys at any depth.
        any_of: One of them will do.
        lists: Each must begin a list.
    """
    if path.suffix != ".json" or not path.is_file():
        return False
    with path.open("rb") as stream:
        start = stream.read(_HEAD)
        if not start.lstrip().startswith(b"{"):
            return False
        stream.seek(max(0, path.stat().st_size - _HEAD))
        ends = start + stream.read()
    value = rb"\s*\[" if lists else b""
    named = (re.search(rb'"%s"\s*:' % re.escape(key.encode()) + value, ends) for key in keys)
    return any(named) if any_of else all(named)


def write_json(path: Path, content: object) -> None:
    """Write JSON, the file replaced as a whole or not touched; a DataError where it cannot be."""
    data = json.dumps(content, allow_nan=False).encode()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        atomic_write(path, data)
    except OSError as error:
        raise DataError(f"cannot be written: {error.strerror or error}", file=path) from None


@dataclass(frozen=True, slots=True)
class JsonEntry:
    """One object of a section.

    Attributes:
        file: The file it stands in.
        row: What it is called in errors, e.g. ``annotation 17``.
        values: Its keys.
    """

    file: Path
    row: str
    values: dict[str, Any]

    def error(self, problem: str, field: str, expected: object = None, found: object = None) -> DataError:
        """A DataError at this entry; a long `found` is cut short."""
        shown = found if found is None or len(repr(found)) <= 60 else reprlib.repr(found)
        return DataError(problem, file=self.file, row=self.row, field=field, expected=expected, found=shown)

    def get(self, key: str) -> Any:
        """The value, which must be there."""
        if key not in self.values:
            raise self.error("key is missing", key, found=", ".join(map(str, self.values)))
        return self.values[key]

    def integer(self, key: str, *, low: int = 0, high: int = _LARGEST, default: int | None = None) -> int:
        """A whole number in [low, high]; True and 1.0 are none."""
        value = self.values.get(key, default) if default is not None else self.get(key)
        if type(value) is not int or not low <= value <= high:
            raise self.error("not a whole number in range", key, f"an integer from {low} to {high}", value)
        return value

    def number(self, value: Any, field: str) -> float:
        """A finite number; True is none."""
        if type(value) not in (int, float) or not -_LARGEST <= value <= _LARGEST or not math.isfinite(value):
            raise self.error("not a finite number", field, "a number", value)
        return float(value)

    def share(self, key: str) -> float | None:
        """A number from 0 to 1; None where there is none."""
        if self.values.get(key) is None:
            return None
        share = self.number(self.values[key], key)
        if not 0.0 <= share <= 1.0:
            raise self.error("share is out of range", key, "0 to 1", share)
        return share

    def text(self, key: str, *, default: str = _REQUIRED) -> str:
        """A string without control characters that can be written in UTF-8."""
        value = self.get(key) if default is _REQUIRED else self.values.get(key, default)
        if not is_text(value):
            raise self.error("not text", key, "a string without control characters", value)
        return str(value)

    def texts(self, key: str) -> list[str]:
        """A list of such strings; a missing key is an empty list."""
        value = self.values.get(key, [])
        if not isinstance(value, list) or not all(map(is_text, value)):
            raise self.error("not a list of words", key, "a list of strings", value)
        return value

    def numbers(self, value: Any, field: str) -> list[float]:
        """A list of finite numbers."""
        if not isinstance(value, list):
            raise self.error("not a list of numbers", field, "a list of numbers", value)
        return [self.number(v, field) for v in value]

    def rest(self, known: Collection[str]) -> str | None:
        """The keys beside the known ones as a JSON object, or None if there are none."""
        extra = {k: v for k, v in self.values.items() if k not in known}
        try:
            return dump(extra) if extra else None
        except (ValueError, RecursionError):
            raise self.error("value cannot be kept as JSON", ", ".join(map(reprlib.repr, extra))) from None


def object_entry(value: Any, file: Path, row: str, field: str) -> JsonEntry:
    """The entry of a value that must be an object; `field` is what the error calls it."""
    entry = JsonEntry(file, row, value if isinstance(value, dict) else {})
    if entry.values is not value:
        raise entry.error("entry is not an object", field, "a JSON object", value)
    return entry


def entries(content: dict[str, Any], section: str, file: Path) -> Iterator[tuple[int, JsonEntry]]:
    """(id, entry) of a section, in order; ids are whole numbers and unique in the section."""
    kind = {"categories": "category"}.get(section, section.removesuffix("s"))
    return numbered(content[section], section, file, kind)


def numbered(values: Collection[Any], section: str, file: Path, kind: str) -> Iterator[tuple[int, JsonEntry]]:
    """(id, entry) of objects with a unique whole ``id``; errors call them ``<kind> <id>``."""
    seen: set[int] = set()
    for index, value in enumerate(values):
        entry = object_entry(value, file, f"{section}[{index}]", section)
        number = entry.integer("id")
        if number in seen:
            raise entry.error("id stands twice", "id", "an id of its own", number)
        seen.add(number)
        yield number, JsonEntry(file, f"{kind} {number}", value)


def pose_texts(entry: JsonEntry) -> dict[str, str | None]:
    """Viewpoint and landmarks of a sighting, which stand under these keys, as the texts that tables hold."""
    texts: dict[str, str | None] = dict.fromkeys(POSE_FAULTS)
    for key, fault_of in POSE_FAULTS.items():
        given = entry.values.get(key)
        if given is None:
            continue
        try:
            text = dump(given, ascii_only=False)
        except ValueError:
            raise entry.error("numbers are not finite", key, "JSON", given) from None
        fault = fault_of(text)
        if fault is None and not all(is_text(mark["name"]) for mark in (given if key == "landmarks" else ())):
            fault = "name of a landmark is not text"
        if fault is not None:
            raise entry.error(fault, key, found=given)
        texts[key] = text
    return texts


def dump(value: object, *, ascii_only: bool = True) -> str:
    """One spelling for one value, so that equal scenes have equal fingerprints.

    >>> dump({"b": 1, "a": [2]})
    '{"a":[2],"b":1}'
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=ascii_only, allow_nan=False)


def is_text(value: Any) -> bool:
    r"""Whether it is a string fit for a name: no control characters, no lone surrogates.

    >>> is_text("café"), is_text("a\n"), is_text(1), is_text("\ud800")
    (True, False, False, False)
    """
    return isinstance(value, str) and not any(c < " " or c == "\x7f" or "\ud800" <= c <= "\udfff" for c in value)
