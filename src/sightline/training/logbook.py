"""What a training writes while it goes on: its plan, a log that grows, a state to resume from, weights to keep."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from pickle import UnpicklingError
from typing import Any, Final, NoReturn

import lightning
import torch
from lightning.pytorch.callbacks import Callback
from lightning.pytorch.plugins.io import TorchCheckpointIO

from sightline.errors import ConfigError, DataError, ModelError
from sightline.files import atomic_write
from sightline.models.nets.checkpoints import dump_sornet, load_sornet
from sightline.training.folder import COLUMNS, LOG, LOSSES, PLAN, STATE, WEIGHTS, log_rows
from sightline.training.learning import SornetLearner
from sightline.training.plan import Plan

Progress = Callable[[int, int, Mapping[str, float]], None]
"""Called with (steps done, steps in all, figures of the log's last row)."""

_UNREADABLE: Final = (RuntimeError, UnpicklingError, EOFError, LookupError, ValueError, TypeError)
"""What torch raises over a damaged file."""


class States(TorchCheckpointIO):
    """Reads states; a damaged one is the user's to know of."""

    def load_checkpoint(self, path: str | Path, *given: Any, **more: Any) -> dict[str, Any]:
        """The state in a file."""
        try:
            state: dict[str, Any] = super().load_checkpoint(path, *given, **more)
            if not {"mean", "state_dict", "global_step"} <= set(state):
                raise ValueError("not the state of a SORNet's training")
        except _UNREADABLE as error:
            problem = str(error).partition(". ")[0] or "it is empty"
            raise DataError(f"damaged: {problem}; remove it to begin this training anew", file=path) from error
        return state


class Logbook(Callback):
    """Rows of the log, and the state and weights every so often. Nothing is written before the training begins."""

    def __init__(
        self,
        out: Path,
        plan: Plan,
        told: Mapping[str, Any],
        every: int,
        save: int,
        until: float,
        progress: Progress | None,
    ) -> None:
        self._out, self._plan, self._told, self._every, self._save_every = out, plan, told, every, save
        self._until, self._progress = until, progress
        self.last: dict[str, float] = {}
        self._begun = self._since = math.nan
        self._scenes = self._images = 0

    def on_train_start(self, trainer: lightning.Trainer, _: lightning.LightningModule) -> None:
        """Write the plan; keep the rows up to the step that is resumed from."""
        self._out.mkdir(parents=True, exist_ok=True)
        atomic_write(self._out / PLAN, (json.dumps(self._told, indent=2) + "\n").encode())
        kept = log_rows(self._out, trainer.global_step)
        atomic_write(self._out / LOG, "\n".join([",".join(COLUMNS), *kept, ""]).encode())

    def on_train_batch_start(self, *_: Any) -> None:
        """Time counts from the first batch on: before it, scenes may have had to be drawn."""
        if math.isnan(self._begun):
            self._begun = self._since = time.monotonic()

    def on_train_batch_end(self, trainer: lightning.Trainer, learner: Any, *_: Any) -> None:
        """Count, and write now and then."""
        step = trainer.global_step
        self._scenes += self._plan.batch
        self._images += self._plan.batch * len(self._plan.shown(step - 1))
        trainer.should_stop = time.monotonic() > self._until
        last = trainer.should_stop or step == trainer.max_steps
        if step % self._every == 0 or last:
            self._write(trainer, learner)
        if step % self._save_every == 0 and not last:
            self.save(trainer, learner)

    def on_train_end(self, trainer: lightning.Trainer, learner: Any) -> None:
        """Save what there is, while the trainer still has all of it."""
        self.save(trainer, learner)

    def save(self, trainer: lightning.Trainer, learner: SornetLearner) -> None:
        """State to resume from, and the running mean as a checkpoint; neither of weights that are no numbers."""
        self._check_weights(trainer, learner)
        fresh = self._out / f"{STATE}.new"
        trainer.save_checkpoint(fresh)
        fresh.replace(self._out / STATE)
        self._save_weights(trainer, learner)

    def done_before(self, trainer: lightning.Trainer, learner: SornetLearner) -> None:
        """Where no step was left: weights that are missing, or of an earlier step, are made of the state."""
        self._check_weights(trainer, learner)
        try:
            there = load_sornet(self._out / WEIGHTS).told.get("steps")
        except ModelError:
            there = None
        if there != trainer.global_step:
            self._save_weights(trainer, learner)

    def _save_weights(self, trainer: lightning.Trainer, learner: SornetLearner) -> None:
        told = {**self._told, "steps": trainer.global_step, "torch": torch.__version__}
        atomic_write(self._out / WEIGHTS, dump_sornet(learner.net, told, weights=learner.averaged()))

    def _check_weights(self, trainer: lightning.Trainer, learner: SornetLearner) -> None:
        """A step's loss is that of the weights before it: those after it may be no numbers though it is one."""
        weights = [*learner.net.parameters(), *learner.head.parameters(), *learner.mean]
        if not all(weight.isfinite().all() for weight in weights):
            loss = learner.told.get("predicates", math.nan)
            self._diverged(trainer, f"loss {float(loss):.3g} and weights that are no numbers")

    def _diverged(self, trainer: lightning.Trainer, found: str) -> NoReturn:
        kept = ", in another folder: here an earlier state is kept" if (self._out / STATE).exists() else ""
        raise ConfigError(
            f"{self._out}: the training diverged: {found} at step {trainer.global_step}; "
            f"try a lower rate (--rate) than {self._plan.rate:g}{kept}"
        )

    def _write(self, trainer: lightning.Trainer, learner: SornetLearner) -> None:
        values = {name: float(value) for name, value in learner.told.items()}  # waits for the device
        now = time.monotonic()
        span = max(now - self._since, 1e-9)
        step = trainer.global_step
        self.last = {
            "step": step,
            **{name: values.get(name, math.nan) for name in LOSSES},
            "rate": self._plan.rate * self._plan.factor(step - 1),
            "scenes_per_s": self._scenes / span,
            "images_per_s": self._images / span,
            "seconds": now - self._begun,
        }
        with (self._out / LOG).open("a") as file:
            file.write(",".join([str(step), *(f"{self.last[name]:.6g}" for name in COLUMNS[1:])]) + "\n")
        self._since, self._scenes, self._images = now, 0, 0
        if self._progress is not None:
            self._progress(step, self._plan.steps, self.last)
        for name, value in values.items():
            if not math.isfinite(value):
                self._diverged(trainer, f"loss {value} ({name})")
