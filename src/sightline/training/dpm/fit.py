"""Train a deformable part model in a folder, phase by phase; run again it goes on after the last whole phase."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from sightline.documents import read_json
from sightline.errors import ConfigError
from sightline.files import atomic_write, differences
from sightline.models.dpm.filters import Dpm
from sightline.models.nets.checkpoints import dump_checkpoint, load_checkpoint
from sightline.plain import plain
from sightline.training.dpm.examples import FeatureStore
from sightline.training.dpm.phases import Lesson, Progress
from sightline.training.dpm.plan import DpmPlan, TrainingPicture
from sightline.training.folder import PLAN, names_of

LOG: Final = "phases.json"


@dataclass(frozen=True)
class FittedDpm:
    """A training of a deformable part model that ended or was stopped.

    Attributes:
        weights: The model's file; not there yet where the training was stopped.
        finished: Whether all phases are done.
        costs: Phase → seconds and processor seconds that it took, whenever that was.
        net: The model as it is now; None before the first phase is done.
    """

    weights: Path
    finished: bool
    costs: Mapping[str, Mapping[str, float]]
    net: Dpm | None

    @property
    def cpu_seconds(self) -> float:
        """Processor seconds of all phases together."""
        return sum(cost["cpu_seconds"] for cost in self.costs.values())


def train(
    plan: DpmPlan,
    pictures: Sequence[TrainingPicture],
    folder: str | Path,
    *,
    source: Mapping[str, Any] | None = None,
    device: str = "cpu",
    store: FeatureStore | None = None,
    until: float = math.inf,
    progress: Progress | None = None,
) -> FittedDpm:
    """Train the model of one class.

    Args:
        plan: How.
        pictures: What to learn from; the same ones in the same order whenever a training is gone on with.
        folder: Made if missing; holds ``plan.json``, ``phases.json`` and one file a phase.
        source: Where the pictures are from, JSON values: part of a training's identity.
        device: Where filters are convolved, ``cpu`` or ``cuda``.
        store: Features of pictures that other trainings made already.
        until: Begin no phase after this time of `time.monotonic`.
        progress: Told (what, done, of how many).

    Raises:
        ConfigError: The folder holds another training, or something else.
        DataError: Too little to learn from.
    """
    out = Path(folder)
    whole = plain({"plan": plan, "source": dict(source or {}), "pictures": len(pictures)})
    if PLAN in names_of(out, "a training", (PLAN,)):
        stored = read_json(out / PLAN)
        if stored != whole:
            name, was, now = next(differences(stored, whole, depth=2))
            raise ConfigError(f"{out} holds another training: its {name} is {was!r}, now it is {now!r}")
    lesson: Lesson | None = None
    costs: dict[str, dict[str, float]] = read_json(out / LOG) if (out / LOG).exists() else {}
    net: Dpm | None = None
    for phase in plan.phases:
        file = out / f"{phase}.safetensors"
        if phase in costs and file.exists():
            net = load_checkpoint(file, Dpm).net
            continue
        if time.monotonic() >= until:
            return FittedDpm(out / f"{plan.phases[-1]}.safetensors", False, costs, net)
        if lesson is None:
            lesson = Lesson.of(plan, pictures, device=device, store=store, progress=progress)
            out.mkdir(parents=True, exist_ok=True)
            atomic_write(out / PLAN, (json.dumps(whole, indent=1) + "\n").encode())
        begun = time.monotonic(), time.process_time()
        net = lesson.run(phase, net)
        spent = {"seconds": time.monotonic() - begun[0], "cpu_seconds": time.process_time() - begun[1]}
        facts = {"plan": plain(plan), "objects": len(lesson.positives), "negatives": len(lesson.negatives)}
        atomic_write(file, dump_checkpoint(net, facts))
        costs[phase] = {name: round(value, 2) for name, value in spent.items()}
        atomic_write(out / LOG, (json.dumps(costs, indent=1) + "\n").encode())
        net = load_checkpoint(file, Dpm).net  # as a training that goes on has it
    return FittedDpm(out / f"{plan.phases[-1]}.safetensors", True, costs, net)
