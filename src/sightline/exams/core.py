"""What every exam has in common: items go to a model, answers come back as records.

An *item* is what a model is shown in one call: a scene, or an image pair. Its answer becomes *records*, one atomic
judgement each. `sit` walks through the items and writes each one's records before it asks the next.
"""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np

from sightline.errors import ConfigError, ModelError, SightlineError
from sightline.exams.run import ItemRecords, Run, RunIdentity
from sightline.skills import skills_of
from sightline.store import Dataset

Progress = Callable[[int, int], None]
"""Called with (items done, items in all)."""


class Item(Protocol):
    """What a model is shown in one call."""

    @property
    def id(self) -> str:
        """Unique in the exam, and the same in every run over the same data."""

    @property
    def scene_id(self) -> str:
        """The scene it is about (the subject's, if it spans two)."""

    @property
    def cluster_id(self) -> str:
        """The independent unit for statistics: the scene, or the image pair."""


ItemT = TypeVar("ItemT", bound=Item)


class Exam(Protocol[ItemT]):
    """One exam with its options fixed."""

    name: str

    @property
    def skills(self) -> tuple[str, ...]:
        """Skills a model needs to sit it."""

    def options(self) -> dict[str, Any]:
        """Everything that changes items or records, as JSON values; part of a run's identity."""

    def items(self, data: Dataset) -> Sequence[ItemT]:
        """All items, in a fixed order."""

    def prepare(self, model: object, data: Dataset) -> None:
        """Let the model learn what it may before the exam."""

    def examine(self, model: object, item: ItemT) -> ItemRecords:
        """Ask the model about one item and mark its answer."""


@runtime_checkable
class Checks(Protocol):
    """An exam that can tell beforehand whether a model can sit it."""

    def check(self, model: object, data: Dataset) -> Mapping[str, Any]:
        """Refuse a model that cannot; else what is worth noting in the run's manifest."""


@dataclass(frozen=True)
class Candidate:
    """A model and the words it was asked for by.

    Attributes:
        spec: What the user wrote.
        name: How tables call it.
        model: The object itself.
        fingerprint: Changes when the file behind the spec does; empty for built-in models.
    """

    spec: str
    name: str
    model: object
    fingerprint: str = ""


def require_skills(candidate: Candidate, needed: Sequence[str]) -> None:
    """ModelError unless the candidate has every skill in `needed`."""
    has = skills_of(candidate.model)
    missing = [skill for skill in needed if skill not in has]
    if missing:
        raise ModelError(
            f"{candidate.spec}: the exam needs the skill {missing[0]!r}, i.e. a method {missing[0]}(); "
            f"this model has {', '.join(has) or 'none'}"
        )


def sit(
    exam: Exam[Any],
    candidate: Candidate,
    data: Dataset,
    folder: str | Path,
    *,
    limit: int | None = None,
    progress: Progress | None = None,
) -> Run:
    """Let a model sit an exam; run it again on the same folder and it goes on where it stopped.

    Args:
        exam: The exam.
        candidate: The model.
        data: The scenes.
        folder: The run's folder, made if missing; a folder of another run is a ConfigError.
        limit: Only the first so many items; a later call without the limit resumes with the rest. Records that an
            earlier call made of others stay; `Run.asked` tells them apart.
        progress: Told after every item.
    """
    if limit is not None and limit < 0:
        raise ConfigError(f"the limit must not be negative, found {limit}")
    require_skills(candidate, exam.skills)
    identity = RunIdentity(
        exam=exam.name,
        options=exam.options(),
        model=candidate.spec,
        model_name=candidate.name,
        model_fingerprint=candidate.fingerprint,
        data_fingerprint=data.fingerprint,
    )
    # Before the folder is made: data without items, or a model that cannot sit, leaves nothing behind.
    noted = exam.check(candidate.model, data) if isinstance(exam, Checks) else {}
    items = exam.items(data)
    with Run.start(Path(folder), identity, data_path=data.path) as run:
        due = items if limit is None else items[:limit]
        run.asked = None if limit is None else frozenset(item.id for item in due)
        run.note(items=len(items), seeds={"model": getattr(candidate.model, "seed", None)}, **noted)
        if any(item.id not in run.done for item in due):
            exam.prepare(candidate.model, data)
            run.note(model=facts_of_model(candidate.model))
        for number, item in enumerate(due, start=1):
            if item.id not in run.done:
                with _about(item):
                    marks = exam.examine(candidate.model, item)
                run.append(item.id, item.scene_id, item.cluster_id, marks)
            if progress is not None:
                progress(number, len(due))
        run.close(finished=all(item.id in run.done for item in items))
    return run


def facts_of_model(model: object) -> dict[str, Any]:
    """What a model tells of itself (chosen margins, weights…) as JSON values, or nothing."""
    tell = getattr(model, "facts", None)
    if not callable(tell):
        return {}
    with asking(model, "facts"):
        told: dict[str, Any] = json.loads(json.dumps(dict(tell()), default=_plain, allow_nan=False))
    return told


@contextmanager
def asking(model: object, method: str) -> Iterator[None]:
    """Around a call of a model's method: whatever goes wrong in there becomes a ModelError that says where."""
    try:
        yield
    except SightlineError:
        raise
    except (Exception, SystemExit) as error:
        frames = traceback.extract_tb(error.__traceback__)[2:]  # above: this function, and its caller
        own = [frame for frame in frames if frame.filename == frames[0].filename]
        place = f" ({Path(own[-1].filename).name}, line {own[-1].lineno})" if own else ""
        raise ModelError(
            f"{type(model).__name__}: {method}() failed: {type(error).__name__}: {error}{place}"
        ) from error


@contextmanager
def _about(item: Item) -> Iterator[None]:
    """Around an examination: what the model did wrong in there is told with the scene it was asked about."""
    try:
        yield
    except ModelError as error:
        error.args = (f"scene {item.id}: {error}",)  # the error keeps its kind
        raise


def _plain(value: object) -> object:
    """A number for a NumPy number, a text for anything else JSON has no word for."""
    return value.item() if isinstance(value, np.generic) else str(value)
