"""Runs that belong together, and names that tell them apart."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

from sightline.exams.registry import exam_of_run
from sightline.exams.run import Run


def comparable_groups(runs: Sequence[Run]) -> list[list[Run]]:
    """Runs that belong together: of one exam, over the same data, with the options that must agree."""
    groups: dict[tuple[Any, ...], list[Run]] = {}
    for run in runs:
        options = {key: run.options.get(key) for key in sorted(exam_of_run(run).compared_options())}
        key = (run.exam, run.manifest["identity"]["data_fingerprint"], json.dumps(options, sort_keys=True))
        groups.setdefault(key, []).append(run)
    return list(groups.values())


def run_labels(runs: Sequence[Run]) -> list[str]:
    """A different name for every run of one group; a baseline has the name that the exam gives it."""
    exams = [exam_of_run(run) for run in runs]
    short = {spec: name for name, spec in exams[0].baselines.items()}
    names = [short.get(run.name, run.name) for run in runs]
    return labels(names, [exam.apart(run.options, run.manifest) for exam, run in zip(exams, runs, strict=True)])


def labels(names: Sequence[str], apart: Sequence[Sequence[str]]) -> list[str]:
    """A different name for every run: the model's, then what sets the run apart, then a number.

    >>> labels(["a", "b", "b", "b"], [[], ["x"], [], []])
    ['a', 'b · x', 'b', 'b (2)']
    """
    count = Counter(names)
    return numbered([n if count[n] == 1 else " · ".join([n, *more]) for n, more in zip(names, apart, strict=True)])


def numbered(names: Sequence[str], form: str = "{} ({})") -> list[str]:
    """Names, each told from the equal ones before it by a number.

    >>> numbered(["a", "b", "a"])
    ['a', 'b', 'a (2)']
    """
    seen: Counter[str] = Counter()
    made = []
    for name in names:
        seen[name] += 1
        made.append(name if seen[name] == 1 else form.format(name, seen[name]))
    return made
