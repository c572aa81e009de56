"""Torch's threads: one for a small network, idle cores for others, and what the user chose stays."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

torch = pytest.importorskip("torch")

from sightline import threads  # noqa: E402 - it needs torch

SMALL, LARGE = threads.SMALL, threads.SMALL + 1


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Eight cores, of which torch takes all; whatever a test sets is undone."""
    before = torch.get_num_threads()
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(threads, "_cores", lambda: 8)
    torch.set_num_threads(8)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize(
    ("weights", "load", "own", "expected"),
    [
        (SMALL, 0.2, 0, 1),  # one for a small network, whatever the load
        (LARGE, 0.2, 0, 8),  # all cores for a large one
        (LARGE, 2.6, 0, 5),  # three cores are taken
        (LARGE, 6.6, 0, 1),  # nearly all are
        (LARGE, 30.0, 0, 1),  # more than all are
        (LARGE, 8.1, 8, 8),  # by this network itself
        (LARGE, 10.0, 4, 2),  # by others too
    ],
)
def test_threads_suit_network_and_machine(
    weights: int, load: float, own: int, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "getloadavg", lambda: (load, 0.0, 0.0))
    assert threads.suitable_threads(weights, own) == expected
    assert threads.idle_threads(own) >= expected


@pytest.mark.parametrize("name", ["OMP_NUM_THREADS", "MKL_NUM_THREADS"])
def test_a_variable_decides(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getloadavg", lambda: (30.0, 0.0, 0.0))
    monkeypatch.setenv(name, "8")
    assert (threads.suitable_threads(SMALL), threads.idle_threads()) == (8, 8)


def test_a_number_set_in_torch_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getloadavg", lambda: (30.0, 0.0, 0.0))
    torch.set_num_threads(3)
    assert (threads.suitable_threads(SMALL), threads.idle_threads()) == (3, 3)


def test_the_number_is_put_back() -> None:
    with threads.computing(2):
        assert torch.get_num_threads() == 2
    assert torch.get_num_threads() == 8
    with pytest.raises(ZeroDivisionError), threads.computing(2):
        _ = 1 / 0
    assert torch.get_num_threads() == 8
