"""What a training writes while it goes on: its plan, a log that grows, a state to resume from, weights to keep."""

from __future__ import annotations

import json
import math
import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from pickle import UnpicklingError
from typing import Any, Final, NoReturn

import lightning
import torch
from lightning.pytorch.callbacks import Callback
from lightning.pytorch.plugins.io import TorchCheckpointIO

from sightline.errors import ConfigError, DataError
from sightline.files import atomic_write
from sightline.training.folder import LOG, PLAN, STATE, columns_of, log_rows
from sightline.training.learner import Learner
from sightline.training.plan import TrainingTask

Progress = Callable[[int, int, Mapping[str, float]], None]
"""Called with (steps done, steps in all, figures of the log's last row)."""

FIRST_STATE: Final = 60.0
"""Seconds after which the first state is saved, at the end of a step."""
STATE_SECONDS: Final = 600.0
"""Most seconds between states, a step longer; more often by steps."""

RIGHT: Final = "right"
"""Metric that may be NaN: the share of the right, in a batch where nothing is right or wrong."""

_UNREADABLE: Final = (RuntimeError, UnpicklingError, EOFError, LookupError, ValueError, TypeError)
"""What torch raises over a damaged file."""


class States(TorchCheckpointIO):
    """Reads states; a damaged one is the user's to know of.

    Args:
        name: What messages call the network.
    """

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name

    def load_checkpoint(self, path: str | Path, *given: Any, **more: Any) -> dict[str, Any]:
        """The state in a file."""
        try:
            state: dict[str, Any] = super().load_checkpoint(path, *given, **more)
            if not {"mean", "state_dict", "global_step"} <= set(state):
                raise ValueError(f"not the state of a {self._name}'s training")
        except _UNREADABLE as error:
            problem = str(error).partition(". ")[0] or "it is empty"
            raise DataError(f"damaged: {problem}; remove it to begin this training anew", file=path) from error
        return state


class TrainingLog(Callback):
    """Writes rows of the log, and the state and weights every so often; nothing before the training begins.

    Args:
        out: Folder of the training.
        task: What is trained.
        identity: Its plan and source, JSON values; written beside the weights and into them.
        every: Steps between rows.
        save: Steps between states.
        until: When to stop, by `time.monotonic`.
        progress: Called with every row.
        saved: Called with the step of the state in the folder: the one resumed from, then each that is saved.

    Attributes:
        last: Figures of the last row.
    """

    def __init__(
        self,
        out: Path,
        task: TrainingTask,
        identity: Mapping[str, Any],
        every: int,
        save: int,
        until: float,
        progress: Progress | None,
        saved: Callable[[int], None] | None = None,
    ) -> None:
        self._out, self._task, self._plan, self._identity = out, task, task.plan, identity
        self._every, self._save_every, self._until, self._progress = every, save, until, progress
        self._saved, self._due = saved, math.inf
        self._columns = columns_of(task)
        self.last: dict[str, float] = {}
        self._begun = self._since = math.nan
        self._counts: Counter[str] = Counter()

    def on_train_start(self, trainer: lightning.Trainer, _: lightning.LightningModule) -> None:
        """Write the plan; keep the rows up to the step that is resumed from."""
        self._out.mkdir(parents=True, exist_ok=True)
        atomic_write(self._out / PLAN, (json.dumps(self._identity, indent=2) + "\n").encode())
        rows = log_rows(self._out, trainer.global_step)
        atomic_write(self._out / LOG, "\n".join([",".join(self._columns), *rows, ""]).encode())
        self._due = time.monotonic() + FIRST_STATE
        if self._saved is not None and trainer.global_step:
            self._saved(trainer.global_step)

    def on_train_batch_start(self, *_: Any) -> None:
        """Time counts from the first batch on: before it, scenes may have had to be drawn."""
        if math.isnan(self._begun):
            self._begun = self._since = time.monotonic()

    def on_train_batch_end(self, trainer: lightning.Trainer, learner: Any, *_: Any) -> None:
        """Count, and write now and then."""
        step = trainer.global_step
        self._counts.update(self._task.counts(step - 1))
        trainer.should_stop = time.monotonic() > self._until
        last = trainer.should_stop or step == trainer.max_steps
        if step % self._every == 0 or last:
            self._write(trainer, learner)
        if (step % self._save_every == 0 or time.monotonic() > self._due) and not last:
            self.save(trainer, learner)

    def on_train_end(self, trainer: lightning.Trainer, learner: Any) -> None:
        """Save what there is, while the trainer still has all of it."""
        self.save(trainer, learner)

    def save(self, trainer: lightning.Trainer, learner: Learner) -> None:
        """State to resume from, and the running mean as a checkpoint; neither of weights that are no numbers."""
        self._check_weights(trainer, learner)
        fresh = self._out / f"{STATE}.new"
        trainer.save_checkpoint(fresh)
        fresh.replace(self._out / STATE)
        self._save_weights(trainer, learner)
        self._due = time.monotonic() + STATE_SECONDS
        if self._saved is not None:
            self._saved(trainer.global_step)

    def done_before(self, trainer: lightning.Trainer, learner: Learner) -> None:
        """Where no step was left: weights that are missing, or of an earlier step, are made of the state."""
        self._check_weights(trainer, learner)
        if self._task.steps_of(self._out / self._task.weights) != trainer.global_step:
            self._save_weights(trainer, learner)

    def _save_weights(self, trainer: lightning.Trainer, learner: Learner) -> None:
        facts = {**self._identity, "steps": trainer.global_step, "torch": torch.__version__}
        atomic_write(self._out / self._task.weights, self._task.dump(learner.averaged(), facts))

    def _check_weights(self, trainer: lightning.Trainer, learner: Learner) -> None:
        """A step's loss is that of the weights before it: those after it may be no numbers though it is one."""
        if not all(weight.isfinite().all() for weight in (*learner.trained(), *learner.mean)):
            loss = learner.metrics.get(self._task.metrics[0], math.nan)
            self._diverged(trainer, f"loss {float(loss):.3g} and weights that are no numbers")

    def _diverged(self, trainer: lightning.Trainer, problem: str) -> NoReturn:
        elsewhere = ", in another folder: here an earlier state is kept" if (self._out / STATE).exists() else ""
        raise ConfigError(
            f"{self._out}: the training diverged: {problem} at step {trainer.global_step}; "
            f"try a lower rate (--rate) than {self._plan.rate:g}{elsewhere}"
        )

    def _write(self, trainer: lightning.Trainer, learner: Learner) -> None:
        values = {name: float(value) for name, value in learner.metrics.items()}  # waits for the device
        now = time.monotonic()
        span = max(now - self._since, 1e-9)
        step = trainer.global_step
        self.last = {
            "step": step,
            **{name: values.get(name, math.nan) for name in self._task.metrics},
            "rate": self._plan.rate * self._plan.factor(step - 1),
            **{f"{unit}_per_s": count / span for unit, count in self._counts.items()},
            "seconds": now - self._begun,
        }
        with (self._out / LOG).open("a") as file:
            file.write(",".join([str(step), *(f"{self.last[name]:.6g}" for name in self._columns[1:])]) + "\n")
        self._since, self._counts = now, Counter()
        if self._progress is not None:
            self._progress(step, self._plan.steps, self.last)
        for name, value in values.items():
            if not math.isfinite(value) and name != RIGHT:
                self._diverged(trainer, f"loss {value} ({name})")
