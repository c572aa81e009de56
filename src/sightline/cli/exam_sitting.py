"""``sightline exam``: what all exams do alike, whoever sits and whatever is asked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from sightline.cli.console import err, progress
from sightline.errors import ConfigError

if TYPE_CHECKING:
    from sightline.exams.core import Candidate, Exam
    from sightline.store import Dataset

RESAMPLES: Final = 2000
"""Behind every printed interval; `SEED` of the resampling."""
SEED: Final = 0


@dataclass(frozen=True, kw_only=True)
class Wishes:
    """What the user asked for of any exam; each adds its own."""

    models: list[str]
    to: Path
    baselines: bool
    split: str | None
    limit: int | None
    workers: int
    json: bool


@dataclass(frozen=True)
class Sat:
    """A run somebody sat, and the items of it that were asked for; None for all."""

    folder: Path
    items: frozenset[str] | None


ExamT = TypeVar("ExamT", bound="Exam[Any]")


@dataclass(frozen=True)
class Room(Generic[ExamT]):
    """An exam with its data at hand, and how many items of it the user wants; None for all."""

    exam: ExamT
    data: Dataset
    wanted: int | None

    @property
    def limit(self) -> int | None:
        """How many items are sat."""
        return self.wanted


@dataclass(frozen=True)
class Sitting:
    """One model's sitting, small enough to send to a worker process, which enters the room by itself."""

    spec: str
    folder: Path
    enter: Callable[[], Room[Any]]
    quiet: bool


def everybody(models: Sequence[str], beside: Iterable[str]) -> list[str]:
    """Specs of all who sit, each once; ConfigError where there is nobody."""
    specs = list(dict.fromkeys([*models, *beside]))
    if not specs:
        raise ConfigError("nobody to examine: give --model, or leave the baselines in")
    return specs


def able(spec: str, skills: Sequence[str]) -> Candidate:
    """The model, if it has the skills."""
    from sightline.exams.core import require_skills
    from sightline.models import candidate

    who = candidate(spec, wanted=skills)
    require_skills(who, skills)
    return who


def sit_all(
    folders: Mapping[str, Path],
    enter: Callable[[], Room[Any]],
    wish: Wishes,
    *,
    ready: Mapping[str, Candidate] | None = None,
    room: Room[Any] | None = None,
) -> dict[str, Sat]:
    """Let everybody sit; spec → the run.

    Args:
        folders: Spec → where its run goes.
        enter: Makes the room; must be importable by name where there are workers.
        wish: How many workers, and how much is told meanwhile.
        ready: Models that are loaded already. A worker process loads its own, for not every model can be sent.
        room: The room, if it is entered already; a worker process enters it by itself.
    """
    from sightline.engine import Task, run

    quiet = wish.json or wish.workers > 0
    tasks = [Task(spec, Sitting(spec, folder, enter, quiet)) for spec, folder in folders.items()]
    work = sit_one if wish.workers else partial(sit_one, ready=ready, room=room)
    done = (lambda task, _: err.print(f"{task.name}: done")) if wish.workers and not wish.json else None
    try:
        return dict(zip(folders, run(tasks, work, workers=wish.workers, on_done=done), strict=True))
    except KeyboardInterrupt:
        err.print("interrupted: the same command goes on " + _whence(folders.values()))
        raise


def _whence(folders: Iterable[Path]) -> str:
    from sightline.exams.run import RECORDS

    begun = any(path.exists() and path.stat().st_size for path in (folder / RECORDS for folder in folders))
    return "where it was" if begun else "from the start, nothing was answered yet"


def sit_one(sitting: Sitting, ready: Mapping[str, Candidate] | None = None, room: Room[Any] | None = None) -> Sat:
    """Enter the room and load the model where that is still to be done, sit, return the run."""
    from sightline.exams.core import sit
    from sightline.models import candidate

    at = sitting.enter() if room is None else room
    who = candidate(sitting.spec, wanted=at.exam.skills) if ready is None else ready[sitting.spec]
    with progress(who.name, quiet=sitting.quiet) as update:
        run = sit(at.exam, who, at.data, sitting.folder, limit=at.limit, progress=update)
    return Sat(run.folder, run.asked)


def document(
    exam: str,
    results: Mapping[str, Mapping[str, Any]],
    models: Iterable[str],
    baselines: Mapping[str, str],
    **more: Any,
) -> dict[str, Any]:
    """The JSON document: the first model's scores, `more`, then all models and the baselines by name."""
    asked = [results[spec] for spec in dict.fromkeys(models)]
    return {
        "exam": exam,
        **asked[0],
        **more,
        "models": asked,
        "baselines": {name: results[spec] for name, spec in baselines.items()},
    }


def tell_next(wish: Wishes, exam: str) -> None:
    """Where the runs are, and what to do with them."""
    err.print(f"runs in {wish.to / exam}; next: sightline report {wish.to} --out report.html")
