"""The folder of a training: whose it is, whether the same training goes on there, the rows of its log."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, Final

from sightline.documents import read_json
from sightline.errors import ConfigError, DataError
from sightline.files import differences
from sightline.plain import plain
from sightline.training.plan import TrainingTask

STATE: Final = "state.ckpt"
LOG: Final = "log.csv"
PLAN: Final = "plan.json"

DATASET: Final = "dataset.json"
"""Stands in every dataset; `store` says so too, but needs packages that a training does without."""


def begun(folder: str | Path, weights: str) -> dict[str, Any] | None:
    """Read plan and source of the training a folder holds; None where one may begin.

    It may where there is nothing, and where another ended before it saved a state.

    Args:
        folder: Where the training is to be.
        weights: Name of the file of a finished network.

    Raises:
        ConfigError: The folder is of something else, or has a state but no plan.
        DataError: The plan cannot be read.
    """
    out = Path(folder)
    if (out / STATE).exists() and not (out / PLAN).exists():
        raise ConfigError(
            f"{out} holds {STATE} but no {PLAN}: which training it is of cannot be told; choose another folder"
        )
    if not names_of(out, "a training", (PLAN,)):
        return None
    stored = _read(out / PLAN)
    return stored if (out / STATE).exists() or (out / weights).exists() else None


def identity(task: TrainingTask, folder: Path) -> dict[str, Any]:
    """Plan and source of a task as JSON values; ConfigError where the folder holds another training."""
    whole: dict[str, Any] = plain({"plan": task.plan, "source": task.source.facts()})
    stored = begun(folder, task.weights)
    if stored is not None and stored != whole:
        name, was, now = next(differences(stored, whole, depth=2))
        change = f"its {name.partition('.')[2]} is {was!r}, now it is {now!r}"
        raise ConfigError(f"{folder} holds another training: {change}; choose another folder or remove it")
    return whole


def names_of(folder: Path, what: str, marks: Sequence[str]) -> list[str]:
    """List the names in a folder, none where it is not there; hidden ones do not count.

    Args:
        folder: Where something is to be written.
        what: Of which it should be the folder.
        marks: Patterns of names, one of which stands in every such folder.

    Raises:
        ConfigError: It holds something, and nothing of that; or it is a file.
    """
    if folder.exists() and not folder.is_dir():
        raise ConfigError(f"{folder} is a file, not a folder for {what}")
    names = sorted(path.name for path in folder.iterdir() if path.name[0] != ".") if folder.exists() else []
    if names and not any(fnmatch(name, mark) for name in names for mark in marks):
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        content = "is a Sightline dataset" if DATASET in names else f"holds {', '.join(names[:3])}{more}"
        raise ConfigError(f"{folder} is no folder of {what}: it {content}; choose another folder")
    return names


def _read(file: Path) -> dict[str, Any]:
    try:
        stored = read_json(file)
    except DataError as error:
        raise DataError(f"damaged: {error.problem}; choose another folder or remove this one", file=file) from None
    parts = {name: stored.get(name) if isinstance(stored, dict) else None for name in ("plan", "source")}
    if not all(isinstance(part, dict) for part in parts.values()):
        raise DataError("not the plan of a training", file=file, expected="a plan and a source")
    return parts


def columns_of(task: TrainingTask) -> tuple[str, ...]:
    """Columns of a task's log."""
    return "step", *task.metrics, "rate", *(f"{unit}_per_s" for unit in task.counts(0)), "seconds"


def log_rows(folder: Path, until: float = math.inf) -> list[str]:
    """Read the rows of a log up to a step; one that was cut short when the machine went away is left out."""
    columns, *lines = _log_lines(folder)
    return [line for line in lines if figures(line, columns).get("step", math.nan) <= until]


def last_row(folder: str | Path) -> dict[str, float]:
    """The last row of a training's log; empty where there is none."""
    rows = log_rows(Path(folder))
    return figures(rows[-1], _log_lines(Path(folder))[0]) if rows else {}


def trained_seconds(folder: str | Path) -> float:
    """Seconds in the steps of a training, over all calls that wrote its log: each begins to count anew."""
    columns = _log_lines(Path(folder))[0]
    counts = [figures(row, columns)["seconds"] for row in log_rows(Path(folder))]
    return sum(one for one, after in zip(counts, (*counts[1:], 0.0), strict=False) if after < one)


def figures(row: str, columns: str) -> dict[str, float]:
    """The figures of a row by their columns; none where it is not a whole one.

    >>> figures("7,0.5,3.5", "step,loss,seconds")["loss"], figures("7,0.", "step,loss,seconds")
    (0.5, {})
    """
    try:
        return dict(zip(columns.split(","), map(float, row.split(",")), strict=True))
    except ValueError:
        return {}


def _log_lines(folder: Path) -> list[str]:
    """Lines of a log, its columns first."""
    file = folder / LOG
    return (file.read_text(errors="replace").splitlines() if file.exists() else []) or [""]
