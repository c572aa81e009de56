"""``sightline exam turing``: who sits, over what, and the JSON document."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from sightline.cli import exam_sitting
from sightline.cli.console import counted, err, file_name, print_json, quiet_stdout
from sightline.cli.exam_sitting import RESAMPLES, SEED, Room, Sat, able, document, everybody, sit_all, tell_next
from sightline.cli.exam_turing_print import print_scores
from sightline.errors import ConfigError

if TYPE_CHECKING:
    import polars as pl

    from sightline.exams.turing.exam import TuringExam
    from sightline.exams.turing.scores import TuringScores
    from sightline.exams.turing.written_exam import WrittenExam
    from sightline.stats import Interval

_DEFAULTED: Final = ("streams", "seed", "min_support", "epsilon", "smoothing")


@dataclass(frozen=True, kw_only=True)
class Wishes(exam_sitting.Wishes):
    """What the user asked for; None where the exam's own default will do."""

    data: Path | None
    train: Path | None
    train_split: str | None
    halves: bool
    vocabulary: str | None
    streams: int | None
    questions: int | None
    seed: int | None
    withhold: bool
    deadline: float | None
    closed: bool
    min_support: int | None
    epsilon: float | None
    smoothing: float | None
    corpora: Path | None
    view: str | None
    assume: list[str]
    no_assumptions: bool
    test: Path | None
    key: Path | None


class ImageRoom(Room["TuringExam | WrittenExam"]):
    """An exam about the first so many images, with all their streams."""

    @property
    def limit(self) -> int | None:
        """How many items are about those images."""
        if self.wanted is None:
            return None
        items = self.exam.items(self.data)
        images = set(list(dict.fromkeys(item.scene_id for item in items))[: self.wanted])
        return sum(item.scene_id in images for item in items)


def sit_turing(wish: Wishes) -> None:
    """Sit the Turing exam and print the scores."""
    from sightline.exams.turing.exam import BASELINES

    beside = dict(BASELINES) if wish.baselines else {}
    specs = everybody(wish.models, beside.values())
    with quiet_stdout(active=wish.json):
        ready = {spec: able(spec, ("answer",)) for spec in specs}  # all are asked before the first begins
        room = entered(wish)
        places = {spec: wish.to / room.exam.name / slug(spec, room.exam) for spec in specs}
        sat = sit_all(places, partial(entered, wish), wish, ready=ready, room=room)
    told = marked(sat, wish.models or specs[:1], beside, room.exam.epsilon)
    if wish.json:
        print_json(told)
        return
    print_scores(told)
    tell_next(wish, room.exam.name)


def entered(wish: Wishes) -> ImageRoom:
    """The exam and its data, all of it checked."""
    from sightline.cli.turing_asking import assumptions_of
    from sightline.exams.turing.exam import TuringExam
    from sightline.exams.turing.vocabulary.files import load_vocabulary
    from sightline.exams.turing.written_exam import WrittenExam
    from sightline.generate import open_any

    if wish.test is not None:
        refuse_with_test(wish)
        assert wish.key is not None
        written = WrittenExam(wish.test, wish.key, withhold=wish.withhold, deadline=wish.deadline)
        return ImageRoom(written, written.dataset(), wish.limit)
    if wish.key is not None:
        raise ConfigError("--key goes with --test")
    if wish.data is None:
        raise ConfigError("nothing to ask about: give --data, or --test and --key")
    data = open_any(wish.data)
    train = data if wish.train is None or wish.train.resolve() == wish.data.resolve() else open_any(wish.train)
    exam = TuringExam(
        train,
        None if wish.vocabulary is None else load_vocabulary(wish.vocabulary),
        questions=wish.questions,
        withhold=wish.withhold,
        deadline=wish.deadline,
        closed=wish.closed,
        view=wish.view,
        split=wish.split,
        train_split=wish.train_split,
        halves=wish.halves,
        assumptions=assumptions_of(wish.assume, none=wish.no_assumptions),
        corpora=wish.corpora or (wish.to / "corpora" if wish.workers else None),  # workers share one
        **{name: value for name in _DEFAULTED if (value := getattr(wish, name)) is not None},
    )
    noted = exam.check(None, data)
    if noted["shared_ids"]:
        shared = counted(noted["shared_ids"], "scene id")
        err.print(f"note: {shared} in both datasets; if those are the same images, answers were learned")
    return ImageRoom(exam, data, wish.limit)


def refuse_with_test(wish: Wishes) -> None:
    """ConfigError for what a written test has settled, and for one without its key."""
    if wish.key is None:
        raise ConfigError("a written test is marked with its key: give --key")
    settled = (
        "data",
        "train",
        "split",
        "train_split",
        "vocabulary",
        "questions",
        "view",
        "halves",
        "closed",
        "assume",
        "no_assumptions",
        "corpora",
        *_DEFAULTED,
    )
    for name in settled:
        given = getattr(wish, name)
        if given is not None and given is not False and given != []:
            raise ConfigError(f"--{name.replace('_', '-')} was settled when the test was written; leave it out")


def slug(spec: str, exam: TuringExam | WrittenExam) -> str:
    """Folder name of a model's run, telling apart what must not be mixed."""
    told = json.dumps(exam.options(), sort_keys=True)
    return f"{file_name(spec) or 'model'}@{blake2b(told.encode(), digest_size=4).hexdigest()}"


def marked(
    sat: Mapping[str, Sat], models: list[str], baselines: Mapping[str, str], epsilon: float
) -> dict[str, Any]:
    """The JSON document, with the monitor.

    Scores of what was asked for are computed from the records on disk and kept beside them.
    """
    from sightline.exams.run import Run
    from sightline.exams.turing.exam import BLIND
    from sightline.exams.turing.monitor import monitor

    found = {spec: scored(own) for spec, own in sat.items()}
    blind: dict[str, Interval] = {name: found[name].accuracy["all"] for name in BLIND if name in found}
    asked = questions_of(sat[models[0]])
    watched = monitor(asked, blind, epsilon=epsilon, resamples=RESAMPLES, seed=SEED).to_dict()
    results = {}
    for spec, own in sat.items():
        run, scores = Run.open(own.folder), found[spec].to_dict()
        run.write_metrics({**scores, "monitor": watched, "resamples": RESAMPLES, "seed": SEED})
        results[spec] = {
            "model": run.name,
            "run": str(run.folder),
            "status": run.status,
            "options": run.options,
            **scores,
        }
    return document("turing", results, models, baselines, monitor=watched)


def questions_of(sat: Sat) -> pl.DataFrame:
    """The questions that were asked for and put, one row each."""
    from sightline.exams.run import Run
    from sightline.exams.turing.records import asked_of

    return asked_of(Run.open(sat.folder).records(sat.items))


def scored(sat: Sat) -> TuringScores:
    """Scores of what was asked for, from the records on disk."""
    from sightline.exams.run import Run
    from sightline.exams.turing.records import streams_of
    from sightline.exams.turing.scores import scores

    streams = streams_of(Run.open(sat.folder))
    due = streams if sat.items is None else streams.filter(streams["item"].is_in(sat.items))
    return scores(questions_of(sat), due, resamples=RESAMPLES, seed=SEED)
