"""Spoil files at random, be they text, trees, tables, MATLAB's, archives or names. Chance is a `Random`."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
import zipfile
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import polars as pl
import scipy.io
import yaml
from scipy.io.matlab import MatReadError

from sightline.errors import DataError
from sightline.files import DAMAGED
from sightline.matlab import read_mat

SCRIPT = "<script>alert(1)</script>"
TAG = '"><img src=x onerror=alert(1)>'
CONTROL = "\x1b]0;t\x07\x1b[2J\x00\x08"
NASTY: tuple[Any, ...] = (
    *(
        None,
        True,
        False,
        0,
        -1,
        1,
        4,
        7.5,
        -0.0,
        1e-320,
        1e308,
        -1e308,
        2**31,
        2**53 + 1,
        2**63,
        -(2**63) - 1,
        10**400,
    ),
    *(float("nan"), float("inf"), float("-inf")),
    *(
        "",
        " ",
        "nan",
        "1e999",
        "0x1",
        "null",
        "é\u0301",
        "\ufeff",
        "\u2028",
        "\ud800",
        CONTROL,
        SCRIPT,
        TAG,
        "x" * 70_000,
    ),
    *(
        "../../../etc/passwd",
        "/etc/passwd",
        "/dev/zero",
        "..",
        ".",
        "a/b",
        "C:\\x",
        "con",
        "=1+1",
        "%s%n",
        "{{7*7}}",
        "\n",
    ),
    *([], {}, [[]], [None], {"": 0}, [1, 2, 3], [0.5] * 1000, {"id": 1}, [[[[[[1]]]]]]),
)
WORDS = tuple(str(value)[:200].encode("utf-8", "surrogatepass") for value in NASTY)
BYTES = (
    b"\0",
    b'"',
    b"'",
    b"\n",
    b",",
    b"\r",
    b"\xff",
    b"\xef\xbb\xbf",
    b"\x1b[31m",
    b"{",
    b"[",
    b"<",
    b"&",
    b"!!python/x ",
)
DEEP = 3000
PICTURES = {".png", ".jpg", ".jpeg", ".webp"}


def spoil(folder: Path, rng: Random) -> list[str]:
    """Spoil one to three things in a folder, and say which: ``["labels.json: rename a key", …]``."""
    done = []
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        files = sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
        if not files:
            break
        # Files of text and tables hold what there is to understand; a picture is one of a kind.
        file = (
            rng.choice([f for f in files if f.suffix not in PICTURES] or files)
            if rng.random() < 0.8
            else rng.choice(files)
        )
        ways = [
            *((_JSON,) * 3 if file.suffix in _TREES else ()),
            *((_TABLE,) * 3 if file.suffix in _TABLES else ()),
            *(((_spoil_inside,),) * 4 if file.suffix in _ARCHIVES else ()),
            _TEXT,
            _RAW,
            _RAW,
        ]
        if rng.random() < 0.07:
            ways = [_FILES]
        change = rng.choice(rng.choice(ways))
        before = hashlib.sha256(file.read_bytes()).hexdigest() if file.suffix == ".parquet" else ""
        try:
            change(file, rng)
        except _CANNOT:  # not such a file any more: it was spoilt before
            _flip(file, rng)
        done.append(f"{file.relative_to(folder)}: {change.__name__.strip('_').replace('_', ' ')}")
        if before and rng.random() < 0.5 and _fit_manifest(folder, before, file):
            done[-1] += ", and the manifest fits"
    return done


def _fit_manifest(folder: Path, before: str, file: Path) -> bool:
    """Write a table's new size and sha256 where the old ones stood, as somebody who means harm would."""
    if not file.is_file():  # gone, a folder, or a link to a device
        return False
    try:
        data, manifest = file.read_bytes(), folder / "data" / "dataset.json"
        told = json.loads(manifest.read_text())
        for shard in told["shards"]:
            entry = shard["files"][file.parent.name]
            if entry["sha256"] == before:
                entry |= {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
                manifest.write_text(json.dumps(told))
                return True
    except _CANNOT:
        pass
    return False


def _at(data: bytes, rng: Random) -> int:
    return int(rng.random() * len(data))


def _flip(file: Path, rng: Random) -> None:
    data = bytearray(file.read_bytes())
    for _ in range(rng.choice((1, 1, 8)) if data else 0):
        data[_at(data, rng)] = rng.randrange(256)
    file.write_bytes(data)


def _truncate(file: Path, rng: Random) -> None:
    data = file.read_bytes()
    file.write_bytes(data[: _at(data, rng)])


def _delete_bytes(file: Path, rng: Random) -> None:
    data = file.read_bytes()
    at = _at(data, rng)
    file.write_bytes(data[:at] + data[at + rng.choice((1, 4, 40)) :])


def _insert_bytes(file: Path, rng: Random) -> None:
    data = file.read_bytes()
    at = _at(data, rng)
    file.write_bytes(data[:at] + rng.choice(BYTES) + data[at:])


def _repeat_bytes(file: Path, rng: Random) -> None:
    data = file.read_bytes()
    first, last = sorted((_at(data, rng), _at(data, rng)))
    file.write_bytes(data[:last] + data[first:last][:5000] * rng.choice((1, 3)) + data[last:])


def _empty(file: Path, rng: Random) -> None:
    file.write_bytes(b"")


def _encode_otherwise(file: Path, rng: Random) -> None:
    text = file.read_bytes().decode("utf-8", "replace")
    file.write_bytes(text.encode(rng.choice(("utf-16", "utf-32", "utf-8-sig", "cp037", "utf-7")), "replace"))


def _reorder_lines(file: Path, rng: Random) -> None:
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(rng.choices(lines, k=len(lines) + rng.choice((-1, 0, 1)))) if lines else b"")


def _replace_word(file: Path, rng: Random) -> None:
    data = file.read_bytes()
    words = list(re.finditer(rb"[\w.+-]+", data))
    if words:
        word = rng.choice(words)
        file.write_bytes(data[: word.start()] + rng.choice(WORDS) + data[word.end() :])


def _nest_deeply(file: Path, rng: Random) -> None:
    data = file.read_bytes()
    at = _at(data, rng)
    begin, end = rng.choice(((b"[", b"]"), (b'{"a":', b"}"), (b"- ", b""), (b"<a>", b"</a>"), (b"(", b")")))
    file.write_bytes(data[:at] + begin * DEEP + b"1" + end * DEEP + data[at:])


def _add_aliases(file: Path, rng: Random) -> None:
    bomb = "a0: &a0 [x, x]\n" + "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 12))
    file.write_text(bomb + file.read_text())


def _remove(file: Path, rng: Random) -> None:
    file.unlink()


def _rename(file: Path, rng: Random) -> None:
    file.rename(
        file.with_name(
            rng.choice(("x", f"{file.name}~", f"\u00e9{file.name}", file.name.upper(), f"{file.stem}.txt"))
        )
    )


def _become_a_folder(file: Path, rng: Random) -> None:
    file.unlink()
    file.mkdir()


def _become_a_link(file: Path, rng: Random) -> None:
    file.unlink()
    file.symlink_to(rng.choice(("/etc/passwd", "/dev/zero", file.name, "nowhere", "..")))


def _take_another_s_content(file: Path, rng: Random) -> None:
    others = sorted(path for path in file.parent.iterdir() if path.is_file() and not path.is_symlink())
    file.write_bytes(rng.choice(others).read_bytes())


def _places(node: Any) -> Iterator[tuple[Any, Any]]:
    """Every (container, key or index) of a tree."""
    pairs = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in pairs:
        yield node, key
        yield from _places(value)


def _tree(change: Callable[[Any, Any, Random], str | None]) -> Callable[[Path, Random], None]:
    """Make a mutation of a JSON, JSONL or YAML file from one of a place in its tree; a key returned is doubled."""

    def spoil_tree(file: Path, rng: Random) -> None:
        if file.suffix in _VALUES:
            return _spoil_values(file, change, rng)
        text, yaml_file = file.read_text(), file.suffix in {".yaml", ".yml"}
        lines = text.splitlines() if file.suffix == ".jsonl" else [text]
        number = rng.randrange(len(lines))
        tree = yaml.safe_load(text) if yaml_file else json.loads(lines[number])
        places = list(islice(_places(tree), 20_000)) or [([tree], 0)]  # aliases may stand for any number
        changed = change(*rng.choice(places), rng)
        lines[number] = yaml.safe_dump(tree, allow_unicode=True) if yaml_file else json.dumps(tree)
        if changed is not None:  # a key, to stand twice
            lines[number] = lines[number].replace(
                changed, f"{changed} 1{', ' if not yaml_file else chr(10)}{changed}", 1
            )
        file.write_bytes("\n".join(lines).encode("utf-8", "surrogatepass"))
        return None

    spoil_tree.__name__ = change.__name__
    return spoil_tree


def _spoil_values(file: Path, change: Callable[[Any, Any, Random], str | None], rng: Random) -> None:
    """Change a place in the tree of a MATLAB file's or a pickled array's values, and write the file anew."""
    if file.suffix == ".mat":
        read_mat(file)  # of a file that was spoilt before SciPy's reader may crash
        tree = _unboxed({key: value for key, value in scipy.io.loadmat(file).items() if key[:2] != "__"})
    else:
        with np.load(file, allow_pickle=True) as archive:
            tree = _unboxed(dict(archive))
    change(*rng.choice(list(islice(_places(tree), 20_000)) or [([tree], 0)]), rng)
    made = {str(key): _boxed(value, matlab=file.suffix == ".mat") for key, value in tree.items()}
    stream = io.BytesIO()
    if file.suffix == ".mat":
        scipy.io.savemat(stream, made, do_compression=rng.random() < 0.5)
    else:
        np.savez(stream, **made)
    file.write_bytes(stream.getvalue())


def _unboxed(value: Any) -> Any:
    """Structs and cells as dicts and lists, small arrays of numbers as lists."""
    if isinstance(value, np.void) and value.dtype.names:
        return {name: _unboxed(value[name]) for name in value.dtype.names}
    if isinstance(value, dict):
        return {key: _unboxed(inner) for key, inner in value.items()}
    if isinstance(value, np.ndarray) and (value.dtype == object or value.dtype.names):
        return [_unboxed(one) for one in value.ravel()]
    if isinstance(value, np.ndarray) and value.dtype.kind in "US" and value.size == 1:
        return str(value.item())
    return value.tolist() if isinstance(value, np.ndarray) and 0 < value.size < 100 else value


def _boxed(value: Any, *, matlab: bool) -> Any:
    """The same values as a writer of files takes them."""
    if isinstance(value, dict):
        inner = {str(key)[:30]: _boxed(one, matlab=matlab) for key, one in value.items()}
        return inner if matlab else np.array(inner, dtype=object)
    if not isinstance(value, list):
        return value
    structs = matlab and value and all(isinstance(one, dict) for one in value)
    names = list(dict.fromkeys(name for one in value for name in one)) if structs else []
    if names and all(isinstance(name, str) and name.isidentifier() for name in names):
        made = np.empty((1, len(value)), dtype=[(name, object) for name in names])
        for i, one in enumerate(value):
            made[0, i] = tuple(_boxed(one.get(name, np.zeros((0, 0))), matlab=True) for name in names)
        return made
    if any(isinstance(one, str | dict) or one is None for one in value):
        cells = np.empty(len(value), dtype=object)
        cells[:] = [_boxed(one, matlab=True) for one in value]  # one dict a cell, no array around it
        return cells
    return np.array(value)


def _spoil_inside(file: Path, rng: Random) -> None:
    """Spoil files of an archive and pack it again."""
    with TemporaryDirectory() as folder:
        with zipfile.ZipFile(file) as archive:
            archive.extractall(folder)
        spoil(Path(folder), rng)
        with zipfile.ZipFile(file, "w", rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))) as archive:
            for inner in sorted(
                path for path in Path(folder).rglob("*") if path.is_file() and not path.is_symlink()
            ):
                archive.write(inner, inner.relative_to(folder))


def _replace_value(place: Any, key: Any, rng: Random) -> None:
    place[key] = rng.choice(NASTY)


def _change_type(place: Any, key: Any, rng: Random) -> None:
    value = place[key]
    place[key] = (
        str(value) if isinstance(value, int | float) else [value] if isinstance(value, str | dict) else {"0": value}
    )


def _drop_value(place: Any, key: Any, rng: Random) -> None:
    del place[key]


def _repeat_value(place: Any, key: Any, rng: Random) -> None:
    if isinstance(place, list):
        place.extend([place[key]] * rng.choice((1, 2, 300)))
    else:
        place[f"{key}2"] = place[key]


def _rename_key(place: Any, key: Any, rng: Random) -> None:
    if isinstance(place, dict):
        place[rng.choice(("", "x", f"{key} ", str(key).upper(), SCRIPT))] = place.pop(key)


def _swap_values(place: Any, key: Any, rng: Random) -> None:
    other = rng.choice(list(place) if isinstance(place, dict) else range(len(place)))
    place[key], place[other] = place[other], place[key]


def _scale_number(place: Any, key: Any, rng: Random) -> None:
    if isinstance(place[key], int | float):
        place[key] = place[key] * rng.choice((-1, 1e-9, 1000, 10**12))


def _double_key(place: Any, key: Any, rng: Random) -> str | None:
    return f"{json.dumps(key)}:" if isinstance(place, dict) else None


def _cells(change: Callable[[list[list[str]], Random], None]) -> Callable[[Path, Random], None]:
    def spoil_cells(file: Path, rng: Random) -> None:
        if file.suffix == ".parquet":
            return _columns(file, rng)
        rows = list(csv.reader(io.StringIO(file.read_text(), newline="")))
        change(rows, rng)
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(rows)
        file.write_bytes(text.getvalue().encode("utf-8", "surrogatepass"))
        return None

    spoil_cells.__name__ = change.__name__
    return spoil_cells


def _replace_cell(rows: list[list[str]], rng: Random) -> None:
    row = rng.choice(rows)
    row[rng.randrange(len(row))] = str(rng.choice(NASTY))[:2000]


def _drop_cell(rows: list[list[str]], rng: Random) -> None:
    row = rng.choice(rows)
    del row[rng.randrange(len(row))]


def _move_columns(rows: list[list[str]], rng: Random) -> None:
    order = rng.choices(range(len(rows[0])), k=len(rows[0]) + rng.choice((-1, 0, 1)))
    rows[:] = [[row[i] for i in order if i < len(row)] for row in rows]


def _repeat_row(rows: list[list[str]], rng: Random) -> None:
    rows.insert(rng.randrange(len(rows)), rng.choice(rows))


def _columns(file: Path, rng: Random) -> None:
    """Spoil a column of a Parquet table: gone, renamed, of another type, empty, extreme; or its rows."""
    frame = pl.read_parquet(file)
    name = rng.choice(frame.columns)
    column = frame[name]
    kind = rng.randrange(8)
    if kind == 0:
        frame = frame.drop(name)
    elif kind == 1:
        frame = frame.rename({name: rng.choice(("x", "", name.upper()))})
    elif kind == 2:
        frame = frame.with_columns(pl.Series(name, [str(v) for v in column], dtype=pl.String))
    elif kind == 3:
        frame = frame.with_columns(pl.lit(None, dtype=column.dtype).alias(name))
    elif kind == 4:
        values = [v for v in NASTY if isinstance(v, float | str)]
        new = pl.Series(name, [str(rng.choice(values))] * len(frame)).cast(column.dtype, strict=False)
        frame = frame.with_columns(new)
    elif kind == 5:
        frame = frame.sample(len(frame), with_replacement=True, seed=rng.randrange(2**31)) if len(frame) else frame
    elif kind == 6:
        frame = frame.clear() if rng.random() < 0.5 else pl.concat([frame, frame])
    else:
        at = rng.randrange(max(1, len(frame)))
        other = column[rng.randrange(len(column))] if len(column) else None
        value = rng.choice((None, other))
        frame = frame.with_columns(
            pl.Series(name, [value if i == at else v for i, v in enumerate(column)], dtype=column.dtype)
        )
    frame.write_parquet(file)


Change = Callable[[Path, Random], None]
_RAW: tuple[Change, ...] = (_flip, _flip, _truncate, _delete_bytes, _insert_bytes, _repeat_bytes, _empty)
_TEXT: tuple[Change, ...] = (
    _replace_word,
    _replace_word,
    _replace_word,
    _encode_otherwise,
    _reorder_lines,
    _nest_deeply,
    _add_aliases,
)
_FILES: tuple[Change, ...] = (_remove, _remove, _rename, _become_a_folder, _become_a_link, _take_another_s_content)
_JSON: tuple[Change, ...] = tuple(
    map(
        _tree,
        (
            *(_replace_value,) * 4,
            _change_type,
            _drop_value,
            _repeat_value,
            _rename_key,
            _swap_values,
            _scale_number,
            _double_key,
        ),
    )
)
_TABLE: tuple[Change, ...] = tuple(
    map(_cells, (_replace_cell, _replace_cell, _drop_cell, _move_columns, _repeat_row))
)
_VALUES = {".mat", ".npz"}
_TREES = {".json", ".jsonl", ".yaml", ".yml", *_VALUES}
_TABLES = {".csv", ".parquet"}
_ARCHIVES = {".npz", ".sh3f"}
_CANNOT = (
    *DAMAGED,
    DataError,
    ImportError,
    yaml.YAMLError,
    pl.exceptions.PolarsError,
    pl.exceptions.PanicException,
    MatReadError,
)
