"""Nothing certain is asked: against all worlds of small vocabularies that fit the history."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.turing_worlds import CARS, LINKS, WORDS, Fact, Walk, columns_of, relation_worlds, worlds
from sightline.exams.turing.estimate.corpus import Corpus
from sightline.exams.turing.estimate.estimator import QuestionOptions
from sightline.exams.turing.estimate.frequencies import Frequencies
from sightline.exams.turing.logic.knowledge import Knowledge
from sightline.exams.turing.logic.relations import RelationRules
from sightline.exams.turing.stream.engine import Engine
from sightline.exams.turing.vocabulary.questions import Label, Question, Truth, labels_of
from sightline.exams.turing.vocabulary.vocabulary import Vocabulary

EVERY = worlds(5)
RULES = RelationRules(Vocabulary("cars", (), LINKS, ()))


@cache
def corpus() -> Corpus:
    drawn = np.random.default_rng(0).integers(len(worlds(4)), size=400)
    return Corpus.build(columns_of([worlds(4)[i] for i in drawn]), WORDS)


@settings(max_examples=25, deadline=None)
@given(
    world=st.integers(0, len(worlds(3)) - 1), seed=st.integers(0, 99), epsilon=st.sampled_from([0.15, 0.3, 0.45])
)
def test_a_question_with_one_answer_in_all_consistent_worlds_is_never_asked(
    world: int, seed: int, epsilon: float
) -> None:
    """The worlds have up to two cars more than the one asked about, so that their number says nothing."""
    options = QuestionOptions(epsilon, min_support=5, questions=12, interval=False)
    engine = Engine(Frequencies(corpus(), options), WORDS, scene_id=f"w{world}", seed=seed, options=options)
    here, left = Walk(worlds(3)[world]), [Walk(one) for one in EVERY]
    while (step := engine.propose()) is not None:
        question = step.question
        assert {walk.truth(question) for walk in left} == {True, False}, (engine.history, question)
        answer = here.truth(question)
        after = here.after(question, answer)
        assert after is not None
        here = after
        left = [further for walk in left if (further := walk.after(question, answer)) is not None]
        engine.take(Truth.YES if answer else Truth.NO)


@settings(max_examples=60, deadline=None)
@given(world=st.integers(0, len(worlds(3)) - 1), seed=st.integers(0, 2**32 - 1))
def test_logic_alone_never_contradicts_a_consistent_world(world: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    here, left, history = Walk(worlds(3)[world]), [Walk(one) for one in EVERY], ()
    for _ in range(6):
        for question in all_asked(history):
            implied = Knowledge(history, WORDS).implied(question)
            if implied is not None:
                assert {walk.truth(question) for walk in left} == {implied}, (history, question)
        question = rng.choice(np.array(all_asked(history), dtype=object))
        answer = here.truth(question)
        here = here.after(question, answer)  # type: ignore[assignment]
        left = [further for walk in left if (further := walk.after(question, answer)) is not None]
        history = (*history, (question, answer))


def all_asked(history: tuple[tuple[Question, bool], ...]) -> list[Question]:
    sets = ((), ("large",), ("bus",))
    regions = ("image", "left", "right")
    searches = [Question(k, "car", s, r) for k in ("exist", "unique") for s in sets for r in regions]  # type: ignore[arg-type]
    return searches + [
        Question("attribute", attributes=names, subject=label) for label in labels_of(history) for names in sets[1:]
    ]


@cache
def related() -> list[dict[Fact, bool]]:
    return list(relation_worlds())


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_relations_are_settled_exactly_where_all_worlds_agree(data: st.DataObject) -> None:
    world = related()[data.draw(st.integers(0, len(related()) - 1))]
    known = {fact: world[fact] for fact in data.draw(st.lists(st.sampled_from(sorted(world)), max_size=5))}
    left = [one for one in related() if all(one[fact] is said for fact, said in known.items())]
    for fact in world:
        answers = {one[fact] for one in left}
        assert RULES.settled(known, fact) is (answers.pop() if len(answers) == 1 else None), (known, fact)


A, B, C = CARS


@pytest.mark.parametrize(
    ("known", "asked", "expected"),
    [
        ({("taller", A, B): False}, ("taller", B, A), True),  # the end of the turned question
        ({("taller", A, B): True}, ("taller", B, A), False),  # a strict order
        ({("taller", A, B): True, ("taller", B, C): True}, ("taller", A, C), True),  # transitivity
        ({("left", A, B): False}, ("left", B, A), None),  # a partial order leaves it open
        ({("left", A, B): True}, ("right", B, A), True),  # opposites
        ({("left", A, B): True}, ("right", A, B), False),  # exclusive
        ({("left", A, B): True, ("right", C, B): True}, ("left", A, C), True),  # transitivity over an opposite
        ({("left", A, C): False, ("left", A, B): True}, ("left", B, C), False),  # read backwards
        ({("holds", A, B): True}, ("holds", B, A), False),  # asymmetric
        ({("holds", A, B): True}, ("touches", B, A), True),  # one predicate says both
        ({("touches", A, B): False}, ("holds", B, A), False),  # and backwards
        ({("holds", A, B): True, ("holds", B, C): True}, ("holds", A, C), None),  # not transitive
        (
            {("taller", A, B): True, ("taller", B, A): True},
            ("taller", A, C),
            None,
        ),  # contradictory: nothing follows
    ],
)
def test_what_follows_of_relations(known: dict[Fact, bool], asked: Fact, expected: bool | None) -> None:
    assert RULES.settled(known, asked) is expected


def test_an_ambiguous_relation_closes_those_that_say_the_same_of_the_two() -> None:
    asked = Question("relation", subject=A, object=B, relation="left")
    assert RULES.rejected_with(asked) == {asked, replace(asked, subject=B, object=A, relation="right")}
    tall = replace(asked, relation="taller")
    assert RULES.rejected_with(tall) == {tall, replace(tall, subject=B, object=A)}


def test_an_attribute_denies_the_relation_it_is_about() -> None:
    from sightline.exams.turing.vocabulary.files import load_vocabulary

    words = load_vocabulary("worlds")
    one, two = Label("object", 1), Label("object", 2)
    history = (
        (Question("unique", "object", ("red",)), True),
        (Question("attribute", attributes=("containing something",), subject=one), False),
        (Question("unique", "object", ("blue",)), True),
    )
    known = Knowledge(history, words)
    assert known.implied(Question("relation", subject=one, object=two, relation="contains")) is False
    assert known.implied(Question("relation", subject=two, object=one, relation="contains")) is None
