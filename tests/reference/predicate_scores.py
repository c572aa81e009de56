"""Scores of the predicates exam straight from the text, one judgement at a time.

A scene is a list of judgements (predicate, holds, answer) with answer True, False or None for unknown.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

SPATIAL = ["left", "right", "front", "behind"]
GEOMETRIC = ["contains", "supports", "can_contain", "can_support"]
GROUPS = {"all": SPATIAL + GEOMETRIC, "spatial": SPATIAL, "geometric": GEOMETRIC}
GROUPS |= {name: [name] for name in SPATIAL + GEOMETRIC}

Judgement = tuple[str, bool, bool | None]
Scene = Sequence[Judgement]


def mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else math.nan


def of(scene: Scene, group: str) -> list[Judgement]:
    return [judgement for judgement in scene if judgement[0] in GROUPS[group]]


def scene_accuracy(scenes: Sequence[Scene], group: str) -> float:
    """7 right of 10 in one scene and 4 of 5 in another are 75 %."""
    asked = [own for own in (of(scene, group) for scene in scenes) if own]
    return mean([mean([float(said is holds) for _, holds, said in own]) for own in asked])


def scene_all(scenes: Sequence[Scene], group: str) -> float:
    """3 right of 4 in one scene and 2 of 2 in another are 50 %."""
    asked = [own for own in (of(scene, group) for scene in scenes) if own]
    return mean([float(all(said is holds for _, holds, said in own)) for own in asked])


def micro_accuracy(scenes: Sequence[Scene], group: str) -> float:
    return mean([float(said is holds) for scene in scenes for _, holds, said in of(scene, group)])


def unknown(scenes: Sequence[Scene], group: str) -> float:
    return mean([float(said is None) for scene in scenes for _, _, said in of(scene, group)])


def f1(scenes: Sequence[Scene], group: str) -> float:
    """Undefined where it is for each predicate of the group."""
    if all(says_nothing(scenes, predicate) for predicate in GROUPS[group]):
        return math.nan
    judged = [(holds, said) for scene in scenes for _, holds, said in of(scene, group)]
    hits = sum(holds and said is True for holds, said in judged)
    precision = hits / sum(said is True for _, said in judged)
    recall = hits / sum(holds for holds, _ in judged)
    return 2 * precision * recall / (precision + recall) if hits else 0.0


def says_nothing(scenes: Sequence[Scene], predicate: str) -> bool:
    """One answer throughout, nothing said to be true, or nothing true."""
    judged = [(holds, said) for scene in scenes for _, holds, said in of(scene, predicate)]
    answers = {said for _, said in judged}
    return len(answers) <= 1 or True not in answers or not any(holds for holds, _ in judged)
