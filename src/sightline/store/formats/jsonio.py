"""JSON files that may hold anything: read whole, with errors that name file and line."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final

from sightline.errors import DataError

_HEAD: Final = 1 << 16


def parse(path: Path, *, encodings: tuple[str, ...] = ("utf-8",)) -> Any:
    """What stands in the file, read in the first encoding that fits.

    Raises:
        DataError: Where the file cannot be read, fits no encoding or is not JSON.
    """
    try:
        return json.loads(_text(path.read_bytes(), encodings))
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror or error}", file=path) from None
    except RecursionError:
        raise DataError("JSON is nested too deeply", file=path) from None
    except json.JSONDecodeError as error:
        raise DataError(f"not JSON: {error.msg}", file=path, row=error.lineno) from None
    except ValueError as error:  # a foreign encoding, or a number of thousands of digits
        raise DataError(f"not JSON: {error}", file=path) from None


def names_keys(path: Path, *keys: str) -> bool:
    """Whether a JSON object that names each of the keys near its beginning or end seems to stand there.

    Large files are not read whole: this only tells formats from each other.
    """
    if path.suffix != ".json" or not path.is_file():
        return False
    with path.open("rb") as stream:
        start = stream.read(_HEAD)
        stream.seek(max(0, path.stat().st_size - _HEAD))
        ends = start + stream.read()
    named = all(re.search(rb'"%s"\s*:' % re.escape(key.encode()), ends) for key in keys)
    return start.lstrip().startswith(b"{") and named


def _text(data: bytes, encodings: tuple[str, ...]) -> str:
    *tries, last = encodings
    for encoding in tries:
        try:
            return data.decode(encoding)
        except UnicodeDecodeError:
            continue
    return data.decode(last)
