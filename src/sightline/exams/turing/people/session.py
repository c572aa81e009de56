"""A session in which a person tells the truth about one image: questions, answers, marks, undo, resuming.

Nothing here knows a terminal or a browser: those show what `TruthSession` proposes and hand it what was said.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final

from sightline.errors import ConfigError, DataError, PictureError
from sightline.exams.turing.people.answers import PersonAnswers
from sightline.exams.turing.people.consistency import contradictions
from sightline.exams.turing.stream.engine import Engine
from sightline.exams.turing.stream.operators import StoppedError
from sightline.exams.turing.stream.steps import Step, Stream, read_box
from sightline.exams.turing.transcript import Hue, Line, Transcript, transcript_of
from sightline.exams.turing.vocabulary.questions import Box, Question, Truth
from sightline.exams.turing.vocabulary.vocabulary import Vocabulary
from sightline.geometry.boxes import iou
from sightline.scenes import Scene
from sightline.show.frame import DrawnObject, ImageFrame, frame_of

KEYS: Final = {"y": Truth.YES, "n": Truth.NO, "a": Truth.AMBIGUOUS}
"""Key, or first letter typed → the answer it gives."""

_SAME: Final = 0.5
"""Overlap (intersection over union) above which a drawn box means an annotated object."""


@dataclass(frozen=True)
class Mark:
    """Where a person says that an object is: a point on it, or a box around it, in fractions of the image."""

    point: tuple[float, float] | None = None
    box: Box | None = None


@dataclass
class TruthSession:
    """One stream about one image, put to a person who tells the truth.

    Attributes:
        engine: Chooses the questions.
        vocabulary: Their words.
        answers: Where the answers are kept; those of an earlier session are taken up by `resume`.
        frame: The picture, with the annotated objects if there are any.
        conflicts: Why the latest answer contradicts earlier ones, a sentence each; empty where it does not.
    """

    engine: Engine
    vocabulary: Vocabulary
    answers: PersonAnswers
    frame: ImageFrame
    conflicts: tuple[str, ...] = field(default=(), init=False)

    def resume(self) -> int:
        """Take up the answers of an earlier session; how many there were.

        Raises:
            DataError: They are about another stream: other data, training data, settings or vocabulary.
        """
        earlier = self.answers.earlier()
        while earlier is not None and (step := self.engine.propose()) is not None:
            try:
                truth, object_id = earlier.answer(step.question, self.engine.history)
                self.engine.take(truth, object_id, earlier.box(step.question, self.engine.history))
            except StoppedError:
                break
        taken = len(self.engine.stream().steps)
        self.conflicts = contradictions(self.engine.stream().steps, self.vocabulary)
        if earlier is not None and not taken:
            raise DataError(
                "these answers belong to another stream: none is about its first question",
                file=self.answers.path,
                expected="the same data, training data, settings and vocabulary, or another file",
            )
        return taken

    @property
    def question(self) -> Step | None:
        """The question to be answered next; None at the end."""
        return self.engine.propose()

    @property
    def by_click(self) -> bool:
        """Whether a point is enough to mark an object: the image is annotated."""
        return any(o.box is not None for o in self.frame.objects)

    def marks(self, truth: Truth) -> bool:
        """Whether this answer to the present question labels an object, which the person should mark."""
        step = self.question
        return step is not None and step.question.labels_if(truth is Truth.YES)

    def reminders(self) -> list[str]:
        """What the present question leaves unsaid: labelled objects of its type do not count in a search."""
        step = self.question
        if step is None or not step.question.instantiates:
            return []
        named = [str(label) for label in self.engine.labels if label.type == step.question.type]
        if not named:
            return ["What is only partly visible there counts."]
        several = "do not count: they have" if len(named) > 1 else "does not count: it has"
        return [f"{' and '.join(named).capitalize()} {several} a label. What is only partly visible there counts."]

    def answer(self, truth: Truth, mark: Mark | None = None) -> Step:
        """Take and keep the answer to the present question; `conflicts` says whether it contradicts earlier ones.

        Raises:
            ConfigError: Nothing is asked, or the mark means no object.
        """
        proposed = self.question
        if proposed is None:
            raise ConfigError("nothing is asked: the stream is at its end")
        marked = None if mark is None or not self.marks(truth) else self.locate(proposed.question, mark)
        labels = [str(label) for label in self.engine.labels]
        object_id, box = marked or (None, None)
        step = self.engine.take(truth, object_id, None if box is None else _rounded(box))
        self.answers.add(step, labels)
        self.conflicts = contradictions(self.engine.stream().steps, self.vocabulary)
        return step

    def undo(self) -> Step | None:
        """Take the last answer back and ask that question again; None where nothing was answered yet."""
        self.conflicts = ()
        last = self.engine.undo()
        if last is not None:
            self.answers.drop()
        return last

    def keep(self) -> None:
        """Let an answer stand though it contradicts others."""
        self.conflicts = ()

    def stop(self) -> Stream:
        """End the stream where it is."""
        self.engine.stop()
        return self.engine.stream()

    def locate(self, question: Question, mark: Mark) -> tuple[str | None, Box]:
        """The annotated object that a mark means, if any, and its box in fractions of the image."""
        categories = self.vocabulary.kind(question.type).categories
        objects = [o for o in self.frame.objects if o.box is not None and o.category in categories]
        if mark.box is not None:
            box = read_box(mark.box)
            assert box is not None
            overlaps = [float(iou(self._fractions(o), box)) for o in objects]
            best = max(range(len(objects)), key=overlaps.__getitem__, default=None)
            return (None if best is None or overlaps[best] < _SAME else objects[best].id), box
        if mark.point is None:
            raise ConfigError("a mark is a point on the object or a box around it")
        x, y = mark.point
        here = [o for o in objects if _holds(self._fractions(o), x, y)]
        if not here:
            what = (
                f"no annotated {question.type} there" if self.by_click else "nothing is annotated in this picture"
            )
            raise ConfigError(f"{what}: draw a box around the object")
        chosen = min(here, key=lambda o: _area(self._fractions(o)))
        return chosen.id, self._fractions(chosen)

    def transcript(self) -> Transcript:
        """The stream so far, and the present question as its last line."""
        stream, step = self.engine.stream(), self.question
        return transcript_of(
            stream if step is None else replace(stream, steps=(*stream.steps, step)), self.vocabulary
        )

    def shown(self) -> tuple[Line, Hue | None, tuple[Line, ...]] | None:
        """The present question as people read it, the look of its region, and what was labelled before."""
        if self.question is None:
            return None
        transcript = self.transcript()
        line = transcript.lines[-1]
        return line, transcript.hue(line), transcript.labelled

    def _fractions(self, o: DrawnObject) -> Box:
        assert o.box is not None
        width, height = self.frame.size
        x0, y0, x1, y1 = o.box
        return (max(0.0, x0 / width), max(0.0, y0 / height), min(1.0, x1 / width), min(1.0, y1 / height))


def frame_for_person(scene: Scene, view: str | None) -> ImageFrame:
    """The picture a person is shown; a PictureError where it cannot be read, for nobody could answer then.

    Data without pictures shows the boxes of its objects.
    """
    shown = scene.views[0] if view is None else scene.view(view)
    frame = frame_of(scene, shown)
    if shown.load_image is not None and frame.image is None:
        raise PictureError(frame.notes[0] if frame.notes else f"{scene.id}: the picture cannot be read")
    if frame.image is None and not any(o.box is not None for o in frame.objects):
        raise PictureError(f"{scene.id}: neither a picture nor annotated objects to show")
    return frame


def _rounded(box: Box) -> Box:
    """A box to a ten thousandth of the image, as it is kept.

    >>> _rounded((0.123456, 0, 0.5, 1))
    (0.1235, 0, 0.5, 1)
    """
    x0, y0, x1, y1 = (round(v, 4) for v in box)
    return (x0, y0, x1, y1) if x0 < x1 and y0 < y1 else box


def _holds(box: Box, x: float, y: float) -> bool:
    return box[0] <= x <= box[2] and box[1] <= y <= box[3]


def _area(box: Box) -> float:
    return max(0.0, box[2] - box[0]) * max(0.0, box[3] - box[1])
