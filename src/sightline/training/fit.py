"""Train the network of any task in a folder, and go on there where it was interrupted: Lightning's trainer."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from logging import ERROR, getLogger
from pathlib import Path
from signal import SIGINT, getsignal, signal
from typing import Any
from warnings import catch_warnings, filterwarnings

import lightning
import torch

from sightline.threads import computing, idle_threads
from sightline.training.folder import STATE, identity, last_row
from sightline.training.learner import Learner
from sightline.training.log import Progress, States, TrainingLog
from sightline.training.plan import TrainingTask


@dataclass(frozen=True, slots=True)
class Fitted:
    """Steps, time and files of a training that ended or was stopped.

    Attributes:
        weights: The finished network; beside it ``log.csv``, ``plan.json`` and ``state.ckpt``.
        steps: Steps done, of `planned`.
        seconds: Spent in this call.
        last: The log's last row.
    """

    weights: Path
    steps: int
    planned: int
    seconds: float
    last: Mapping[str, float]


def fit(
    task: TrainingTask,
    folder: str | Path,
    *,
    log_every: int = 50,
    save_every: int = 500,
    stop_after: int | None = None,
    seconds: float = math.inf,
    progress: Progress | None = None,
    saved: Callable[[int], None] | None = None,
    device: str = "",
) -> tuple[Learner, Fitted]:
    """Train; on the folder of an interrupted training of the same plan it goes on where that stopped.

    Args:
        task: What to train, how and on what.
        folder: Made if missing.
        log_every: Steps between rows of the log.
        save_every: Steps between states; besides, one is saved after a minute and then every ten minutes.
        stop_after: Stop early, at this step; call again to go on.
        seconds: Stop early, at the first step that ends after so many; call again to go on.
        progress: Told at every row of the log.
        saved: Told the step of the state that lies in the folder: the one gone on from, then each that is saved.
        device: ``cpu`` or ``cuda``; by default the card where there is one.

    Raises:
        ConfigError: The folder is of another training or of something else, or the training diverged.
        DataError: The folder's plan or state cannot be read.
    """
    out, plan = Path(folder), task.plan
    facts = identity(task, out)  # before the network is made
    learner = Learner(task)
    log = TrainingLog(out, task, facts, log_every, save_every, time.monotonic() + seconds, progress, saved)
    stop = min(plan.steps, stop_after or plan.steps)
    start = time.monotonic()
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
            gradient_clip_val=plan.clip or None,  # the learner clips
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            callbacks=[log],
            plugins=[States(task.name)],
        )
        state = out / STATE if (out / STATE).exists() else None
        with _interruptible(), computing(idle_threads()):
            trainer.fit(learner, _Batches(task), ckpt_path=state, weights_only=True)
    if not log.last:
        log.done_before(trainer, learner)
    spent, last = time.monotonic() - start, log.last or last_row(out)
    return learner, Fitted(out / task.weights, trainer.global_step, plan.steps, spent, last)


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


class _Batches(lightning.LightningDataModule):
    """Batches from the step the trainer stands at."""

    def __init__(self, task: TrainingTask) -> None:
        super().__init__()
        self._task = task

    def train_dataloader(self) -> Any:
        """Loader of the steps that are left."""
        assert self.trainer is not None
        return _Endless(self._task.source.loader(self.trainer.global_step, self._task.plan.steps))

    def transfer_batch_to_device(self, batch: Any, *_: Any) -> Any:
        """As it is: the task brings it to the device."""
        return batch


class _Endless:
    """A loader that does not tell its length: a trainer that was resumed would compare it with all its steps."""

    def __init__(self, loader: Iterable[Any]) -> None:
        self._loader = loader

    def __iter__(self) -> Iterator[Any]:
        return iter(self._loader)
