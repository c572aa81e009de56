"""Figures of runs sent to where experiments are tracked: TensorBoard, Weights & Biases, MLflow.

A tracker is named ``tensorboard:FOLDER``, ``wandb:PROJECT`` or ``mlflow:URI``. Each run of a model over an exam is
a run there, with every figure as ``<exam>/<path>``, its 95 % limits as ``…/low`` and ``…/high``, and what it was
run with. Nothing is sent but names, options and figures: no answers, no pictures.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Final, Protocol

from sightline import __version__
from sightline.errors import ConfigError, MissingExtraError
from sightline.exams.scoring import RunResult
from sightline.hints import hint
from sightline.text import file_name, without_secrets


@dataclass(frozen=True)
class TrackedRun:
    """What a tracker is told of one run.

    Attributes:
        name: ``<exam>/<model>``, with a word on the options where they are not the usual ones.
        key: The same for the same run on the same data; another for any other.
        config: What it was run with: JSON values.
        figures: Name of a figure → its value; undefined ones are left out.
    """

    name: str
    key: str
    config: Mapping[str, Any]
    figures: Mapping[str, float]


class Tracker(Protocol):
    """Somewhere figures are sent to."""

    def send(self, run: TrackedRun, step: int) -> None:
        """Send the figures of one run at a step."""
        ...


def tracked(result: RunResult) -> TrackedRun:
    """What is told of a scored run."""
    run, identity = result.run, result.run.manifest["identity"]
    figures: dict[str, float] = {}
    for name, interval in result.scores.figures.items():
        path = "/".join((run.exam, *name.path))
        ends = {path: interval.value, f"{path}/low": interval.low, f"{path}/high": interval.high}
        figures |= {key: float(value) for key, value in ends.items() if value is not None and math.isfinite(value)}
    config = {"exam": run.exam, "model": run.name, "status": run.status, "options": dict(run.options)}
    config |= {"data": identity["data_fingerprint"][:12], "sightline": __version__}
    key = hashlib.sha256(f"{run.folder.name}\0{json.dumps(identity, sort_keys=True)}".encode()).hexdigest()[:16]
    return TrackedRun(f"{run.exam}/{run.folder.name}", key, config, figures)


def send_results(results: Iterable[RunResult], trackers: Sequence[Tracker], step: int = 0) -> int:
    """Send scored runs to every tracker, each run once; how many there were."""
    unique = {result.run.folder: result for result in results}
    for result in unique.values():
        for tracker in trackers:
            tracker.send(tracked(result), step)
    return len(unique)


def open_tracker(spec: str) -> Tracker:
    """The tracker of a name such as ``tensorboard:logs``; MissingExtraError where its package is not installed.

    >>> open_tracker("tensorbord:logs")
    Traceback (most recent call last):
    sightline.errors.ConfigError: unknown tracker 'tensorbord', did you mean 'tensorboard'?
    """
    kind, _, place = spec.partition(":")
    if kind not in TRACKERS:
        raise ConfigError(f"unknown tracker {kind!r}{hint(kind, TRACKERS)}")
    if not place:
        raise ConfigError(f"--track {kind} needs a place: {USAGE[kind]}")
    return TRACKERS[kind](place)


def _package(name: str, *, extra: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise MissingExtraError(name.partition(".")[0], extra=extra) from None


class TensorBoardTracker:
    """Writes event files: a folder a run, in which every call adds the figures at its step.

    Args:
        folder: Where TensorBoard looks (``tensorboard --logdir FOLDER``).
    """

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder)
        extra = "tensorboard"
        self._files = _package("tensorboard.summary.writer.event_file_writer", extra=extra)
        self._events = _package("tensorboard.compat.proto.event_pb2", extra=extra)
        self._scalar = _package("tensorboard.plugins.scalar.summary_v2", extra=extra).scalar_pb
        self._text = _package("tensorboard.plugins.text.summary_v2", extra=extra).text_pb

    def send(self, run: TrackedRun, step: int) -> None:
        """Write the figures of one run at a step."""
        parts = [file_name(part) for part in run.name.split("/")]
        suffix = f".{run.key}"  # two processes may write at once
        writer = self._files.EventFileWriter(str(self._folder.joinpath(*parts)), filename_suffix=suffix)
        config = json.dumps(run.config, indent=2, sort_keys=True)
        summaries = [self._text("run", f"```\n{config}\n```")]
        summaries += [self._scalar(name, value) for name, value in run.figures.items()]
        for summary in summaries:
            writer.add_event(self._events.Event(wall_time=time.time(), step=step, summary=summary))
        writer.close()


class WandbTracker:
    """Sends to Weights & Biases; its key, server and mode are taken from its own environment variables.

    Args:
        project: ``PROJECT`` or ``ENTITY/PROJECT``.
    """

    def __init__(self, project: str) -> None:
        entity, _, name = project.rpartition("/")
        self._place = {"project": name, **({"entity": entity} if entity else {})}
        self._wandb = _package("wandb", extra="wandb")

    def send(self, run: TrackedRun, step: int) -> None:
        """Send the figures of one run at a step; the same run again adds to it."""
        how = {"id": run.key, "name": run.name, "group": run.config["exam"], "resume": "allow", "reinit": True}
        opened = self._wandb.init(**self._place, **how, config=dict(run.config))
        opened.log(dict(run.figures), step=step)
        opened.finish()


class MlflowTracker:
    """Sends to MLflow, into the experiment ``sightline``.

    Args:
        uri: Of the tracking server, or ``sqlite:///FILE``.
    """

    EXPERIMENT: Final = "sightline"

    def __init__(self, uri: str) -> None:
        self._mlflow = _package("mlflow", extra="mlflow")
        self._client = self._mlflow.MlflowClient(tracking_uri=uri)

    def send(self, run: TrackedRun, step: int) -> None:
        """Send the figures of one run at a step; the same run again adds to it."""
        found = self._client.get_experiment_by_name(self.EXPERIMENT)
        experiment = found.experiment_id if found else self._client.create_experiment(self.EXPERIMENT)
        before = self._client.search_runs([experiment], f"tags.sightline_key = '{run.key}'", max_results=1)
        if before:
            number = before[0].info.run_id
        else:
            tags = {"sightline_key": run.key}
            number = self._client.create_run(experiment, run_name=run.name, tags=tags).info.run_id
            for name, value in run.config.items():
                text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
                self._client.log_param(number, name, text[:_LONGEST_PARAMETER])
        for name, value in run.figures.items():
            self._client.log_metric(number, metric_name(name), value, step=step)
        self._client.set_terminated(number)


_LONGEST_PARAMETER: Final = 500


def metric_name(name: str) -> str:
    """What MLflow takes for a name: letters, digits, and ``_ - . /``.

    >>> metric_name("relations/f1/is on"), metric_name("context/a→b")
    ('relations/f1/is_on', 'context/a_b')
    """
    return re.sub(r"[^A-Za-z0-9_./-]", "_", name)


TRACKERS: Final[Mapping[str, Callable[[str], Tracker]]] = {
    "tensorboard": TensorBoardTracker,
    "wandb": WandbTracker,
    "mlflow": MlflowTracker,
}
USAGE: Final = {"tensorboard": "tensorboard:FOLDER", "wandb": "wandb:PROJECT", "mlflow": "mlflow:URI"}


def shown_place(spec: str) -> str:
    """A tracker's name as it may be printed: without passwords of an address."""
    return without_secrets(spec)
