"""Let a model take an exam: items go to the model, answers come back as records.

An *item* is what a model is shown in one call: a scene, or an image pair. Its answer becomes *records*, one atomic
judgement each. `run_exam` walks through the items and writes each one's records before it asks the next.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from sightline.errors import ConfigError, DataError, ModelError, PictureError
from sightline.exams.base import Candidate, Exam, Item, given_options
from sightline.exams.hooks import call_hook, facts_of_model
from sightline.exams.run import Asking, Run, RunIdentity
from sightline.plain import plain
from sightline.skills import skills_of
from sightline.store import Dataset

Progress = Callable[[int, int], None]
"""Called with (items done, items in all)."""


def missing_skill(exam: Exam[Any], has: Collection[str]) -> str | None:
    """The skill to ask for first of those a model lacks for an exam; None where it can take it."""
    lacking = [[skill for skill in group if skill not in has] for group in exam.skills]
    return None if any(not skills for skills in lacking) else min(lacking, key=len)[0]


def require_skills(exam: Exam[Any], candidate: Candidate) -> None:
    """ModelError unless the candidate has the skills of the exam."""
    has = skills_of(candidate.model)
    missing = missing_skill(exam, has)
    if missing is not None:
        raise ModelError(
            f"{candidate.spec}: the exam needs the skill {missing!r}, i.e. a method {missing}(); "
            f"this model has {', '.join(has) or 'none'}"
        )


def items_of(exam: Exam[Any], data: Dataset) -> Sequence[Any]:
    """The items of an exam over a dataset, made once and kept with the opened dataset."""
    items: Sequence[Any] = data.memo((exam, "items"), lambda: exam.items(data))
    return items


def run_exam(
    exam: Exam[Any],
    candidate: Candidate,
    data: Dataset,
    folder: str | Path,
    *,
    limit: int | None = None,
    progress: Progress | None = None,
    resume: bool = False,
    overwrite: bool = False,
) -> Run:
    """Let a model take an exam; call it again with the same folder and it goes on where it stopped.

    A picture that cannot be read is named in the manifest and its item left out; a model that breaks its protocol
    ends the run.

    Args:
        exam: The exam.
        candidate: The model.
        data: The scenes.
        folder: The run's folder, made if missing; a folder of another run is a ConfigError.
        limit: Only the first so many items; a later call without the limit resumes with the rest. Records that an
            earlier call made of others stay; `Run.asking` tells them apart.
        progress: Called after every item.
        resume: Also go on with the answers of a model that has changed, or of which that cannot be told.
        overwrite: Ask everything again, whatever the folder holds.
    """
    if resume and overwrite:
        raise ConfigError("to resume a run and to overwrite it exclude each other")
    if limit is not None and limit < 0:
        raise ConfigError(f"the limit must not be negative, found {limit}")
    require_skills(exam, candidate)
    exam = exam.settled(data)
    identity = RunIdentity(
        exam=exam.name,
        options=exam.identity(data),
        model=candidate.spec,
        model_name=candidate.name,
        model_fingerprint=candidate.fingerprint,
        data_fingerprint=data.fingerprint,
    )
    # Before the folder is made: data without items, or a model that cannot take part, leaves nothing behind.
    checked = exam.check(candidate.model, data)
    items = items_of(exam, data)
    start = partial(Run.start, Path(folder), identity, data_path=data.path)
    with start(resume=resume, overwrite=overwrite) as run:
        due = items if limit is None else exam.limited(items, limit)
        kept = sum(item.id in run.done for item in due)
        given = {k: v.path if isinstance(v, Dataset) else v for k, v in given_options(exam).items()}
        seeds = {"model": getattr(candidate.model, "seed", None)}
        run.note(items=len(items), seeds=seeds, **checked, given=plain(given), checked=list(checked))
        if any(item.id not in run.done for item in due):
            call_hook(candidate.model, "prepare", exam.name, lambda: exam.study(candidate.model, data))
            run.note(model=facts_of_model(candidate.model))
        _ask_all(exam, candidate, data, run, due, progress)
        run.close(finished=all(item.id in run.done or item.id in run.broken for item in items))
        run.asking = Asking(
            items=None if limit is None else frozenset(item.id for item in due),
            asked=sum(item.id in run.done for item in due) - kept,
            kept=kept,
            kept_from=run.kept_from if kept else None,
            earlier=min(kept, run.answered_earlier),
        )
    return run


def _ask_all(
    exam: Exam[Any], candidate: Candidate, data: Dataset, run: Run, due: Sequence[Any], progress: Progress | None
) -> None:
    ask = exam.asker(candidate.model, data)
    if run.broken:  # an item that was broken is tried again
        run.broken = {}
        run.note(broken={})
    for number, item in enumerate(due, start=1):
        if item.id not in run.done:
            try:
                with _naming(item):
                    records = ask(item)
            except PictureError as error:
                run.note_broken(item.id, str(error))
            else:
                run.append(item.id, item.scene_id, item.cluster_id, records)
        if progress is not None:
            progress(number, len(due))
    if due and all(item.id in run.broken for item in due):
        raise DataError(f"no picture could be read; the first: {next(iter(run.broken.values()))}")


@contextmanager
def _naming(item: Item) -> Iterator[None]:
    """Around a question: what the model did wrong in there is told with the scene it was asked about."""
    try:
        yield
    except ModelError as error:
        error.args = (f"scene {item.id}: {error}",)  # the error keeps its kind
        raise
