"""Tasks done one after another, or by a pool of processes that survives the death of any of its workers.

The pool of the standard library is broken for good once a worker is killed, and cannot tell which task it held.
Here each worker has a pipe of its own and one task at a time, so the parent knows what to do again. Workers start
by spawn: no lock or thread of the parent is copied, and a script must guard its entry with
``if __name__ == "__main__"``. What is unpickled here was pickled by the parent or by its own workers.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import threading
import traceback
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Any, Generic, TypeVar

from sightline.errors import ConfigError, SightlineError

RETRIES = 2
"""How often a task is done again after its worker died."""

_SPAWN = multiprocessing.get_context("spawn")


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


class WorkerError(SightlineError):
    """A worker process died again and again on one task, or its result could not be sent back."""


def run(
    tasks: Sequence[Task[P]],
    work: Callable[[P], R],
    *,
    workers: int = 0,
    on_done: Callable[[Task[P], R], None] | None = None,
    retries: int = RETRIES,
) -> list[R]:
    """Do all tasks; results in task order.

    The first exception of a task ends the run: the other workers are stopped and it is raised here, with the task's
    name and the worker's traceback as notes.

    Args:
        tasks: Each must be idempotent.
        work: Called with a task's payload. With workers it must be importable by name, as must the payload's types.
        workers: 0 does everything in this process.
        on_done: Called in this process with each task and its result, in order of completion.
        retries: How often a task is tried again when its worker dies (killed, out of memory, crashed).

    >>> run([Task("a", 2), Task("b", 3)], lambda n: n * n)
    [4, 9]
    """
    if workers < 0 or retries < 0:
        raise ConfigError(f"workers and retries must be 0 or more, not {workers} and {retries}")
    if workers == 0:
        return _run_inline(tasks, work, on_done)
    try:
        sealed = pickle.dumps(work)
        payloads = [pickle.dumps(task.payload) for task in tasks]
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise ConfigError(f"work for processes must pickle: {error}") from error
    pool = _Pool([t.name for t in tasks], sealed, payloads, retries)
    done: dict[int, R] = {}
    try:
        pool.start(workers)
        while len(done) < len(tasks):
            for index, result in pool.collect():
                done[index] = result
                if on_done is not None:
                    on_done(tasks[index], result)
    finally:
        pool.stop()
    return [done[index] for index in range(len(tasks))]


def _run_inline(
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


@dataclass(frozen=True, slots=True)
class _Worker:
    process: SpawnProcess
    pipe: Connection[Any, Any]


class _Pool:
    """Workers, each with the index of the task it holds."""

    def __init__(self, names: list[str], work: bytes, payloads: list[bytes], retries: int) -> None:
        self._names, self._work, self._payloads, self._retries = names, work, payloads, retries
        self._waiting = deque(range(len(names)))
        self._deaths = [0] * len(names)
        self._holding: dict[int, _Worker] = {}

    def start(self, workers: int) -> None:
        """Start workers, each with its first task."""
        for _ in range(min(workers, len(self._waiting))):
            self._give(self._spawn())

    def collect(self) -> list[tuple[int, Any]]:
        """Wait for workers to finish or die, hand out the next tasks, return what is finished."""
        finished = []
        by_pipe = {worker.pipe: index for index, worker in self._holding.items()}
        for pipe in wait(list(by_pipe)):
            index = by_pipe[pipe]  # type: ignore[index]  # wait gives back what it was given
            worker = self._holding.pop(index)
            try:
                succeeded, value = pickle.loads(worker.pipe.recv_bytes())  # noqa: S301
            except (EOFError, OSError):
                self._bury(worker, index)
                continue
            if not succeeded:
                self._holding[index] = worker  # so that stop() ends it too
                value.add_note(f"in task {self._names[index]}")
                raise value
            finished.append((index, value))
            self._give(worker)
        return finished

    def stop(self) -> None:
        """End all workers, whatever they are doing."""
        for worker in self._holding.values():
            worker.process.kill()
        for worker in self._holding.values():
            _release(worker)
        self._holding.clear()

    def _spawn(self) -> _Worker:
        ours, theirs = _SPAWN.Pipe()
        process = _SPAWN.Process(target=_serve, args=(theirs, self._work), daemon=True)
        process.start()
        theirs.close()  # so that the worker's death shows as the end of our side
        return _Worker(process, ours)

    def _give(self, worker: _Worker) -> None:
        """Hand the next waiting task to a worker, or let it go."""
        if not self._waiting:
            _release(worker)
            return
        index = self._waiting.popleft()
        self._holding[index] = worker
        try:
            worker.pipe.send_bytes(self._payloads[index])
        except OSError:
            return  # it died before it got the task: its pipe ends, and collect() sees that

    def _bury(self, worker: _Worker, index: int) -> None:
        """Count a death; do the task again in a new worker, unless it was one death too many."""
        _release(worker)
        self._deaths[index] += 1
        if self._deaths[index] > self._retries:
            raise WorkerError(
                f"task {self._names[index]}: its worker died {self._deaths[index]} times"
                f" (last exit code {worker.process.exitcode})"
            )
        self._waiting.appendleft(index)
        self._give(self._spawn())


def _release(worker: _Worker) -> None:
    worker.pipe.close()  # a worker whose pipe ends goes home
    worker.process.join()


def _serve(pipe: Connection[Any, Any], sealed: bytes) -> None:
    """What a worker does: one task after another until the parent closes the pipe, or is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    threading.Thread(target=_die_with_parent, daemon=True).start()
    work = pickle.loads(sealed)  # noqa: S301
    while True:
        try:
            payload = pipe.recv_bytes()
        except EOFError:
            return
        pipe.send_bytes(_answer(work, payload))


def _die_with_parent() -> None:
    """A worker whose parent was killed must not go on in the dark, holding what a second start needs."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def _answer(work: Callable[[Any], Any], payload: bytes) -> bytes:
    try:
        return pickle.dumps((True, work(pickle.loads(payload))))  # noqa: S301
    except Exception as error:
        error.add_note("".join(traceback.format_exception(error)))
        try:
            answer = pickle.dumps((False, error))
            pickle.loads(answer)  # noqa: S301 – an exception with its own arguments may pickle and yet not come back
        except Exception:
            return pickle.dumps((False, WorkerError(f"{type(error).__name__}: {error}")))
        return answer
