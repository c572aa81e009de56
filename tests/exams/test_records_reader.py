"""Records of runs that were asked the same: read in turn they equal those read alone, and damage is told."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from exams import relations_runs
from sightline.errors import DataError
from sightline.exams.records_reader import RecordsReader
from sightline.exams.relations.exam import RelationsExam
from sightline.exams.run import RECORDS, Run

COLUMNS = RelationsExam().columns


@pytest.fixture
def runs(tmp_path: Path) -> list[Run]:
    data = relations_runs.dataset(tmp_path, 8)
    return relations_runs.runs(data, tmp_path, ("majority", "bottom_edge"), relations_runs.Mute())


def change(run: Run, how: Callable[[str], str]) -> None:
    path = run.folder / RECORDS
    path.write_text(how(path.read_text()))


def test_read_in_turn_as_alone(runs: list[Run]) -> None:
    reader = RecordsReader()
    for run in (*runs, runs[0]):
        alone, in_turn = run.read(columns=COLUMNS), reader.read(run, COLUMNS)
        assert in_turn.rows.equals(alone.rows)
        assert in_turn.rows.schema == alone.rows.schema
        assert in_turn.items.equals(alone.items)
    assert reader.read(runs[1], COLUMNS).items is reader.read(runs[2], COLUMNS).items  # parsed once


@pytest.mark.parametrize(
    "how",
    [
        lambda text: text[: len(text) // 2],  # killed while it wrote
        lambda text: "\n".join(text.splitlines()[1:]) + "\n",  # asked less
        lambda text: "\n".join([*text.splitlines()[1:], text.splitlines()[0]]) + "\n",  # in another order
        lambda text: "",  # nothing
    ],
)
def test_a_run_that_was_asked_otherwise(runs: list[Run], how: Callable[[str], str]) -> None:
    change(runs[1], how)
    reader = RecordsReader()
    reader.read(runs[0], COLUMNS)
    alone, in_turn = runs[1].read(columns=COLUMNS), reader.read(runs[1], COLUMNS)
    assert in_turn.rows.equals(alone.rows)
    assert in_turn.items.equals(alone.items)


@pytest.mark.parametrize(
    "how",
    [
        lambda text: re.sub(r'"answer":\["', '"answer":[7,"', text, count=1),  # one answer too many
        lambda text: re.sub(r'"right":\[\w+', '"right":["yes"', text, count=1),  # another type
        lambda text: re.sub(r',"right":\[[^]]*\]', "", text, count=1),  # a column less in one line
        lambda text: text.replace("]}}", "]}", 1),  # no JSON
        lambda text: text.replace('"right":[', '"right":' + "[" * 400, 1),  # too deep
    ],
)
def test_damaged_answers_are_told_as_when_read_alone(runs: list[Run], how: Callable[[str], str]) -> None:
    change(runs[1], how)
    reader = RecordsReader()
    reader.read(runs[0], COLUMNS)
    with pytest.raises(DataError) as alone:
        runs[1].read(columns=COLUMNS)
    with pytest.raises(DataError, match=re.escape(str(alone.value))):
        reader.read(runs[1], COLUMNS)
