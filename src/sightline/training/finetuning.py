"""How many scenes with unseen objects does a trained network need? It learns from a few and is asked about others.

Numpy and torch are enough here; Lightning is imported when training begins. `show.xy` draws the result.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from sightline.errors import ConfigError
from sightline.exams.predicates.scores import PredicateScores, scores
from sightline.exams.predicates.tally import FN, TN, tally_many
from sightline.files import atomic_write
from sightline.models.nets.checkpoints import Checkpoint, load_sornet
from sightline.training.evaluating import Answers, answers
from sightline.training.folder import names_of
from sightline.training.kept import FewScenes, require
from sightline.training.plan import Plan
from sightline.training.sources import Source
from sightline.training.starting import load_start, size_of

FEW: Final = (0, 8, 32, 128, 512)
"""Scenes of a curve's points."""

CURVE: Final = "curve.json"

Told = Callable[[int, int, int], None]
"""Called with (scenes of the point, steps done, steps in all)."""


@dataclass(frozen=True)
class CurvePoint:
    """Scores on held-out scenes after learning from so many scenes in so many steps."""

    scenes: int
    steps: int
    scores: PredicateScores


@dataclass(frozen=True)
class Curve:
    """Scenes against accuracy.

    Attributes:
        points: In the order asked for.
        majority: Scores of whoever gives the commoner answer to each predicate of the held-out scenes.
        told: Checkpoint, sources and plan; JSON values.
    """

    points: tuple[CurvePoint, ...]
    majority: PredicateScores
    told: Mapping[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        points = [{"scenes": p.scenes, "steps": p.steps, **p.scores.to_dict()} for p in self.points]
        return {**self.told, "points": points, "majority": self.majority.to_dict()}


def fine_plan(start: str | Path, **changes: Any) -> Plan:
    """How a checkpoint is fine-tuned: few steps at a low rate, with the augmentation of any training.

    Args:
        start: The checkpoint; ``sornet`` is the one that comes with Sightline.
        changes: Other settings than the usual ones.

    Raises:
        ModelError: No such checkpoint.
        ConfigError: It is of another size than asked for.
    """
    net = load_start(start).net
    size = size_of(net.config)
    if changes.get("size", size) != size:
        raise ConfigError(f"{start} is a network of size {size or 'unknown'}, not {changes['size']}")
    usual: dict[str, Any] = {
        "size": size,
        "views": net.config.views,
        "steps": 300,
        "batch": 32,
        "rate": 1e-4,
        "optimizer": "adamw",
        "warmup": 30,
        "most_objects": net.config.most_objects,
        "start": str(start),
        "compiled": False,  # takes longer than the steps do
        "crowded": 0.0,  # the scenes as they are: there are few of them
    }
    return Plan(**{**usual, **changes})


def curve(
    plan: Plan,
    base: Source,
    held: Source,
    folder: str | Path,
    *,
    scenes: Sequence[int] = FEW,
    held_out: int = 500,
    save_every: int = 500,
    device: str = "cpu",
    progress: Told | None = None,
) -> Curve:
    """Fine-tune on few scenes, then on more, each time from the same checkpoint; ask about held-out scenes.

    The scenes of a point are those of the smaller ones and more. Each fine-tuning lies in a folder of its own, and
    goes on there if it was interrupted; ``curve.json`` is written at the end.

    Args:
        plan: See `fine_plan`.
        base: Scenes to learn from, with all of the plan's views.
        held: Others of the same kind to ask about.
        folder: Where all goes.
        scenes: How many scenes for each point; 0 is the checkpoint as it is.
        held_out: How many scenes to ask about.
        save_every: Steps between states of a fine-tuning.
        device: ``cpu`` or ``cuda``, that of the sources.
        progress: Told now and then.

    Raises:
        ConfigError: A point that cannot be had, fewer scenes than asked for, or a folder of something else.
    """
    _refuse(plan, scenes)
    refuse_foreign(folder)
    for source, wanted in ((base, max(scenes)), (held, held_out)):
        require(source, wanted)
    out = Path(folder)
    points: list[CurvePoint] = []
    asked: Answers | None = None
    for count in scenes:
        net = _tuned(plan, base, out / f"scenes-{count}", count, save_every, device, progress).net.to(device)
        asked = answers(net, held, -(-held_out // held.batch), range(len(plan.views)), seed=plan.seed)
        found = scores(tally_many(asked.truth, asked.said, asked.present)[:held_out])
        points.append(CurvePoint(count, plan.steps if count else 0, found))
    assert asked is not None
    told = {"plan": plan.to_dict(), "source": base.facts(), "held_out": held.facts()}
    made = Curve(tuple(points), majority(asked, held_out), told)
    out.mkdir(parents=True, exist_ok=True)
    atomic_write(out / CURVE, (json.dumps(made.to_dict(), indent=2) + "\n").encode())
    return made


def refuse_foreign(folder: str | Path) -> None:
    """ConfigError where a folder holds something that is no curve."""
    names_of(Path(folder), "a curve", (CURVE, "scenes-*"))


def majority(asked: Answers, scenes: int) -> PredicateScores:
    """Scores of the commoner answer to each predicate."""
    counts = tally_many(asked.truth, np.zeros_like(asked.truth), asked.present)[:scenes].sum(axis=0)
    commoner = counts[:, FN] > counts[:, TN]  # to say no to everything misses those that hold
    said = np.broadcast_to(commoner, asked.truth.shape)
    return scores(tally_many(asked.truth, said, asked.present)[:scenes])


def _tuned(
    plan: Plan, base: Source, folder: Path, count: int, save_every: int, device: str, progress: Told | None
) -> Checkpoint:
    from sightline.training.fitting import fit

    if not count:
        return load_start(plan.start)

    def tell(done: int, total: int, _: Mapping[str, float]) -> None:
        if progress is not None:
            progress(count, done, total)

    few = FewScenes(base, count, len(plan.views), batch=plan.batch, seed=plan.seed)
    _, fitted = fit(plan, few, folder, log_every=10, save_every=save_every, progress=tell, device=device)
    return load_sornet(fitted.weights)


def _refuse(plan: Plan, scenes: Sequence[int]) -> None:
    if not plan.start:
        raise ConfigError("fine-tuning begins with a checkpoint: the plan names none")
    if not scenes or min(scenes) < 0 or len(set(scenes)) < len(scenes):
        raise ConfigError(f"scenes of a curve must be different numbers ≥ 0, not {', '.join(map(str, scenes))!r}")
