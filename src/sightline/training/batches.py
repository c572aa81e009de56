"""The order of batches, and batches made ahead by worker processes that are started once and shared.

`sightline.engine` maps a function over shards and gives everything back at the end, by processes started for that;
a training takes one batch at a time, for hours, from processes that stay: hence a pool of its own.
"""

from __future__ import annotations

import multiprocessing
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from functools import lru_cache
from signal import SIG_IGN, SIGINT, signal
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

P = TypeVar("P")
R = TypeVar("R")

_AHEAD = 3  # batches in the making for every worker


def made_ahead(work: Callable[[P], R], payloads: Iterable[P], workers: int, preload: str = "") -> Iterator[R]:
    """Yield the result of `work` for each payload, in order, a few made ahead by worker processes.

    Args:
        work: Importable by name, as are the types of the payloads.
        payloads: Taken as they are needed.
        workers: 0 makes them in this process, when they are asked for.
        preload: Module that workers share from their start; one that starts threads must not be shared.
    """
    if not workers:
        yield from map(work, payloads)
        return
    pool = _pool(workers, preload)
    waiting: deque[Future[R]] = deque()
    try:
        for payload in payloads:
            waiting.append(pool.submit(work, payload))
            if len(waiting) > _AHEAD * workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        for future in waiting:
            future.cancel()


def warm_up(work: Callable[[P], Any], payload: P, workers: int, preload: str = "") -> None:
    """Let one worker compile what `work` needs, now; the others find it on disk."""
    if workers:
        _pool(workers, preload).submit(work, payload)


@lru_cache(maxsize=4)
def _pool(workers: int, preload: str) -> ProcessPoolExecutor:
    """The pool of so many workers of this process, forked from one that has imported a module.

    Where that does without torch, they start in a second and cost little memory.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([preload] if preload else [])
    return ProcessPoolExecutor(workers, mp_context=context, initializer=signal, initargs=(SIGINT, SIG_IGN))


def shuffled(number: int, size: int, count: int, seed: int) -> NDArray[np.int64]:
    """Choose which of `count` examples make up batch `number`: each once an epoch, in an order of the epoch's own.

    >>> shuffled(0, 3, 4, seed=0).tolist(), shuffled(1, 3, 4, seed=0).tolist()
    ([1, 2, 3], [0, 1, 0])
    """
    places = np.arange(number * size, (number + 1) * size)
    epochs = np.unique(places // count)
    orders = np.stack([_order(count, seed, int(epoch)) for epoch in epochs])
    chosen: NDArray[np.int64] = orders[places // count - epochs[0], places % count]
    return chosen


@lru_cache(maxsize=4)
def _order(count: int, seed: int, epoch: int) -> NDArray[np.int64]:
    return np.random.default_rng([seed, epoch, 2]).permutation(count)
