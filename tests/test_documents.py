"""JSON, JSON lines and YAML: what is refused, how it is told, and that time and memory stay bounded."""

from __future__ import annotations

import json
import os
import time
import tracemalloc
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from sightline.documents import (
    DEEPEST,
    parse_json,
    parse_yaml,
    read_json,
    read_json_lines,
    read_yaml,
    refuse_deep_lines,
)
from sightline.errors import DataError

BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 10)
)
MERGES = "a0: &a0 {x: 1, y: 2}\n" + "".join(
    f"a{i}: &a{i}\n  <<: [{', '.join([f'*a{i - 1}'] * 9)}]\n  z{i}: 1\n" for i in range(1, 10)
)

BAD_JSON = [
    ("[" * 1_000_000, "nested more than 64 levels"),
    ('{"a":' * 100_000 + "1" + "}" * 100_000, "nested more than 64 levels"),
    ('["\\\\", ' + "[" * 100 + "]" * 100 + "]", "nested more than 64 levels"),  # a backslash, then a real quote
    ("9" * 1000, "a number of 1,000 digits"),
    ("[1, -" + "9" * 100_000 + "]", "digits"),
    ("1e999", "the number 1e999 is too large"),
    ("-1.5E+400", "too large"),
    ("9" * 400 + ".0", "too large"),
    ("NaN", "NaN is no number of JSON"),
    ("[Infinity]", "Infinity is no number of JSON"),
    ('{"a": 1, "b": 2, "a": 3}', "the key 'a' stands twice"),
    ('[{"x": {"k": 1, "k": 1}}]', "the key 'k' stands twice"),
    ('"\\ud800"', "half a character"),
    ('{"\\uDFFFx": 1}', "half a character"),
    (b'"\xff"', "not UTF-8 at byte 1"),
    ('{"a": ', "not JSON: Expecting value"),
    ("", "not JSON"),
    ('["a\x00b"]', "Invalid control character"),
]


@pytest.mark.parametrize(("text", "problem"), BAD_JSON, ids=[problem for _, problem in BAD_JSON])
def test_json_is_refused_in_one_sentence(text: str | bytes, problem: str, tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    started = time.process_time()
    with pytest.raises(DataError) as told:
        read_json(file)
    assert time.process_time() - started < 2
    assert str(told.value).startswith(str(file))
    assert problem in str(told.value)
    assert len(str(told.value)) < 400


GOOD_JSON = [
    "[" * DEEPEST + "]" * DEEPEST,
    json.dumps(["[" * 500, '"[{' * 200, "\\" * 501 + "[" * 300, {"[[": '\\"'}]),  # brackets in texts do not count
    json.dumps([{"a": [i]} for i in range(5_000)]),
    '"\\ud83d\\ude00"',
    "[1e308, -1e308, 1e-999, 123456789012345678901234567890, 1e+0001]",
    '{"name": "type000", "e000": 1}',
]


@pytest.mark.parametrize("text", GOOD_JSON, ids=range(len(GOOD_JSON)))
def test_json_of_any_usual_form_is_read(text: str) -> None:
    assert parse_json(text, "x") == json.loads(text)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=30,
)


@given(values, st.booleans())
def test_what_json_writes_is_read_back(value: object, ascii_only: bool) -> None:
    assert parse_json(json.dumps(value, ensure_ascii=ascii_only), "x") == value


def test_depth_is_counted_across_chunks() -> None:
    filler = json.dumps("\\" * 1_300_000)  # escapes that lie across the border of two chunks
    assert parse_json(f"[{filler}, {filler}]", "x")[0] == "\\" * 1_300_000
    with pytest.raises(DataError, match="levels"):
        parse_json(f"[{filler}, {'[' * 70}{']' * 70}]", "x")


def test_lines_are_numbered_and_empty_ones_passed_over(tmp_path: Path) -> None:
    file = tmp_path / "x.jsonl"
    file.write_text('{"a": 1}\n\n{"a": "\u2028"}\n')
    assert list(read_json_lines(file)) == [(1, {"a": 1}), (3, {"a": "\u2028"})]
    file.write_text('{"a": 1}\n\n[1]\n')
    with pytest.raises(DataError, match=r"x\.jsonl, row 3: not an object"):
        list(read_json_lines(file))
    file.write_text('{"a": 1}\n' + '{"a":' * 90 + "\n")
    with pytest.raises(DataError, match=r"x\.jsonl, row 2: not JSON: nested more than 64"):
        list(read_json_lines(file))


def test_deep_lines_are_found_and_cut_off_ones_are_not_taken_for_deep(tmp_path: Path) -> None:
    refuse_deep_lines(b'{"a": [\n' * 200, tmp_path / "x")
    with pytest.raises(DataError, match="x, row 2: not JSON: nested"):
        refuse_deep_lines(b'{"a": 1}\n' + b"[" * 65 + b"]" * 65 + b"\n", tmp_path / "x")


BAD_YAML = [
    (BOMB, "aliases stand for more than 100,000 values"),
    (MERGES, "aliases stand for more than 100,000 values"),
    ("[" * 100_000, "nested more than 64 levels"),
    ("- " * 5_000, "nested more than 64 levels"),
    ("{a: " * 500, "nested more than 64 levels"),
    ("a: &a [*a]", "an alias that stands for itself"),
    ("a: *nowhere", "undefined alias"),
    ("a: 1\nb: 2\na: 3", "the key 'a' stands twice"),
    ("a: " + "9" * 5_000, "a number of 5,000 characters"),
    ("a: 1" + ":11" * 100_000, "a number of"),  # base 60, whose time grows with the square of the length
    ("a: 0x" + "f" * 5_000, "a number of"),
    ("a: 2001-99-99", "a value is not what its tag says"),
    ("a: !!int ''", "a value is not what its tag says"),
    ("a: !!bool maybe", "a value is not what its tag says"),
    ("a: !!timestamp x", "a value is not what its tag says"),
    ("a: !!python/object/apply:os.system [true]", "could not determine a constructor"),
    ("a: [1, 2", "not YAML"),
    ("a: \x00", "not YAML"),
    ("? [a]\n: 1", "unhashable"),
    ("a: 1\n---\nb: 2", "but found another document"),
    (b"a: \xff", "not UTF-8 at byte 3"),
    ("x" * 4_000_001, "file is too large"),
]


@pytest.mark.parametrize(("text", "problem"), BAD_YAML, ids=[problem for _, problem in BAD_YAML])
def test_yaml_is_refused_in_one_sentence(text: str | bytes, problem: str, tmp_path: Path) -> None:
    file = tmp_path / "x.yaml"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    started = time.process_time()
    with pytest.raises(DataError) as told:
        read_yaml(file)
    assert time.process_time() - started < 2
    assert str(told.value).startswith(str(file))
    assert problem in str(told.value)
    assert len(str(told.value)) < 400


def test_alias_bombs_cost_no_memory() -> None:
    for text in (BOMB, MERGES):
        tracemalloc.start()
        with pytest.raises(DataError):
            parse_yaml(text, "x")
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
        tracemalloc.stop()


GOOD_YAML = [
    "a: &a {x: 1}\nb: *a\nc: {<<: *a, y: 2}\nd: {<<: *a, x: 3}",
    "a: [1, 2.5, yes, ~, text, 2024-01-01]\nb: |\n  many\n  lines",
    "n: 1_000\nm: 1:30\nh: 0x1f\ninf: .inf",
    "",
]


@pytest.mark.parametrize("text", GOOD_YAML, ids=range(len(GOOD_YAML)))
def test_yaml_of_any_usual_form_is_read(text: str) -> None:
    assert parse_yaml(text, "x") == yaml.safe_load(text)


@pytest.mark.parametrize("reader", [read_json, read_yaml, lambda path: list(read_json_lines(path))])
def test_what_is_no_file_is_refused_at_once(reader, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    os.mkfifo(tmp_path / "pipe")
    places = {
        tmp_path / "pipe": "a pipe or device",
        Path("/dev/zero"): "a pipe or device",
        tmp_path: "a folder",
        tmp_path / "none": "No such file",
        tmp_path / "nul\0": "null byte",
        tmp_path / ("x" * 300): "too long",
    }
    for path, problem in places.items():
        with pytest.raises(DataError, match=problem):
            reader(path)


@pytest.mark.parametrize("text", ['a: ["\\ud800"]', '"\\U0000DFFF": 1'])
def test_yaml_with_half_a_character_is_refused(text: str) -> None:
    with pytest.raises(DataError, match="half a character"):
        parse_yaml(text, "f.yaml")


def test_yaml_may_show_how_half_a_character_is_written() -> None:
    assert parse_yaml("a: '\\ud800'", "f.yaml") == {"a": "\\ud800"}
