"""Contradictions in what a person said: answers that cannot all be true, whatever the picture shows.

The engine never asks what follows from earlier answers by its own rules. A person can contradict himself all the
same: by where he says that an object is, by denying a thing in every part of a region where he said one is, and by
answers whose conflict shows only later.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from sightline.exams.turing.logic.knowledge import Knowledge
from sightline.exams.turing.stream.steps import Step
from sightline.exams.turing.vocabulary.questions import Box, Label, Truth
from sightline.exams.turing.vocabulary.vocabulary import Vocabulary
from sightline.text import counted

_INSIDE = 0.005
"""Fraction of the image: how far a box that lies within a region may stick out of it."""


def contradictions(steps: Sequence[Step], vocabulary: Vocabulary) -> tuple[str, ...]:
    """Say in a sentence each why the latest answer contradicts those before it; empty where it does not.

    Args:
        steps: All that was answered so far, in order.
        vocabulary: Words of the questions.
    """
    if not steps or not steps[-1].decided:
        return ()
    decided = [step for step in steps if step.decided]
    found = [*_same_object(decided), *_misplaced(decided, vocabulary), *_covered(decided, vocabulary)]
    if not found:  # what was told before is not told again
        told = set(_implied(decided[:-1], vocabulary))
        found = [reason for reason in _implied(decided, vocabulary) if reason not in told]
    return tuple(dict.fromkeys(found))


def _same_object(steps: Sequence[Step]) -> Iterator[str]:
    """An object that has a label already."""
    last = steps[-1]
    for step in steps[:-1] if last.label else ():
        if step.label is not None and last.object_id is not None and step.object_id == last.object_id:
            yield f"{last.label} is the object that answer {step.number} labelled {step.label}"


def _misplaced(steps: Sequence[Step], vocabulary: Vocabulary) -> Iterator[str]:
    """A labelled object that lies outside its question's region, or where none of its kind was said to be."""
    last = steps[-1]
    if last.label is None or last.box is None:
        return
    question = last.question
    if not _meet(last.box, vocabulary.region(question.region).box):
        yield f"{last.label} was marked outside the region that question {last.number} asks about"
    has = Knowledge(tuple((step.question, step.truth is Truth.YES) for step in steps), vocabulary).has(last.label)
    for step in steps[:-1]:
        asked = step.question
        denied = asked.instantiates and asked.kind == "exist" and step.truth is Truth.NO
        if not denied or asked.type != question.type or not set(asked.attributes) <= has:
            continue
        if _within(last.box, vocabulary.region(asked.region).box):
            yield f"{last.label} was marked where answer {step.number} says there is none"


def _covered(steps: Sequence[Step], vocabulary: Vocabulary) -> Iterator[str]:
    """Something was said to be in a region, and nothing in each of the parts that make it up."""
    for step in steps:
        found = step.question
        if not (found.kind == "exist" and step.truth is Truth.YES):
            continue
        since = [s for s in steps if s.number > step.number]
        labels = [s.label for s in steps if s.label is not None and s.label.type == found.type]
        if any(s.label in labels for s in since):  # the one that was there may be labelled by now
            continue
        denials = [
            s
            for s in steps
            if s.question.kind == "exist" and s.truth is Truth.NO and s.question.type == found.type
            if set(s.question.attributes) <= set(found.attributes) and _labels_before(steps, s) == labels
        ]
        regions = [vocabulary.region(s.question.region).box for s in denials]
        whole = vocabulary.region(found.region).box
        if (steps[-1] is step or steps[-1] in denials) and _cover(regions, whole):
            numbers = ", ".join(str(s.number) for s in denials)
            denied = counted(len(denials), "answer").partition(" ")[2]
            yield f"answer {step.number} says one is there, {denied} {numbers} that there is none in any part of it"


def _implied(steps: Sequence[Step], vocabulary: Vocabulary) -> Iterator[str]:
    """An answer that the other answers settle, the other way."""
    for i, step in enumerate(steps):
        if step.label is not None:
            continue
        question = step.question
        later = [s.label for s in steps[i:] if s.label is not None and s.label.type == question.type]
        if question.instantiates and later:  # its meaning has changed since
            continue
        others = tuple((s.question, s.truth is Truth.YES) for s in steps if s is not step)
        said = step.truth is Truth.YES
        if Knowledge(others, vocabulary).implied(question) is (not said):
            follows = "no" if said else "yes"
            yield f"{follows} to question {step.number} follows from the other answers"


def _labels_before(steps: Sequence[Step], step: Step) -> list[Label]:
    kind = step.question.type
    return [s.label for s in steps if s.number < step.number and s.label is not None and s.label.type == kind]


def _meet(a: Box, b: Box) -> bool:
    return min(a[2], b[2]) > max(a[0], b[0]) and min(a[3], b[3]) > max(a[1], b[1])


def _within(a: Box, b: Box) -> bool:
    return all(a[k] >= b[k] - _INSIDE for k in (0, 1)) and all(a[k] <= b[k] + _INSIDE for k in (2, 3))


def _cover(boxes: Sequence[Box], whole: Box) -> bool:
    """Whether rectangles together cover another.

    >>> _cover([(0, 0, 0.5, 1), (0.4, 0, 1, 1)], (0, 0, 1, 1)), _cover([(0, 0, 0.5, 1)], (0, 0, 1, 1))
    (True, False)
    """
    xs = sorted({whole[0], whole[2], *(b[k] for b in boxes for k in (0, 2) if whole[0] < b[k] < whole[2])})
    ys = sorted({whole[1], whole[3], *(b[k] for b in boxes for k in (1, 3) if whole[1] < b[k] < whole[3])})
    centres = [((x0 + x1) / 2, (y0 + y1) / 2) for x0, x1 in pairwise(xs) for y0, y1 in pairwise(ys)]
    return all(any(b[0] <= x <= b[2] and b[1] <= y <= b[3] for b in boxes) for x, y in centres)
