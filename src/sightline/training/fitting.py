"""The loop around the learner: Lightning's trainer in the folder of a training; `logbook` writes what it keeps."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from logging import ERROR, getLogger
from pathlib import Path
from signal import SIGINT, getsignal, signal
from typing import Any
from warnings import catch_warnings, filterwarnings

import lightning
import torch

from sightline.errors import ConfigError
from sightline.training.folder import STATE, WEIGHTS, begun, difference, last_row
from sightline.training.learning import SornetLearner
from sightline.training.logbook import Logbook, Progress, States
from sightline.training.plan import Plan
from sightline.training.sources import Source


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
        folder: Made if missing.
        log_every: Steps between rows of the log.
        save_every: Steps between states.
        stop_after: Stop early, at this step; call again to go on.
        seconds: Stop early, at the first step that ends after so many; call again to go on.
        progress: Told at every row of the log.
        device: ``cpu`` or ``cuda``; by default the card where there is one.

    Raises:
        ConfigError: The folder is of another training or of something else, or the training diverged.
        DataError: The folder's plan or state cannot be read.
    """
    out = Path(folder)
    told = _same_training(out, plan, source)
    learner = SornetLearner(plan, source)
    log = Logbook(out, plan, told, log_every, save_every, time.monotonic() + seconds, progress)
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
            gradient_clip_val=plan.clip,  # the learner clips
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            callbacks=[log],
            plugins=[States()],
        )
        kept = out / STATE if (out / STATE).exists() else None
        with _interruptible():
            trainer.fit(learner, _Loaded(source, plan), ckpt_path=kept, weights_only=True)
    if not log.last:
        log.done_before(trainer, learner)
    spent, last = time.monotonic() - start, log.last or last_row(out)
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


def _same_training(out: Path, plan: Plan, source: Source) -> dict[str, Any]:
    """Plan and source as JSON values, or ConfigError where the folder holds another training."""
    whole: dict[str, Any] = json.loads(json.dumps({"plan": plan.to_dict(), "source": source.facts()}))
    stored = begun(out)
    if stored is not None and stored != whole:
        differs = difference(stored, whole)
        raise ConfigError(f"{out} holds another training: {differs}; choose another folder or remove it")
    return whole
