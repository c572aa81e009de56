"""However files of a photo format are spoilt, importing and opening give sound scenes or a DataError."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from PIL import Image
from test_coco_panoptic import CONTENT as PANOPTIC
from test_coco_panoptic import drawn
from test_coco_results import INSTANCES, RESULTS
from test_cocoa import ONE as COCOA
from test_cocoa import RELEASE as COCOA_RELEASE
from test_voc import OBJECT, SIZE
from test_vsr import LINES
from test_yolo import LABELS, YAML

from sightline.errors import DataError
from sightline.store import check_tables, open_dataset
from sightline.store.formats import named
from sightline.store.tables import Tables


def _png(width: int = 40, height: int = 20) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (width, height), (9, 8, 7)).save(buffer, "PNG")
    return buffer.getvalue()


def _segments() -> bytes:
    ids, buffer = drawn(), io.BytesIO()
    Image.fromarray(np.stack([ids & 255, ids >> 8 & 255, ids >> 16], axis=-1).astype(np.uint8)).save(buffer, "PNG")
    return buffer.getvalue()


def _mask() -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(np.full((20, 40), 3, dtype=np.uint8)).save(buffer, "PNG")
    return buffer.getvalue()


FILES: dict[str, dict[str, bytes]] = {
    "cocoa": {"1.json": json.dumps(COCOA).encode(), "1.png": _png(), "r.json": json.dumps(COCOA_RELEASE).encode()},
    "coco-panoptic": {
        "annotations/panoptic_val2017.json": json.dumps(PANOPTIC).encode(),
        "annotations/panoptic_val2017/9.png": _segments(),
    },
    "coco-results": {"i.json": json.dumps(INSTANCES).encode(), "results.json": json.dumps(RESULTS).encode()},
    "semantic-masks": {
        "config.yaml": b"classes: {0: unlabeled, 3: car}\nstuff: [car]\nval: {masks: m, images: photos}\n",
        "m/a.png": _mask(),
        "photos/a.png": _png(),
    },
    "vsr": {"dev.jsonl": "\n".join(map(json.dumps, LINES)).encode(), "photos/7.png": _png()},
    "yolo": {
        "data.yaml": YAML.encode(),
        **{f"labels/{name}": text.encode() for name, text in LABELS.items()},
        "images/train/a.png": _png(),
    },
    "voc": {
        "Annotations/a.xml": f"<annotation>{SIZE}{OBJECT}</annotation>".encode(),
        "JPEGImages/a.png": _png(100, 50),
        "ImageSets/Main/val.txt": b"a\n",
    },
    "photos": {"a.png": _png(), "b/c.png": _png(3, 2)},
}
START = {"coco-results": "results.json"}
NASTY: list[Any] = [
    None,
    True,
    -1,
    0,
    7,
    1e308,
    2**70,
    "",
    "x",
    "é",
    "../x",
    "\ud800",
    [],
    {},
    [[]],
    [1, 2],
    {"size": [1]},
]
TOKENS = [
    b"",
    b"nan",
    b"-1",
    b"1e999",
    b"0.5",
    b"\0",
    b"\xff",
    b"\n",
    b"{",
    b"[",
    b"<",
    b">",
    b"&x;",
    b": ",
    b"99999999999",
]


def _spots(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every (container, key) of a JSON value."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in pairs:
        yield value, key
        yield from _spots(inner)


def _json(draw: st.DrawFn, data: bytes) -> bytes:
    lines = data.split(b"\n")
    place = draw(st.integers(0, len(lines) - 1))
    try:
        value = json.loads(lines[place])
    except ValueError:
        return data
    container, key = draw(st.sampled_from(list(_spots(value))))
    if draw(st.booleans()):
        container[key] = draw(st.sampled_from(NASTY))
    else:
        del container[key]
    lines[place] = json.dumps(value).encode()
    return b"\n".join(lines)


def _token(draw: st.DrawFn, data: bytes) -> bytes:
    start = draw(st.integers(0, len(data)))
    return data[:start] + draw(st.sampled_from(TOKENS)) + data[start + draw(st.integers(0, 6)) :]


def _cut(draw: st.DrawFn, data: bytes) -> bytes:
    return data[: draw(st.integers(0, len(data)))]


@st.composite
def spoilt(draw: st.DrawFn) -> tuple[str, dict[str, bytes]]:
    name = draw(st.sampled_from(sorted(FILES)))
    content = dict(FILES[name])
    for _ in range(draw(st.integers(1, 2))):
        file = draw(st.sampled_from(sorted(content)))
        ways = [_token, _cut, *([_json, _json] if ".json" in file else [])]
        content[file] = draw(st.sampled_from(ways))(draw, content[file])
    return name, content


def _laid(folder: Path, files: dict[str, bytes]) -> Path:
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return folder


@pytest.mark.parametrize("name", FILES)
def test_unspoilt_files_are_sound(tmp_path: Path, name: str) -> None:
    path = _laid(tmp_path, FILES[name]) / START.get(name, "")
    assert check_tables(Tables.concat(named(name).read(path))) == []


@settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow])
@given(spoilt())
def test_spoilt_files_are_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, case: tuple[str, dict[str, bytes]]
) -> None:
    name, files = case
    path = _laid(tmp_path_factory.mktemp("m"), files) / START.get(name, "")
    try:
        problems = check_tables(Tables.concat(named(name).read(path)))
        event(f"{name}: accepted")
        assert problems == []
    except DataError as error:
        event(f"{name}: refused")
        if error.file is None:
            raise
    try:
        open_dataset(path)
    except DataError:
        event("not opened")
