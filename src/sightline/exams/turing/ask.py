"""Ask unpredictable questions about one image: `sightline.ask`, and behind ``sightline turing ask``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from sightline.errors import ConfigError, DataError
from sightline.exams.turing.annotations.annotation import annotate
from sightline.exams.turing.annotations.columns import subset
from sightline.exams.turing.estimate.corpus import Corpus
from sightline.exams.turing.estimate.estimator import EPSILON, Assumptions, QuestionOptions
from sightline.exams.turing.people.operator import PersonOperator, operator_choice
from sightline.exams.turing.source import QuestionSource
from sightline.exams.turing.stream.engine import Engine, ask_all
from sightline.exams.turing.stream.operators import FromFile, GroundTruth, Operator
from sightline.exams.turing.stream.steps import HALTED, Stream, steps_to_json
from sightline.exams.turing.transcript import transcript_of
from sightline.exams.turing.vocabulary.census import check_types
from sightline.exams.turing.vocabulary.files import named_vocabulary
from sightline.exams.turing.vocabulary.vocabulary import Vocabulary
from sightline.generation import open_any
from sightline.hints import did_you_mean
from sightline.scenes import Scene
from sightline.show.table import Cell, Row, Table, figure
from sightline.store import Dataset
from sightline.text import counted, file_name

Interview = Callable[[Engine, Scene, Vocabulary], Stream]
"""Asks by itself, answer by answer: an operator that may take answers back."""


@dataclass(frozen=True, eq=False)
class AskedImage:
    """The questions about one image with their answers; prints itself as a transcript.

    Attributes:
        stream: The questions step by step, each with its answer and its chance of a yes.
        vocabulary: Their words.
        scene: The image.
        learned: How many images the chances were learned from.
        view: Id of the view that was asked about; None for the first.
    """

    stream: Stream
    vocabulary: Vocabulary = field(repr=False)
    scene: Scene = field(repr=False)
    learned: int
    view: str | None = None

    @property
    def facts(self) -> str:
        """How it was made, in a line."""
        learned = f"learned from {counted(self.learned, 'image')}"
        return f"vocabulary {self.vocabulary.name} · {learned} · seed {self.stream.seed}"

    def rows(self) -> list[dict[str, Any]]:
        """One row of JSON values a step: text, region, p_yes, support, answer, labels."""
        return steps_to_json(self.stream, self.vocabulary)

    def table(self) -> Table:
        """The transcript: questions with their regions by place and letter, answers, and the engine's estimates."""
        rows, shown = [], transcript_of(self.stream, self.vocabulary)
        for step, line in zip(self.stream.steps, shown.lines, strict=True):
            answer = "" if step.truth is None else step.truth.value
            cells = (shown.said(line), answer, figure(step.p_yes, 2), f"of {step.support:,}")
            rows.append(Row(f"{step.number}.", tuple(Cell(cell) for cell in cells)))
            if step.label is not None:
                rows.append(Row("", (Cell(f"(Label this {step.label})"), *(Cell("") for _ in cells[1:]))))
        ended = HALTED.get(self.stream.halted, self.stream.halted)
        columns = ("", "question", "answer", "p", "support")
        note = f"{counted(len(self.stream.history), 'question')}; ended: {ended}"
        return Table(
            f"{self.scene.id}: {self.facts}", columns, tuple(rows), note=note, words=("question", "answer")
        )

    def save(self, path: str | Path) -> None:
        """Draw picture and questions into a PNG, or a JPEG where the file is called so."""
        from sightline.exams.turing.drawing import save_picture, stream_picture
        from sightline.show.frame import frame_of

        frame = frame_of(self.scene, None if self.view is None else self.scene.view(self.view))
        save_picture(stream_picture(frame, transcript_of(self.stream, self.vocabulary)), Path(path))

    def __str__(self) -> str:
        return str(self.table())

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()


def ask(
    data: Dataset | str | Path,
    image: str,
    *,
    train: Dataset | str | Path | None = None,
    train_split: str | None = None,
    corpus: Corpus | str | Path | None = None,
    vocabulary: Vocabulary | str | Path | None = None,
    questions: int | None = None,
    seed: int = 0,
    stream: int = 0,
    operator: str | Path | Operator | Interview = "truth",
    answers: str | Path | None = None,
    closed: bool = False,
    view: str | None = None,
    assumptions: Assumptions | None = None,
    epsilon: float = EPSILON,
    min_support: int = 30,
    smoothing: float = 0.0,
    on_note: Callable[[str], None] | None = None,
) -> AskedImage:
    """Ask about one image what cannot be guessed from other images and the answers before.

    Args:
        data: The dataset with the image, or its path.
        image: Scene id.
        train: Annotated images to learn from; by default those of `data` without the image.
        train_split: Learn from this split only.
        corpus: Training images laid out before, or their folder; brings its vocabulary.
        vocabulary: What questions may speak of: a ready one by name, a YAML file; by default one that fits.
        questions: Most questions; by default as many as there are.
        seed: Of the random choices.
        stream: Which stream of the image, from 0.
        operator: Who answers: ``truth`` (the annotation), ``terminal`` or ``web`` (a person), ``file:F`` (a JSONL
            file of answers), an object with ``answer``, or a function that asks by itself.
        answers: Where a person's answers are kept; an interrupted session goes on there.
        closed: Read what the annotations do not say as no, rather than as unknown.
        view: View to ask about; by default the first.
        assumptions: Made about independence; by default all.
        epsilon: How far from one half the chance of a yes may lie.
        min_support: Images, objects or pairs a chance must rest on.
        smoothing: Yes and no added to every count.
        on_note: Called with what the user should know: words the data never uses, why an operator stopped.
    """
    if corpus is not None and (train is not None or train_split is not None or vocabulary):
        raise ConfigError("a corpus brings its training images and vocabulary: give --corpus, or the others")
    choice = operator_choice(operator) if isinstance(operator, str | Path) else None
    if answers is not None and not (choice and choice.is_person):
        raise ConfigError("--answers keeps what a person says: it goes with --operator terminal or web")
    options = QuestionOptions(epsilon, min_support, questions, assumptions or Assumptions(), smoothing)
    opened = data if isinstance(data, Dataset) else open_any(Path(data))
    scene = _scene(opened, image)
    if corpus is not None:
        learned = corpus if isinstance(corpus, Corpus) else Corpus.open(Path(corpus))
    else:
        if train is None and not len(opened.scan("objects").limit(1).collect()):
            expected = "annotated images: --train DATA, or --corpus"
            raise DataError("nothing is annotated here to learn from", file=opened.path, expected=expected)
        train = opened if train is None else train if isinstance(train, Dataset) else open_any(Path(train))
        words = named_vocabulary(vocabulary, train, on_note)
        columns = annotate(train, words, split=train_split, view=view, closed=closed)
        others = np.flatnonzero(columns.ids != image)
        if train.fingerprint == opened.fingerprint and len(others) < len(columns):
            columns = subset(columns, others)
        if not len(columns):
            raise DataError("no image left to learn from", file=train.path, expected="other annotated images")
        learned = Corpus.build(columns, words)
    if len(learned) < min_support and on_note is not None:
        few = f"{counted(len(learned), 'image')} to learn from, and a chance must rest on {min_support}"
        on_note(f"{few}: give more training images (--train), or a smaller --min-support")
    source = QuestionSource(learned.vocabulary, learned, options, seed)
    engine = source.engine(scene.id, stream)
    asker: Operator | Interview
    if choice is None:
        assert not isinstance(operator, str | Path)
        asker = operator
    elif choice.kind == "truth":
        check_types(source.vocabulary, opened)
        annotated = annotate(opened, source.vocabulary, view=view, closed=closed, scenes=[scene.id])
        asker = GroundTruth(annotated.image(0), source.vocabulary)
    elif choice.kind == "file":
        assert choice.file is not None
        asker = FromFile(choice.file, scene.id, source.vocabulary, stream=stream, seed=seed, missing="stop")
    else:
        file = Path(answers or f"answers-{file_name(scene.id)}.jsonl")
        asker = PersonOperator(choice.kind, file, view)
    if isinstance(asker, Operator):
        made = ask_all(engine, asker, on_note)
    else:
        made = asker(engine, scene, source.vocabulary)
    return AskedImage(made, source.vocabulary, scene, len(learned), view)


def _scene(data: Dataset, scene_id: str) -> Scene:
    """The scene of that id; a DataError that offers what is there."""
    try:
        return data.scene(scene_id)
    except (KeyError, DataError):
        known = data.scan("views").select("scene_id").unique().collect()["scene_id"].sort().to_list()
        problem, some = f"no such image{did_you_mean(scene_id, known)}", ", ".join(known[:3])
        some = f"one of {counted(len(known), 'scene')}: {some}…" if len(known) > 3 else some
        raise DataError(problem, file=data.path, field="--image", expected=some, found=scene_id) from None
