"""Company of classes written straight from the definitions: loops over sets, one scene at a time."""

from __future__ import annotations

from collections.abc import Mapping


def cooccurrence(scenes: Mapping[str, set[str]], one: str, other: str) -> float:
    """NC(c_i, c_j) = Count(c_i and c_j) / Count(c_i); NaN where c_i is nowhere."""
    having = both = 0
    for there in scenes.values():
        if one in there:
            having += 1
            if other in there:
                both += 1
    return both / having if having else float("nan")


def out_of_context(scenes: Mapping[str, set[str]], learned: Mapping[str, set[str]], usual: float) -> set[str]:
    """Scenes with a class that has usual company in the scenes to learn from, of which none is there."""
    found = set()
    for scene, there in scenes.items():
        for name in there:
            others = {c for classes in learned.values() for c in classes} - {name}
            company = {c for c in others if cooccurrence(learned, name, c) >= usual}
            if company and not company & there:
                found.add(scene)
    return found
