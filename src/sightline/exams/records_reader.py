"""Read the records of several runs: what runs that were asked the same have in common is parsed once.

A line of the records says what was asked and then, from its first answer on, what became of it. Where all lines of
a run begin as those of the run before, only their ends are parsed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import polars as pl

from sightline.documents import refuse_deep_lines
from sightline.errors import DataError
from sightline.exams.run import RECORDS, Run, RunRecords
from sightline.exams.run_schema import UNDECODABLE, RecordColumn, checked_columns
from sightline.files import read_bytes

_ANSWER: Final = b'"answer":'
"""Where a line goes on with the answers; a text cannot hold it, for its quotation marks would be escaped."""


class RecordsReader:
    """Reads run after run."""

    def __init__(self) -> None:
        self._begin: list[bytes] = []
        self._records: RunRecords | None = None
        self._judgements = pl.Series([], dtype=pl.UInt32)

    def read(self, run: Run, columns: Mapping[str, RecordColumn]) -> RunRecords:
        """Read all records of a run, exactly as `Run.read` does; DataError where they are damaged."""
        begin, ends = _cut(run)
        if self._records is not None and begin and begin == self._begin:
            alike = self._with_answers(self._records, ends, run, columns)
            if alike is not None:
                return alike
        records = run.read(columns=columns)
        counts = records.rows.group_by("item").len()
        self._judgements = records.items.join(counts, on="item", how="left", maintain_order="left")[
            "len"
        ].fill_null(0)
        self._begin, self._records = begin, records if "answer" in records.rows.columns else None
        return records

    def _with_answers(
        self, before: RunRecords, ends: bytes, run: Run, columns: Mapping[str, RecordColumn]
    ) -> RunRecords | None:
        """The records of the run before with other answers; None where they do not fit, or are damaged."""
        names, path = before.rows.columns[before.rows.columns.index("answer") :], run.folder / RECORDS
        try:
            refuse_deep_lines(ends, path)
            frame = pl.read_ndjson(ends, infer_schema_length=None)
            if frame.columns != names or not all(isinstance(kind, pl.List) for kind in frame.dtypes):
                return None
            if not all(frame[name].list.len().equals(self._judgements) for name in names):
                return None
            answers = frame.explode(names, empty_as_null=False)
            own = {name: column for name, column in columns.items() if name in names}
            rows = before.rows.with_columns(checked_columns(answers, own, path))
        except (DataError, *UNDECODABLE):  # read as a whole, it is told where the damage is
            return None
        return RunRecords(rows, before.items, path)


def _cut(run: Run) -> tuple[list[bytes], bytes]:
    """What each line of the records begins with, up to its answers, and the rest of all lines as JSON lines."""
    path = run.folder / RECORDS
    data = read_bytes(path) if path.exists() else b""
    cut = [line.partition(_ANSWER) for line in data.split(b"\n")[:-1]]  # a last line that was cut short is not read
    if not all(end.endswith(b"}}") for _, _, end in cut):
        return [], b""
    return [begin for begin, _, _ in cut], b"".join(b"{" + _ANSWER + end[:-1] + b"\n" for _, _, end in cut)
