"""The fast estimator against literally walking every image."""

from __future__ import annotations

import math
from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exams.turing.turing_cases import Case, all_questions, assumptions, cases, random_case, random_columns
from reference.turing_oracle import SlowEstimator
from sightline.errors import ConfigError
from sightline.exams.turing.estimate import frequencies as frequencies_module
from sightline.exams.turing.estimate import labelled as labelled_module
from sightline.exams.turing.estimate.corpus import Corpus
from sightline.exams.turing.estimate.estimator import NONE_MADE, Assumptions, Chance, Estimator, QuestionOptions
from sightline.exams.turing.estimate.frequencies import Frequencies
from sightline.exams.turing.vocabulary.questions import Label, Question, labels_of
from sightline.exams.turing.vocabulary.vocabulary import (
    Attribute,
    AttributeSource,
    ObjectType,
    Region,
    RelationType,
    Vocabulary,
)

SWITCHED = [Assumptions(), NONE_MADE, *(replace(Assumptions(), **{f.name: False}) for f in fields(Assumptions))]


def same(found: list[Chance], expected: list[Chance]) -> bool:
    return len(found) == len(expected) and all(
        a.support == b.support and (a.p_yes == b.p_yes or (math.isnan(a.p_yes) and math.isnan(b.p_yes)))
        for a, b in zip(found, expected, strict=True)
    )


def told(estimator: Estimator, case: Case) -> Estimator:
    for question, answer in case.history:
        estimator.learn(question, answer)
    return estimator


def some_questions(case: Case, seed: int, most: int = 40) -> list[Question]:
    questions = all_questions(case.vocabulary, labels_of(case.history), 2)
    order = np.random.default_rng(seed).permutation(len(questions))[:most]
    return [questions[i] for i in order]


@settings(max_examples=150, deadline=None)
@given(cases(images=12, steps=8), assumptions(), st.integers(1, 6), st.sampled_from([0.0, 0.5]), st.integers(0, 9))
def test_any_history_under_any_assumptions(
    case: Case, made: Assumptions, min_support: int, smoothing: float, seed: int
) -> None:
    slow = told(SlowEstimator(case.columns, case.vocabulary, made, min_support, smoothing), case)
    options = QuestionOptions(min_support=min_support, assumptions=made, smoothing=smoothing)
    fast = told(Frequencies(Corpus.build(case.columns, case.vocabulary), options), case)
    questions = some_questions(case, seed)
    assert same(fast.chances(questions), slow.chances(questions))


@pytest.mark.parametrize("made", SWITCHED)
@pytest.mark.parametrize("seed", [3, 4])
def test_more_images_than_bits_in_a_word(made: Assumptions, seed: int) -> None:
    case = random_case(seed, images=200, steps=7)
    slow, fast = (
        SlowEstimator(case.columns, case.vocabulary, made, 3),
        Frequencies(Corpus.build(case.columns, case.vocabulary), QuestionOptions(min_support=3, assumptions=made)),
    )
    for k, step in enumerate(case.history):
        questions = all_questions(case.vocabulary, labels_of(case.history[:k]), 1)[k::9]
        assert same(fast.chances(questions), slow.chances(questions))
        fast.learn(*step)
        slow.learn(*step)
    questions = all_questions(case.vocabulary, labels_of(case.history), 2)[::9]
    assert same(fast.chances(questions), slow.chances(questions))


@pytest.mark.parametrize(
    "few",
    [
        10**9,  # by planes while a type has few labels
        0,  # object by object from the first label on
    ],
)
def test_planes_and_objects_agree(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(labelled_module, "FEW", few)
    for seed in range(25):
        case = random_case(seed, images=100, steps=6, links=0)
        slow = told(SlowEstimator(case.columns, case.vocabulary), case)
        fast = told(Frequencies(Corpus.build(case.columns, case.vocabulary)), case)
        questions = some_questions(case, seed, 25)
        assert same(fast.chances(questions), slow.chances(questions)), seed


def wide_vocabulary() -> Vocabulary:
    """More attributes, relations and regions than fit half a word."""
    names = [f"a{i}" for i in range(70)]
    attributes = tuple(
        Attribute(n, "even" if i % 2 else "odd", n, AttributeSource("flag", n)) for i, n in enumerate(names)
    )
    regions = (Region("image", (0, 0, 1, 1)), *(Region(f"w{i}", (i / 40, 0, (i + 2) / 41, 1)) for i in range(39)))
    links = tuple(RelationType(f"r{i}", f"r{i}", group="g") for i in range(66))
    return Vocabulary(
        "wide", (ObjectType("thing", ("thing",), attributes), ObjectType("bare", ("bare",))), links, regions
    )


@pytest.mark.parametrize("made", [Assumptions(), NONE_MADE])
def test_wide_words(made: Assumptions) -> None:
    vocabulary = wide_vocabulary()
    columns = random_columns(np.random.default_rng(2), vocabulary, 160, most_objects=4)
    history = [
        (Question("unique", "thing", ("a65",), "w7"), True),
        (Question("unique", "thing", ("a69",), "w30"), True),
        (Question("attribute", attributes=("a64", "a66"), subject=Label("thing", 1)), False),
        (Question("relation", subject=Label("thing", 2), object=Label("thing", 1), relation="r65"), True),
    ]
    asked = [Question(k, "thing", (f"a{i}",), f"w{i % 39}") for i in range(0, 70, 5) for k in ("exist", "unique")]
    options = QuestionOptions(min_support=1, assumptions=made)
    slow, fast = (
        SlowEstimator(columns, vocabulary, made, 1),
        Frequencies(Corpus.build(columns, vocabulary), options),
    )
    for k, step in enumerate(history):
        assert same(fast.chances(asked), slow.chances(asked))
        slow.learn(*step)
        fast.learn(*step)
        if k >= 1:
            pair = {"subject": Label("thing", 1), "object": Label("thing", 2)}
            asked += [
                Question("attribute", attributes=(f"a{60 + k + i}",), subject=Label("thing", 1)) for i in (1, 4)
            ]
            asked += [Question("relation", relation=f"r{62 + k}", **pair)]
    assert same(fast.chances(asked), slow.chances(asked))
    assert any(chance.support for chance in fast.chances(asked[:28]))


def test_what_holds_of_the_history_holds_of_what_is_kept() -> None:
    """H(I) = 1 implies H′_q(I) = 1: no region has fewer images than fit the whole history."""
    for seed in range(20):
        case = random_case(seed, images=60, steps=6)
        alone = told(
            Frequencies(Corpus.build(case.columns, case.vocabulary), QuestionOptions(assumptions=NONE_MADE)), case
        )
        kept = told(Frequencies(alone.corpus), case)
        assert not (alone._masks[-2] & ~kept._masks[:-2]).any()


def test_forks_do_not_disturb_each_other() -> None:
    case = random_case(11, images=80, steps=6)
    first = Frequencies(Corpus.build(case.columns, case.vocabulary))
    questions = all_questions(case.vocabulary, ())
    before = first.chances(questions)
    second = told(first.fork(), case)
    after = second.chances(questions)
    assert same(first.chances(questions), before)
    told(first, case)
    assert same(first.chances(questions), after)
    assert not same(before, after)
    assert same(second.fork().chances(questions), before)


def test_arrays_say_what_chances_say() -> None:
    for seed in range(10):
        case = random_case(seed, images=60, steps=6)
        estimator = told(Frequencies(Corpus.build(case.columns, case.vocabulary)), case)
        every = all_questions(case.vocabulary, estimator.labels, 2)
        for questions in (every, [q for q in every if q.instantiates], []):
            p_yes, support = estimator.probabilities(questions)
            found = [Chance(*pair) for pair in zip(p_yes.tolist(), support.tolist(), strict=True)]
            assert same(found, estimator.chances(questions))
            assert same(estimator.chances(questions[::3]), found[::3])


def test_lists_that_begin_and_end_alike_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frequencies_module, "_MOST_PLANS", 2)
    case = random_case(5, images=60)
    estimator = Frequencies(Corpus.build(case.columns, case.vocabulary))
    first, *others, last = all_questions(case.vocabulary, ())
    for middle in others * 2:
        asked = [first, middle, last]
        assert same(estimator.chances(asked), [estimator.fork().chances([q])[0] for q in asked])
    assert len(estimator._plans) <= 2


def test_nothing_left_is_never_a_guess() -> None:
    case = random_case(1, images=30)
    estimator = Frequencies(Corpus.build(case.columns, case.vocabulary), QuestionOptions(smoothing=1.0))
    name = case.vocabulary.types[0].name
    for answer in (True, False):
        estimator.learn(Question("exist", name), answer)
    estimator.learn(Question("unique", name), True)
    estimator.learn(Question("unique", name), True)
    asked = [
        q for q in all_questions(case.vocabulary, estimator.labels, 2) if q.instantiates and q.region == "image"
    ]
    assert all(chance.support == 0 and math.isnan(chance.p_yes) for chance in estimator.chances(asked))


def labelled_estimator() -> tuple[Case, Frequencies]:
    case = random_case(0, images=40, links=2)
    estimator = Frequencies(Corpus.build(case.columns, case.vocabulary))
    estimator.learn(Question("unique", case.vocabulary.types[0].name), True)
    return case, estimator


@pytest.mark.parametrize(
    ("question", "message"),
    [
        (Question("exist", "persom"), "no 'persom', did you mean 'person'"),  # no such type
        (Question("unique", "person", region="lefd"), "no 'lefd'"),  # no such region
        (Question("exist", "person", ("nought",)), "'person' has no attribute 'nought'"),  # no such attribute
        (Question("attribute", attributes=("nought",), subject=Label("person", 1)), "no attribute 'nought'"),
        (Question("attribute", attributes=(), subject=Label("person", 2)), "person 2, which was not labelled"),
        (Question("relation", relation="r0", subject=Label("person", 1)), "no object, which was not labelled"),
        (
            Question("relation", relation="r0", subject=Label("person", 1), object=Label("person", 1)),
            "person 1 and itself",
        ),  # of one object
    ],
)
def test_questions_that_cannot_be_asked(question: Question, message: str) -> None:
    _, estimator = labelled_estimator()
    with pytest.raises(ConfigError, match=message):
        estimator.chances([question])
    before = estimator.chances([Question("exist", "person")])
    with pytest.raises(ConfigError, match=message):
        estimator.learn(question, True)
    assert same(estimator.chances([Question("exist", "person")]), before)


def test_a_relation_of_other_types_cannot_be_asked() -> None:
    kinds = tuple(ObjectType(name, (name,)) for name in ("person", "car"))
    links = (RelationType("drives", "driving", ("person",), ("car",)),)
    vocabulary = Vocabulary("two", kinds, links, (Region("image", (0, 0, 1, 1)),))
    columns = random_columns(np.random.default_rng(0), vocabulary, 60)
    estimator = Frequencies(Corpus.build(columns, vocabulary))
    for name in ("person", "car"):
        estimator.learn(Question("unique", name), True)
    asked = Question("relation", relation="drives", subject=Label("car", 1), object=Label("person", 1))
    with pytest.raises(ConfigError, match="'drives' cannot be asked of 'car' and 'person'"):
        estimator.chances([asked])
