"""One task after another, in this process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

P = TypeVar("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Task(Generic[P]):
    """A named piece of work. Doing it twice must give the same: a task of a worker that died is done again.

    Attributes:
        name: What errors and progress call it, e.g. a shard's name.
        payload: What the work function gets; it must pickle.
    """

    name: str
    payload: P


def run_inline(
    tasks: Sequence[Task[P]], work: Callable[[P], R], on_done: Callable[[Task[P], R], None] | None
) -> list[R]:
    """Results in task order; the first exception ends the run and names its task."""
    results = []
    for task in tasks:
        try:
            result = work(task.payload)
        except Exception as error:
            error.add_note(f"in task {task.name}")
            raise
        if on_done is not None:
            on_done(task, result)
        results.append(result)
    return results
