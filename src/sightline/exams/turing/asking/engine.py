"""The query generator: which question comes next, step by step, and how the answers lead it on.

A story begins with a search: existence and uniqueness questions over all types and regions. Once something is
there, the search stays with its type and within its region. A positive uniqueness question labels an object; then
come its attributes, then its relations to those labelled before, then a new search. Only questions whose answer
cannot be guessed are asked, one drawn at random from the simplest; where no search is left, the stream halts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from sightline.errors import ConfigError
from sightline.exams.turing.asking.candidates import Candidates, Focus
from sightline.exams.turing.asking.implied import Knowledge
from sightline.exams.turing.asking.operators import StoppedError
from sightline.exams.turing.asking.streams import Operator, Step, Stream
from sightline.exams.turing.chances.belief import Belief, Chance
from sightline.exams.turing.words.questions import History, Label, Question, Truth, labels_of
from sightline.exams.turing.words.vocabulary import Vocabulary

_ROUNDING = 1e-9
"""0.65 lies within 0.5 ± 0.15, though not in binary."""


@dataclass(frozen=True, slots=True)
class Settings:
    """When a question may be asked, and how many are.

    Attributes:
        epsilon: Unpredictable is a chance of yes within 0.5 ± epsilon…
        min_support: …that rests on at least so many images, objects or pairs.
        questions: Answered questions after which a stream ends; None for as many as there are. Ambiguous ones do
            not count.
        most_candidates: Questions to weigh at a time, where a vocabulary has very many: drawn at random, and more
            only if none of them will do. The choice stays uniform; None weighs all.
    """

    epsilon: float = 0.15
    min_support: int = 30
    questions: int | None = None
    most_candidates: int | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.epsilon <= 0.5:
            raise ConfigError(f"epsilon must lie in 0…0.5, not {self.epsilon}")
        for name, least in (("min_support", 1), ("questions", 1), ("most_candidates", 1)):
            value = getattr(self, name)
            if value is not None and value < least:
                raise ConfigError(f"{name} must be at least {least}, not {value}")

    def unpredictable(self, chance: Chance) -> bool:
        """Whether a question of that chance may be asked.

        >>> Settings().unpredictable(Chance(0.65, 30)), Settings().unpredictable(Chance(0.5, 29))
        (True, False)
        """
        return bool(self.near_even(chance.p_yes, chance.support))

    def near_even(self, p_yes: Any, support: Any) -> Any:
        """The same of numbers or of whole arrays."""
        return (support >= self.min_support) & (abs(p_yes - 0.5) <= self.epsilon + _ROUNDING)

    def to_dict(self) -> dict[str, Any]:
        """As JSON values; also the keywords of `ask`."""
        return asdict(self)


class Proposal(NamedTuple):
    """A question to be put to the operator; the rest as in `Step`."""

    number: int
    question: Question
    chance: Chance
    story: int
    among: int


@runtime_checkable
class Forks(Belief, Protocol):
    """A belief that can begin anew."""

    def fork(self) -> Belief:
        """One over the same images with an empty history."""


@runtime_checkable
class Weighs(Belief, Protocol):
    """A belief that weighs many questions faster than it can make `Chance`s of them."""

    def weigh(self, questions: Sequence[Question]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """What `chances` says, as chances of a yes and supports."""


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

    @property
    def searching_anew(self) -> _State:
        return replace(self, focus=None, about=None, relating=False, story=self.story + 1)


class Engine:
    """Asks about one image, a question at a time.

    ``propose`` says what to ask, and says the same until ``take`` is told the answer; ``undo`` takes the last
    answer back. The same answers bring the same questions: a draw depends on seed, scene, stream and step alone.

    Args:
        belief: What the training images say; its history is empty, and grows with this stream.
        vocabulary: The one of the belief.
        scene_id: The image.
        seed: Of the random choices, from 0.
        number: Which stream of that image, from 0.
        settings: When a question may be asked.
        candidates: All questions of the vocabulary; to be given where many streams share them.
    """

    def __init__(
        self,
        belief: Belief,
        vocabulary: Vocabulary,
        *,
        scene_id: str,
        seed: int,
        number: int = 0,
        settings: Settings | None = None,
        candidates: Candidates | None = None,
    ) -> None:
        if seed < 0 or number < 0:
            raise ConfigError(f"seed and number of a stream count from 0, not {min(seed, number)}")
        self._belief, self._vocabulary = belief, vocabulary
        self._candidates = candidates or Candidates(vocabulary)
        self.scene_id, self.seed, self.number = scene_id, seed, number
        self.settings = settings or Settings()
        self._state = _State()
        self._pending: Proposal | None = None
        self._past: list[tuple[_State, Proposal]] = []
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

    def propose(self) -> Proposal | None:
        """The question to be answered next; None if there is none."""
        if self._pending is None and self._halted is None:
            history = self.history
            if self.settings.questions is not None and len(history) >= self.settings.questions:
                self._halted = "limit"
            else:
                self._pending = self._next(Knowledge(history, self._vocabulary))
                self._halted = None if self._pending else "exhausted"
        return self._pending

    def take(self, truth: Truth, object_id: str | None = None) -> Step:
        """Note the operator's answer to the proposed question, and which object it labelled if that is known."""
        proposal = self.propose()
        if proposal is None:
            raise ConfigError(f"nothing was asked: the stream is at its end ({self._halted})")
        question = proposal.question
        label = None
        if question.kind == "unique" and truth is Truth.YES:
            label = Label(question.type, 1 + sum(given.type == question.type for given in self.labels))
        step = Step(
            number=proposal.number,
            question=question,
            p_yes=proposal.chance.p_yes,
            support=proposal.chance.support,
            truth=truth,
            label=label,
            object_id=object_id if label else None,
            story=proposal.story,
            among=proposal.among,
        )
        if truth is not Truth.AMBIGUOUS:
            self._belief.learn(question, truth is Truth.YES)
        self._past.append((self._state, proposal))
        self._state, self._pending = _after(self._state, step), None
        return step

    def undo(self) -> Step | None:
        """Take the last answer back and ask that question again; None where nothing was answered yet."""
        if not self._past:
            return None
        last = self._state.steps[-1]
        if last.truth is not Truth.AMBIGUOUS:
            self._belief = self._shorter()
        self._state, self._pending = self._past.pop()
        self._halted = None
        return last

    def stop(self) -> None:
        """End the stream because the operator will not go on."""
        self._pending, self._halted = None, "operator"

    def stream(self) -> Stream:
        """What was asked so far; one that has not ended counts as ended by the operator."""
        return Stream(self.scene_id, self.seed, self.number, self._state.steps, self._halted or "operator")

    def _shorter(self) -> Belief:
        """The belief without the last answer, learned again from the start."""
        if not isinstance(self._belief, Forks):
            raise ConfigError(f"{type(self._belief).__name__} cannot unlearn an answer: it has no fork()")
        fresh = self._belief.fork()
        for told in self.history[:-1]:
            fresh.learn(*told)
        return fresh

    def _next(self, known: Knowledge) -> Proposal | None:
        draw = self._generator()
        while True:
            found = self._drawn(self._levels(known), known, draw)
            if found is not None:
                return found
            if self._state.about is not None and not self._state.relating:
                self._state = replace(self._state, relating=True)
            elif self._state.about is not None or self._state.focus is not None:
                self._state = self._state.searching_anew
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
    ) -> Proposal | None:
        state = self._state
        for level in levels:
            for part in self._parts(tuple(level), draw):
                open_ones = [
                    (q, c)
                    for q, c in self._unpredictable(part)
                    if q not in state.closed and known.implied(q) is None
                ]
                if open_ones:
                    question, chance = open_ones[int(draw.integers(len(open_ones)))]
                    return Proposal(len(state.steps) + 1, question, chance, state.story, len(open_ones))
        return None

    def _unpredictable(self, questions: Sequence[Question]) -> Iterator[tuple[Question, Chance]]:
        if not isinstance(self._belief, Weighs):
            weighed = zip(questions, self._belief.chances(questions), strict=True)
            yield from ((q, c) for q, c in weighed if self.settings.unpredictable(c))
            return
        p_yes, support = self._belief.weigh(questions)
        for i in np.flatnonzero(self.settings.near_even(p_yes, support)).tolist():
            yield questions[i], Chance(float(p_yes[i]), int(support[i]))

    def _parts(self, questions: Sequence[Question], draw: np.random.Generator) -> Iterator[Sequence[Question]]:
        """All at once, or in random order so many at a time."""
        size = self.settings.most_candidates
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


def ask(
    belief: Belief,
    vocabulary: Vocabulary,
    operator: Operator,
    *,
    scene_id: str,
    seed: int,
    number: int = 0,
    questions: int | None = None,
    epsilon: float = 0.15,
    min_support: int = 30,
    most_candidates: int | None = None,
    candidates: Candidates | None = None,
) -> Stream:
    """A whole stream about one image, answered by an operator; arguments as in `Engine` and `Settings`."""
    settings = Settings(epsilon, min_support, questions, most_candidates)
    engine = Engine(
        belief, vocabulary, scene_id=scene_id, seed=seed, number=number, settings=settings, candidates=candidates
    )
    while (proposal := engine.propose()) is not None:
        try:
            told = operator.answer(proposal.question, engine.history)
        except StoppedError:
            engine.stop()
        else:
            engine.take(*told)
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
