"""The Turing exam: yes–no questions about an image, made while the model is tested."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

import polars as pl

from sightline.errors import ConfigError, DataError
from sightline.exams.core import asking
from sightline.exams.run import ItemRecords
from sightline.exams.turing.annotations.annotation import annotate
from sightline.exams.turing.annotations.columns import Columns
from sightline.exams.turing.conversation import TimedModel, administer, check_deadline, check_scenes
from sightline.exams.turing.estimate.estimator import Assumptions
from sightline.exams.turing.estimate.frequencies import Frequencies
from sightline.exams.turing.records import mark
from sightline.exams.turing.stream.steps import Stream
from sightline.exams.turing.study import Recipe, Studies, TuringStudy
from sightline.exams.turing.vocabulary.files import check_against, dump_vocabulary, vocabulary_for
from sightline.exams.turing.vocabulary.vocabulary import Vocabulary
from sightline.scenes import View
from sightline.skills import Answer
from sightline.store import Dataset, Tables, scenes_from_tables

BASELINES: Final[Mapping[str, str]] = {
    name: name for name in ("always_yes", "always_no", "turing_engine", "turing_history")
}
"""What stands in every table: the name there → the model's name."""

BLIND: Final = ("turing_engine", "turing_history")
"""Those that know everything but the picture: what they reach, the stream leaks."""

PRACTICE: Final = 0x5EED
"""Seed of the streams that a model may practise on."""

_KEPT: Final = 4096  # streams kept for the models to come; more are made again


@dataclass(frozen=True)
class TuringItem:
    """One stream about one image.

    Attributes:
        scene_id: The image.
        number: Which stream of it, from 0.
        row: Place of the image among the annotated ones.
        view: Its picture, without truth.
    """

    scene_id: str
    number: int
    row: int
    view: View

    @property
    def id(self) -> str:
        """Scene id and number."""
        return f"{self.scene_id}#{self.number}"

    @property
    def cluster_id(self) -> str:
        """The scene's id: images are independent, the streams of one are not."""
        return self.scene_id


@dataclass
class TuringExam:
    """Streams of questions about every image, learned from other images.

    Attributes:
        train: The images whose annotations tell which questions are unpredictable.
        vocabulary: Words of the questions; None for those that fit the training data.
        streams: Streams an image.
        questions: Most questions of a stream; None for as many as there are.
        seed: Of the random choices.
        withhold: Keep true answers from the model.
        deadline: Seconds for an answer; None to wait.
        closed: Read the annotations of both as if what they do not say were not so.
        min_support: Training images, objects or pairs a chance must rest on.
        epsilon: How far from one half the chance of a yes may lie.
        assumptions: Made about independence.
        view: Id of the view to ask about; None for each scene's first.
        split: The split to be asked about; None for all scenes. `train_split`: the split to learn from.
        halves: Learn from one half of the images and ask about the other, dealt by their ids.
        smoothing: So many yes and no are added to every count of training images, objects or pairs.
        corpora: Folder to keep the training images in as a corpus, shared by all processes; None for memory.
    """

    train: Dataset = field(repr=False, compare=False)
    vocabulary: Vocabulary | None = None
    streams: int = 1
    questions: int | None = None
    seed: int = 0
    withhold: bool = False
    deadline: float | None = None
    closed: bool = False
    min_support: int = 30
    epsilon: float = 0.15
    assumptions: Assumptions = field(default_factory=Assumptions)
    view: str | None = None
    split: str | None = None
    train_split: str | None = None
    halves: bool = False
    smoothing: float = 0.0
    corpora: Path | None = field(default=None, compare=False)
    name: str = field(default="turing", init=False)
    _asked: dict[str, tuple[Columns, tuple[TuringItem, ...]]] = field(default_factory=dict, init=False, repr=False)
    _streams: dict[str, Stream] = field(default_factory=dict, init=False, repr=False, compare=False)
    _desk: TimedModel | None = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name, least in (("streams", 1), ("questions", 1), ("min_support", 1), ("seed", 0)):
            value = getattr(self, name)
            if value is not None and value < least:
                raise ConfigError(f"{name} must be at least {least}, found {value}")
        if not 0 < self.epsilon <= 0.5:
            raise ConfigError(f"epsilon must lie above 0 and be at most 0.5, found {self.epsilon}")
        if not self.smoothing >= 0:
            raise ConfigError(f"smoothing must not be negative, found {self.smoothing}")
        check_deadline(self.deadline)

    @property
    def skills(self) -> tuple[str, ...]:
        """*answer*."""
        return ("answer",)

    def options(self) -> dict[str, Any]:
        """Everything that shapes the streams, and how they are put."""
        plain = ("streams", "questions", "seed", "withhold", "deadline", "closed", "min_support", "epsilon", "view")
        told = {name: getattr(self, name) for name in (*plain, "split", "train_split", "halves", "smoothing")}
        words = dump_vocabulary(self.words)
        return told | {
            "assumptions": self.assumptions.to_dict(),
            "vocabulary": self.words.name,
            "vocabulary_fingerprint": blake2b(words.encode(), digest_size=16).hexdigest(),
            "train_fingerprint": self.train.fingerprint,
        }

    @cached_property
    def words(self) -> Vocabulary:
        """The vocabulary; DataError where it contradicts the training data."""
        if self.vocabulary is None:
            return vocabulary_for(self.train)
        check_against(self.vocabulary, self.train)
        return self.vocabulary

    @cached_property
    def recipe(self) -> Recipe:
        """How questions are chosen."""
        return Recipe(
            self.words,
            self.assumptions,
            self.epsilon,
            self.min_support,
            self.questions,
            self.seed,
            self.smoothing,
            self.corpora,
        )

    @cached_property
    def training(self) -> Columns:
        """The annotated training images; DataError where there are none."""
        return self._annotated(self.train, self.train_split, half=0)

    @cached_property
    def estimator(self) -> Frequencies:
        """What the training images say; to be forked."""
        return self.recipe.estimator(self.training)

    def items(self, data: Dataset) -> tuple[TuringItem, ...]:
        """One a stream, image by image; images come in an order dealt by their ids, so the first few are fair."""
        return self._questions(data)[1]

    def check(self, model: object, data: Dataset) -> dict[str, Any]:
        """Refuse data that was learned from, or is of other words; how many images there are, for the manifest."""
        if data.fingerprint != self.train.fingerprint:
            check_against(self.words, data)
        asked = self._questions(data)[0]
        shared = len(set(asked.ids.tolist()) & set(self.training.ids.tolist()))
        if shared and data.fingerprint == self.train.fingerprint:
            raise ConfigError(
                f"{shared} images would be learned from and asked about: name two splits "
                f"({', '.join(data.splits) or 'this data has none'}), or split the images in half (--halves)"
            )
        check_scenes(model, asked.ids.tolist())
        return {"images": len(asked), "train_images": len(self.training), "shared_ids": shared}

    def study(self) -> TuringStudy:
        """What a model may learn from."""
        own = replace(self.recipe, seed=PRACTICE)  # who knew the exam's could replay the engine
        return TuringStudy(own, self.training, self.estimator.fork)

    def prepare(self, model: object, data: Dataset) -> None:  # noqa: ARG002 — an exam's protocol
        """Hand the training annotations to a model that wants them; competitors are entitled to them."""
        if isinstance(model, Studies):
            with asking(model, "prepare"):
                model.prepare(self.study())

    def examine(self, model: object, item: TuringItem) -> ItemRecords:
        """Make a stream about one image and ask its questions."""
        assert isinstance(model, Answer)
        if self._desk is None or self._desk.model is not model:
            self._desk = TimedModel(model, self.deadline)
        stream = self.stream(item)
        replied = administer(stream, item.view, self._desk, self.words, withhold=self.withhold)
        return mark(replied, number=item.number, halted=stream.halted)

    def stream(self, item: TuringItem) -> Stream:
        """The questions of an item: the same for every model, since only true answers steer the engine."""
        if item.id in self._streams:
            return self._streams[item.id]
        columns = next(columns for columns, items in self._asked.values())
        made = self.recipe.stream(self.estimator.fork(), columns, item.row, item.number)
        if len(self._streams) < _KEPT:
            self._streams[item.id] = made
        return made

    def _questions(self, data: Dataset) -> tuple[Columns, tuple[TuringItem, ...]]:
        if data.fingerprint not in self._asked:
            if self.halves and data.fingerprint != self.train.fingerprint:
                raise ConfigError("halves are of one dataset: leave the training data out, or give no halves")
            columns = self._annotated(data, self.split, half=1)
            self._asked, self._streams = {data.fingerprint: (columns, self._items(columns, data))}, {}
        return self._asked[data.fingerprint]

    def _items(self, columns: Columns, data: Dataset) -> tuple[TuringItem, ...]:
        place = {scene: row for row, scene in enumerate(columns.ids.tolist())}
        shown = views_of(data, set(place), self.view)
        return tuple(
            TuringItem(scene, number, row, shown[scene])
            for scene, row in sorted(place.items(), key=lambda known: _drawn(known[0]))
            for number in range(self.streams)
        )

    def _annotated(self, data: Dataset, split: str | None, *, half: int) -> Columns:
        if split is not None and split not in data.splits:
            raise DataError(
                "no such split",
                file=data.path,
                field="split",
                expected=" or ".join(data.splits) or "none, the data has no splits",
                found=split,
            )
        wanted = None
        if self.halves:
            chosen = data.scan("views").filter(pl.lit(True) if split is None else pl.col("split") == split)
            ids = chosen.select("scene_id").unique().collect()["scene_id"].to_list()
            wanted = {scene for scene in ids if half_of(scene) == half}
        return annotate(data, self.words, split=split, view=self.view, closed=self.closed, scenes=wanted)


def views_of(data: Dataset, scenes: set[str], view: str | None) -> dict[str, View]:
    """The picture of each scene, as a model may see it: the named view, else the first."""
    frame = data.scan("views").filter(pl.col("scene_id").is_in(scenes)).collect()
    bare = scenes_from_tables(Tables.build(views=frame), blobs=data.blobs)
    return {scene.id: (scene.views[0] if view is None else scene.view(view)).without_truth() for scene in bare}


def half_of(scene_id: str) -> int:
    """0 (to learn from) or 1 (to be asked about): the same for an id for ever, and a fair coin over ids.

    >>> [half_of(f"image {i}") for i in range(8)]
    [0, 1, 1, 1, 1, 1, 1, 1]
    """
    return blake2b(scene_id.encode(), digest_size=1).digest()[0] & 1


def _drawn(scene_id: str) -> bytes:
    """Where a scene stands in an order that has nothing to do with the data's."""
    return blake2b(scene_id.encode(), digest_size=8).digest()
