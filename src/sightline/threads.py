"""How many threads torch computes with on a CPU.

By default torch takes every core. Its threads wait for each other at every step of a network, so on a machine that
others use too the slowest core decides: with 13 processes on two cores SORNet took 0.56 s a scene with one thread
and 6.5 s with two. On sixteen idle cores it took 0.048 s with one, 0.017 with four and 0.014 with sixteen.
The order of a sum depends on the number of threads, and with it the last digits (1e-5 of SORNet's logits).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import torch

SMALL: Final = 20_000_000
"""Weights up to which a network is asked with one thread: more gain little, and answers stay the same."""

_CHOSEN: Final = ("OMP_NUM_THREADS", "MKL_NUM_THREADS")


def suitable_threads(weights: int, own: int = 0) -> int:
    """Choose threads to ask a network with, one scene at a time: one for a small network, else one an idle core.

    Args:
        weights: How many weights the network has.
        own: Threads it was asked with in the last minute, which are part of what the machine is busy with.
    """
    return 1 if weights <= SMALL and not _is_chosen() else idle_threads(own)


def idle_threads(own: int = 0) -> int:
    """Choose threads for long work: as many as this machine has idle cores now, at least one.

    What the user chose stays: ``OMP_NUM_THREADS``, ``MKL_NUM_THREADS``, or a number set in torch that is not its
    default (the number of cores, or of physical ones).

    Args:
        own: Threads of this work in the last minute.
    """
    if _is_chosen():
        return torch.get_num_threads()
    busy = max(os.getloadavg()[0] - own, 0.0) if hasattr(os, "getloadavg") else 0.0
    return max(1, min(torch.get_num_threads(), round(_cores() - busy)))


def _is_chosen() -> bool:
    named = any(os.environ.get(name) for name in _CHOSEN)
    return named or torch.get_num_threads() not in (_cores(), _cores() // 2)


@contextmanager
def computing(threads: int) -> Iterator[None]:
    """Within the block torch computes with so many threads; afterwards with as many as before."""
    before = torch.get_num_threads()
    if threads != before:
        torch.set_num_threads(threads)
    try:
        yield
    finally:
        if threads != before:
            torch.set_num_threads(before)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
