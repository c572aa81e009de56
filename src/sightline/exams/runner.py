"""Let a model take an exam: items go to the model, answers come back as records.

An *item* is what a model is shown in one call: a scene, or an image pair. Its answer becomes *records*, one atomic
judgement each. `run_exam` walks through the items and writes each one's records before it asks the next.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from threading import local
from typing import Any

from sightline.errors import ConfigError, DataError, ModelError, PictureError
from sightline.exams.base import Candidate, Exam, Item, given_options
from sightline.exams.budget import Budget, BudgetError
from sightline.exams.estimates import Pace, RestForecast, forecast, rehearse, usage_of
from sightline.exams.hooks import call_hook, facts_of_model, model_call
from sightline.exams.run import VARIATION, Asking, ItemRecords, Run, RunIdentity
from sightline.exams.run_schema import SAMPLES
from sightline.plain import plain
from sightline.skills import skills_of
from sightline.store import Dataset
from sightline.text import one_of

Progress = Callable[[int, int], None]
"""Called with (items done, items in all)."""

Ask = Callable[[Any], ItemRecords]


def missing_skills(exam: Exam[Any], has: Collection[str]) -> tuple[str, ...]:
    """The skills of which a model lacks one for an exam, any will do; none where it can take it."""
    lacking = [[skill for skill in group if skill not in has] for group in exam.skills]
    fewest = min(map(len, lacking))
    return tuple(dict.fromkeys(skills[0] for skills in lacking if len(skills) == fewest)) if fewest else ()


def require_skills(exam: Exam[Any], candidate: Candidate) -> None:
    """ModelError unless the candidate has the skills of the exam."""
    has = skills_of(candidate.model)
    missing = missing_skills(exam, has)
    if missing:
        names, methods = one_of([repr(name) for name in missing]), one_of([f"{name}()" for name in missing])
        raise ModelError(
            f"{candidate.spec}: the exam needs the skill {names}, i.e. a method {methods}; "
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
    samples: int = 1,
    budget: Budget | None = None,
    announce: Callable[[str], None] | None = None,
    variation: str = "",
    variants: int = 0,
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
        samples: How often every item is asked, for a model that draws its answers; all are kept (`SAMPLES`).
        budget: What a model that has the hook takes its requests from; where it is spent the run stops.
        announce: Called with how long the run will take and what it will use, where that is long: before it, as far
            as its prompts tell, and after the first items.
        variation: What the candidate's questions are changed by (see `exams.variants`); part of the run's identity.
        variants: How many such runs will follow this one; for what is announced.
    """
    if samples < 1:
        raise ConfigError(f"samples must be at least 1, found {samples}")
    if resume and overwrite:
        raise ConfigError("to resume a run and to overwrite it exclude each other")
    if limit is not None and limit < 0:
        raise ConfigError(f"the limit must not be negative, found {limit}")
    require_skills(exam, candidate)
    exam = exam.settled(data)
    identity = RunIdentity(
        exam=exam.name,
        options=exam.identity(data)
        | ({SAMPLES: samples} if samples > 1 else {})
        | ({VARIATION: variation} if variation else {}),
        model=candidate.spec,
        model_name=candidate.name,
        model_fingerprint=candidate.fingerprint,
        data_fingerprint=data.fingerprint,
    )
    # Before the folder is made: data without items, or a model that cannot take part, leaves nothing behind.
    checked = exam.check(candidate.model, data)
    items = exam.asked_of(candidate.model, items_of(exam, data))
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
        if hasattr(candidate.model, "budget"):
            candidate.model.budget = budget
        with _noting_usage(run, candidate.model):
            left = [item for item in due if item.id not in run.done]
            told = announce is not None or budget is not None
            each = rehearse(exam, candidate.model, data, left, samples) if told else None
            ask = _Asker(exam, candidate.model, data, samples, Pace(candidate.model, budget, each))
            if announce is not None and each is not None:
                sentence = forecast(each, len(left), ask.at_once, variants, budget)
                announce(sentence) if sentence else None
            _ask_all(ask, run, due, progress, announce)
        run.close(finished=all(item.id in run.done or item.id in run.broken for item in items))
        run.asking = Asking(
            items=None if limit is None and "budget" not in run.manifest else _within(run, due),
            asked=sum(item.id in run.done for item in due) - kept,
            kept=kept,
            kept_from=run.kept_from if kept else None,
            earlier=min(kept, run.answered_earlier),
        )
    return run


def _within(run: Run, due: Sequence[Any]) -> frozenset[str]:
    """Ids of the items that a bounded run is scored on."""
    spent = "budget" in run.manifest
    return frozenset(item.id for item in due if not spent or item.id in run.done)


class _Asker:
    """Asks one model item after item, or several at once from threads of their own; each as often as wanted."""

    def __init__(self, exam: Exam[Any], model: Any, data: Dataset, samples: int, pace: Pace) -> None:
        self.exam, self.model, self.data, self.samples, self.pace = exam, model, data, samples, pace
        self.at_once = max(1, int(getattr(model, "concurrency", 1)))
        self._threads = local()

    def records(self, items: Sequence[Any]) -> Iterator[tuple[Any, ItemRecords | PictureError]]:
        """Every item with its records, or why its picture cannot be read; in the order of the items.

        Where the budget is spent, items that were under way and could be finished come before the BudgetError.
        """
        if self.at_once == 1:
            for item in items:
                yield item, self._asked(item)
            return
        with ThreadPoolExecutor(self.at_once, thread_name_prefix="asking") as pool:
            waiting: deque[tuple[Any, Future[ItemRecords | PictureError]]] = deque()
            finished = 0
            try:
                for item in items:
                    while waiting and not self._may_begin(finished, [answer for _, answer in waiting]):
                        first, answer = waiting.popleft()
                        yield first, answer.result()
                        finished += 1
                    waiting.append((item, pool.submit(self._asked, item)))
                while waiting:
                    first, answer = waiting.popleft()
                    yield first, answer.result()
            except BudgetError:
                pool.shutdown(wait=True, cancel_futures=True)
                for item, answer in waiting:
                    if not answer.cancelled() and answer.exception() is None:
                        yield item, answer.result()
                raise
            finally:
                pool.shutdown(wait=True, cancel_futures=True)

    def _may_begin(self, finished: int, waiting: Sequence[Future[Any]]) -> bool:
        """Whether another item may begin: neither too many are waiting, nor would the budget be too small."""
        running = sum(not answer.done() for answer in waiting)
        ended = finished + len(waiting) - running
        return len(waiting) < 2 * self.at_once and self.pace.allows(ended, running)

    def _asked(self, item: Any) -> ItemRecords | PictureError:
        ask: Ask | None = getattr(self._threads, "ask", None)
        if ask is None:
            ask = self._threads.ask = self.exam.asker(self.model, self.data)
        try:
            with _naming(item):
                return self._sampled(ask, item)
        except PictureError as error:
            return error

    def _sampled(self, ask: Ask, item: Any) -> ItemRecords:
        """Records of the first asking, with the answers of all."""
        drawn = []
        for number in range(self.samples):
            begin = getattr(self.model, "begin_sample", None)
            if callable(begin):
                with model_call(self.model, "begin_sample"):
                    begin(number)
            drawn.append(ask(item))
        first = drawn[0]
        if self.samples == 1:
            return first
        for other in drawn[1:]:
            if other.columns.get("truth") != first.columns.get("truth"):
                raise ModelError("asked again it was asked something else: --samples goes with given boxes")
        answers = [list(of) for of in zip(*(one.columns["answer"] for one in drawn), strict=True)]
        return ItemRecords(first.shared, {**first.columns, SAMPLES: answers})


def _ask_all(
    ask: _Asker, run: Run, due: Sequence[Any], progress: Progress | None, announce: Callable[[str], None] | None
) -> None:
    if run.broken:  # an item that was broken is tried again
        run.broken = {}
        run.note(broken={})
    run.manifest.pop("budget", None)
    left = [item for item in due if item.id not in run.done]
    done, rest = len(due) - len(left), RestForecast(announce, ask.model, ask.at_once)
    if progress is not None and done:
        progress(done, len(due))
    try:
        for number, (item, answer) in enumerate(ask.records(left), start=1):
            if isinstance(answer, PictureError):
                run.note_broken(item.id, str(answer))
            else:
                run.append(item.id, item.scene_id, item.cluster_id, answer)
            rest.after(number, len(left) - number)
            if progress is not None:
                progress(done + number, len(due))
    except BudgetError as spent:
        run.note(budget=f"{spent}: {len(run.done)} of {len(due)} items are answered")
    if due and all(item.id in run.broken for item in due):
        raise DataError(f"no picture could be read; the first: {next(iter(run.broken.values()))}")


@contextmanager
def _noting_usage(run: Run, model: Any) -> Iterator[None]:
    """Around the asking: what it used is added to what the run used before."""
    before = usage_of(model)
    try:
        yield
    finally:
        after = usage_of(model)
        if after:
            known: Mapping[str, float] = run.manifest.get("usage", {})
            more = {name: known.get(name, 0) + value - before.get(name, 0) for name, value in after.items()}
            run.note(usage={name: round(value, 3) for name, value in more.items()})


@contextmanager
def _naming(item: Item) -> Iterator[None]:
    """Around a question: what the model did wrong in there is told with the scene it was asked about."""
    try:
        yield
    except ModelError as error:
        error.args = (f"scene {item.id}: {error}",)  # the error keeps its kind
        raise
