"""A written test: prepared streams in a folder to be handed to others, the truth in a key that stays at home.

The folder holds ``questions.jsonl`` (a line a question, in order), ``pictures/``, ``vocabulary.yaml``,
``all_questions.jsonl`` (every question of at most one attribute that could have been asked), ``training/`` (the
annotations the questions were learned from) and ``test.json``. No answer stands in it, nor chances, since those
were estimated given the answers before; ambiguous questions are left out. Nothing in it leads back to the data:
images are called by the test's id and a number, in an order that follows from the pictures alone, training images
by a number, in an order that follows from their annotations, objects by their places; names of files, splits,
worlds and seeds and fingerprints of data stay out. The key has the dataset's ids beside the test's.

What the questions themselves betray no file can hide: one about "person 1" shows that the uniqueness question
before it was answered yes, a search that goes on there shows that it was not, and one that stays with a type and a
region that something was found (`lookahead` measures how much). An answer must therefore not depend on later lines;
whoever cannot trust competitors with that hands out one line at a time (`people.proctor`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sightline.documents import read_json_lines, read_json_object
from sightline.errors import ConfigError, DataError, SightlineError
from sightline.exams.turing.annotations.columns import Columns, read_columns, subset, write_columns
from sightline.exams.turing.annotations.semantics import walk
from sightline.exams.turing.stream.engine import Candidates, attribute_sets
from sightline.exams.turing.stream.steps import Step, Stream, step_from_json, steps_to_json
from sightline.exams.turing.vocabulary.english import say, say_long
from sightline.exams.turing.vocabulary.files import dump_vocabulary, load_vocabulary, parse_vocabulary
from sightline.exams.turing.vocabulary.questions import (
    Box,
    Label,
    Question,
    Truth,
    question_from_json,
    question_to_json,
    region_box,
)
from sightline.exams.turing.vocabulary.vocabulary import Vocabulary
from sightline.files import atomic_write, read_bytes, refuse_outside, staged_folder
from sightline.plain import plain
from sightline.scenes import View
from sightline.store import Dataset, Tables
from sightline.store.encodings import encode
from sightline.typed import typed

MARKER: Final = "test.json"
QUESTIONS: Final = "questions.jsonl"
VOCABULARY: Final = "vocabulary.yaml"
SINGLES: Final = "all_questions.jsonl"
TRAINING: Final = "training"
PICTURES: Final = "pictures"
OWNED: Final = (MARKER, QUESTIONS, VOCABULARY, SINGLES, TRAINING, PICTURES)
FORMAT: Final = 2

_CONCLUSIVE: Final = 10
"""Answers that agree by chance once in a thousand times."""

Place = tuple[str, int, int]
"""(scene id, number of the stream, number of the step): what an answer is about."""

_LINE: Final = ("scene_id", "stream", "step", "question", "text", "long_text", "region", "labels", "picture")


@dataclass(frozen=True)
class _TestHead:
    """What ``test.json`` says."""

    format: int
    id: str
    questions: int
    about: Mapping[str, Any]


@dataclass(frozen=True)
class WrittenTest:
    """A test as read from its folder.

    Attributes:
        folder: Where it lies.
        id: Of questions, vocabulary and pictures; the key names it too, and so does every scene id, so that answers
            to another test fit none.
        vocabulary: Words of the questions.
        questions: By place, in written order.
        files: Scene id → picture, a file within the folder; None where the data has none.
        about: Notes of whoever wrote it: data, settings, how annotations were read.
    """

    folder: Path
    id: str
    vocabulary: Vocabulary
    questions: Mapping[Place, Question]
    files: Mapping[str, str | None]
    about: Mapping[str, Any]

    def training(self) -> Columns:
        """The annotations the questions were learned from."""
        return read_columns(self.folder / TRAINING, self.vocabulary)

    def pictures(self, images: Iterable[str] = ()) -> Dataset:
        """The images asked about as scenes without objects, in order.

        Args:
            images: Ids of those whose every question was ambiguous, too: the test does not name them.
        """
        files = dict(self.files) | {scene: None for scene in images if scene not in self.files}
        views = pl.DataFrame(
            {"scene_id": list(files), "view_id": "0", "image": list(files.values())},
            schema={"scene_id": pl.String, "view_id": pl.String, "image": pl.String},
        )
        return Dataset.from_tables(Tables.build(views=views), path=self.folder, allow_outside=False)


def write_test(
    folder: str | Path,
    streams: Sequence[Stream],
    dataset: Dataset,
    vocabulary: Vocabulary,
    training: Columns,
    *,
    key: str | Path,
    view: str | None = None,
    about: Mapping[str, Any] | None = None,
    training_pictures: Mapping[str, View] | None = None,
    overwrite: bool = False,
) -> str:
    """Write a test and its key, whole or not at all; returns the test's id.

    Args:
        folder: Where the test goes.
        streams: In order; two of one image have different numbers.
        dataset: The images asked about, for their pictures. They are encoded anew, so that no words in a file's
            header come along.
        vocabulary: Of the questions.
        training: What the engine learned from; a ConfigError if the images asked about are among them.
        key: File for the answers, outside the folder.
        view: Which view to show; by default the first.
        about: Notes for the readers, JSON values.
        training_pictures: Pictures of training images to hand out too, by scene id.
        overwrite: Replace a test, and a key.
    """
    folder, key = Path(folder).resolve(), Path(key).resolve()
    if key.is_relative_to(folder):
        raise ConfigError(f"the key {key} would lie inside the test's folder, and be handed out with it")
    if key.exists() and not overwrite:
        raise ConfigError(f"{key} is there already; pass overwrite to replace it")
    if len({(s.scene_id, s.number) for s in streams}) < len(streams):
        raise ConfigError("two streams of one image have the same number")
    _refuse_truth(streams, training, vocabulary)
    with staged_folder(folder, owned=OWNED, marker=MARKER, overwrite=overwrite) as stage:
        numbers, pictures = _write_pictures(stage, streams, dataset, vocabulary, view)
        streams = sorted(streams, key=lambda s: (numbers[s.scene_id], s.number))
        lines = [
            row
            for stream in streams
            for row in _questions(stream, numbers[stream.scene_id], vocabulary, pictures.get(stream.scene_id))
        ]
        words = dump_vocabulary(vocabulary).encode()
        parse_vocabulary(words.decode())  # what nobody could read back is refused here
        name = _fingerprint(stage, _jsonl(lines), words, (line["picture"] for line in lines))
        images = {scene: f"{name}-{number}" for scene, number in numbers.items()}
        for line in lines:
            line["scene_id"] = f"{name}-{line['scene_id']}"
        atomic_write(stage / QUESTIONS, _jsonl(lines))
        atomic_write(stage / VOCABULARY, words)
        atomic_write(stage / SINGLES, _jsonl(single_questions(vocabulary)))
        (stage / TRAINING).mkdir()
        anonymous, order = anonymous_columns(training)
        write_columns(anonymous, vocabulary, stage / TRAINING)
        if training_pictures is not None:
            _write_training_pictures(
                stage, dict(zip(anonymous.ids, training.ids[order], strict=True)), training_pictures
            )
        head = {"format": FORMAT, "id": name, "questions": len(lines), "about": plain(about or {})}
        atomic_write(stage / MARKER, json.dumps(head, indent=2, ensure_ascii=False).encode())
        key.parent.mkdir(parents=True, exist_ok=True)
        facts = {"test": name, "data_fingerprint": dataset.fingerprint}
        atomic_write(key, _jsonl(row for s in streams for row in _answers(s, vocabulary, facts, images)))
    return name


def read_test(folder: str | Path) -> WrittenTest:
    """A test by its folder; DataError with file and row where it is not as written."""
    folder = Path(folder)
    if not (folder / MARKER).exists():
        raise DataError("not a written test", file=folder / MARKER)
    stored = read_json_object(folder / MARKER)
    if (written := stored.get("format")) != FORMAT:
        raise DataError("another format", file=folder / MARKER, field="format", expected=FORMAT, found=written)
    head = typed(stored, _TestHead, str(folder / MARKER))
    vocabulary = load_vocabulary(folder / VOCABULARY)
    file = folder / QUESTIONS
    questions: dict[Place, Question] = {}
    files: dict[str, str | None] = {}
    for number, row in read_json_lines(file):
        place, question = _read_line(row, vocabulary, file, number)
        questions[place], files[place[0]] = question, row["picture"]
    asked = read_bytes(file).replace(f"{head.id}-".encode(), b"")
    name = _fingerprint(folder, asked, read_bytes(folder / VOCABULARY), files.values())
    if name != head.id:
        problem = "questions, vocabulary or pictures were changed"
        raise DataError(problem, file=folder / MARKER, field="id", expected=head.id, found=name)
    return WrittenTest(folder, name, vocabulary, questions, files, head.about)


def read_key(path: str | Path, test: WrittenTest) -> tuple[Stream, ...]:
    """The streams of a test with their true answers, also those of ambiguous questions, which the test leaves out.

    Raises:
        DataError: The key is another test's, or has no answer to a question, or two.
    """
    path, steps, halted = Path(path), dict[tuple[str, int], dict[int, Step]](), dict[tuple[str, int], str]()
    for number, row in read_json_lines(path):
        wrong = partial(DataError, file=path, row=number)
        if row.get("test") != test.id:
            raise wrong("key of another test", field="test", expected=test.id, found=row.get("test"))
        try:
            _, place = Truth(row["answer"]), (str(row["image"]), int(row["stream"]), int(row["step"]))
            step = step_from_json(row, test.vocabulary)
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise wrong(f"not a line of a key: {error}") from error
        except SightlineError as error:
            raise wrong(str(error), field="question") from error
        of_stream = steps.setdefault(place[:2], {})
        if place[2] in of_stream:
            raise wrong("answered twice", field="step", found=_named(place))
        of_stream[place[2]] = step
        halted[place[:2]] = str(row.get("halted"))
        if step.decided and test.questions.get(place) != step.question:
            raise wrong("not a question of the test", field="question")
    for place in test.questions:
        answered = steps.get(place[:2], {}).get(place[2])
        if answered is None or not answered.decided:
            raise DataError("no answer to a question of the test", file=path, expected=_named(place))
    if not steps:
        raise DataError("a test without a question", file=test.folder)
    return tuple(
        Stream(scene, 0, stream, tuple(step for _, step in sorted(of_stream.items())), halted[scene, stream])
        for (scene, stream), of_stream in steps.items()
    )


def single_questions(vocabulary: Vocabulary) -> Iterator[dict[str, Any]]:
    """Every question of at most one attribute.

    Attributes are asked of the first object of a type; each relation stands there once, with the types it may join.
    """
    candidates = Candidates(vocabulary)
    for size in (0, 1):
        yield from (_single(question, vocabulary) for question in candidates.searches(size))
    for kind in vocabulary.types:
        for names in attribute_sets(kind, 1):
            yield _single(Question("attribute", attributes=names, subject=Label(kind.name, 1)), vocabulary)
    kinds = [kind.name for kind in vocabulary.types]
    for link in vocabulary.links:
        pair = next(((a, b) for a in kinds for b in kinds if link.joins(a, b)), None)
        if pair is not None:
            subject, other = Label(pair[0], 1), Label(pair[1], 2 if pair[0] == pair[1] else 1)
            question = Question("relation", subject=subject, object=other, relation=link.name)
            ends = {"subjects": list(link.subjects or kinds), "objects": list(link.objects or kinds)}
            yield {**_single(question, vocabulary), **ends}


def _refuse_truth(streams: Sequence[Stream], training: Columns, vocabulary: Vocabulary) -> None:
    """Refuse to hand out the annotations of the images asked about.

    Ids alone do not tell, since two datasets may count alike; but that answers which cannot be guessed all hold of
    the training images called the same is no coincidence.
    """
    rows = {scene_id: row for row, scene_id in enumerate(training.ids)}
    shared = [(stream.history, rows[stream.scene_id]) for stream in streams if stream.scene_id in rows]
    conclusive = sum(len(history) for history, _ in shared) >= _CONCLUSIVE
    if conclusive and all(walk(training.image(row), history, vocabulary)[0] for history, row in shared):
        raise ConfigError("the images asked about are among the training images: the test would hold the truth")


def _single(question: Question, vocabulary: Vocabulary) -> dict[str, Any]:
    return {
        "type": question.kind,
        "text": say(question, vocabulary),
        "region": region_box(question, vocabulary),
        "question": question_to_json(question, vocabulary),
    }


def _questions(stream: Stream, image: str, vocabulary: Vocabulary, picture: str | None) -> Iterator[dict[str, Any]]:
    labels: dict[str, Box | None] = {}
    for step in stream.steps:
        if step.decided:
            yield {
                "scene_id": image,
                "stream": stream.number,
                "step": step.number,
                **_single(step.question, vocabulary),
                "long_text": say_long(step.question, vocabulary),
                "labels": dict(labels),
                "picture": picture,
            }
        if step.label is not None:
            labels[str(step.label)] = region_box(step.question, vocabulary)


def _answers(
    stream: Stream, vocabulary: Vocabulary, facts: Mapping[str, Any], images: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    """All steps, the ambiguous ones too; an operator can read them back from the file."""
    for row in steps_to_json(stream, vocabulary):
        yield {
            **facts,
            "scene_id": stream.scene_id,
            "image": images[stream.scene_id],
            "stream": stream.number,
            "seed": stream.seed,
            "halted": stream.halted,
            **row,
        }


def _fingerprint(folder: Path, asked: bytes, words: bytes, pictures: Iterable[str | None]) -> str:
    """Hash of the questions, their images called by number alone, of the vocabulary and of the pictures."""
    digest = hashlib.sha256(asked + words)
    for file in (folder / picture for picture in dict.fromkeys(pictures) if picture is not None):
        refuse_outside(file, folder, field="picture")
        digest.update(hashlib.sha256(read_bytes(file)).digest())
    return digest.hexdigest()[:16]


def _write_pictures(
    stage: Path, streams: Sequence[Stream], dataset: Dataset, vocabulary: Vocabulary, view: str | None
) -> tuple[dict[str, str], dict[str, str]]:
    """Scene id → number in the test, and → file within the folder for scenes that have a picture.

    Images are numbered by the hash of their picture, without one by that of their questions: an order of theirs in
    the data, or by their ids, would tell of those.
    """
    (stage / PICTURES).mkdir()
    encoded: dict[str, tuple[bytes, str] | None] = {}
    hashes: dict[str, bytes] = {}
    for scene_id in dict.fromkeys(stream.scene_id for stream in streams):
        scene = dataset.scene(scene_id)
        views = [v for v in scene.views if view is None or v.id == view]
        if not views:
            raise DataError("no such view", row=scene_id, expected=[v.id for v in scene.views], found=view)
        encoded[scene_id] = None if views[0].load_image is None else encode("image", views[0].image())
        asked = [list(_questions(s, "", vocabulary, None)) for s in streams if s.scene_id == scene_id]
        shown = encoded[scene_id]
        hashes[scene_id] = hashlib.sha256(json.dumps(plain(asked)).encode() if shown is None else shown[0]).digest()
    numbers = {scene: f"{i:06d}" for i, scene in enumerate(sorted(hashes, key=hashes.__getitem__))}
    files: dict[str, str] = {}
    for scene_id, shown in encoded.items():
        if shown is not None:
            data, suffix = shown
            files[scene_id] = f"{PICTURES}/{numbers[scene_id]}{suffix}"
            atomic_write(stage / files[scene_id], data)
    return numbers, files


def _write_training_pictures(stage: Path, scenes: Mapping[str, str], views: Mapping[str, View]) -> None:
    """Write the pictures of training images, named as their annotations are."""
    folder = stage / TRAINING / PICTURES
    folder.mkdir()
    for name, scene_id in scenes.items():
        view = views[scene_id]
        if view.load_image is not None:
            data, suffix = encode("image", view.image())
            atomic_write(folder / f"{name}{suffix}", data, sync=False)


def anonymous_columns(columns: Columns) -> tuple[Columns, NDArray[np.int64]]:
    """The same annotations without names: images numbered in an order that follows from what is known of them.

    Also the rows they had before, in the new order. Objects are called by their places in their image.
    """
    hashes = []
    for i in range(len(columns)):
        image, digest = columns.image(i), hashlib.sha256()
        for name in ("types", "crowd", "yes", "no", "seen", "holds", "fails"):
            digest.update(np.ascontiguousarray(getattr(image, name)).tobytes())
        hashes.append(digest.digest())
    order = np.array(sorted(range(len(columns)), key=hashes.__getitem__), dtype=np.int64)
    chosen = subset(columns, order)
    sizes = np.diff(chosen.starts)
    places = np.array([str(k) for n in sizes.tolist() for k in range(n)], dtype=object)
    ids = np.array([f"{i:06d}" for i in range(len(chosen))], dtype=object)
    return replace(chosen, ids=ids, objects=places), order


def _read_line(row: Mapping[str, Any], vocabulary: Vocabulary, file: Path, number: int) -> tuple[Place, Question]:
    """Place and question of a line, which must have all that competitors were promised."""
    try:
        for name in _LINE:
            row[name]
        if not isinstance(row["picture"], str | None):
            raise TypeError("picture is no text")
        place = str(row["scene_id"]), int(row["stream"]), int(row["step"])
        return place, question_from_json(row["question"], vocabulary)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise DataError(f"not a question of a test: {error}", file=file, row=number) from error
    except SightlineError as error:
        raise DataError(str(error), file=file, row=number, field="question") from error


def _named(place: Place) -> str:
    return f"{place[0]}, stream {place[1]}, step {place[2]}"


def _jsonl(rows: Iterable[Mapping[str, Any]]) -> bytes:
    return "".join(json.dumps(plain(row), ensure_ascii=False) + "\n" for row in rows).encode()
