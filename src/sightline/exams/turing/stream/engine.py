"""The query generator: which question comes next, step by step, and how the answers lead it on.

A story begins with a search: existence and uniqueness questions over all types and regions. Once something is
there, the search stays with its type and within its region. A positive uniqueness question labels an object; then
come its attributes, then its relations to those labelled before, then a new search. Only questions whose answer
cannot be guessed are asked, one drawn at random from the simplest; where no search is left, the stream halts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import NamedTuple

import numpy as np

from sightline.errors import ConfigError
from sightline.exams.turing.estimate.estimator import EstimatesArrays, Estimator, Forks, QuestionOptions
from sightline.exams.turing.logic.knowledge import Knowledge, Rules
from sightline.exams.turing.logic.profiles import profiles_of
from sightline.exams.turing.stream.operators import Locates, Operator, StoppedError
from sightline.exams.turing.stream.steps import Step, Stream
from sightline.exams.turing.vocabulary.questions import Box, History, Label, Question, Truth, labels_of, next_label
from sightline.exams.turing.vocabulary.vocabulary import ObjectType, Vocabulary


class Focus(NamedTuple):
    """Where the search goes on once something was found to be there: that type, that region or one within it."""

    type: str
    region: str


class Candidates:
    """The sets Q_H of a vocabulary.

    Which objects are labelled, what is known of them and what was asked before is the caller's to say.
    Questions are built once and kept, since an engine walks the same ones at every step.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self.rules = Rules(vocabulary)
        self._searches: dict[tuple[int, Focus | None], tuple[Question, ...]] = {}
        self._attributes: dict[tuple[int, Label], tuple[Question, ...]] = {}

    @property
    def most_attributes(self) -> int:
        """The largest number of attributes any question has."""
        return min(self._vocabulary.most_attributes, max(len(k.attributes) for k in self._vocabulary.types))

    def searches(self, size: int, focus: Focus | None = None) -> tuple[Question, ...]:
        """Existence and uniqueness questions of that many attributes: all types and regions, or those in focus."""
        if (size, focus) not in self._searches:
            self._searches[size, focus] = tuple(self._searched(size, focus))
        return self._searches[size, focus]

    def attributes(self, label: Label, size: int, known: Collection[str] = ()) -> Iterator[Question]:
        """Questions about a labelled object, of that many attributes.

        One that joins an attribute the object is known to have asks nothing new by it, so those stay out.
        """
        if (size, label) not in self._attributes:
            sets = attribute_sets(self._vocabulary.kind(label.type), size)
            made = (Question("attribute", attributes=names, subject=label) for names in sets if names)
            self._attributes[size, label] = tuple(made)
        has = frozenset(known)
        yield from (q for q in self._attributes[size, label] if has.isdisjoint(q.attributes))

    def relations(self, label: Label, earlier: Collection[Label]) -> Iterator[Question]:
        """Questions about a labelled object and each labelled before it: both orders where the order matters."""
        for other in earlier:
            for link in self._vocabulary.links:
                orders = [(a, b) for a, b in ((other, label), (label, other)) if link.joins(a.type, b.type)]
                for a, b in orders if link.ordered else orders[:1]:
                    yield Question("relation", subject=a, object=b, relation=link.name)

    def _searched(self, size: int, focus: Focus | None) -> Iterator[Question]:
        words = self._vocabulary
        regions = [r.name for r in words.regions if focus is None or r.within(words.region(focus.region))]
        for kind in words.types:
            if focus is None or kind.name == focus.type:
                for names in attribute_sets(kind, size):
                    for region in regions:
                        yield Question("exist", kind.name, names, region)
                        yield Question("unique", kind.name, names, region)


def attribute_sets(kind: ObjectType, size: int) -> Iterator[tuple[str, ...]]:
    """Sets of that many attributes which one object can have together, and none of which follows from the others.

    >>> from sightline.exams.turing.vocabulary.vocabulary import Attribute, AttributeSource
    >>> words = [("red", "colour"), ("blue", "colour"), ("parked", "motion")]
    >>> attributes = tuple(Attribute(name, group, name, AttributeSource("flag", name)) for name, group in words)
    >>> kind = ObjectType("car", (), attributes, frozenset({"colour"}))
    >>> list(attribute_sets(kind, 2))
    [('red', 'parked'), ('blue', 'parked')]
    """
    profiles = profiles_of(kind)
    for chosen in combinations([attribute.name for attribute in kind.attributes], size):
        if profiles.joinable(chosen):
            yield chosen


@dataclass(frozen=True, slots=True)
class _State:
    """Where a story stands: in search (of anything, or in focus), at the attributes of an object, or its relations.

    Attributes:
        closed: Questions not to be asked again: a search until the next label of its type, which changes what it
            means; others never.
    """

    steps: tuple[Step, ...] = ()
    focus: Focus | None = None
    about: Label | None = None
    relating: bool = False
    story: int = 1
    closed: frozenset[Question] = frozenset()


class Engine:
    """Asks about one image, a question at a time.

    ``propose`` says what to ask, and says the same until ``take`` is told the answer; ``undo`` takes the last
    answer back. The same answers bring the same questions: a draw depends on seed, scene, stream and step alone.

    Args:
        estimator: Over the training images; its history is empty, and grows with this stream.
        vocabulary: The one of the estimator.
        scene_id: The image.
        seed: Of the random choices, from 0.
        number: Which stream of that image, from 0.
        options: When a question may be asked.
        candidates: All questions of the vocabulary; to be given where many streams share them.
    """

    def __init__(
        self,
        estimator: Estimator,
        vocabulary: Vocabulary,
        *,
        scene_id: str,
        seed: int,
        number: int = 0,
        options: QuestionOptions | None = None,
        candidates: Candidates | None = None,
    ) -> None:
        if seed < 0 or number < 0:
            raise ConfigError(f"seed and number of a stream count from 0, not {min(seed, number)}")
        self._estimator, self._vocabulary = estimator, vocabulary
        self._candidates = candidates or Candidates(vocabulary)
        self.scene_id, self.seed, self.number = scene_id, seed, number
        self.options = options or QuestionOptions()
        self._state = _State()
        self._pending: Step | None = None
        self._past: list[tuple[_State, Step]] = []
        self._halted: str | None = None

    @property
    def history(self) -> History:
        """What was asked and answered so far."""
        return self.stream().history

    @property
    def labels(self) -> tuple[Label, ...]:
        """Labels given so far, in order."""
        return labels_of(self.history)

    @property
    def halted(self) -> str | None:
        """Why there is nothing more to ask, as in `Stream`; None while there is."""
        return self._halted

    def propose(self) -> Step | None:
        """The question to be answered next; None if there is none."""
        if self._pending is None and self._halted is None:
            history = self.history
            if self.options.questions is not None and len(history) >= self.options.questions:
                self._halted = "limit"
            else:
                self._pending = self._next(Knowledge(history, self._vocabulary, self._candidates.rules))
                self._halted = None if self._pending else "exhausted"
        return self._pending

    def take(self, truth: Truth, object_id: str | None = None, box: Box | None = None) -> Step:
        """Note the operator's answer to the proposed question, and which object it labelled if that is known.

        Args:
            truth: The answer.
            object_id: Id of the object it labelled.
            box: Where that object is, xyxy in fractions of the image, if a person said so.
        """
        proposed = self.propose()
        if proposed is None:
            raise ConfigError(f"nothing was asked: the stream is at its end ({self._halted})")
        question, label = proposed.question, None
        if question.labels_if(truth is Truth.YES):
            label = next_label(question.type, self.labels)
        object_id, box = (object_id, box) if label else (None, None)
        step = replace(proposed, truth=truth, label=label, object_id=object_id, box=box)
        if step.decided:
            self._estimator.learn(question, truth is Truth.YES)
        self._past.append((self._state, proposed))
        self._state, self._pending = _after(self._state, step), None
        if truth is Truth.AMBIGUOUS and question.kind == "relation":
            also = self._candidates.rules.relations.rejected_with(question)
            self._state = replace(self._state, closed=self._state.closed | also)
        return step

    def undo(self) -> Step | None:
        """Take the last answer back and ask that question again; None where nothing was answered yet."""
        if not self._past:
            return None
        last = self._state.steps[-1]
        if last.decided:
            self._estimator = self._shorter()
        self._state, self._pending = self._past.pop()
        self._halted = None
        return last

    def stop(self) -> None:
        """End the stream because the operator will not go on."""
        self._pending, self._halted = None, "operator"

    def stream(self) -> Stream:
        """What was asked so far; one that has not ended counts as ended by the operator."""
        return Stream(self.scene_id, self.seed, self.number, self._state.steps, self._halted or "operator")

    def _shorter(self) -> Estimator:
        """The estimator without the last answer: one that learns the history again from its start."""
        if not isinstance(self._estimator, Forks):
            raise ConfigError(f"{type(self._estimator).__name__} cannot unlearn an answer: it has no fork()")
        fresh = self._estimator.fork()
        for question, answer in self.history[:-1]:
            fresh.learn(question, answer)
        return fresh

    def _next(self, known: Knowledge) -> Step | None:
        draw = self._generator()
        while True:
            step = self._drawn(self._levels(known), known, draw)
            if step is not None:
                return step
            if self._state.about is not None and not self._state.relating:
                self._state = replace(self._state, relating=True)
            elif self._state.about is not None or self._state.focus is not None:
                anew = self._state.story + 1
                self._state = replace(self._state, focus=None, about=None, relating=False, story=anew)
            else:
                return None

    def _levels(self, known: Knowledge) -> Iterator[Iterable[Question]]:
        """The questions of the present phase, simplest first."""
        state, sets = self._state, self._candidates
        if state.about is None:
            yield from (sets.searches(size, state.focus) for size in range(sets.most_attributes + 1))
        elif state.relating:
            yield sets.relations(state.about, [label for label in self.labels if label != state.about])
        else:
            has = known.has(state.about)
            yield from (sets.attributes(state.about, size, has) for size in range(1, sets.most_attributes + 1))

    def _drawn(
        self, levels: Iterable[Iterable[Question]], known: Knowledge, draw: np.random.Generator
    ) -> Step | None:
        state = self._state
        for level in levels:
            for part in self._parts(tuple(level), draw):
                open_ones = [
                    one
                    for one in self._unpredictable(part)
                    if one[0] not in state.closed
                    if not self.options.logic or known.implied(one[0]) is None
                    if not self.options.parts or not self._rests_on_one_part(one[0], known)
                ]
                if open_ones:
                    chosen = open_ones[int(draw.integers(len(open_ones)))]
                    return Step(len(state.steps) + 1, *chosen, story=state.story, among=len(open_ones))
        return None

    def _unpredictable(self, questions: Sequence[Question]) -> Iterator[tuple[Question, float, int]]:
        """Those that may be asked, each with its chance of a yes and what that rests on."""
        if isinstance(self._estimator, EstimatesArrays):
            p_yes, support = self._estimator.probabilities(questions)
        else:
            chances = self._estimator.chances(questions)
            p_yes, support = np.array([c.p_yes for c in chances]), np.array([c.support for c in chances])
        for i in np.flatnonzero(self.options.unpredictable(p_yes, support)).tolist():
            yield questions[i], float(p_yes[i]), int(support[i])

    def _rests_on_one_part(self, question: Question, known: Knowledge) -> bool:
        """Whether one part of what is asked of a labelled object is all but certain, so that only the rest is."""
        if question.kind != "attribute" or len(question.attributes) < 2:
            return False
        parts = [replace(question, attributes=(name,)) for name in question.attributes]
        if any(known.implied(part) is not None for part in parts):
            return True
        chances = self._estimator.chances(parts)
        return any(self.options.nearly_certain(chance.p_yes, chance.support) for chance in chances)

    def _parts(self, questions: Sequence[Question], draw: np.random.Generator) -> Iterator[Sequence[Question]]:
        """All at once, or in random order so many at a time."""
        size = self.options.most_candidates
        if size is None or len(questions) <= size:
            if questions:
                yield questions
            return
        order = draw.permutation(len(questions))
        for start in range(0, len(order), size):
            yield [questions[i] for i in order[start : start + size]]

    def _generator(self) -> np.random.Generator:
        scene = np.frombuffer(hashlib.sha256(self.scene_id.encode()).digest(), "<u4").tolist()
        return np.random.default_rng([self.seed, self.number, len(self._state.steps), *scene])


def ask_all(engine: Engine, operator: Operator, on_stop: Callable[[str], None] | None = None) -> Stream:
    """Ask until nothing is left to ask, or the operator will not go on: the whole stream.

    Args:
        engine: Chooses the questions.
        operator: Answers them.
        on_stop: Called with the operator's reason if it stops.
    """
    while (step := engine.propose()) is not None:
        try:
            truth, object_id = operator.answer(step.question, engine.history)
            box = operator.box(step.question, engine.history) if isinstance(operator, Locates) else None
            engine.take(truth, object_id, box)
        except StoppedError as stopped:
            if on_stop is not None:
                on_stop(str(stopped))
            engine.stop()
    return engine.stream()


def _after(state: _State, step: Step) -> _State:
    """Where the story stands once a question is answered."""
    question, closed = step.question, state.closed | {step.question}
    if step.label is not None:
        closed = frozenset(q for q in closed if not (q.instantiates and q.type == question.type))
        state = replace(state, about=step.label, relating=False, focus=None)
    elif question.kind == "exist" and step.truth is Truth.YES:
        state = replace(state, focus=Focus(question.type, question.region))
    return replace(state, steps=(*state.steps, step), closed=closed)
