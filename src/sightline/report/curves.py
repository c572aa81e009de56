"""The curve of a checkpoint that was fine-tuned on few scenes: scenes against accuracy, as a lone SVG."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

from sightline.show.svg import FIRST, INK, MUTED, SECOND, document, element, hover, line, text_line, ticks

WIDTH: Final = 440.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 40.0, 358.0, 28.0, 248.0
_SERIES: Final = (("all", INK, 2.5), ("spatial", FIRST, 1.5), ("geometric", SECOND, 1.5))

Place = Callable[[float], float]


def learning_curve(told: Mapping[str, Any]) -> str:
    """Scene accuracy with 95 % intervals after learning from more and more scenes, by `Curve.to_dict` or its JSON.

    Scenes go along a logarithmic axis; the checkpoint as it was, 0 scenes, stands to the left of it. The dashed
    line is the commoner answer to each predicate.
    """
    points = sorted(told["points"], key=lambda point: point["scenes"])
    places = _places([point["scenes"] for point in points])
    blind = told["majority"]["scene_accuracy"]["all"]["value"]
    y, marks = _vertical(points, blind)
    body = [_grid(y, marks), *(_figure(places[p["scenes"]], p["scenes"]) for p in points)]
    body += [line(_LEFT, y(blind), _RIGHT, y(blind), stroke=MUTED, stroke_dasharray="3 3")]
    names = [(blind, "majority, all", MUTED)]
    for shift, (name, colour, width) in zip((0.0, -3.0, 3.0), _SERIES, strict=True):
        scores = [point["scene_accuracy"][name] for point in points]
        at = [places[point["scenes"]] + shift for point in points]
        body.append(_line(at, [y(score["value"]) for score in scores], colour, width))
        body += [_dot(x, score, y, colour, name) for x, score in zip(at, scores, strict=True)]
        names.append((scores[-1]["value"], name, colour))
    body.append(_names(names, y))
    under = text_line(
        (_LEFT + _RIGHT) / 2, _BOTTOM + 34, "scenes learned from", size=11, fill=MUTED, anchor="middle"
    )
    said = "; ".join(f"{p['scenes']} scenes {p['scene_accuracy']['all']['value']:.3f}" for p in points)
    above = text_line(0, 11, "scene accuracy on held-out scenes", size=11, fill=MUTED)
    title = "Scene accuracy on held-out scenes, 95 % intervals by scene"
    return document(WIDTH, _BOTTOM + 42, title, said, above, *body, under)


def _places(scenes: Sequence[int]) -> dict[int, float]:
    """Where each number of scenes stands: by its logarithm, 0 one step to the left of the rest."""
    some = [math.log2(n) for n in scenes if n]
    step = max((max(some) - min(some)) / max(1, len(some) - 1), 1.0) if some else 1.0
    values = {n: math.log2(n) if n else (min(some) - step if some else 0.0) for n in scenes}
    low, high = min(values.values()), max(values.values())
    span = high - low or 1.0
    return {n: _LEFT + 14 + (value - low) / span * (_RIGHT - _LEFT - 28) for n, value in values.items()}


def _vertical(points: Sequence[Mapping[str, Any]], blind: float) -> tuple[Place, list[float]]:
    """The vertical axis, wide enough for all that is drawn, and its round values."""
    told = [point["scene_accuracy"][name] for point in points for name, *_ in _SERIES]
    lowest = min([blind, *(s["value"] if s["low"] is None else s["low"] for s in told)])
    low = max(0.0, math.floor(20 * lowest - 0.2) / 20)
    return lambda value: _BOTTOM - (value - low) / (1.0 - low) * (_BOTTOM - _TOP), ticks(low, 1.0)


def _grid(y: Place, at: Sequence[float]) -> str:
    rules = [line(_LEFT, y(t), _RIGHT, y(t), width=0.75) for t in at]
    figures = [text_line(_LEFT - 6, y(t) + 4, f"{t:.0%}", size=10.5, fill=MUTED, anchor="end") for t in at]
    return "".join(rules + figures)


def _figure(x: float, scenes: int) -> str:
    return text_line(x, _BOTTOM + 16, f"{scenes:,}", size=10.5, fill=MUTED, anchor="middle")


def _line(xs: Sequence[float], ys: Sequence[float], colour: str, width: float) -> str:
    parts = [line(*a, *b, stroke=colour, width=width) for a, b in pairwise(zip(xs, ys, strict=True))]
    return "".join(parts)


def _dot(x: float, score: Mapping[str, Any], y: Place, colour: str, name: str) -> str:
    known = score["low"] is not None
    span = f", {score['low']:.3f} to {score['high']:.3f}" if known else ""
    whisker = line(x, y(score["low"]), x, y(score["high"]), stroke=colour, width=1.25) if known else ""
    dot = element(
        "circle", hover(f"{name} {score['value']:.3f}{span}"), cx=x, cy=y(score["value"]), r=3.0, fill=colour
    )
    return whisker + dot


def _names(names: Sequence[tuple[float, str, str]], y: Place) -> str:
    """Names at the lines' ends, moved apart where they would overlap."""
    parts, floor = [], -math.inf
    for value, name, colour in sorted(names, key=lambda given: -given[0]):
        floor = max(y(value) + 4, floor + 13)
        parts.append(text_line(_RIGHT + 4, floor, name, size=10.5, fill=colour))
    return "".join(parts)
