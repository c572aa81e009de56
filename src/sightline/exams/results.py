"""Results of exams as objects: they print as tables, become JSON values, and show themselves in a notebook."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sightline.exams.base import Exam
from sightline.exams.checks import variation_table
from sightline.exams.judgement_figures import sample_table
from sightline.exams.scoring import RunComparison, RunResult, Scores, score_tables
from sightline.show.table import Table


@dataclass(frozen=True)
class ExamResults:
    """The runs of one exam, scored.

    Attributes:
        exam: The exam with its options.
        models: Runs of the models that were asked for; where none were, the first baseline's.
        baselines: Name in tables → the baseline's run.
        shared: Facts that need all runs together (the Turing exam's monitor).
        notes: What the user should know.
    """

    exam: Exam[Any]
    models: tuple[RunResult, ...]
    baselines: Mapping[str, RunResult]
    shared: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def runs(self) -> tuple[RunResult, ...]:
        """All runs, each once: the models, then the baselines."""
        unique = {result.run.folder: result for result in (*self.models, *self.baselines.values())}
        return tuple(unique.values())

    def tables(self) -> list[str | Table]:
        """What is printed: tables of scores, then the exam's own remarks."""
        scores: dict[str, Scores] = {}
        for result in self.runs:
            scores[result.name if result.name not in scores else str(result.run.folder.name)] = result.scores
        varied = {result.name: result.varied for result in self.runs if result.varied.kinds}
        drawn = sample_table({name: (of.figures, of.facts) for name, of in scores.items()}, self.exam.unit)
        checks = [] if drawn is None else [drawn]
        checks += [variation_table(varied, self.exam.unit)] if varied else []
        checks = [table for table in checks if table.rows]
        return [*score_tables(scores), *checks, *self.exam.remarks(self.runs, self.shared)]

    def to_dict(self) -> dict[str, Any]:
        """The document of ``sightline exam --json``; what the first model reached also stands at top level."""
        first = self.models[0]
        checked = {key: first.run.manifest.get(key) for key in first.run.manifest.get("checked", ())}
        entry = first.to_dict()
        top = {"exam": self.exam.name, **entry, **checked, **entry["scores"], **self.shared}
        lists = {
            "models": [result.to_dict() for result in self.models],
            "baselines": {name: result.to_dict() for name, result in self.baselines.items()},
        }
        return top | lists

    def askings(self) -> list[str]:
        """How many items each model was asked, and how many were there already and from when."""
        said: dict[str, list[str]] = {}
        for result in self.runs:
            if result.asking is not None:
                said.setdefault(result.asking.words(self.exam.unit_of_items), []).append(result.name)
        return [f"{', '.join(names)}: {words}" for words, names in said.items()]

    def __str__(self) -> str:
        return "\n\n".join(map(str, [*self.tables(), *self.askings()]))


@dataclass(frozen=True)
class Results(Sequence[RunResult]):
    """Runs of one or several exams; prints as tables, and shows itself in a notebook.

    Attributes:
        exams: One entry an exam that was taken.
        skipped: Exam → why it was not taken.
    """

    exams: tuple[ExamResults, ...]
    skipped: Mapping[str, str] = field(default_factory=dict)

    @property
    def runs(self) -> tuple[RunResult, ...]:
        """All runs."""
        return tuple(result for exam in self.exams for result in exam.runs)

    def __getitem__(self, index: Any) -> Any:
        return self.runs[index]

    def __len__(self) -> int:
        return len(self.runs)

    def summary(self) -> Table:
        """Exams × models: the headline figure of each, the best blind baseline beside it, the weakest point."""
        from sightline.exams.report import summary_table

        return summary_table([(exam.exam.title, exam.runs) for exam in self.exams])

    def to_dict(self) -> list[dict[str, Any]]:
        """The document of ``sightline exam all --json``."""
        return [exam.to_dict() for exam in self.exams]

    def __str__(self) -> str:
        skipped = [f"{name}: not taken, {why}" for name, why in self.skipped.items()]
        return "\n\n".join([*map(str, self.exams), str(self.summary()), *skipped])

    def _repr_html_(self) -> str:
        tables = [self.summary(), *(table for exam in self.exams for table in exam.tables())]
        return "\n".join(table._repr_html_() for table in tables if isinstance(table, Table))


@dataclass(frozen=True)
class ComparisonSet(Sequence[RunComparison]):
    """Comparisons of two sets of runs, matched by exam, data, options and model name.

    Attributes:
        comparisons: One a matched pair.
        unmatched: Runs of either set that the other has no match for: folder → why.
    """

    comparisons: tuple[RunComparison, ...]
    unmatched: Mapping[str, str] = field(default_factory=dict)

    def __getitem__(self, index: Any) -> Any:
        return self.comparisons[index]

    def __len__(self) -> int:
        return len(self.comparisons)

    def to_dict(self) -> dict[str, Any]:
        """JSON values."""
        return {"pairs": [one.to_dict() for one in self.comparisons], "unmatched": dict(self.unmatched)}

    def __str__(self) -> str:
        lines = [f"not compared: {folder}: {why}" for folder, why in self.unmatched.items()]
        return "\n\n".join([*map(str, self.comparisons), *lines])
