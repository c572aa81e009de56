"""Predicate answers made elsewhere: read whole, or refused with the row."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from sightline.errors import DataError
from sightline.models import candidate, load
from sightline.scenes.labels import PREDICATES
from sightline.skills import Queries, QuerySpec, skills_of

HEAD = "scene_id,subject,object,predicate,answer\n"
ROWS = [("s/1", 0, 1, "left", "yes"), ("s/1", 1, 0, "left", "no"), ("s/1", 1, 2, "can_support", "unknown")]
KEYS = ("scene_id", "subject", "object", "predicate", "answer")


def asked(scene: str, n: int = 3) -> Queries:
    return Queries(scene, (), np.zeros((n, 32, 32, 3), dtype=np.uint8), ({},) * n)


def spec(objects: dict[str, int]) -> QuerySpec:
    return QuerySpec((), max(objects.values()), 32, objects=objects)


def csv_file(folder: Path, *rows: tuple[object, ...]) -> Path:
    file = folder / "answers.csv"
    file.write_text(HEAD + "".join(",".join(map(str, row)) + "\n" for row in rows))
    return file


def jsonl_file(folder: Path, *rows: tuple[object, ...]) -> Path:
    file = folder / "answers.jsonl"
    file.write_text("".join(json.dumps(dict(zip(KEYS, row, strict=True))) + "\n" for row in rows))
    return file


@pytest.mark.parametrize("made", [csv_file, jsonl_file])
def test_what_the_file_says_and_unknown_for_the_rest(tmp_path: Path, made: object) -> None:
    file = made(tmp_path, *ROWS)  # type: ignore[operator]
    model = load(str(file))
    assert skills_of(model) == ("predicates",)
    said = model.predicates(asked("s/1")).answers
    left, can_support = PREDICATES.index("left"), PREDICATES.index("can_support")
    assert (said[0, 1, left], said[1, 0, left], said[1, 2, can_support]) == (1, 0, -1)
    assert (said >= 0).sum() == 2
    assert (model.predicates(asked("another")).answers == -1).all()
    assert candidate(str(file)).fingerprint != ""
    named = load(f"predicate_answers:path={file}")
    np.testing.assert_array_equal(named.predicates(asked("s/1")).answers, said)


def test_columns_in_any_order(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("answer,predicate,object,subject,scene_id\nyes,behind,2,0,s\n")
    assert load(str(file)).predicates(asked("s")).answers[0, 2, 3] == 1


@pytest.mark.parametrize("made", [csv_file, jsonl_file])
@pytest.mark.parametrize(
    ("row", "field"),
    [
        (("s", "-1", 1, "left", "yes"), "subject"),  # below 0
        (("s", 0, "b", "left", "yes"), "object"),  # a name
        (("s", 10**30, 1, "left", "yes"), "subject"),  # beyond all
        (("s", 0, 1, "lft", "yes"), "predicate"),  # misspelt
        (("s", 0, 1, "left", "maybe"), "answer"),  # no such answer
        (("s", 0, 1, "left", ""), "answer"),  # empty
        (("s", 1, 1, "left", "yes"), "object"),  # itself
        (ROWS[0], "predicate"),  # twice
    ],
)
def test_a_bad_row_is_named(tmp_path: Path, made: object, row: tuple[object, ...], field: str) -> None:
    file = made(tmp_path, *ROWS, row)  # type: ignore[operator]
    with pytest.raises(DataError) as raised:
        load(str(file))
    assert (raised.value.file, raised.value.field) == (file, field)
    assert raised.value.row == (5 if made is csv_file else 4)


@pytest.mark.parametrize("made", [csv_file, jsonl_file])
def test_an_object_the_scene_does_not_have(tmp_path: Path, made: object) -> None:
    file = made(tmp_path, *ROWS, ("s/1", 0, 3, "left", "yes"))  # type: ignore[operator]
    with pytest.raises(DataError, match=r"no such object in the scene \(expected 0…2, found 3\)") as raised:
        load(str(file)).predicates(asked("s/1"))
    assert (raised.value.row, raised.value.field) == (5 if made is csv_file else 4, "object")


@pytest.mark.parametrize("made", [csv_file, jsonl_file])
@pytest.mark.parametrize(
    ("row", "field", "says"),
    [
        (("s/2", 0, 3, "left", "yes"), "object", "no such object in the scene (expected 0…2, found 3)"),
        (("s/2", 3, 0, "left", "yes"), "subject", "no such object in the scene (expected 0…2, found 3)"),
        (("s/3", 0, 1, "left", "yes"), "object", "no such object in the scene (expected 0…0, found 1)"),
        (("s/4", 0, 1, "left", "yes"), "subject", "(expected none, it is empty, found 0)"),  # nothing in it
        (("x", 0, 1, "left", "yes"), "scene_id", "no such scene in the data (found 'x')"),  # unknown
        (("s:2", 0, 1, "left", "yes"), "scene_id", "in the data, did you mean 's/"),  # a near miss
    ],
)
def test_rows_that_the_data_cannot_have(
    tmp_path: Path, made: object, row: tuple[object, ...], field: str, says: str
) -> None:
    file = made(tmp_path, *ROWS, ("s/2", 0, 1, "left", "no"), row)  # type: ignore[operator]
    with pytest.raises(DataError) as raised:
        load(str(file)).check_predicates(spec({"s/1": 3, "s/2": 3, "s/3": 1, "s/4": 0}))
    assert (raised.value.file, raised.value.field) == (file, field)
    assert raised.value.row == (6 if made is csv_file else 5)
    assert says in str(raised.value)


@pytest.mark.parametrize("made", [csv_file, jsonl_file])
def test_a_file_may_leave_scenes_out(tmp_path: Path, made: object) -> None:
    load(str(made(tmp_path, *ROWS))).check_predicates(spec({"s/1": 3, "s/2": 3}))  # type: ignore[operator]


def test_a_line_ends_at_a_newline_and_nowhere_else(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    lines = [json.dumps(dict(zip(KEYS, ("a\u2028b", *row[1:]), strict=True)), ensure_ascii=False) for row in ROWS]
    file.write_text("\r\n".join(lines) + "\n")
    assert (load(str(file)).predicates(asked("a\u2028b")).answers >= 0).sum() == 2


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("nonsense", "row 2: not JSON"),  # no JSON
        ("[1]", "row 2: not an answer"),  # no object
        ('{"scene_id": "s"}', "expected an object with scene_id"),  # keys missing
        (
            '{"scene_id": 1, "subject": 0, "object": 1, "predicate": "left", "answer": "no"}',
            "scene_id: not a scene",
        ),
        ('{"scene_id": "s", "subject": true, "object": 1, "predicate": "left", "answer": "no"}', "not a place"),
        (
            '{"scene_id": "s", "subject": 0, "object": 1, "predicate": "lef", "answer": "no"}',
            "did you mean 'left'?",
        ),
        ("", "row 2: not JSON"),  # a blank line
    ],
)
def test_lines_that_are_no_answers(tmp_path: Path, line: str, says: str) -> None:
    file = jsonl_file(tmp_path, ROWS[0])
    file.write_text(file.read_text() + line + "\n")
    with pytest.raises(DataError) as raised:
        load(str(file))
    assert says in str(raised.value)


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("a.csv", HEAD, "file has no rows"),  # only a header
        ("a.jsonl", "", "file has no rows"),  # nothing
        ("a.csv", "scene_id,subject,predicate,answer\ns,0,left,yes\n", "object"),  # a column missing
        ("a.jsonl", b"\xff\xfe", "not JSON: not UTF-8"),  # no text
    ],
)
def test_files_that_are_not_whole(tmp_path: Path, name: str, content: str | bytes, says: str) -> None:
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(DataError, match=says):
        load(str(tmp_path / name))
