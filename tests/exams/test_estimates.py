"""How long a run will take, told after its first items."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace

import pytest

from sightline.exams import estimates
from sightline.exams.estimates import RestForecast


def announced(monkeypatch: pytest.MonkeyPatch, times: Sequence[float], items: int, at_once: int = 1) -> list[str]:
    """What is said of a run whose first items end at the given seconds."""
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(estimates, "time", SimpleNamespace(monotonic=lambda: clock.now))
    said: list[str] = []
    rest = RestForecast(said.append, object(), at_once)
    for number, clock.now in enumerate(times, start=1):
        rest.after(number, items - number)
    return said


@pytest.mark.parametrize(
    ("times", "items", "at_once", "expected"),
    [
        ([30.0, 30.1, 31.0, 33.0], 100, 1, ["96 items to go, about 2 min, judging by the first 4"]),  # 30 s to load
        ([5.0 + 0.01 * i for i in range(500)], 1000, 1, []),  # a slow start and then ten milliseconds each
        ([1.0, 1.1, 1.2, 1.3, 4.3, 4.4], 1000, 4, ["995 items to go, about 50 min, judging by the first 5"]),
        ([0.5, 1.0], 1000, 1, []),  # measured too briefly to say anything
        ([1.0, 4.0, 7.0, 10.0], 50, 1, ["48 items to go, about 2 min, judging by the first 2"]),  # once
    ],
)
def test_the_rest_is_told_by_items_after_the_first(
    monkeypatch: pytest.MonkeyPatch, times: list[float], items: int, at_once: int, expected: list[str]
) -> None:
    assert announced(monkeypatch, times, items, at_once) == expected
