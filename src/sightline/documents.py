"""JSON, JSON lines and YAML: read in bounded time and memory, with errors that name file and row.

Whatever stands in a file, what comes out is safe to walk, to print and to write again: nested at most `DEEPEST`
levels, every number within the range of a float, every text one that UTF-8 can write, no key twice in a mapping,
and behind the aliases of YAML no more than `_MOST_REPEATED` values.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

from sightline.errors import DataError
from sightline.files import read_bytes

if TYPE_CHECKING:
    import yaml

DEEPEST: Final = 64
"""Levels of nesting; what people write has fewer than ten."""
_LONGEST_NUMBER: Final = 308
"""Digits of a whole number: what still fits a float."""
_LARGEST_YAML: Final = 4_000_000
"""Bytes of a YAML file, whose reader takes seconds for a million."""
_MOST_REPEATED: Final = 100_000
"""Values that all aliases of a YAML file may stand for together."""
_CHUNK: Final = 1 << 20
_STRUCTURE: Final = bytes(set(range(256)) - set(b'"[]{}'))
_DIGITS: Final = bytes.maketrans(b"0123456789E", b"0000000000e")
_NOT_BACKSLASH: Final = re.compile(rb"[^\\]")
_ESCAPE: Final = re.compile(rb"\\.", re.DOTALL)
_SURROGATE: Final = re.compile(rb"\\u[dD][89a-fA-F]")
_YAML_SURROGATE: Final = re.compile(r"\\(?:u|U0000)[dD][89a-fA-F]")


class _UnreadableError(ValueError):
    """A document that is refused; the text says why."""


def read_json(path: Path, *, entries: bool = False, otherwise: str | None = None) -> Any:
    """Read a JSON file in UTF-8, or else in the encoding `otherwise`.

    Args:
        path: The file.
        entries: Leave numbers out of range and texts with half a character to the caller, who can name the entry.
        otherwise: A second encoding to try.

    Raises:
        DataError: Where the file cannot be read, is not JSON or exceeds the limits above.
    """
    data = read_bytes(path)
    if otherwise is not None:
        try:
            data.decode()
        except UnicodeDecodeError:
            data = data.decode(otherwise, "replace").encode()
    return parse_json(data, path, entries=entries)


def read_json_object(path: Path) -> dict[str, Any]:
    """Read a JSON file that holds one object."""
    return _object(read_json(path), path, None)


def read_json_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Read the objects of a JSONL file with their line numbers from 1, past empty lines."""
    for number, line in enumerate(read_bytes(path).split(b"\n"), start=1):
        if line.strip():
            yield number, _object(parse_json(line, path, number), path, number)


def parse_json(data: bytes | str, file: str | Path, row: int | None = None, *, entries: bool = False) -> Any:
    """Parse one JSON document in UTF-8; errors call it `file` and, of a line of a file, `row`."""
    try:
        data = data.encode() if isinstance(data, str) else data
        _refuse_deep(data)
        careful = not entries and _has_long_numbers(data)
        value = json.loads(
            data.decode(),
            object_pairs_hook=_unique,
            parse_constant=None if entries else _constant,
            parse_int=_whole if careful else None,
            parse_float=_fraction if careful else None,
        )
        if not entries and _SURROGATE.search(data):
            json.dumps(value, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        raise DataError(f"not JSON: {error.msg}", file=file, row=row or error.lineno) from None
    except UnicodeEncodeError:
        raise DataError("not JSON: text with half a character (a lone surrogate)", file=file, row=row) from None
    except UnicodeDecodeError as error:
        raise DataError(f"not JSON: not UTF-8 at byte {error.start}", file=file, row=row) from None
    except ValueError as error:
        raise DataError(f"not JSON: {error}", file=file, row=row) from None
    except RecursionError:  # the caller itself stands deep
        raise DataError("not JSON: nested too deeply", file=file, row=row) from None
    return value


def refuse_deep_lines(data: bytes, file: Path) -> None:
    """Refuse JSON lines nested too deeply, for a reader that would not survive them."""
    try:
        _refuse_deep(data)
    except _UnreadableError:  # or lines that are cut off, whose open brackets add up
        for number, line in enumerate(data.split(b"\n"), start=1):
            try:
                _refuse_deep(line)
            except _UnreadableError as error:
                raise DataError(f"not JSON: {error}", file=file, row=number) from None


def read_yaml(path: Path) -> Any:
    """Read a YAML file: its one document as plain values.

    Raises:
        DataError: Where the file cannot be read, is not YAML or exceeds the limits above.
    """
    return parse_yaml(read_bytes(path, most=_LARGEST_YAML), path)


def parse_yaml(data: bytes | str, file: str | Path) -> Any:
    """Parse one YAML document in UTF-8; errors call it `file`."""
    import yaml

    try:
        text = data if isinstance(data, str) else data.decode()
        if len(text) > _LARGEST_YAML:
            raise _UnreadableError(f"longer than {_LARGEST_YAML:,} characters")
        value = yaml.load(text, _loader())  # noqa: S506 - a SafeLoader with limits
        if _YAML_SURROGATE.search(text):
            _encode_texts(value)
        return value
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or str(error).partition("\n")[0]
        raise DataError(f"not YAML: {problem}", file=file, row=None if mark is None else mark.line + 1) from None
    except UnicodeEncodeError:
        raise DataError("not YAML: text with half a character (a lone surrogate)", file=file) from None
    except UnicodeDecodeError as error:
        raise DataError(f"not YAML: not UTF-8 at byte {error.start}", file=file) from None
    except _UnreadableError as error:
        raise DataError(f"not YAML: {error}", file=file) from None
    except RecursionError:
        raise DataError("not YAML: nested too deeply", file=file) from None
    except (
        ValueError,
        TypeError,
        AttributeError,
        LookupError,
        ArithmeticError,
    ) as error:  # a tag that does not fit
        raise DataError(f"not YAML: a value is not what its tag says ({error})", file=file) from None


def _encode_texts(value: Any) -> None:
    """Encode every text of plain values; UnicodeEncodeError where half a character stands in one."""
    if isinstance(value, str):
        value.encode()
    elif isinstance(value, dict):
        for key, entry in value.items():
            _encode_texts(key)
            _encode_texts(entry)
    elif isinstance(value, list | tuple | set):
        for entry in value:
            _encode_texts(entry)


def _object(value: Any, file: Path, row: int | None) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise DataError("not an object", file=file, row=row, expected="{…}", found=value)
    return value


def _refuse_deep(data: bytes) -> None:
    """Refuse JSON whose brackets, apart from those in texts, stand more than `DEEPEST` deep."""
    if data.count(b"[") + data.count(b"{") <= DEEPEST:
        return
    import numpy as np

    steps = np.zeros(256, np.int8)
    steps[list(b"[{")], steps[list(b"]}")] = 1, -1
    depth, quotes, start = 0, 0, 0
    while start < len(data):
        end = min(start + _CHUNK, len(data))
        if data[end - 1 : end] == b"\\":  # an escape is never cut in two
            after = _NOT_BACKSLASH.search(data, end)
            end = after.end() if after else len(data)
        chunk = data[start:end]
        chunk = (_ESCAPE.sub(b"", chunk) if b"\\" in chunk else chunk).translate(None, _STRUCTURE)
        kinds = np.frombuffer(chunk, np.uint8)
        before = quotes + np.cumsum(kinds == ord('"'), dtype=np.int64)
        levels = depth + np.cumsum(np.where(before % 2 == 0, steps[kinds], 0), dtype=np.int64)
        if len(levels):
            if levels.max() > DEEPEST:
                raise _UnreadableError(f"nested more than {DEEPEST} levels deep")
            depth, quotes = int(levels[-1]), int(before[-1])
        start = end


def _has_long_numbers(data: bytes) -> bool:
    """Whether numbers may stand there that no float can hold, found without parsing."""
    shape = data.translate(_DIGITS, b"+")
    return b"e000" in shape or b"0" * (_LONGEST_NUMBER + 1) in shape


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        seen: set[str] = set()
        twice = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise _UnreadableError(f"the key {twice!r} stands twice in one object")
    return values


def _constant(name: str) -> NoReturn:
    raise _UnreadableError(f"{name} is no number of JSON")


def _whole(digits: str) -> int:
    if len(digits.lstrip("-")) > _LONGEST_NUMBER:
        raise _UnreadableError(f"a number of {len(digits):,} digits")
    return int(digits)


def _fraction(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise _UnreadableError(f"the number {digits[:20]}{'…' * (len(digits) > 20)} is too large")
    return value


def _loader() -> Any:
    """A loader of plain YAML values with limits; made here since help and most commands need no YAML."""
    import yaml

    class Loader(yaml.SafeLoader):
        depth = repeated = nodes = 0

        def __init__(self, stream: str) -> None:
            super().__init__(stream)
            self.sizes: dict[int, int] = {}

        def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
            alias, before = self.check_event(yaml.AliasEvent), self.nodes
            mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
            self.depth += 1
            if self.depth > DEEPEST:
                self.refuse(f"nested more than {DEEPEST} levels deep", mark)
            node = super().compose_node(parent, index)
            self.depth -= 1
            if not alias:
                self.nodes += 1
                self.sizes[id(node)] = self.nodes - before
                return node
            if id(node) not in self.sizes:
                self.refuse("an alias that stands for itself", mark)
            self.nodes += self.sizes[id(node)]
            self.repeated += self.sizes[id(node)]
            if self.repeated > _MOST_REPEATED:
                self.refuse(f"aliases stand for more than {_MOST_REPEATED:,} values", mark)
            return node

        def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
            node = super().compose_mapping_node(anchor)
            seen: set[tuple[str, str]] = set()
            for key, _ in node.value:
                name = (key.tag, key.value) if isinstance(key, yaml.ScalarNode) else None
                if name in seen:
                    self.refuse(f"the key {key.value!r} stands twice in one mapping", key.start_mark)
                if name is not None:
                    seen.add(name)
            return node

        def number(self, node: yaml.ScalarNode) -> Any:
            if len(node.value) > _LONGEST_NUMBER:
                self.refuse(f"a number of {len(node.value):,} characters", node.start_mark)
            kind = node.tag.rpartition(":")[2]
            return self.construct_yaml_int(node) if kind == "int" else self.construct_yaml_float(node)

        def refuse(self, problem: str, mark: Any) -> NoReturn:
            raise yaml.MarkedYAMLError(problem=problem, problem_mark=mark)

    for kind in ("int", "float"):
        Loader.add_constructor(f"tag:yaml.org,2002:{kind}", Loader.number)
    return Loader
