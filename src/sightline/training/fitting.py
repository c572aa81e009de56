"""The loop around the learner: Lightning's trainer, a log that grows, a state to resume from, weights to keep."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from logging import ERROR, getLogger
from pathlib import Path
from signal import SIGINT, getsignal, signal
from typing import Any, Final
from warnings import catch_warnings, filterwarnings

import lightning
import torch
from lightning.pytorch.callbacks import Callback

from sightline.atomic import atomic_write
from sightline.errors import ConfigError
from sightline.models.nets.checkpoints import dump_sornet
from sightline.training.learning import SornetLearner
from sightline.training.plan import Plan
from sightline.training.sources import Source

WEIGHTS: Final = "sornet.safetensors"
STATE: Final = "state.ckpt"
LOG: Final = "log.csv"
PLAN: Final = "plan.json"

Progress = Callable[[int, int, Mapping[str, float]], None]
"""Called with (steps done, steps in all, figures of the log's last row)."""

_LOSSES: Final = ("predicates", "right", "facts", "pointing")
_COLUMNS: Final = ("step", *_LOSSES, "rate", "scenes_per_s", "images_per_s", "seconds")


@dataclass(frozen=True, slots=True)
class Fitted:
    """What a training left.

    Attributes:
        folder: Holds ``sornet.safetensors``, ``log.csv``, ``plan.json`` and ``state.ckpt``.
        steps: Steps done, of `planned`.
        seconds: Spent in this call.
        last: The log's last row.
    """

    folder: Path
    steps: int
    planned: int
    seconds: float
    last: Mapping[str, float]

    @property
    def weights(self) -> Path:
        """The checkpoint."""
        return self.folder / WEIGHTS


def fit(
    plan: Plan,
    source: Source,
    folder: str | Path,
    *,
    log_every: int = 50,
    save_every: int = 500,
    stop_after: int | None = None,
    seconds: float = math.inf,
    progress: Progress | None = None,
    device: str = "",
) -> tuple[SornetLearner, Fitted]:
    """Train a SORNet; on the folder of an interrupted training of the same plan it goes on where that stopped.

    Args:
        plan: How.
        source: Scenes.
        folder: Made if missing; one of another plan is a ConfigError.
        log_every: Steps between rows of the log.
        save_every: Steps between states.
        stop_after: Stop early, at this step; call again to go on.
        seconds: Stop early, at the first step that ends after so many; call again to go on.
        progress: Told at every row of the log.
        device: ``cpu`` or ``cuda``; by default the card where there is one.
    """
    out = Path(folder)
    told = _same_plan(out, plan, source)
    learner = SornetLearner(plan, source)
    out.mkdir(parents=True, exist_ok=True)
    atomic_write(out / PLAN, (json.dumps(told, indent=2) + "\n").encode())
    log = _Log(out, plan, source, log_every, save_every, time.monotonic() + seconds, progress)
    stop = min(plan.steps, stop_after or plan.steps)
    begun = time.monotonic()
    with catch_warnings():
        for noise in (".*does not have many workers.*", ".*`IterableDataset` has `__len__`.*", ".*GPU available.*"):
            filterwarnings("ignore", noise)
        filterwarnings("ignore", category=UserWarning, module="lightning")
        filterwarnings("ignore", ".*LeafSpec.*", category=FutureWarning)
        getLogger("lightning.pytorch").setLevel(ERROR)
        trainer = lightning.Trainer(
            accelerator=device or ("cuda" if torch.cuda.is_available() else "cpu"),
            devices=1,
            precision="bf16-mixed" if plan.precision == "bf16" else "32-true",
            max_steps=stop,
            max_epochs=-1,
            gradient_clip_val=plan.clip,  # the learner clips
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            callbacks=[log],
        )
        kept = out / STATE if (out / STATE).exists() else None
        with _interruptible():
            trainer.fit(learner, _Loaded(source, plan), ckpt_path=kept, weights_only=True)
    spent, last = time.monotonic() - begun, log.last or last_row(out)
    return learner, Fitted(out, trainer.global_step, plan.steps, spent, last)


@contextmanager
def _interruptible() -> Iterator[None]:
    """Ctrl-C stays a KeyboardInterrupt: the trainer would leave the interpreter, and turn the key off."""
    handler = getsignal(SIGINT)
    try:
        yield
    except SystemExit as stop:
        if isinstance(stop.__context__, KeyboardInterrupt):
            signal(SIGINT, handler)
            raise KeyboardInterrupt from None
        raise


class _Loaded(lightning.LightningDataModule):
    """Batches from the step the trainer stands at."""

    def __init__(self, source: Source, plan: Plan) -> None:
        super().__init__()
        self._source, self._plan = source, plan

    def train_dataloader(self) -> Any:
        """Loader of the steps that are left."""
        assert self.trainer is not None
        return _Endless(self._source.loader(self.trainer.global_step, self._plan.steps))

    def transfer_batch_to_device(self, batch: Any, *_: Any) -> Any:
        """As it is: the source brings it to the device."""
        return batch


class _Endless:
    """A loader that does not tell its length: a trainer that was resumed would compare it with all its steps."""

    def __init__(self, loader: Iterable[Any]) -> None:
        self._loader = loader

    def __iter__(self) -> Iterator[Any]:
        return iter(self._loader)


class _Log(Callback):
    """Rows of the log, and the state and weights every so often."""

    def __init__(
        self, out: Path, plan: Plan, source: Source, every: int, save: int, until: float, progress: Progress | None
    ) -> None:
        self._out, self._plan, self._source, self._every, self._save_every = out, plan, source, every, save
        self._until, self._progress = until, progress
        self.last: dict[str, float] = {}
        self._begun = self._since = math.nan
        self._scenes = self._images = 0

    def on_train_start(self, trainer: lightning.Trainer, _: lightning.LightningModule) -> None:
        """Keep the rows up to the step that is resumed from."""
        file, done = self._out / LOG, trainer.global_step
        rows = file.read_text().splitlines()[1:] if file.exists() else []
        kept = [row for row in rows if int(row.split(",")[0]) <= done]
        atomic_write(file, "\n".join([",".join(_COLUMNS), *kept, ""]).encode())

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
        """State to resume from, and the running mean as a checkpoint."""
        fresh = self._out / f"{STATE}.new"
        trainer.save_checkpoint(fresh)
        fresh.replace(self._out / STATE)
        told = {
            "plan": self._plan.to_dict(), "source": self._source.describe(), "steps": trainer.global_step,
            "torch": torch.__version__,
        }  # fmt: skip
        weights = learner.averaged()
        atomic_write(self._out / WEIGHTS, dump_sornet(learner.net, told, weights=weights))

    def _write(self, trainer: lightning.Trainer, learner: SornetLearner) -> None:
        values = {name: float(value) for name, value in learner.told.items()}  # waits for the device
        now = time.monotonic()
        span = max(now - self._since, 1e-9)
        step = trainer.global_step
        self.last = {
            "step": step, **{name: values.get(name, math.nan) for name in _LOSSES},
            "rate": self._plan.rate * self._plan.factor(step - 1),
            "scenes_per_s": self._scenes / span, "images_per_s": self._images / span, "seconds": now - self._begun,
        }  # fmt: skip
        with (self._out / LOG).open("a") as file:
            file.write(",".join([str(step), *(f"{self.last[name]:.6g}" for name in _COLUMNS[1:])]) + "\n")
        self._since, self._scenes, self._images = now, 0, 0
        if self._progress is not None:
            self._progress(step, self._plan.steps, self.last)


def last_row(folder: str | Path) -> dict[str, float]:
    """The last row of a training's log; empty where there is none."""
    file = Path(folder) / LOG
    rows = file.read_text().splitlines()[1:] if file.exists() else []
    return dict(zip(_COLUMNS, map(float, rows[-1].split(",")), strict=True)) if rows else {}


def _same_plan(out: Path, plan: Plan, source: Source) -> dict[str, Any]:
    """Plan and source as JSON values, or ConfigError where the folder holds another training."""
    file = out / PLAN
    whole: dict[str, Any] = json.loads(json.dumps({"plan": plan.to_dict(), "source": source.describe()}))
    if file.exists():
        stored = json.loads(file.read_text())
        if stored != whole:
            differs = _difference(stored, whole)
            raise ConfigError(f"{out} holds another training: {differs}; choose another folder or remove it")
    return whole


def _difference(stored: Mapping[str, Any], whole: Mapping[str, Any]) -> str:
    """The first setting in which two trainings differ.

    >>> _difference({"source": {"kept": 8, "fresh": 4}}, {"source": {"kept": 8}})
    'its fresh is 4, now it is not set'
    """
    was, now = ({(p, k): v for p in told for k, v in told[p].items()} for told in (stored, whole))
    at = next(at for at in now | was if at not in was or at not in now or was[at] != now[at])
    before, after = (repr(told[at]) if at in told else "not set" for told in (was, now))
    return f"its {at[1]} is {before}, now it is {after}"
