"""Worker processes that place scenes and canonical views: started once, shared by every source of a process.

They import neither torch nor anything of the card, so they start in a second and cost little memory.
"""

from __future__ import annotations

import multiprocessing
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from functools import lru_cache
from typing import Any, TypeVar

from sightline.training.placing import Stream, item_of

_Item = TypeVar("_Item")

_AHEAD = 3  # batches in the making for every worker


class Placers:
    """A pool of processes that make batches ahead of time; 0 workers make them in this process."""

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._pool: ProcessPoolExecutor | None = None
        if workers:
            context = multiprocessing.get_context("forkserver")
            context.set_forkserver_preload(["sightline.training.placing"])
            self._pool = ProcessPoolExecutor(workers, mp_context=context)

    def warm_up(self, stream: Stream[Any]) -> None:
        """Let one worker compile what placing needs, now; the others find it on disk."""
        if self._pool is not None:
            self._pool.submit(item_of, stream, 0)

    def batches(self, stream: Stream[_Item], start: int, stop: int) -> Iterator[_Item]:
        """Batches start … stop − 1 of a stream, in order."""
        if self._pool is None:
            yield from (item_of(stream, number) for number in range(start, stop))
            return
        numbers = iter(range(start, stop))
        waiting: deque[Future[_Item]] = deque()
        try:
            for number in numbers:
                waiting.append(self._pool.submit(item_of, stream, number))
                if len(waiting) > _AHEAD * self.workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


@lru_cache(maxsize=4)
def placers(workers: int) -> Placers:
    """The pool of so many workers of this process."""
    return Placers(workers)
