"""The Turing exam: yes–no questions about an image, made while the model is examined, or written before."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from dataclasses import replace as changed
from functools import partial
from hashlib import blake2b
from itertools import groupby, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

import polars as pl

from sightline.errors import ConfigError, DataError, PictureError
from sightline.exams.base import Entrants, Exam, Measures, check_split, given_options, option, split_named
from sightline.exams.hooks import call_hook
from sightline.exams.run import ItemRecords, RunRecords
from sightline.exams.run_schema import RecordColumn
from sightline.exams.turing.annotations.annotation import annotate
from sightline.exams.turing.annotations.columns import Columns
from sightline.exams.turing.annotations.photos import half_of, photo_ids, shared_photos
from sightline.exams.turing.conversation import TimedModel, ask_model, check_deadline
from sightline.exams.turing.estimate.estimator import EPSILON, QuestionOptions, named_assumptions
from sightline.exams.turing.measures import (
    AMBIGUOUS,
    RECORDS,
    asked_rows,
    item_records,
    same_questions,
    turing_measures,
)
from sightline.exams.turing.monitor import idle_replies, monitor, monitor_remarks, stream_remarks
from sightline.exams.turing.people.answers import answered_streams
from sightline.exams.turing.people.operator import ANSWERS, PersonOperator, operator_choice
from sightline.exams.turing.people.terminal import keeping
from sightline.exams.turing.source import EngineStreams, QuestionSource, StreamSource, TrainingStudy, WrittenStreams
from sightline.exams.turing.stream.engine import Engine, ask_all
from sightline.exams.turing.stream.lookahead import reading_ahead
from sightline.exams.turing.stream.operators import FromFile
from sightline.exams.turing.stream.steps import Stream
from sightline.exams.turing.stream.written import MARKER, read_key, read_test, write_test
from sightline.exams.turing.vocabulary.census import check_against
from sightline.exams.turing.vocabulary.files import dump_vocabulary, named_vocabulary
from sightline.exams.turing.vocabulary.vocabulary import Vocabulary
from sightline.files import read_bytes
from sightline.generation import open_any
from sightline.plain import plain
from sightline.scenes import View
from sightline.skills import TuringSpec
from sightline.store import Dataset, Tables, scenes_from_tables
from sightline.text import counted

if TYPE_CHECKING:
    from sightline.exams.scoring import RunResult
    from sightline.show.table import Table

BASELINES: Final[Mapping[str, str]] = {
    name: name for name in ("always_yes", "always_no", "turing_engine", "turing_history", "turing_logician")
}
"""What stands in every table: the name there → the model's name."""

BLIND: Final = ("turing_engine", "turing_history", "turing_logician")
"""Those that know everything but the picture: what they reach, the stream leaks."""

MODELS_OWN: Final = ("withhold", "deadline")
"""Options that change how a model is asked, not what; the others must agree between runs."""

_PLAIN: Final = (
    "streams",
    "questions",
    "seed",
    "withhold",
    "deadline",
    "closed",
    "min_support",
    "epsilon",
    "view",
    "split",
    "train_split",
    "halves",
    "smoothing",
)
"""Options that stand in manifests as they are."""

_FINGERPRINTED: Final = (
    "operator",
    "assumptions",
    "vocabulary",
    "vocabulary_fingerprint",
    "train_fingerprint",
    "test",
)


@dataclass(frozen=True)
class TuringItem:
    """One stream about one image.

    Attributes:
        scene_id: The image.
        number: Which stream of it, from 0.
        view: Its picture, without truth.
        source: Makes or has the stream.
    """

    scene_id: str
    number: int
    view: View
    source: StreamSource = field(repr=False, compare=False)

    @property
    def id(self) -> str:
        """Scene id and number."""
        return f"{self.scene_id}#{self.number}"

    @property
    def cluster_id(self) -> str:
        """The scene's id: images are independent, the streams of one are not."""
        return self.scene_id

    @property
    def stream(self) -> Stream:
        """The questions with their true answers."""
        return self.source.stream(self.scene_id, self.number)


@dataclass(frozen=True)
class TuringExam(Exam[TuringItem]):
    """Streams of unpredictable questions about every image, learned from other images."""

    train: Path | Dataset | None = option(
        None, "Annotated images the questions are learned from; by default --data.", identity=False
    )
    halves: bool = option(False, "Learn from one half of the images, ask about the other.")
    vocabulary: str | Path | Vocabulary | None = option(
        None, "A ready vocabulary or a YAML file; by default one that fits."
    )
    streams: int = option(1, "Streams an image.", minimum=1)
    questions: int | None = option(None, "Most questions of a stream; by default as many as there are.", minimum=1)
    seed: int = option(0, "Seed of the streams.", minimum=0)
    withhold: bool = option(False, "Keep the true answers from the model.")
    deadline: float | None = option(None, "Seconds for an answer.")
    closed: bool = option(False, "What the annotations do not say is not so.")
    min_support: int = option(30, "What a chance must rest on at least.", minimum=1)
    epsilon: float = option(EPSILON, "How far from one half a chance may lie.")
    smoothing: float = option(0.0, "Yes and no added to every count.", minimum=0.0)
    corpora: Path | None = option(
        None, "Folder to keep the training images in, laid out for counting.", identity=False
    )
    view: str | None = option(None, "View to ask about; by default the first.")
    assume: tuple[str, ...] = option((), "Make only these assumptions, or all but -name.", repeated=True)
    no_assumptions: bool = option(False, "Learn from images that fit the whole history.")
    operator: str = option(
        "truth", "Who tells the truth: truth (the annotation), terminal or web (a person), file:F.", identity=False
    )
    answers: Path | None = option(
        None, "File in which a person's answers are kept; by default turing-answers.jsonl.", identity=False
    )
    test: Path | None = option(None, "Folder of a written test, instead of --data and --train.")
    key: Path | None = option(None, "The key of the written test.", identity=False)
    split: str | None = option(None, "Split to ask about; by default all scenes.")
    train_split: str | None = option(None, "Split to learn from; by default all of --train.")

    name: ClassVar[str] = "turing"
    card: ClassVar[str] = "sightline.exams.turing.card"
    columns: ClassVar[Mapping[str, RecordColumn]] = RECORDS
    title: ClassVar[str] = "Turing test"
    baselines: ClassVar[Mapping[str, str]] = BASELINES
    unit: ClassVar[str] = "image"
    unit_of_items: ClassVar[str] = "stream"
    data_option: ClassVar[str] = "test"
    skills: ClassVar[tuple[tuple[str, ...], ...]] = (("answer",),)

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
        choice = operator_choice(self.operator)
        if self.answers is not None and not choice.is_person:
            raise ConfigError("--answers keeps what a person says: it goes with --operator terminal or web")
        _ = self.options  # assumptions nobody knows are refused here

    @property
    def options(self) -> QuestionOptions:
        """When a question may be asked, and how its chance is estimated."""
        assumptions = named_assumptions(self.assume, none=self.no_assumptions)
        return QuestionOptions(self.epsilon, self.min_support, self.questions, assumptions, self.smoothing)

    def open(self, path: Path | None) -> Dataset:
        """Open the data to ask about: that of the path, or the pictures of the written test."""
        if self.test is None:
            if self.key is not None:
                raise ConfigError("--key goes with --test")
            if path is None:
                raise ConfigError("nothing to ask about: give --data, or --test and --key")
            return open_any(path)
        if self.key is None and path is not None and (path / MARKER).is_file():
            return read_test(path).pictures()  # for a report: manifests name a test, and never its key
        self._refuse_settled(path)
        streams = self._written_streams()
        data = streams.test.pictures(stream.scene_id for stream in streams.streams)
        data.memo((self, "streams"), lambda: streams)
        return data

    def identity(self, data: Dataset) -> dict[str, Any]:
        """Everything that shapes the streams, and how they are put; of a written test which one it is."""
        source = self.source(data)
        if isinstance(source, WrittenStreams):
            written = {"test": source.test.id, "epsilon": source.epsilon, "vocabulary": source.vocabulary.name}
            return written | {"withhold": self._withholds(source), "deadline": self.deadline}
        words = data.memo((self, "words"), lambda: dump_vocabulary(source.vocabulary))
        return {name: getattr(self, name) for name in _PLAIN} | {
            "assumptions": asdict(self.options.assumptions),
            "vocabulary": source.vocabulary.name,
            "vocabulary_fingerprint": blake2b(words.encode(), digest_size=16).hexdigest(),
            "train_fingerprint": self.training_data(data).fingerprint,
            **self._operator_identity(),
        }

    def source(self, data: Dataset) -> StreamSource:
        """Where the streams come from; made once for an opened dataset."""

        def make() -> StreamSource:
            return self._engine_streams(data) if self.test is None else self._written_streams()

        return data.memo((self, "streams"), make)

    def training_data(self, data: Dataset) -> Dataset:
        """The dataset to learn from."""
        if self.train is None or isinstance(self.train, Dataset):
            return data if self.train is None else self.train
        path = Path(self.train).resolve()
        return data if path == data.path.resolve() else data.memo(("opened", path), lambda: open_any(path))

    def items(self, data: Dataset) -> tuple[TuringItem, ...]:
        """One a stream, image by image; of a dataset in an order dealt by their ids, so the first few are fair."""
        source = self.source(data)
        shown = views_of(data, {scene for scene, _ in source.places}, self.view)
        return tuple(TuringItem(scene, number, shown[scene], source) for scene, number in source.places)

    def limited(self, items: Sequence[TuringItem], limit: int) -> Sequence[TuringItem]:
        """All streams about the first so many images."""
        by_image = groupby(items, key=lambda item: item.scene_id)
        return [item for _, of_image in islice(by_image, limit) for item in of_image]

    def for_workers(self, folder: Path) -> Self:
        """The same exam with its corpus on disk, which all processes map."""
        if operator_choice(self.operator).is_person:
            raise ConfigError("a person answers one question at a time: leave --workers out")
        return self if self.corpora or self.test else changed(self, corpora=folder / "corpora")

    def entrants(self, models: Sequence[object], data: Dataset, *, baselines: bool) -> Entrants:
        """The models and the baselines; a note where two datasets have images of the same name."""
        entrants = super().entrants(models, data, baselines=baselines)
        shared = self.check(None, data).get("shared_ids")
        if not shared:
            return entrants
        note = f"{counted(shared, 'scene id')} in both datasets; if those are the same images, answers were learned"
        return changed(entrants, notes=(*entrants.notes, note))

    def settled(self, data: Dataset) -> Self:
        """Use the data's own words for both splits."""
        exam = super().settled(data)
        if not self.train_split:
            return exam
        return changed(exam, train_split=split_named(self.train_split, self.training_data(data)))

    def spec(self, model: Any, data: Dataset) -> TuringSpec:  # noqa: ARG002 - a hook
        """The images to be asked about."""
        return TuringSpec(tuple(dict.fromkeys(scene for scene, _ in self.source(data).places)))

    def check(self, model: Any, data: Dataset) -> dict[str, Any]:
        """Refuse images that were learned from, and a model that cannot answer; how many images there are."""
        source, images = self.source(data), self.spec(model, data).images
        facts = {"images": len(images)}
        if isinstance(source, EngineStreams):
            train = self.training_data(data)
            shared = shared_photos(data, images, train, source.training.ids.tolist())
            if shared.same:
                what, some = counted(len(shared.same), "photo"), min(shared.same)
                way = f"take other data than {train.path} to learn from"
                if data.fingerprint == train.fingerprint:
                    splits = ", ".join(data.splits) or "this data has none"
                    way = f"name two splits ({splits}), or split the photos in half (--halves)"
                raise ConfigError(f"{what} would be learned from and asked about, as {some!r}: {way}")
            facts |= {"train_images": len(source.training), "shared_ids": len(shared.named)}
        call_hook(model, "check", self.name, lambda: self.spec(model, data))
        return facts

    def study(self, model: Any, data: Dataset) -> TrainingStudy:  # noqa: ARG002 - a hook
        """The training annotations, to which every competitor is entitled."""
        return self.source(data).study()

    def ask(self, model: Any, item: TuringItem) -> ItemRecords:
        """Ask the questions of one stream."""
        return self._ask(TimedModel(model, self.deadline), item)

    def asker(self, model: Any, data: Dataset) -> Callable[[TuringItem], ItemRecords]:  # noqa: ARG002 - a hook
        """Ask stream after stream: a model that is still busy with the last question is late for the next."""
        return partial(self._ask, TimedModel(model, self.deadline))

    def measures(self, records: RunRecords, data: Callable[[], Dataset]) -> Sequence[Measures]:  # noqa: ARG002
        """Accuracy by question type, step, story line and support, and what the replies were."""
        return (turing_measures(records),)

    def judgements(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The questions that were asked: ambiguous ones were not."""
        named = rows.rename({"reply": "answer"}, strict=False)  # what runs of version 0.1 called it
        return super().judgements(named).filter(pl.col("truth") != AMBIGUOUS)

    def comparable(self, a: RunRecords, b: RunRecords) -> tuple[RunRecords, RunRecords]:
        """The images that were asked the same questions in both runs."""
        return same_questions(a, b)

    def compared_options(self) -> frozenset[str]:
        """All that shapes the streams; true answers may be withheld, or a deadline set, in one run only."""
        return frozenset({*_PLAIN, *_FINGERPRINTED} - {*MODELS_OWN})

    def apart(self, options: Mapping[str, Any], facts: Mapping[str, Any]) -> Sequence[str]:  # noqa: ARG002
        """Whether truth was withheld, and the deadline."""
        deadline = options.get("deadline")
        withheld = ["true answers withheld"] if options.get("withhold") else []
        return withheld + ([f"{deadline:g} s a question"] if deadline else [])

    def across(self, results: Sequence[RunResult], *, resamples: int, seed: int) -> dict[str, Any]:
        """The monitor: whether the answers could have been guessed."""
        by_name = {result.run.spec: result for result in results}
        blind: dict[str, pl.DataFrame] = {
            name: asked_rows(by_name[name].records.rows) for name in BLIND if name in by_name
        }
        epsilon = float(results[0].run.options.get("epsilon") or self.epsilon)
        asked = asked_rows(results[0].records.rows)
        return {"monitor": plain(monitor(asked, blind, epsilon=epsilon, resamples=resamples, seed=seed))}

    def remarks(self, results: Sequence[RunResult], shared: Mapping[str, Any]) -> Iterable[str | Table]:
        """Replies that are no answer, the length of the streams, and what the monitor saw."""
        yield from idle_replies(results)
        yield from stream_remarks(results[0].scores.facts)
        yield from monitor_remarks(shared["monitor"])

    def _ask(self, model: TimedModel, item: TuringItem) -> ItemRecords:
        words = item.source.vocabulary
        withhold = self._withholds(item.source)
        return item_records(ask_model(item.stream, item.view, model, words, withhold=withhold), words)

    def _withholds(self, source: StreamSource) -> bool:
        """Whether true answers are kept from the model: by this exam, or by the written test itself."""
        return self.withhold or (isinstance(source, WrittenStreams) and bool(source.test.about.get("withhold")))

    def _written_streams(self) -> WrittenStreams:
        assert self.test is not None
        if self.key is None:
            raise ConfigError("a written test is marked with its key: give --key")
        test = read_test(self.test)
        return WrittenStreams(test, read_key(self.key, test))

    def _refuse_settled(self, data: Path | None) -> None:
        """ConfigError for what a written test has settled, and for one without its key."""
        if self.key is None:
            raise ConfigError("a written test is marked with its key: give --key")
        given = {**({} if data is None else {"data": data}), **given_options(self)}
        for name in given:
            if name not in ("test", "key", *MODELS_OWN):
                raise ConfigError(f"--{name.replace('_', '-')} was settled when the test was written; leave it out")

    def _engine_streams(self, data: Dataset) -> EngineStreams:
        train = self.training_data(data)
        words = named_vocabulary(self.vocabulary, train)
        if self.halves and data.fingerprint != train.fingerprint:
            raise ConfigError("halves are of one dataset: leave the training data out, or give no halves")
        choice = operator_choice(self.operator)
        if choice.kind == "truth" and data.fingerprint != train.fingerprint:
            check_against(words, data)
        images = self._annotated(data, words, self.split, half=1)
        training = self._annotated(train, words, self.train_split, half=0)
        if len(training) < self.min_support:
            raise ConfigError(
                f"{counted(len(training), 'image')} to learn from, and a chance must rest on {self.min_support}: "
                "give more training images (--train), or a smaller --min-support"
            )
        source = QuestionSource(words, training, self.options, self.seed, self.corpora)
        streams = EngineStreams(source, training, images, self.streams)
        if choice.kind == "truth":
            return streams
        if choice.is_person:
            return changed(streams, truth=self._person(data, words))
        assert choice.file is not None
        file, known = choice.file, set(images.ids.tolist())
        answered = tuple(place for place in answered_streams(file) if place[0] in known and place[1] < self.streams)
        if not answered:
            raise DataError("no answer about an image of this data", file=file, field="scene_id")

        def told(engine: Engine) -> Stream:
            numbered = {"stream": engine.number, "seed": engine.seed}
            return ask_all(engine, FromFile(file, engine.scene_id, words, **numbered, missing="stop"))

        return changed(streams, truth=told, answered=answered)

    def _person(self, data: Dataset, words: Vocabulary) -> Callable[[Engine], Stream]:
        """Put streams to a person; whoever stops in the middle of one ends the command, and can go on later."""
        choice = operator_choice(self.operator)
        person = PersonOperator("web" if choice.kind == "web" else "terminal", self.answers or ANSWERS, self.view)

        def answered(engine: Engine) -> Stream:
            with keeping(person.answers):
                stream = person(engine, data.scene(engine.scene_id), words)
                if stream.halted == "operator":
                    raise KeyboardInterrupt
            return stream

        return answered

    def _operator_identity(self) -> dict[str, Any]:
        """Who told the truth, where that was not the annotation; of a file also what stands in it."""
        choice = operator_choice(self.operator)
        if choice.kind == "truth":
            return {}
        if choice.file is None:
            return {"operator": "person"}
        hashed = blake2b(read_bytes(choice.file), digest_size=16).hexdigest()
        return {"operator": "person", "operator_fingerprint": hashed}

    def _annotated(self, data: Dataset, words: Vocabulary, split: str | None, *, half: int) -> Columns:
        check_split(split, data)
        wanted = None
        if self.halves:
            chosen = data.scan("views").filter(pl.lit(True) if split is None else pl.col("split") == split)
            ids = chosen.select("scene_id").unique().collect()["scene_id"].to_list()
            photos = photo_ids(data)
            wanted = {scene for scene in ids if half_of(photos[scene]) == half}
        return annotate(data, words, split=split, view=self.view, closed=self.closed, scenes=wanted)


def write_exam(
    exam: TuringExam,
    data: Dataset,
    folder: Path,
    key: Path,
    *,
    images: int | None = None,
    training_pictures: bool = False,
    overwrite: bool = False,
    on_progress: Callable[[int, int], None] | None = None,
) -> dict[str, Any]:
    """Write the streams of an exam as a test to hand out, and its key; what was written, as JSON values.

    Args:
        exam: Says how the streams are made.
        data: The images to ask about.
        folder: Where the test goes.
        key: File for the true answers, outside the folder.
        images: Only the first so many.
        training_pictures: Hand out the pictures of the training images too.
        overwrite: Replace a test, and a key.
        on_progress: Called with streams made and streams in all.
    """
    exam.check(None, data)
    source, items, learned = exam.source(data), exam.items(data), exam.training_data(data)
    assert isinstance(source, EngineStreams)
    due = items if images is None else exam.limited(items, images)
    streams, left_out = [], {}
    for number, item in enumerate(due, start=1):
        try:
            streams.append(item.stream)
        except PictureError as error:  # shown to a person, who could not see it
            left_out[item.scene_id] = str(error)
        if on_progress is not None:
            on_progress(number, len(due))
    if not streams:
        raise DataError(f"no picture could be read; the first: {next(iter(left_out.values()))}", file=data.path)
    shown = views_of(learned, set(source.training.ids.tolist()), exam.view) if training_pictures else None
    name = write_test(
        folder,
        streams,
        data,
        source.vocabulary,
        source.training,
        key=key,
        view=exam.view,
        about=_about(exam, source.vocabulary),
        training_pictures=shown,
        overwrite=overwrite,
    )
    return {
        "test": str(folder),
        "key": str(key),
        "id": name,
        "images": len({stream.scene_id for stream in streams}),
        "streams": len(streams),
        "questions": sum(len(stream.history) for stream in streams),
        "reading_ahead": plain(reading_ahead(streams, source.vocabulary)),
        "left_out": left_out,
    }


def _about(exam: TuringExam, vocabulary: Vocabulary) -> dict[str, Any]:
    """What a written test says of itself: how questions were chosen, and how the test is to be put.

    Not the seed, with which the engine could be run on to see which answer leads to the next line, nor what data,
    split, world or file it was made from.
    """
    return {
        "vocabulary": vocabulary.name,
        "settings": {name: getattr(exam, name) for name in ("epsilon", "min_support", "questions")},
        "assumptions": asdict(exam.options.assumptions),
        "smoothing": exam.smoothing,
        "closed": exam.closed,
        "withhold": exam.withhold,
        "deadline": exam.deadline,
    }


def views_of(data: Dataset, scenes: set[str], view: str | None) -> dict[str, View]:
    """The picture of each scene, as a model may see it: the named view, else the first."""
    frame = data.scan("views").filter(pl.col("scene_id").is_in(scenes)).collect()
    bare = scenes_from_tables(Tables.build(views=frame), blobs=data.blobs)
    return {scene.id: (scene.views[0] if view is None else scene.view(view)).without_truth() for scene in bare}
