"""How far two operators agree on the questions that both were asked, and one file made of two.

Every next question depends on the answers before, so two operators part ways in a stream where they first disagree;
after that they share a question only by chance. What they share was put to both whatever they would say to it, so
the share of agreement over these questions is a fair one. A label stands for what the question that gave it found:
questions about "object 1" are shared only where the same questions gave both operators their labels.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from sightline.documents import read_json_lines
from sightline.errors import DataError
from sightline.exams.turing.vocabulary.questions import Truth
from sightline.files import atomic_write
from sightline.plain import plain
from sightline.show.table import Cell, Row, Table
from sightline.stats.agreement import fleiss_counts, fleiss_of
from sightline.stats.intervals import Interval, intervals
from sightline.text import counted

ANSWERS: Final = tuple(truth.value for truth in Truth)

_LABELLED: Final = "labelled by"
"""Entry of a line in memory: the questions that gave the labels before it, in order."""

Settle = Callable[[Mapping[str, Any], Mapping[str, Any]], str]
"""Decides between two lines that answer one question differently: yes, no or ambiguous."""


@dataclass(frozen=True)
class OperatorAgreement:
    """What two operators said to the same questions; prints itself.

    Attributes:
        shared: Questions both answered.
        streams: Streams both answered a question of.
        alone: Questions only one of them answered: of the first, of the second.
        agreement: Share of equal answers, with a 95 % interval by image.
        kappa: Fleiss' κ of yes, no and ambiguous, likewise.
        counts: (3, 3): first operator's answer by the second's, in the order yes, no, ambiguous.
        disagreements: The lines of both, where they differ.
    """

    shared: int
    streams: int
    alone: tuple[int, int]
    agreement: Interval
    kappa: Interval
    counts: tuple[tuple[int, ...], ...]
    disagreements: tuple[tuple[Mapping[str, Any], Mapping[str, Any]], ...] = field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "shared": self.shared,
            "streams": self.streams,
            "alone": list(self.alone),
            "agreement": plain(self.agreement),
            "kappa": plain(self.kappa),
            "answers": list(ANSWERS),
            "counts": [list(row) for row in self.counts],
            "disagreements": [
                {"scene_id": a["scene_id"], "stream": a.get("stream"), "question": a.get("text") or a["question"]}
                | {"first": a["answer"], "second": b["answer"]}
                for a, b in self.disagreements
            ],
        }

    def table(self) -> Table:
        """The answers of one by those of the other, agreement and κ in the note."""
        rows = [
            Row(name, tuple(Cell(f"{n:,}") for n in row)) for name, row in zip(ANSWERS, self.counts, strict=True)
        ]
        title = f"{counted(self.shared, 'question')} of {counted(self.streams, 'stream')} that both answered"
        note = f"agreement {self.agreement}, κ {self.kappa}; 95 % intervals by image"
        return Table(title, ("first \\ second", *ANSWERS), tuple(rows), note=note)

    def __str__(self) -> str:
        return str(self.table())


def agree(first: str | Path, second: str | Path, *, resamples: int = 2000, seed: int = 0) -> OperatorAgreement:
    """Compare two files of answers, as ``--answers`` keeps them.

    Args:
        first: One operator's file.
        second: The other's.
        resamples: Of the intervals' bootstrap.
        seed: Of the bootstrap.

    Raises:
        DataError: A line is no answer, or no question stands in both files.
    """
    a, b = _answers(Path(first)), _answers(Path(second))
    shared = [key for key in a if key in b]
    if not shared:
        problem = "no question stands in both files"
        raise DataError(problem, file=second, expected="answers about the same images, seeds and streams")
    counts = np.zeros((3, 3), dtype=int)
    votes = np.zeros((len(shared), 3))
    for i, key in enumerate(shared):
        x, y = ANSWERS.index(a[key]["answer"]), ANSWERS.index(b[key]["answer"])
        counts[x, y] += 1
        votes[i, x] += 1
        votes[i, y] += 1
    scenes = [a[key]["scene_id"] for key in shared]
    unit = np.unique(scenes, return_inverse=True)[1]
    each = np.column_stack([fleiss_counts(votes), (votes.max(axis=1) == 2).astype(float), np.ones(len(shared))])
    totals = np.zeros((unit.max() + 1, each.shape[1]))
    np.add.at(totals, unit, each)
    kappa = intervals(totals[:, :-2], fleiss_of, resamples=resamples, seed=seed, proportion=False)[0]
    kappa = replace(kappa, low=max(kappa.low, -1.0), high=min(kappa.high, 1.0))
    agreement = intervals(totals[:, -2:], lambda t: t[:, 0] / t[:, 1], resamples=resamples, seed=seed)[0]
    return OperatorAgreement(
        shared=len(shared),
        streams=len({key[:3] for key in shared}),
        alone=(len(a) - len(shared), len(b) - len(shared)),
        agreement=agreement,
        kappa=kappa,
        counts=tuple(tuple(map(int, row)) for row in counts),
        disagreements=tuple((a[key], b[key]) for key in shared if a[key]["answer"] != b[key]["answer"]),
    )


def adjudicate(first: str | Path, second: str | Path, out: str | Path, settle: Settle) -> int:
    """Write one file of two: what only one answered, what both agree on, and what `settle` says to the rest.

    Lines about labels that the file's own answers do not give, since the other operator found something else, are
    left out.

    It can be used as ``--operator file:OUT``, or as ``--answers OUT`` to go on where a settled answer leads
    elsewhere.

    Args:
        first: One operator's file; its marks of objects are kept where both agree.
        second: The other's.
        out: The file to write.
        settle: Decides between two lines.

    Returns:
        How many questions were settled.
    """
    a, b = _answers(Path(first)), _answers(Path(second))
    rows, settled = [], 0
    for key, row in [*a.items(), *((key, row) for key, row in b.items() if key not in a)]:
        other = b.get(key)
        if key in a and other is not None and other["answer"] != row["answer"]:
            word = settle(row, other)
            chosen = next((r for r in (row, other) if r["answer"] == word), None)
            row = dict(chosen) if chosen is not None else {**row, "answer": word, "object_id": None, "box": None}
            settled += 1
        rows.append(row)
    lines = [{name: value for name, value in row.items() if name != _LABELLED} for row in _one_story(rows)]
    atomic_write(out, "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines).encode())
    return settled


def _one_story(rows: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """The lines whose labels are those that the lines before them give, stream by stream."""
    given: dict[tuple[str, ...], list[str]] = {}
    for row in rows:
        before, labels = row[_LABELLED], given.setdefault(_key(row)[:3], [])
        if before != labels[: len(before)]:
            continue
        if _labels(row):
            if len(before) == len(labels):
                labels.append(_spelt(row["question"]))
            elif labels[len(before)] != _spelt(row["question"]):
                continue
        yield row


def settle_by(third: str | Path | None) -> Settle:
    """Settle by a third operator's file, or else call what two disagree on ambiguous."""
    answers = {} if third is None else _answers(Path(third))

    def settle(a: Mapping[str, Any], _: Mapping[str, Any]) -> str:
        row = answers.get(_key(a))
        return Truth.AMBIGUOUS.value if row is None else str(row["answer"])

    return settle


Key = tuple[str, str, str, str, str]
"""Scene, seed, stream, question, and what gave the labels before it: two lines of one key answer one question."""


def _answers(path: Path) -> dict[Key, dict[str, Any]]:
    answers: dict[Key, dict[str, Any]] = {}
    labelled: dict[tuple[str, ...], list[str]] = {}
    for number, row in read_json_lines(path):
        if not isinstance(row.get("scene_id"), str) or not isinstance(row.get("question"), dict | str):
            raise DataError("not a line of answers", file=path, row=number, expected="scene_id and question")
        word = row.get("answer")
        if word not in ANSWERS:
            expected = ", ".join(ANSWERS)
            raise DataError("not an answer", file=path, row=number, field="answer", expected=expected, found=word)
        labels = row.get("labels") or []
        if not isinstance(labels, list):
            raise DataError("not labels", file=path, row=number, field="labels", expected="a list", found=labels)
        before = labelled.setdefault((row["scene_id"], _spelt(row.get("seed")), _spelt(row.get("stream"))), [])
        row[_LABELLED] = before[: len(labels)]
        if _labels(row):
            before[len(row[_LABELLED]) :] = [_spelt(row["question"])]
        if answers.setdefault(_key(row), row)["answer"] != word:
            raise DataError("answered otherwise in a row before", file=path, row=number, field="answer", found=word)
    return answers


def _key(row: Mapping[str, Any]) -> Key:
    told = (row.get("seed"), row.get("stream"), row["question"], [row.get("labels") or [], row[_LABELLED]])
    seed, stream, question, labels = map(_spelt, told)
    return row["scene_id"], seed, stream, question, labels


def _labels(row: Mapping[str, Any]) -> bool:
    """Whether a line gives a label: a yes to a question for something unique."""
    question = row["question"]
    return row["answer"] == Truth.YES.value and isinstance(question, dict) and question.get("type") == "unique"


def _spelt(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
