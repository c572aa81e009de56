"""Numbers for texts, and objects by their ids, against plain dictionaries; arrays that grow."""

from __future__ import annotations

import numpy as np
import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from sightline.store.formats.bulk import ObjectIndex, TextNumbers, extend

WORDS = st.sampled_from(["a", "b", "ab", "", "ä", "0", "00"])


@settings(deadline=None)
@given(st.lists(st.lists(WORDS, max_size=6), max_size=4))
def test_numbers_follow_first_use_whatever_the_blocks(blocks: list[list[str]]) -> None:
    known: dict[str, int] = {}
    words = TextNumbers()
    for block in blocks:
        expected = [known.setdefault(word, len(known)) for word in block]
        assert words.numbers(pl.Series(block, dtype=pl.String)).tolist() == expected
    assert (list(words), len(words)) == (list(known), len(known))
    assert list(TextNumbers(known)) == list(known)


PLACES = st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=8)


@settings(deadline=None)
@given(PLACES, PLACES, st.integers(1, 8))
def test_objects_are_found_by_both_ids(
    held: list[tuple[str, str]], wanted: list[tuple[str, str]], size: int
) -> None:
    rows = pl.DataFrame(held, schema={"image_id": pl.String, "object_id": pl.String}, orient="row")
    index = ObjectIndex(rows[start : start + size] for start in range(0, len(held), size))
    expected = [held.index(place) if place in held else -1 for place in wanted]
    assert index.rows(pl.Series([i for i, _ in wanted]), pl.Series([o for _, o in wanted])).tolist() == expected
    repeats = [row for row, place in enumerate(held) if place in held[:row]]
    assert index.first_repeat() == (repeats[0] if repeats else None)
    assert [index.name(row) for row in range(len(index))] == held


@given(st.lists(st.integers(0, 5), max_size=6))
def test_arrays_grow_by_rows(sizes: list[int]) -> None:
    parts = [np.random.default_rng(size).random((size, 3)) for size in sizes]
    grown = np.empty((0, 3))
    for part in parts:
        extend(grown, part)
    np.testing.assert_array_equal(grown, np.concatenate([np.empty((0, 3)), *parts]))
