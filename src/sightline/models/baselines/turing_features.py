"""Describe a question by the history alone, as words with weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sightline.exams.turing.vocabulary.questions import Label, Question
from sightline.exams.turing.vocabulary.vocabulary import Region, Vocabulary

Floats = NDArray[np.float64]
Words = Mapping[str, float]
Answered = tuple[Question, bool]

_SURE: Final = 0.02  # estimates are clipped to this and 1 − this


def logit(p: Floats) -> Floats:
    """Log odds, kept finite; 0 for NaN.

    >>> logit(np.array([0.5, np.nan])).tolist()
    [0.0, 0.0]
    """
    clipped = np.clip(np.where(np.isnan(p), 0.5, p), _SURE, 1 - _SURE)
    return np.asarray(np.log(clipped / (1 - clipped)))


def features(question: Question, history: Sequence[Answered], p_yes: float, vocabulary: Vocabulary) -> Words:
    """Words about a question and its history, with their weights in the sum.

    Args:
        question: The question.
        history: Questions before, with their answers.
        p_yes: The engine's estimate.
        vocabulary: Words of both.
    """
    kind, labelled = question.kind, instantiated(history)
    about = question.type or _types(question)
    what = "+".join(question.attributes) or question.relation
    given = sum(label.type == question.type for label in labelled)
    lean = (2 * sum(yes for _, yes in history) - len(history)) / (len(history) + 2)
    words = [
        kind,
        f"{kind}|{about}",
        f"{kind}|{question.region}",
        f"{kind}|{about}|{what}",
        f"{kind}|{about}|{what}|{question.region}",
        f"{kind}|step {min(len(history) // 5, 8)}",
        f"{kind}|labels {min(len(labelled), 6)}",
        f"{kind}|{about}|given {min(given, 4)}",
    ]
    words += [f"{kind}|after {before.kind} {yes}" for before, yes in history[-1:]]
    if kind == "attribute":
        words += _of_attribute(question, history, labelled)
    elif kind == "relation":
        words += _of_relation(question, history, labelled, vocabulary)
    else:
        words += _of_search(question, history, labelled, vocabulary)
    weighted = dict.fromkeys(words, 1.0)
    return weighted | {f"{kind}|p": float(logit(np.array([p_yes]))[0]), f"{kind}|lean": lean}


def instantiated(history: Sequence[Answered]) -> dict[Label, Question]:
    """The question each label was given by."""
    given: dict[Label, Question] = {}
    for question, yes in history:
        if question.kind == "unique" and yes:
            number = 1 + sum(label.type == question.type for label in given)
            given[Label(question.type, number)] = question
    return given


def _of_search(
    question: Question, history: Sequence[Answered], labelled: Mapping[Label, Question], vocabulary: Vocabulary
) -> list[str]:
    """What earlier searches for the type found, by how their regions and attributes lie to these."""
    kind, what, region = question.kind, "+".join(question.attributes), vocabulary.region(question.region)
    words = []
    for before, yes in history:
        if before.instantiates and before.type != question.type:
            words.append(f"{kind}|{question.type}|{before.kind} {before.type} {yes}")
        elif before.instantiates:
            lies = _lies(region, vocabulary.region(before.region))
            sets = _sets(frozenset(question.attributes), frozenset(before.attributes))
            words.append(f"{kind}|{before.kind} {yes} {lies} {sets}")
            words.append(f"{kind}|{question.type}|{what}|{before.kind} {'+'.join(before.attributes)} {yes} {lies}")
        elif before.kind == "attribute" and before.subject and before.subject.type == question.type:
            words.append(f"{kind}|{question.type}|{what}|another {'+'.join(before.attributes)} {yes}")
    words += [
        f"{kind}|{question.type}|label {_lies(region, vocabulary.region(by.region))}"
        for label, by in labelled.items()
        if label.type == question.type
    ]
    return words


def _of_attribute(question: Question, history: Sequence[Answered], labelled: Mapping[Label, Question]) -> list[str]:
    """What is known of the object, and of others of its type."""
    stem = f"attribute|{_types(question)}|{'+'.join(question.attributes)}"
    words = [f"{stem}|{fact}" for fact in _facts(question.subject, history, labelled)]
    for before, yes in history:
        same = before.kind == "attribute" and before.subject != question.subject
        if same and before.attributes == question.attributes:
            words.append(f"{stem}|another {yes}")
    return words


def _of_relation(
    question: Question, history: Sequence[Answered], labelled: Mapping[Label, Question], vocabulary: Vocabulary
) -> list[str]:
    """Where the two were found, what is known of each, and what else was said between them or about either."""
    stem, (a, b) = f"relation|{question.relation}|{_types(question)}", (question.subject, question.object)
    words = [f"{stem}|first {fact}" for fact in _facts(a, history, labelled)]
    words += [f"{stem}|second {fact}" for fact in _facts(b, history, labelled)]
    if a in labelled and b in labelled:
        regions = [labelled[label].region for label in (a, b) if label is not None]
        boxes = [vocabulary.region(name).box for name in regions]
        centres = [(box[0] + box[2], box[1] + box[3]) for box in boxes]
        words.append(f"{stem}|across {np.sign(round(centres[0][0] - centres[1][0], 6)):+.0f}")
        words.append(f"{stem}|down {np.sign(round(centres[0][1] - centres[1][1], 6)):+.0f}")
        words.append(f"{stem}|regions {'|'.join(regions)}")
    for before, yes in history:
        if before.kind != "relation":
            continue
        ends = {(a, b): "same", (b, a): "turned"}.get((before.subject, before.object))
        if ends is None:
            touches = [str(x == y) for x in (a, b) for y in (before.subject, before.object)]
            ends = "".join(touch[0] for touch in touches)
        words.append(f"{stem}|{before.relation} {ends} {yes}")
    return words


def _facts(label: Label | None, history: Sequence[Answered], labelled: Mapping[Label, Question]) -> list[str]:
    """What is known of a labelled object: where and as what it was found, and what was answered about it."""
    if label is None or label not in labelled:
        return []
    by = labelled[label]
    facts = [f"in {by.region}", *(f"is {name} True" for name in by.attributes)]
    for before, yes in history:
        if before.kind == "attribute" and before.subject == label:
            facts.append(f"is {'+'.join(before.attributes)} {yes}")
    return facts


def _types(question: Question) -> str:
    return "|".join(label.type for label in (question.subject, question.object) if label is not None)


def _lies(region: Region, other: Region) -> str:
    """How a region lies to another."""
    if region.within(other):
        return "same" if other.within(region) else "inside"
    if other.within(region):
        return "around"
    return "meets" if region.meets(other) else "apart"


def _sets(these: frozenset[str], those: frozenset[str]) -> str:
    """How a set of attributes lies to another."""
    if these == those:
        return "equal"
    return "more" if these > those else "fewer" if these < those else "other"
