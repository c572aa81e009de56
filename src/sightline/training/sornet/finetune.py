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
from sightline.exams.predicates.counts import FN, TN, PredicateScores, scores, tally_many
from sightline.files import atomic_write
from sightline.models.nets.checkpoints import load_checkpoint
from sightline.models.nets.sornet import Sornet
from sightline.plain import plain
from sightline.training.folder import names_of
from sightline.training.sornet.evaluation import SceneAnswers, answers
from sightline.training.sornet.plan import SornetPlan, load_start
from sightline.training.sornet.sources import FewScenes, SceneSource, require
from sightline.training.sornet.task import SornetTask

FEW: Final = (0, 8, 32, 128, 512)
"""Scenes of a curve's points."""

CURVE: Final = "curve.json"

CurveProgress = Callable[[int, int, int], None]
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
        facts: Checkpoint, sources and plan; JSON values.
    """

    points: tuple[CurvePoint, ...]
    majority: PredicateScores
    facts: Mapping[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        points = [{"scenes": p.scenes, "steps": p.steps, **plain(p.scores)} for p in self.points]
        return {**self.facts, "points": points, "majority": plain(self.majority)}


def curve(
    plan: SornetPlan,
    base: SceneSource,
    held: SceneSource,
    folder: str | Path,
    *,
    scenes: Sequence[int] = FEW,
    held_out: int = 500,
    save_every: int = 500,
    device: str = "cpu",
    progress: CurveProgress | None = None,
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

    def tuned(count: int) -> Sornet:
        from sightline.training.fit import fit

        if not count:
            return load_start(plan.start).net

        def on_row(done: int, total: int, _: Mapping[str, float]) -> None:
            if progress is not None:
                progress(count, done, total)

        few = FewScenes(base, count, len(plan.views), batch=plan.batch, seed=plan.seed)
        task, place = SornetTask(plan, few), out / f"scenes-{count}"
        _, fitted = fit(task, place, log_every=10, save_every=save_every, progress=on_row, device=device)
        return load_checkpoint(fitted.weights, Sornet).net

    points: list[CurvePoint] = []
    asked: SceneAnswers | None = None
    for count in scenes:
        asked = answers(
            tuned(count).to(device), held, -(-held_out // held.batch), range(len(plan.views)), seed=plan.seed
        )
        scored = scores(tally_many(asked.truth, asked.said, asked.present)[:held_out])
        points.append(CurvePoint(count, plan.steps if count else 0, scored))
    assert asked is not None
    facts = {"plan": plain(plan), "source": base.facts(), "held_out": held.facts()}
    made = Curve(tuple(points), majority(asked, held_out), facts)
    out.mkdir(parents=True, exist_ok=True)
    atomic_write(out / CURVE, (json.dumps(made.to_dict(), indent=2) + "\n").encode())
    return made


def refuse_foreign(folder: str | Path) -> None:
    """ConfigError where a folder holds something that is no curve."""
    names_of(Path(folder), "a curve", (CURVE, "scenes-*"))


def majority(asked: SceneAnswers, scenes: int) -> PredicateScores:
    """Scores of the commoner answer to each predicate."""
    counts = tally_many(asked.truth, np.zeros_like(asked.truth), asked.present)[:scenes].sum(axis=0)
    commoner = counts[:, FN] > counts[:, TN]  # to say no to everything misses those that hold
    said = np.broadcast_to(commoner, asked.truth.shape)
    return scores(tally_many(asked.truth, said, asked.present)[:scenes])


def _refuse(plan: SornetPlan, scenes: Sequence[int]) -> None:
    if not plan.start:
        raise ConfigError("fine-tuning begins with a checkpoint: the plan names none")
    if not scenes or min(scenes) < 0 or len(set(scenes)) < len(scenes):
        raise ConfigError(f"scenes of a curve must be different numbers ≥ 0, not {', '.join(map(str, scenes))!r}")
