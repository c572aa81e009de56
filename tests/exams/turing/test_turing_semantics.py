"""Questions and histories over one image: the table of meanings, then properties against the brute-force oracle."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exams.turing.turing_cases import Case, all_questions, cases
from reference.turing_oracle import SlowEstimator, picture_of, truth, walked
from sightline.errors import ConfigError
from sightline.exams.turing.annotations.columns import Annotation, Columns, packed
from sightline.exams.turing.annotations.semantics import answer, walk
from sightline.exams.turing.estimate.estimator import Assumptions
from sightline.exams.turing.vocabulary.questions import Label, Question, Truth, labels_of
from sightline.exams.turing.vocabulary.vocabulary import (
    Attribute,
    AttributeSource,
    ObjectType,
    Region,
    RelationType,
    Vocabulary,
)

FLAG = AttributeSource("flag")
WORDS = Vocabulary(
    "street",
    (
        ObjectType(
            "person", ("person",), (Attribute("tall", "size", "tall", FLAG), Attribute("wet", "wet", "wet", FLAG))
        ),
        ObjectType("car", ("car",), (Attribute("red", "colour", "red", FLAG),)),
    ),
    (RelationType("near", "near", ordered=False), RelationType("holds", "hold", verb="does")),
    (Region("image", (0, 0, 1, 1)), Region("left", (0, 0, 0.5, 1)), Region("right", (0.5, 0, 1, 1))),
)
ONE, TWO = Label("person", 1), Label("person", 2)
YES, NO, OPEN = Truth.YES, Truth.NO, Truth.AMBIGUOUS


def image(*things: str, holds: tuple[str, ...] = (), fails: tuple[str, ...] = ()) -> Annotation:
    """Objects as ``person:tall,-wet,left``; a minus for a surely missing attribute; relations as ``0 near 1``."""
    kinds = [thing.split(":")[0] for thing in things]
    told = [set(thing.partition(":")[2].split(",")) for thing in things]
    names = [[a.name for a in WORDS.kind(kind).attributes] for kind in kinds]
    table = np.zeros((2, len(things), len(things), 2), dtype=bool)
    for block, facts in zip(table, (holds, fails), strict=True):
        for a, name, b in (fact.split() for fact in facts):
            block[int(a), int(b), WORDS.link_index[name]] = True
    return Annotation(
        "i",
        tuple(f"o{i}" for i in range(len(things))),
        np.array([WORDS.type_index[kind] for kind in kinds], dtype=np.int16),
        np.array(["crowd" in facts for facts in told], dtype=bool),
        np.array(
            [[k < len(n) and n[k] in f for k in range(2)] for n, f in zip(names, told, strict=True)], dtype=bool
        ).reshape(-1, 2),
        np.array(
            [[k < len(n) and f"-{n[k]}" in f for k in range(2)] for n, f in zip(names, told, strict=True)],
            dtype=bool,
        ).reshape(-1, 2),
        np.array([[True, "left" in f, "right" in f] for f in told], dtype=bool).reshape(-1, 3),
        *table,
    )


@pytest.mark.parametrize(
    ("things", "attributes", "region", "exist", "unique"),
    [
        ((), (), "image", NO, NO),  # an empty image
        (("car",), (), "image", NO, NO),  # another type
        (("person",), (), "image", YES, YES),  # one
        (("person", "person"), (), "image", YES, NO),  # two
        (("person:crowd",), (), "image", YES, NO),  # a crowd counts as two
        (("person:left",), (), "right", NO, NO),  # elsewhere
        (("person:left", "person:right"), (), "right", YES, YES),  # one of two is there
        (("person:tall",), ("tall",), "image", YES, YES),  # it fits
        (("person:-tall",), ("tall",), "image", NO, NO),  # it does not
        (("person",), ("tall",), "image", OPEN, OPEN),  # nobody knows
        (("person:tall", "person"), ("tall",), "image", YES, OPEN),  # one fits, another may
        (("person:tall", "person:tall", "person"), ("tall",), "image", YES, NO),  # two fit, whatever the third
        (("person", "person:crowd"), ("tall",), "image", OPEN, OPEN),  # a crowd of which nobody knows
        (("person:tall", "person:-tall"), ("tall",), "image", YES, YES),  # one fits, one does not
        (("person:tall,-wet",), ("tall", "wet"), "image", NO, NO),  # one attribute surely missing is enough
        (("person:-wet",), ("tall", "wet"), "image", NO, NO),  # even where the other is unknown
        (("person:tall",), ("tall", "wet"), "image", OPEN, OPEN),  # one known, one not
        (("person:tall,wet",), ("tall", "wet"), "image", YES, YES),  # both
    ],
)
def test_existence_and_uniqueness(
    things: tuple[str, ...], attributes: tuple[str, ...], region: str, exist: Truth, unique: Truth
) -> None:
    for kind, expected in (("exist", exist), ("unique", unique)):
        question = Question(kind, "person", attributes, region)  # type: ignore[arg-type]
        assert answer(image(*things), question, {}, WORDS)[0] is expected


def test_labelled_objects_are_looked_past() -> None:
    two = image("person:tall", "car", "person")
    anyone = Question("unique", "person")
    assert answer(two, anyone, {}, WORDS) == (NO, None)
    assert answer(two, anyone, {ONE: 0}, WORDS) == (YES, 2)
    assert answer(two, anyone, {ONE: 0, TWO: 2}, WORDS) == (NO, None)


@pytest.mark.parametrize(("attributes", "expected"), [(("tall",), YES), (("wet",), OPEN), (("tall", "wet"), OPEN)])
def test_attributes_of_a_labelled_object(attributes: tuple[str, ...], expected: Truth) -> None:
    question = Question("attribute", attributes=attributes, subject=ONE)
    assert answer(image("car", "person:tall"), question, {ONE: 1}, WORDS) == (expected, None)


def test_one_attribute_surely_missing_denies_them_all() -> None:
    question = Question("attribute", attributes=("tall", "wet"), subject=ONE)
    assert answer(image("person:-wet"), question, {ONE: 0}, WORDS) == (NO, None)


@pytest.mark.parametrize(
    ("relation", "subject", "thing", "expected"),
    [("holds", ONE, TWO, YES), ("holds", TWO, ONE, NO), ("near", ONE, TWO, OPEN)],
)
def test_relations_of_labelled_objects(relation: str, subject: Label, thing: Label, expected: Truth) -> None:
    two = image("person", "person", holds=("0 holds 1",), fails=("1 holds 0",))
    question = Question("relation", subject=subject, object=thing, relation=relation)
    assert answer(two, question, {ONE: 0, TWO: 1}, WORDS) == (expected, None)


@pytest.mark.parametrize(
    "question",
    [
        Question("attribute", attributes=("tall",), subject=TWO),
        Question("attribute", attributes=("tall",)),
        Question("relation", subject=ONE, object=TWO, relation="near"),
    ],
)
def test_nobody_speaks_of_what_was_not_labelled(question: Question) -> None:
    with pytest.raises(ConfigError, match="labelled are person 1"):
        answer(image("person", "person"), question, {ONE: 0}, WORDS)


def test_a_history_is_walked_in_order() -> None:
    two = image("person:tall,left", "person:-tall,right")
    left = (Question("unique", "person", region="left"), True)
    tall = (Question("attribute", attributes=("tall",), subject=ONE), True)
    other = (Question("unique", "person"), True)
    assert walk(two, (left, tall, other), WORDS) == (True, {ONE: 0, TWO: 1})
    assert walk(two, (other, left), WORDS) == (False, {})  # two of them before one is labelled
    assert walk(two, (left, (tall[0], False)), WORDS) == (False, {ONE: 0})
    wet = (Question("attribute", attributes=("wet",), subject=ONE), True)
    assert walk(two, (left, wet, other), WORDS) == (None, {ONE: 0})


@settings(max_examples=60, deadline=None)
@given(case=cases())
def test_answers_and_walks_are_those_of_the_oracle(case: Case) -> None:
    words = {True: YES, False: NO, None: OPEN}
    for i in range(len(case.columns)):
        annotation = case.columns.image(i)
        picture = picture_of(annotation, case.vocabulary)
        holds, labelled = walk(annotation, case.history, case.vocabulary)
        slow = walked(picture, case.history)
        assert (holds is True) == (slow is not None)
        if slow is not None:
            assert labelled == slow
        for question in all_questions(case.vocabulary, tuple(labelled)):
            found, thing = answer(annotation, question, labelled, case.vocabulary)
            assert found is words[truth(picture, question, labelled)]
            assert (thing is not None) == (found is YES and question.kind == "unique")


@settings(max_examples=60, deadline=None)
@given(case=cases(steps=8))
def test_labels_are_different_objects_that_were_alone(case: Case) -> None:
    for i in range(len(case.columns)):
        annotation = case.columns.image(i)
        _, labelled = walk(annotation, case.history, case.vocabulary)
        assert len(set(labelled.values())) == len(labelled)
        assert not annotation.crowd[list(labelled.values())].any()
        for label, thing in labelled.items():
            assert case.vocabulary.types[annotation.types[thing]].name == label.type
        for kind in case.vocabulary.types:
            left = [k for k, t in enumerate(annotation.types) if case.vocabulary.types[t] is kind]
            left = [k for k in left if k not in labelled.values()]
            expected = YES if left else NO
            assert answer(annotation, Question("exist", kind.name), labelled, case.vocabulary)[0] is expected


@settings(max_examples=60, deadline=None)
@given(case=cases(steps=8), forget=st.tuples(st.booleans(), st.booleans()))
def test_what_holds_of_an_image_holds_of_it_shortened(case: Case, forget: tuple[bool, bool]) -> None:
    estimator = SlowEstimator(case.columns, case.vocabulary, Assumptions(*forget))
    for told in case.history:
        estimator.learn(*told)
    for i in range(len(case.columns)):
        holds, labelled = walk(case.columns.image(i), case.history, case.vocabulary)
        for question in all_questions(case.vocabulary, ()):
            shorter = tuple(estimator.kept(question))
            assert labels_of(shorter) == labels_of(case.history)
            if holds:
                assert walk(case.columns.image(i), shorter, case.vocabulary) == (True, labelled)


def columns_of(*images: Annotation) -> Columns:
    sizes = [len(i.objects) for i in images]
    return Columns(
        np.array([f"s{k}" for k in range(len(images))], dtype=object),
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        np.array([o for i in images for o in i.objects], dtype=object),
        np.concatenate([i.types for i in images]),
        np.concatenate([i.crowd for i in images]),
        packed(np.concatenate([i.yes for i in images])),
        packed(np.concatenate([i.no for i in images])),
        packed(np.concatenate([i.seen for i in images]))[:, 0],
        np.concatenate([[0], np.cumsum(np.square(sizes))]).astype(np.int64),
        packed(np.concatenate([i.holds.reshape(-1, 2) for i in images])),
        packed(np.concatenate([i.fails.reshape(-1, 2) for i in images])),
        2,
        3,
        2,
    )


FOUR = columns_of(
    image("person:tall,left", "person:-tall,right", holds=("0 near 1", "1 near 0"), fails=("0 holds 1",)),
    image("person:tall,wet,left", "person:tall,wet,right", holds=("0 holds 1",), fails=("1 holds 0",)),
    image("person:-tall,-wet,left"),
    image("car:red,left"),
)
LEFT = (Question("unique", "person", region="left"), True)
RIGHT = (Question("unique", "person", region="right"), True)


@pytest.mark.parametrize(
    ("history", "question", "expected"),
    [
        ((), Question("exist", "person"), (3 / 4, 4)),  # over all images
        ((), Question("exist", "person", ("wet",)), (1 / 3, 3)),  # one image cannot tell
        ((LEFT,), Question("exist", "person"), (2 / 3, 3)),  # another person, where one is on the left
        ((LEFT,), Question("attribute", attributes=("tall",), subject=ONE), (3 / 5, 5)),  # over all objects
        (
            (LEFT, (Question("attribute", attributes=("wet",), subject=ONE), True)),
            Question("attribute", attributes=("tall",), subject=ONE),
            (3 / 5, 5),
        ),  # another group does not count
        ((LEFT, RIGHT), Question("relation", subject=ONE, object=TWO, relation="holds"), (1 / 3, 3)),  # over pairs
        (
            ((Question("exist", "person", region="right"), False),),
            Question("exist", "person", region="left"),
            (3 / 4, 4),
        ),  # another region does not count
        (
            ((Question("exist", "person", region="right"), False),),
            Question("exist", "person"),
            (1 / 2, 2),
        ),  # the whole image meets it
    ],
)
def test_the_oracle_counts_as_by_hand(
    history: tuple[tuple[Question, bool], ...], question: Question, expected: tuple[float, int]
) -> None:
    estimator = SlowEstimator(FOUR, WORDS, min_support=1)
    for told in history:
        estimator.learn(*told)
    assert estimator.chances([question]) == [pytest.approx(expected)]


def test_the_oracle_drops_negatives_without_support() -> None:
    known = (Question("attribute", attributes=("tall",), subject=ONE), False)
    asked = Question("attribute", attributes=("tall", "wet"), subject=ONE)
    with_groups = Assumptions(independent_groups=False)
    few, many = (SlowEstimator(FOUR, WORDS, with_groups, min_support=n) for n in (2, 3))
    for estimator in (few, many):
        estimator.learn(*LEFT)
        estimator.learn(*known)
    assert few.chances([asked]) == [(0.0, 2)]  # the two who are surely not tall
    assert many.chances([asked]) == [(0.0, 2)]  # of the question's own group nothing is dropped


def test_the_oracle_without_assumptions_looks_at_images_only() -> None:
    estimator = SlowEstimator(FOUR, WORDS, Assumptions(objects_pooled=False), smoothing=1.0)
    estimator.learn(*LEFT)
    asked = Question("attribute", attributes=("tall",), subject=ONE)
    assert estimator.chances([asked]) == [((2 + 1) / (3 + 2), 3)]
    estimator.learn(Question("exist", "person", region="left"), True)
    assert math.isnan(estimator.chances([asked])[0].p_yes)
