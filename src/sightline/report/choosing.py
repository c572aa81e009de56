"""Which scenes to show: the worst, some typical and some perfect ones, the same every time; or those asked for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sightline.errors import ConfigError
from sightline.hints import did_you_mean
from sightline.store import Dataset


@dataclass(frozen=True, slots=True)
class Chosen:
    """Ids of the scenes to show, by the reason why; no scene stands twice."""

    worst: tuple[str, ...] = ()
    typical: tuple[str, ...] = ()
    perfect: tuple[str, ...] = ()
    named: tuple[str, ...] = ()


def choose(
    scenes: Sequence[str],
    asked: NDArray[np.int64],
    right: NDArray[np.int64],
    *,
    worst: int = 6,
    typical: int = 4,
    perfect: int = 3,
) -> Chosen:
    """Choose scenes by the share of right judgements.

    Worst are the lowest shares; typical those nearest to the middle of all scenes with a mistake; perfect those
    without one, the fullest first. Ties go by the scene's id.

    Args:
        scenes: Ids.
        asked: Judgements of each; scenes without any are never shown.
        right: Those that are right.
        worst: How many of the worst at most.
        typical: How many typical ones.
        perfect: How many perfect ones.

    >>> choose("abcd", np.array([10, 10, 10, 20]), np.array([9, 5, 8, 20]), worst=1, typical=1)
    Chosen(worst=('b',), typical=('c',), perfect=('d',), named=())
    """
    share = right / np.maximum(asked, 1)
    wrong = [i for i in range(len(scenes)) if right[i] < asked[i]]
    low = sorted(wrong, key=lambda i: (share[i], scenes[i]))
    middle = float(np.median(share[wrong])) if wrong else 0.0
    rest = sorted(low[worst:], key=lambda i: (abs(share[i] - middle), scenes[i]))
    whole = [i for i in range(len(scenes)) if right[i] == asked[i] > 0]
    whole.sort(key=lambda i: (-asked[i], scenes[i]))
    picked = (low[:worst], rest[:typical], whole[:perfect])
    return Chosen(*(tuple(scenes[i] for i in own) for own in picked))


def named(wanted: Sequence[str], asked: Iterable[str], data: Dataset, model: str) -> tuple[str, ...]:
    """The scenes asked for by id, each once, in the order given.

    Args:
        wanted: Ids from whoever wants the report.
        asked: Ids of the scenes the model was asked about.
        data: Where they come from; tells an id that does not exist from one that was not asked about.
        model: What the report calls the model.

    Raises:
        ConfigError: For a scene that does not exist, or that the model was not asked about.
    """
    known = dict.fromkeys(asked)
    for name in wanted:
        if name not in known:
            raise ConfigError(_unknown(name, tuple(known), data, model))
    return tuple(dict.fromkeys(wanted))


def _unknown(name: str, known: Sequence[str], data: Dataset, model: str) -> str:
    """What to say of a scene that cannot be shown; the others may be too many to list."""
    asked = f"{model} was asked about {len(known):,} scene{'s' * (len(known) != 1)}"
    asked += f", such as {known[0]!r}" if known else ""
    if name in data.scan("views").select("scene_id").collect()["scene_id"]:
        return f"no answers to show on the scene {name!r}: {asked}"
    ending = [scene for scene in known if scene.endswith(f"/{name}")]
    near = f", did you mean {ending[0]!r}?" if ending else did_you_mean(name, known)
    return f"{data.path} has no scene {name!r}{near or f'; {asked}'}"
