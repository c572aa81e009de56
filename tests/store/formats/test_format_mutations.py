"""However an input is spoilt, an importer ends in success or in a DataError; and success means sound data."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path

import pytest
from format_cases import HIERARCHY, OPENIMAGES, SCORING, VRD25, lay
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from sightline.errors import DataError
from sightline.store.formats import named
from sightline.store.formats.hierarchy import Hierarchy
from sightline.store.formats.vrd25 import read_predictions, read_scoring_truth
from sightline.store.tables import Tables

NASTY = [
    "",
    " ",
    "nan",
    "NaN",
    "inf",
    "-inf",
    "1e999",
    "-0",
    "-1",
    "0",
    "1",
    "4",
    "0.5",
    "1e-320",
    "9" * 20,
    "0x1",
    "null",
    "None",
    "\0",
    "\n",
    "\r\n",
    '"',
    '""',
    ",",
    "0,1",
    "\ufeff",
    "\u2028",
    "é",
    "../../x",
    "=1+1",
    "p",
]
Bytes = st.binary(min_size=1, max_size=3)


def _flip(draw: st.DrawFn, data: bytes) -> bytes:
    at = draw(st.integers(0, max(0, len(data) - 1)))
    return data[:at] + draw(Bytes) + data[at + 1 :]


def _insert(draw: st.DrawFn, data: bytes) -> bytes:
    at = draw(st.integers(0, len(data)))
    return (
        data[:at] + draw(st.sampled_from([b"\0", b'"', b"\n", b",", b"\r", b"\xff", b"\xef\xbb\xbf"])) + data[at:]
    )


def _truncate(draw: st.DrawFn, data: bytes) -> bytes:
    return data[: draw(st.integers(0, len(data)))]


def _lines(draw: st.DrawFn, data: bytes) -> bytes:
    lines = data.splitlines(keepends=True)
    return b"".join(draw(st.lists(st.sampled_from(lines), max_size=len(lines) + 2))) if lines else data


def _cells(draw: st.DrawFn, data: bytes) -> bytes:
    """Put a nasty token into one cell, or drop, double or shuffle columns."""
    try:
        rows = list(csv.reader(io.StringIO(data.decode(), newline="")))
    except (UnicodeDecodeError, csv.Error):
        return data
    if not rows or not rows[0]:
        return data
    if draw(st.booleans()):
        row = draw(st.sampled_from(rows))
        if row:
            row[draw(st.integers(0, len(row) - 1))] = draw(st.sampled_from(NASTY))
    else:
        width = len(rows[0])
        order = draw(st.lists(st.integers(0, width - 1), min_size=1, max_size=width + 1))
        if draw(st.booleans()):
            order = draw(st.permutations(range(width)))
        rows = [[row[i] for i in order if i < len(row)] for row in rows]
    text = io.StringIO()
    csv.writer(
        text, lineterminator="\n", quoting=draw(st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]))
    ).writerows(rows)
    return text.getvalue().encode()


MUTATIONS: list[Callable[[st.DrawFn, bytes], bytes]] = [_flip, _insert, _truncate, _lines, _cells, _cells]


@st.composite
def spoilt(draw: st.DrawFn, files: dict[str, str]) -> dict[str, bytes]:
    """The files, one or two of them spoilt once or twice."""
    content = {name: text.encode() for name, text in files.items()}
    for _ in range(draw(st.integers(1, 2))):
        name = draw(st.sampled_from(sorted(content)))
        content[name] = draw(st.sampled_from(MUTATIONS))(draw, content[name])
    return content


def sound(tables: Tables) -> bool:
    """Boxes are boxes, ids are unique and relations end at objects: told by plain loops."""
    for _, _, _, x0, y0, x1, y1, *_ in tables.sightings.rows():
        assert 0 <= x0 < x1 <= 1
        assert 0 <= y0 < y1 <= 1
    objects = tables.objects.select("scene_id", "object_id").rows()
    assert len(objects) == len(set(objects)) == tables.sightings.height
    for scene, subject, other, other_scene, *_ in tables.relations.rows():
        assert {(scene, subject), (other_scene or scene, other)} <= set(objects)
    return True


QUICK = settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def _attempt(work: Callable[[], bool]) -> None:
    """Any exception but a DataError that names its file fails the test."""
    try:
        event("accepted" if work() else "empty")
    except DataError as error:
        if error.file is None:
            raise
        event("refused")


@QUICK
@given(files=spoilt(VRD25))
def test_vrd25(tmp_path_factory: pytest.TempPathFactory, files: dict[str, bytes]) -> None:
    folder = lay(tmp_path_factory.mktemp("m"), files)
    _attempt(lambda: sound(Tables.concat(named("2.5vrd").read(folder))))


@QUICK
@given(files=spoilt(OPENIMAGES))
def test_openimages(tmp_path_factory: pytest.TempPathFactory, files: dict[str, bytes]) -> None:
    folder = lay(tmp_path_factory.mktemp("m"), files)
    _attempt(lambda: sound(Tables.concat(named("openimages").read(folder))))


@QUICK
@given(files=spoilt(SCORING))
def test_scoring_files(tmp_path_factory: pytest.TempPathFactory, files: dict[str, bytes]) -> None:
    folder = lay(tmp_path_factory.mktemp("m"), files)
    for read in (
        lambda: read_scoring_truth(folder / "objects.csv", folder / "vrd.csv"),
        lambda: read_predictions(folder / "prediction.csv"),
    ):
        _attempt(
            lambda read=read: all(
                -1 <= code <= 3 for row in read().select("depth", "occlusion").rows() for code in row
            )
        )


@QUICK
@given(files=spoilt({"h.json": HIERARCHY}))
def test_hierarchy(tmp_path_factory: pytest.TempPathFactory, files: dict[str, bytes]) -> None:
    path = lay(tmp_path_factory.mktemp("m"), files) / "h.json"
    _attempt(lambda: all(tree.parts_of(mid) is not None for tree in [Hierarchy.open(path)] for mid in tree.kinds))


def test_unspoilt_files_are_sound(tmp_path: Path) -> None:
    assert sound(Tables.concat(named("2.5vrd").read(lay(tmp_path / "v", VRD25))))
    assert sound(Tables.concat(named("openimages").read(lay(tmp_path / "o", OPENIMAGES))))
