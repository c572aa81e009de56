"""The query generator over small random corpora, with the brute-force estimator; and its order, limits and undo."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache

import numpy as np
import pytest

from exams.turing.turing_cases import all_questions, ask, random_columns, random_vocabulary
from reference.turing_oracle import SlowEstimator
from sightline.errors import ConfigError
from sightline.exams.turing.estimate.estimator import Chance, QuestionOptions
from sightline.exams.turing.logic.knowledge import Knowledge
from sightline.exams.turing.stream.engine import Candidates, Engine, Focus, ask_all
from sightline.exams.turing.stream.operators import GroundTruth, StoppedError
from sightline.exams.turing.stream.steps import Stream
from sightline.exams.turing.vocabulary.questions import History, Label, Question, Truth, labels_of
from sightline.exams.turing.vocabulary.vocabulary import (
    Attribute,
    AttributeSource,
    ObjectType,
    Region,
    RelationType,
    Vocabulary,
)

YES, NO, OPEN = Truth.YES, Truth.NO, Truth.AMBIGUOUS
SMALL = QuestionOptions(epsilon=0.25, min_support=3)


def attribute(name: str, group: str) -> Attribute:
    return Attribute(name, group, name, AttributeSource("flag", name))


WORDS = Vocabulary(
    "street",
    (
        ObjectType("person", ("person",), (attribute("tall", "size"), attribute("wet", "state"))),
        ObjectType(
            "car", ("car",), (attribute("red", "colour"), attribute("blue", "colour")), frozenset({"colour"})
        ),
    ),
    (
        RelationType("near", "near", ordered=False),
        RelationType("drives", "drive", ("person",), ("car",), verb="does"),
    ),
    (Region("image", (0, 0, 1, 1)), Region("left", (0, 0, 0.5, 1)), Region("corner", (0, 0, 0.5, 0.5))),
)
PERSON, CAR = Label("person", 1), Label("car", 1)


@dataclass
class Even:
    """A estimator to which everything is open, but for what `predictable` names by kind or attribute count."""

    predictable: frozenset[str | int] = frozenset()
    support: int = 100
    learned: list[tuple[Question, bool]] = field(default_factory=list)

    def chances(self, questions: Sequence[Question]) -> list[Chance]:
        shut = [q.kind in self.predictable or len(q.attributes) in self.predictable for q in questions]
        return [Chance(0.1 if s else 0.5, self.support) for s in shut]

    def learn(self, question: Question, answer: bool) -> None:
        self.learned.append((question, answer))

    def fork(self) -> Even:
        return Even(self.predictable, self.support)


@dataclass
class Says:
    """An operator that answers by kind, or all in turn; stops at the end of a list."""

    answers: dict[str, Truth] | list[Truth]

    def answer(self, question: Question, history: History) -> tuple[Truth, str | None]:
        if isinstance(self.answers, dict):
            return self.answers[question.kind], None
        if not self.answers:
            raise StoppedError("no more")
        return self.answers.pop(0), None


@cache
def made(seed: int) -> tuple[Stream, Vocabulary, SlowEstimator]:
    """A stream over a random corpus, by ground truth of an image that is not in it; and a fresh estimator."""
    rng = np.random.default_rng(seed)
    words = random_vocabulary(rng, links=2)
    columns = random_columns(rng, words, 80, most_objects=4)
    asked = random_columns(rng, words, 1, most_objects=4).image(0)
    estimator = SlowEstimator(columns, words, min_support=SMALL.min_support)
    truth = GroundTruth(asked, words)
    stream = ask(estimator.fork(), words, truth, scene_id=asked.id, seed=seed, epsilon=0.25, min_support=3)
    return stream, words, estimator


@pytest.mark.parametrize("seed", range(24))
def test_a_stream_keeps_the_rules_of_the_story(seed: int) -> None:
    stream, words, fresh = made(seed)
    estimator = fresh.fork()
    assert stream.halted == "exhausted"
    history: History = ()
    asked: list[tuple[Question, int]] = []
    for number, step in enumerate(stream.steps, start=1):
        question = step.question
        known, given = Knowledge(history, words), labels_of(history)
        assert step.number == number
        assert estimator.chance(question) == (step.p_yes, step.support)  # as the oracle counts
        assert SMALL.unpredictable(*estimator.chance(question))
        assert known.implied(question) is None
        this = question, sum(label.type == question.type for label in given)
        assert this not in asked  # since the last label of its type
        asked.append(this)
        if not question.instantiates:
            assert given[-1] in (question.subject, question.object)  # of the latest object only
        for simpler in all_questions(words, given, 2):
            if len(simpler.attributes) < len(question.attributes) and same_phase(simpler, stream, number):
                open_ = SMALL.unpredictable(*estimator.chance(simpler)) and known.implied(simpler) is None
                assert not open_ or simpler in {s.question for s in stream.steps[: number - 1]}
        if step.truth is not OPEN:
            estimator.learn(question, step.truth is YES)
            history = (*history, (question, step.truth is YES))
        assert step.label == (labels_of(history)[-1] if len(labels_of(history)) > len(given) else None)
        assert (step.object_id is None) is (step.label is None)
    assert stream.history == history
    anything = [q for q in all_questions(words, (), 2) if q not in {s.question for s in stream.steps}]
    known = Knowledge(history, words)
    assert not [q for q in anything if SMALL.unpredictable(*estimator.chance(q)) and known.implied(q) is None]


def same_phase(simpler: Question, stream: Stream, number: int) -> bool:
    """Whether a question could have been asked in the place of a step: of its kind, object, and the focus."""
    step = stream.steps[number - 1]
    if not step.question.instantiates:
        return simpler.kind == step.question.kind == "attribute" and simpler.subject == step.question.subject
    story = [s for s in stream.steps[: number - 1] if s.story == step.story]
    return simpler.instantiates and not any(s.question.kind == "exist" and s.truth is YES for s in story)


def test_the_random_streams_see_every_kind_of_step() -> None:
    steps = [step for seed in range(24) for step in made(seed)[0].steps]
    assert {(s.question.kind, s.truth) for s in steps} >= {
        (k, t) for k in ("exist", "unique", "attribute") for t in (YES, NO)
    }
    assert any(s.truth is OPEN for s in steps)
    assert any(s.question.kind == "relation" for s in steps)
    assert any(len(s.question.attributes) == 2 for s in steps)


def test_an_object_is_explored_before_the_next_search() -> None:
    engine = Engine(Even(), WORDS, scene_id="s", seed=1)
    stories: dict[int, list[str]] = {}
    while (proposal := engine.propose()) is not None:
        stories.setdefault(proposal.story, []).append(proposal.question.kind)
        engine.take(OPEN if proposal.question.kind == "exist" else YES)
    for story, kinds in stories.items():
        order = ["search" if kind in ("exist", "unique") else kind for kind in kinds]
        assert order == sorted(order, key=["search", "attribute", "relation"].index)
        assert kinds.count("unique") == ("attribute" in kinds)
        assert ("relation" in kinds) is (story > 1 and "unique" in kinds)  # the first object has no other
    assert len(engine.labels) > 2


def test_attributes_come_singly_then_joined() -> None:
    engine = Engine(Even(frozenset({"exist"})), WORDS, scene_id="s", seed=0)
    first = engine.propose()
    assert first is not None
    engine.take(YES)
    sizes = []
    while (proposal := engine.propose()) is not None and proposal.question.kind == "attribute":
        assert proposal.question.subject == Label(first.question.type, 1)
        sizes.append(len(proposal.question.attributes))
        engine.take(OPEN)
    assert sizes == ([1, 1, 2] if first.question.type == "person" else [1, 1])  # no car is red and blue


def test_a_find_narrows_the_search_to_its_type_and_region() -> None:
    shut = frozenset({"attribute", "relation"})
    engine = Engine(Even(shut), WORDS, scene_id="s", seed=3)
    focus: Focus | None = None
    narrowed, story = 0, 1
    for _ in range(60):
        proposal = engine.propose()
        if proposal is None:
            break
        question, region = proposal.question, WORDS.region(proposal.question.region)
        if focus is not None and proposal.story == story:
            assert question.type == focus.type
            assert region.within(WORDS.region(focus.region))
            narrowed += question.region != focus.region
        elif focus is not None:
            assert proposal.story == story + 1  # nothing left in focus: a new line of questions
            focus = None
        story = proposal.story
        engine.take(YES if question.kind == "exist" else NO)
        focus = Focus(question.type, question.region) if question.kind == "exist" else focus
    assert engine.halted == "exhausted"
    assert narrowed > 3


def test_a_label_opens_the_searches_of_its_type_again() -> None:
    engine = Engine(Even(frozenset({"exist", "attribute", "relation", 1, 2})), WORDS, scene_id="s", seed=0)
    asked: list[Question] = []
    labelled = 0
    while (proposal := engine.propose()) is not None:
        question = proposal.question
        small = question.region == "corner" and any(q.type == question.type for q in asked)
        asked.append(question)
        engine.take(YES if small and not engine.labels else OPEN)
        labelled = labelled or len(asked) * len(engine.labels)
    again = [q for q in asked[labelled:] if q in asked[:labelled]]
    assert set(again) == {q for q in asked[: labelled - 1] if q.type == engine.labels[0].type}
    assert again


@pytest.mark.parametrize(
    ("estimator", "answers", "options", "halted", "steps"),
    [
        (Even(support=29), {}, QuestionOptions(), "exhausted", 0),  # too little support
        (Even(support=0), {}, QuestionOptions(min_support=1), "exhausted", 0),  # an empty corpus
        (Even(frozenset({0, 1, 2})), {}, QuestionOptions(), "exhausted", 0),  # everything can be guessed
        (Even(), {"exist": NO, "unique": NO}, QuestionOptions(questions=2), "limit", 2),
        (Even(), {"exist": NO, "unique": NO}, QuestionOptions(questions=2, most_candidates=1), "limit", 2),
        (Even(), [NO, OPEN, NO], QuestionOptions(questions=2), "limit", 3),  # ambiguous ones do not count
        (Even(), [NO, NO], QuestionOptions(), "operator", 2),  # the operator stops
    ],
)
def test_a_stream_ends(
    estimator: Even, answers: dict[str, Truth] | list[Truth], options: QuestionOptions, halted: str, steps: int
) -> None:
    stream = ask_all(Engine(estimator, WORDS, scene_id="s", seed=0, options=options), Says(answers))
    assert (stream.halted, len(stream.steps)) == (halted, steps)


def test_ambiguous_answers_are_never_learned() -> None:
    estimator = Even()
    stream = ask(estimator, WORDS, Says([NO, OPEN, NO, OPEN]), scene_id="s", seed=0)
    assert len(stream.steps) == 4
    assert tuple(estimator.learned) == stream.history
    assert len(stream.history) == 2


def test_the_same_seed_asks_the_same_and_another_does_not() -> None:
    def stream(seed: int, number: int = 0, scene: str = "s") -> tuple[Question, ...]:
        says = Says({"exist": YES, "unique": NO, "attribute": YES, "relation": NO})
        asked = ask(Even(), WORDS, says, scene_id=scene, seed=seed, number=number, questions=8)
        return tuple(step.question for step in asked.steps)

    assert stream(5) == stream(5)
    assert len({stream(5), stream(6), stream(5, number=1), stream(5, scene="t")}) == 4


def test_the_first_draws_are_the_same_on_every_machine() -> None:
    engine = Engine(Even(), WORDS, scene_id="street/7", seed=11)
    drawn = []
    for _ in range(4):
        proposal = engine.propose()
        assert proposal is not None
        drawn.append((proposal.question.kind, proposal.question.type, proposal.question.region, proposal.among))
        engine.take(NO)
    assert drawn == [
        ("unique", "person", "left", 12),
        ("unique", "person", "corner", 11),
        ("exist", "car", "left", 10),
        ("exist", "person", "left", 6),  # no car is left there, nor in its corner
    ]


@pytest.mark.parametrize("most", [None, 2, 5])
def test_every_open_question_is_drawn_as_often(most: int | None) -> None:
    options = QuestionOptions(most_candidates=most)
    counts: dict[Question, int] = {}
    for seed in range(1200):
        proposal = Engine(Even(), WORDS, scene_id="s", seed=seed, options=options).propose()
        assert proposal is not None
        assert proposal.among == (most or 12)
        counts[proposal.question] = counts.get(proposal.question, 0) + 1
    assert set(counts) == set(Candidates(WORDS).searches(0))
    assert max(abs(n - 100) for n in counts.values()) < 45  # more than four standard deviations


def test_few_candidates_at_a_time_still_find_the_last_open_one() -> None:
    class One(Even):
        def chances(self, questions: Sequence[Question]) -> list[Chance]:
            assert len(questions) <= 3
            lone = Question("unique", "car", ("blue",), "corner")
            return [Chance(0.5 if question == lone else 1.0, 50) for question in questions]

    engine = Engine(One(), WORDS, scene_id="s", seed=2, options=QuestionOptions(most_candidates=3))
    proposal = engine.propose()
    assert proposal is not None
    assert (proposal.question.attributes, proposal.among) == (("blue",), 1)


def test_undo_asks_again_and_forgets_the_answer() -> None:
    engine = Engine(Even(), WORDS, scene_id="s", seed=4)
    assert engine.undo() is None
    seen = []
    for truth in (YES, OPEN, YES, YES, NO):
        seen.append((engine.propose(), engine.history))
        engine.take(truth)
    after = engine.propose()
    for proposal, history in reversed(seen):
        step = engine.undo()
        assert step is not None
        assert proposal is not None
        assert step.question == proposal.question
        assert (engine.propose(), engine.history) == (proposal, history)
    for truth in (YES, OPEN, YES, YES, NO):
        engine.take(truth)
    assert engine.propose() == after
    assert engine._estimator.learned == list(engine.history)  # type: ignore[attr-defined]


def test_undo_goes_on_after_the_end() -> None:
    engine = Engine(Even(), WORDS, scene_id="s", seed=4, options=QuestionOptions(questions=1))
    engine.take(NO)
    assert engine.propose() is None
    assert engine.halted == "limit"
    with pytest.raises(ConfigError, match="at its end"):
        engine.take(YES)
    engine.undo()
    assert engine.propose() is not None
    assert engine.halted is None


def test_undo_needs_a_belief_that_can_begin_anew() -> None:
    class Stubborn:
        chances, learn, learned = Even.chances, Even.learn, list[tuple[Question, bool]]()
        predictable, support = frozenset[str](), 100

    engine = Engine(Stubborn(), WORDS, scene_id="s", seed=0)  # type: ignore[arg-type]
    engine.take(NO)
    with pytest.raises(ConfigError, match="Stubborn cannot unlearn"):
        engine.undo()
    assert len(engine.history) == 1


@pytest.mark.parametrize(
    "bad", [{"epsilon": -0.1}, {"epsilon": 0.6}, {"min_support": 0}, {"questions": 0}, {"most_candidates": 0}]
)
def test_settings_refuse_what_makes_no_sense(bad: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match=next(iter(bad))):
        QuestionOptions(**bad)  # type: ignore[arg-type]


@pytest.mark.parametrize("bad", [{"seed": -1}, {"number": -1}])
def test_seeds_count_from_nought(bad: dict[str, int]) -> None:
    with pytest.raises(ConfigError, match="count from 0"):
        Engine(Even(), WORDS, scene_id="s", **{"seed": 0, **bad})  # type: ignore[arg-type]


def test_candidates_of_relations_know_order_and_types() -> None:
    relations = list(Candidates(WORDS).relations(CAR, [PERSON]))
    assert [(q.relation, q.subject, q.object) for q in relations] == [
        ("near", PERSON, CAR),  # unordered: once
        ("drives", PERSON, CAR),  # a car drives nobody
    ]
    ordered = Vocabulary("w", WORDS.types, (RelationType("closer", "closer than"),), WORDS.regions)
    assert len(list(Candidates(ordered).relations(CAR, [PERSON, Label("person", 2)]))) == 4
    lopsided = Vocabulary(
        "w", WORDS.types, (RelationType("by", "by", ("car",), ("person",), ordered=False),), WORDS.regions
    )
    assert [q.subject for q in Candidates(lopsided).relations(CAR, [PERSON])] == [CAR]


def test_candidates_in_focus_stay_there() -> None:
    found = Candidates(WORDS).searches(1, Focus("car", "left"))
    assert {(q.type, q.region) for q in found} == {("car", "left"), ("car", "corner")}
    assert len(found) == 2 * 2 * 2
    assert Candidates(WORDS).searches(3) == ()


def test_candidates_of_attributes_leave_known_ones_out() -> None:
    candidates = Candidates(WORDS)
    assert [q.attributes for q in candidates.attributes(PERSON, 2)] == [("tall", "wet")]
    assert list(candidates.attributes(PERSON, 2, {"wet"})) == []
    assert [q.attributes for q in candidates.attributes(PERSON, 1, {"wet"})] == [("tall",)]
