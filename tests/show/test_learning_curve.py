"""The chart of a curve: every point drawn where it belongs."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import pytest

from sightline.show.xy import learning_curve

SVG = "{http://www.w3.org/2000/svg}"


def score(value: float, room: float | None = 0.02) -> dict[str, Any]:
    return {
        "value": value,
        "low": None if room is None else value - room,
        "high": None if room is None else value + room,
    }


def curve(*points: tuple[int, float], room: float | None = 0.02) -> dict[str, Any]:
    """Spatial lies a tenth below, geometric a twentieth above."""
    each = {"all": 0.0, "spatial": -0.1, "geometric": 0.05}
    return {
        "points": [
            {"scenes": n, "scene_accuracy": {name: score(value + by, room) for name, by in each.items()}}
            for n, value in points
        ],
        "majority": {"scene_accuracy": {"all": score(0.6)}},
    }


def dots(drawing: str) -> dict[str, list[tuple[float, float]]]:
    """Places of the dots by series, from left to right."""
    found: dict[str, list[tuple[float, float]]] = {}
    for circle in ElementTree.fromstring(drawing).iter(f"{SVG}circle"):
        title = circle.find(f"{SVG}title")
        assert title is not None
        assert title.text
        found.setdefault(title.text.split(",")[0], []).append(
            (float(circle.get("cx", "")), float(circle.get("cy", "")))
        )
    return found


def test_dots_stand_in_order() -> None:
    made = dots(learning_curve(curve((0, 0.7), (8, 0.75), (32, 0.85), (512, 0.9))))
    assert set(made) == {"all", "spatial", "geometric"}
    for places in made.values():
        xs, ys = zip(*places, strict=True)
        assert list(xs) == sorted(xs)
        assert list(ys) == sorted(ys, reverse=True)  # up is better
    eight, thirty_two, many = (x for x, _ in made["all"][1:])
    assert (many - thirty_two) / (thirty_two - eight) == pytest.approx(2.0, abs=0.01)  # logarithmic


def test_order_of_the_points_does_not_matter() -> None:
    assert learning_curve(curve((8, 0.75), (0, 0.7))) == learning_curve(curve((0, 0.7), (8, 0.75)))


@pytest.mark.parametrize(
    "points",
    [
        ((0, 0.7),),  # the checkpoint alone
        ((32, 0.7),),  # one number of scenes
        ((0, 0.02), (8, 0.97)),  # the whole of the scale
    ],
)
def test_few_points_stay_in_the_picture(points: tuple[tuple[int, float], ...]) -> None:
    for places in dots(learning_curve(curve(*points))).values():
        assert len(places) == len(points)
        for x, y in places:
            assert 0 < x < 440
            assert -20 < y < 290


def test_whiskers_only_where_there_is_an_interval() -> None:
    lines = [learning_curve(curve((0, 0.7), (8, 0.8), room=room)).count("<line") for room in (0.02, None)]
    assert lines[0] - lines[1] == 6
