"""What a question means of one annotated image, and whether a history holds of it: the plain reading of the rules.

Everything faster is tested against this.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from sightline.errors import ConfigError
from sightline.exams.turing.annotations.columns import Annotation
from sightline.exams.turing.vocabulary.questions import History, Label, Question, Truth, next_label
from sightline.exams.turing.vocabulary.vocabulary import Vocabulary

Labelled = Mapping[Label, int]
"""Label → position in the annotation's objects."""


def answer(
    annotation: Annotation, question: Question, labelled: Labelled, vocabulary: Vocabulary
) -> tuple[Truth, int | None]:
    """The truth of a question about an image, and which object a positive uniqueness question is about.

    An object that the data leaves open *may* fit; where it matters whether it does, the question is ambiguous. An
    entry that stands for a crowd counts as two objects.

    Args:
        annotation: The image.
        question: Of the vocabulary's words.
        labelled: Objects labelled so far; existence and uniqueness questions look past them.
        vocabulary: The one the annotation was made with.
    """
    if question.kind == "attribute":
        thing = _labelled(question.subject, labelled)
        fits, cannot = _fit(annotation, question, vocabulary, question_type(question))
        return _decided(yes=bool(fits[thing]), no=bool(cannot[thing])), None
    if question.kind == "relation":
        pair = _labelled(question.subject, labelled), _labelled(question.object, labelled)
        link = vocabulary.link_index[question.relation]
        return _decided(yes=bool(annotation.holds[*pair, link]), no=bool(annotation.fails[*pair, link])), None
    return _search(annotation, question, labelled, vocabulary)


def walk(annotation: Annotation, history: History, vocabulary: Vocabulary) -> tuple[bool | None, dict[Label, int]]:
    """Whether the history holds of the image, and the labels given on the way.

    True if every answer is decided and as told; at the first that is not, False if it differs and None if it is
    ambiguous, and the walk ends there.
    """
    labelled: dict[Label, int] = {}
    for question, expected in history:
        truth, thing = answer(annotation, question, labelled, vocabulary)
        if truth is Truth.AMBIGUOUS:
            return None, labelled
        if (truth is Truth.YES) is not expected:
            return False, labelled
        if thing is not None:
            labelled[next_label(question.type, labelled)] = thing
    return True, labelled


def question_type(question: Question) -> str:
    """Type of the objects it is about; for a relation that of its subject.

    >>> question_type(Question("attribute", subject=Label("person", 1), attributes=("walking",)))
    'person'
    """
    return question.subject.type if question.subject is not None else question.type


def _search(
    annotation: Annotation, question: Question, labelled: Labelled, vocabulary: Vocabulary
) -> tuple[Truth, int | None]:
    region = vocabulary.region_index[question.region]
    of_type = annotation.types == vocabulary.type_index[question.type]
    of_type[list(labelled.values())] = False
    candidates = of_type & annotation.seen[:, region]
    perhaps = candidates if annotation.glimpsed is None else candidates | (of_type & annotation.glimpsed[:, region])
    fits, cannot = _fit(annotation, question, vocabulary, question.type)
    counts = np.where(annotation.crowd, 2, 1)
    surely = int(counts[candidates & fits].sum())
    possibly = int(counts[perhaps & ~cannot].sum())
    if question.kind == "exist":
        return _decided(yes=surely >= 1, no=possibly == 0), None
    if surely == possibly == 1:
        return Truth.YES, int(np.flatnonzero(candidates & fits)[0])
    return _decided(yes=False, no=possibly == 0 or surely >= 2), None


def _fit(
    annotation: Annotation, question: Question, vocabulary: Vocabulary, kind: str
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """(n,) objects that surely have all attributes, and those that surely lack one, all read as of that type."""
    places = [vocabulary.attribute_index[kind, name] for name in question.attributes]
    fits: NDArray[np.bool_] = np.logical_and.reduce(annotation.yes[:, places], axis=1)
    cannot: NDArray[np.bool_] = np.logical_or.reduce(annotation.no[:, places], axis=1)
    return fits, cannot


def _decided(*, yes: bool, no: bool) -> Truth:
    if yes:
        return Truth.YES
    return Truth.NO if no else Truth.AMBIGUOUS


def _labelled(label: Label | None, labelled: Labelled) -> int:
    if label is None or label not in labelled:
        given = ", ".join(map(str, labelled)) or "none"
        raise ConfigError(
            f"the question is about {label or 'no object'}, which was not labelled: labelled are {given}"
        )
    return labelled[label]
