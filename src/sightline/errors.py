"""The one exception tree. Whatever a user can cause ends in one of these, never in a traceback."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

_LONGEST_SHOWN: Final = 200
"""Characters of a value that an error shows."""


class SightlineError(Exception):
    """Base of every error Sightline raises on purpose; the CLI prints it and exits 2."""


class DataError(SightlineError):
    """Bad input data: names the file, the row and field, what was expected and what stood there.

    Args:
        problem: One sentence without the place, e.g. ``"box is reversed"``.
        file: The file the data came from.
        row: 1-based line number in a text file (the header is line 1), or a record's key.
        field: Column, key or table name.
        expected: What would have been right.
        found: What stood there.

    >>> print(DataError("box is reversed", file="o.csv", row=7, field="xmax", expected="> xmin 0.5", found=0.2))
    o.csv, row 7, xmax: box is reversed (expected > xmin 0.5, found 0.2)
    """

    def __init__(
        self,
        problem: str,
        *,
        file: str | Path | None = None,
        row: int | str | None = None,
        field: str | None = None,
        expected: object = None,
        found: object = None,
    ) -> None:
        self.problem, self.file, self.row, self.field = problem, file, row, field
        self.expected, self.found = expected, found
        place = [str(file)] if file is not None else []
        place += [f"row {row}"] if row is not None else []
        place += [field] if field is not None else []
        contrast = [f"expected {expected}"] if expected is not None else []
        contrast += [f"found {shown(found)}"] if found is not None else []
        text = f"{', '.join(place)}: {problem}" if place else problem
        super().__init__(f"{text} ({', '.join(contrast)})" if contrast else text)


def shown(found: object) -> str:
    """A value as an error shows it: its beginning, where it is long."""
    try:
        text = repr(found)
    except (ValueError, RecursionError):  # a number of thousands of digits, a list in a list in a list…
        text = f"a huge {type(found).__name__}"
    return text if len(text) <= _LONGEST_SHOWN else f"{text[: _LONGEST_SHOWN - 1]}…"


@contextmanager
def naming(place: Path | None) -> Iterator[None]:
    """Let errors about what a file or folder holds name it, where they name none."""
    try:
        yield
    except DataError as error:
        if error.file is not None or place is None:
            raise
        facts = {name: getattr(error, name) for name in ("row", "field", "expected", "found")}
        raise type(error)(error.problem, file=place, **facts) from error  # the error keeps its kind


class PictureError(DataError):
    """A picture that cannot be read: missing, cut short, or no picture at all; an exam leaves its item out."""


class ConfigError(SightlineError):
    """A setting, option or argument that cannot be honoured."""


class ModelError(SightlineError):
    """A model that cannot be loaded, lacks the skill an exam needs, or broke its protocol."""


class MissingExtraError(SightlineError):
    """An optional package is needed now; names the extra that brings it.

    >>> print(MissingExtraError("onnxruntime", extra="onnx"))
    this needs the package onnxruntime: pip install "sightline-exams[onnx]"
    """

    def __init__(self, package: str, *, extra: str) -> None:
        super().__init__(f'this needs the package {package}: pip install "sightline-exams[{extra}]"')
