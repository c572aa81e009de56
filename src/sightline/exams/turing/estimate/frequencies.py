"""The share of yes among the training images, objects or pairs that fit the history (equations 1–3), counted fast.

Of the images it keeps one set per region: those on which what H′ keeps for a question of that region holds. All
regions share the labelling steps, so the labelled objects are the same for all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate, compress
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sightline.errors import ConfigError
from sightline.exams.turing.annotations.columns import packed
from sightline.exams.turing.estimate.bits import Ints, Longs, Words
from sightline.exams.turing.estimate.corpus import Corpus
from sightline.exams.turing.estimate.counts import count_objects, count_planes, mark_objects, mark_planes
from sightline.exams.turing.estimate.estimator import Chance, QuestionOptions
from sightline.exams.turing.estimate.labelled import Labelled, is_in
from sightline.exams.turing.estimate.pooled import PairEnds, Pooled
from sightline.exams.turing.vocabulary.questions import Label, Question
from sightline.exams.turing.vocabulary.vocabulary import Vocabulary
from sightline.hints import hint

_DEFAULT = QuestionOptions()
_WHOLE, _LABELS = -2, -1  # rows after the regions': the whole history, its labelling steps alone

_MOST_PLANS = 256


class _PlanPart(NamedTuple):
    """Sets of attributes of one type that are asked for together.

    Attributes:
        kind: The type.
        simple: Whether no set has more than one attribute.
        sets: In no order.
        regions: Where.
    """

    kind: str
    simple: bool
    sets: list[tuple[str, ...]]
    regions: list[int]


class _Plan(NamedTuple):
    """Where the counts for n searches are found; the same whatever the history.

    Attributes:
        questions: The searches.
        parts: What is to be counted; its sets one after another are the rows of the counts.
        rows: (n,) the row of each search.
        regions: (n,) its region.
        unique: (n,) 1 for uniqueness.
    """

    questions: tuple[Question, ...]
    parts: list[_PlanPart]
    rows: Longs
    regions: Longs
    unique: Longs


class _Counts(NamedTuple):
    """(rows, W, 4) counts of a plan, see `count_planes`, and (W,) what the state of each region was then."""

    plan: _Plan
    counts: Longs
    states: Longs


class Frequencies:
    """An `Estimator` that counts over a corpus; memory does not grow with the number of questions asked.

    Args:
        corpus: Training images.
        options: Assumptions, smoothing, and the support that known negatives need.
    """

    def __init__(self, corpus: Corpus, options: QuestionOptions = _DEFAULT) -> None:
        self.corpus, self.options = corpus, options
        self._assumptions, self._smoothing = options.assumptions, options.smoothing
        regions = corpus.vocabulary.regions
        self._masks = np.tile(corpus.everything, (len(regions) + 2, 1))
        self._meets = np.array([[a.meets(b) for b in regions] for a in regions], dtype=bool)
        self._states = np.zeros(len(regions), dtype=np.int64)  # goes up by one when the images left there change
        self._sizes: dict[int, int] = {}
        self._counted: dict[int, _Counts] = {}
        self._plans: dict[tuple[int, Question, Question], _Plan] = {}
        self._labelled = Labelled(corpus, corpus.everything)
        self._facts: tuple[tuple[Question, bool], ...] = ()
        self._pooled: Pooled | None = None
        self._ends = PairEnds(corpus)

    def fork(self) -> Frequencies:
        """A fresh one with an empty history, over the same corpus."""
        fresh = Frequencies(self.corpus, self.options)
        fresh._ends, fresh._plans = self._ends, self._plans
        return fresh

    @property
    def labels(self) -> tuple[Label, ...]:
        """The labels given so far, in order."""
        return tuple(self._labelled.given_by)

    def chances(self, questions: Sequence[Question]) -> list[Chance]:
        """The chance of a yes for each, given the history so far.

        Raises:
            ConfigError: A question about an object that was not labelled, or in words the vocabulary has not.
        """
        p_yes, support = self.probabilities(questions)
        return [Chance(p, n) for p, n in zip(p_yes.tolist(), support.tolist(), strict=True)]

    def probabilities(self, questions: Sequence[Question]) -> tuple[NDArray[np.float64], Longs]:
        """The same as two arrays, (n,) chances of a yes and (n,) supports: for many searches that is far faster."""
        searches = [q.kind == "exist" or q.kind == "unique" for q in questions]
        try:
            if all(searches):
                return self._search_probabilities(tuple(questions))
            p_yes, support = np.zeros(len(questions)), np.zeros(len(questions), dtype=np.int64)
            p_yes[searches], support[searches] = self._search_probabilities(tuple(compress(questions, searches)))
            for i, search in enumerate(searches):
                if not search:
                    p_yes[i], support[i] = self._about_labelled(questions[i])
            return p_yes, support
        except KeyError as error:
            raise self._unknown(error) from None

    def learn(self, question: Question, answer: bool) -> None:
        """Add an answered question to the history.

        Raises:
            ConfigError: As for `chances`; the history is then as before.
        """
        try:
            if question.instantiates:
                self._learn_search(question, answer)
            else:
                self._learn_fact(question, answer)
        except KeyError as error:
            raise self._unknown(error) from None
        self._pooled = None

    # Existence and uniqueness.

    def _search_probabilities(self, searches: tuple[Question, ...]) -> tuple[NDArray[np.float64], Longs]:
        if not searches:
            return np.zeros(0), np.zeros(0, dtype=np.int64)
        plan = self._plan(searches)
        counts = self._count(plan)
        sizes = np.array([self._size(region) for region in range(len(self._states))])
        support = sizes[plan.regions] - counts[plan.rows, plan.regions, 2 + plan.unique]
        with np.errstate(invalid="ignore"):
            p_yes = (counts[plan.rows, plan.regions, plan.unique] + self._smoothing) / (
                support + 2 * self._smoothing
            )
        return np.where(support > 0, p_yes, np.nan), support

    def _plan(self, searches: tuple[Question, ...]) -> _Plan:
        """The one that was made for these before, else a new one."""
        key = len(searches), searches[0], searches[-1]
        plan = self._plans.get(key)
        if plan is None or (plan.questions is not searches and plan.questions != searches):
            plan = _planned(searches, self.corpus.vocabulary)
            if len(self._plans) >= _MOST_PLANS:
                self._plans.pop(next(iter(self._plans)))
            self._plans[key] = plan
        return plan

    def _count(self, plan: _Plan) -> Longs:
        """Count anew where the images left are others than when it was last counted."""
        known = self._counted.get(id(plan))
        if known is None:
            shape = sum(len(part.sets) for part in plan.parts), len(self._states), 4
            known = _Counts(plan, np.zeros(shape, dtype=np.int64), np.full(len(self._states), -1))
            self._counted[id(plan)] = known  # which keeps the plan, so that no other has its id
        stale, end, by_planes = known.states != self._states, 0, []
        for part in plan.parts:
            end += len(part.sets)
            out, regions = known.counts[end - len(part.sets) : end], [r for r in part.regions if stale[r]]
            if part.simple and self._labelled.in_planes(part.kind):
                by_planes += [(region, part, out) for region in regions]
            elif regions:
                self._count_objects(part, regions, out)
        for region, part, out in sorted(by_planes, key=lambda one: one[0]):  # so that its mask stays in the cache
            self._count_planes(part, region, out)
        known.states[:] = self._states
        return known.counts

    def _count_planes(self, part: _PlanPart, region: int, out: Longs) -> None:
        tables = self.corpus.tables
        places = np.array([self._place(part.kind, names) for names in part.sets], dtype=np.int32)
        predicates = tables.first[self.corpus.vocabulary.type_index[part.kind]] + 1 + places
        counts = np.zeros((len(places), 4), dtype=np.int64)
        count_planes(
            self.corpus.planes,
            tables.sure[predicates, region],
            tables.possible[predicates, region],
            self._fits(part.kind, places, region),
            self._labelled.labelled_facts(part.kind),
            self._masks[region],
            counts,
        )
        out[:, region] = counts

    def _fits(self, kind: str, places: NDArray[np.integer], region: int) -> Ints:
        """(q, 3) facts that say whether a labelled object fits, see `count_planes`; −1 for no attribute."""
        width = len(self.corpus.vocabulary.kind(kind).attributes)
        may_have = np.append(self.corpus.tables.may_have[self.corpus.vocabulary.type_index[kind]], width + region)
        seen = np.full(len(places), width + region)
        return np.stack([seen, np.where(places < 0, seen, places), may_have[places]], axis=1, dtype=np.int32)

    def _count_objects(self, part: _PlanPart, regions: Sequence[int], out: Longs) -> None:
        width = len(self.corpus.vocabulary.kind(part.kind).attributes)
        # Sets of no attribute, whose place is −1, come last.
        firsts = np.array([self._place(part.kind, names) % (width + 1) for names in part.sets])
        order = np.argsort(firsts, kind="stable")
        heads = np.searchsorted(firsts[order], np.arange(width + 2)).astype(np.int32)
        counts = np.zeros((len(order), *out.shape[1:]), dtype=np.int64)
        count_objects(
            *self._labelled.objects(part.kind),
            self._masks[:_WHOLE],
            np.uint64(sum(1 << region for region in regions)),
            np.stack([self.corpus.wanted(part.kind, part.sets[i]) for i in order]),
            heads,
            counts,
        )
        for region in regions:
            out[order, region] = counts[:, region]

    def _size(self, region: int) -> int:
        """How many images are left there."""
        if region not in self._sizes:
            self._sizes[region] = int(np.bitwise_count(self._masks[region]).sum())
        return self._sizes[region]

    def _learn_search(self, question: Question, answer: bool) -> None:
        region = self.corpus.vocabulary.region_index[question.region]
        mask = self._mark(question, region, answer)
        near = np.ones(len(self._masks), dtype=bool)
        if not question.labels_if(answer):
            near[_LABELS] = False
            if self._assumptions.forget_elsewhere:
                near[:_WHOLE] = self._meets[region]
        self._narrow(mask, near)
        if question.labels_if(answer):
            self._counted.clear()  # nothing in it is true any more
            self._labelled = self._labelled.and_one_more(question, self._masks[_LABELS])

    def _mark(self, question: Question, region: int, answer: bool) -> Words:
        """Images that surely answer so."""
        tables, kind, unique = self.corpus.tables, question.type, question.kind == "unique"
        place = self.corpus.vocabulary.type_index[kind]
        out: Words = self._masks[_LABELS].copy()
        if len(question.attributes) <= 1 and self._labelled.in_planes(kind):
            k = self._place(kind, question.attributes)
            row = int(tables.first[place]) + 1 + k
            mark_planes(
                self.corpus.planes,
                tables.sure[row, region],
                tables.possible[row, region],
                self._fits(kind, np.array([k]), region)[0],
                self._labelled.labelled_facts(kind),
                unique,
                answer,
                out,
            )
        else:
            mark_objects(
                *self._labelled.objects(kind),
                self.corpus.wanted(kind, question.attributes),
                region,
                unique,
                answer,
                out,
            )
        return out

    def _narrow(self, mask: Words, rows: NDArray[np.bool_]) -> None:
        for row in np.flatnonzero(rows):
            self._masks[row] &= mask
            if row < len(self._states):
                self._states[row] += 1
                self._sizes.pop(int(row), None)

    def _place(self, kind: str, attributes: tuple[str, ...]) -> int:
        return self.corpus.vocabulary.attribute_index[kind, attributes[0]] if attributes else -1

    # Attributes and relations.

    def _about_labelled(self, question: Question) -> Chance:
        self._check(question)
        if not self._assumptions.objects_pooled:
            left = is_in(self._masks[_WHOLE], self._labelled.images)
            yes, no = (int((side & left).sum()) for side in self._labelled.having(question))
            return self._chance(yes, yes + no)
        if self._pooled is None:
            self._pooled = Pooled(self.corpus, self._labelled, self._facts, self.options, self._ends)
        return self._chance(*self._pooled.count(question))

    def _learn_fact(self, question: Question, answer: bool) -> None:
        self._check(question)
        rows = np.zeros(len(self._masks), dtype=bool)
        rows[_WHOLE] = not self._assumptions.objects_pooled
        rows[:_WHOLE] = not self._assumptions.forget_facts
        if rows.any():
            so = self._labelled.having(question)[0 if answer else 1]
            bits = np.zeros(self.corpus.words * 64, dtype=bool)
            bits[self._labelled.images[so]] = True
            self._narrow(packed(bits[None])[0], rows)
        self._facts = (*self._facts, (question, answer))

    def _check(self, question: Question) -> None:
        vocabulary = self.corpus.vocabulary
        labels = [question.subject] if question.kind == "attribute" else [question.subject, question.object]
        for label in labels:
            if label not in self._labelled.given_by:
                given = ", ".join(map(str, self.labels)) or "none"
                raise ConfigError(
                    f"the question is about {label or 'no object'}, which was not labelled: labelled are {given}"
                )
        assert question.subject is not None
        if question.kind == "attribute":
            for name in question.attributes:
                vocabulary.attribute(question.subject.type, name)
            return
        assert question.object is not None
        if question.subject == question.object:
            raise ConfigError(f"a relation between {question.subject} and itself cannot be asked")
        if not vocabulary.link(question.relation).joins(question.subject.type, question.object.type):
            kinds = f"{question.subject.type!r} and {question.object.type!r}"
            raise ConfigError(f"the relation {question.relation!r} cannot be asked of {kinds}")

    def _unknown(self, error: KeyError) -> ConfigError:
        vocabulary, word = self.corpus.vocabulary, error.args[0]
        if isinstance(word, tuple):
            kind, name = word
            names = [attribute.name for attribute in vocabulary.kind(kind).attributes]
            return ConfigError(f"the type {kind!r} has no attribute {name!r}{hint(name, names)}")
        known = (*vocabulary.type_index, *vocabulary.region_index, *vocabulary.link_index)
        return ConfigError(f"the vocabulary {vocabulary.name!r} has no {word!r}{hint(word, known)}")

    def _chance(self, yes: int, decided: int) -> Chance:
        if decided == 0:
            return Chance(math.nan, 0)
        return Chance((yes + self._smoothing) / (decided + 2 * self._smoothing), decided)


def _planned(searches: tuple[Question, ...], vocabulary: Vocabulary) -> _Plan:
    parts: dict[tuple[str, bool], dict[tuple[str, ...], int]] = {}
    regions: dict[tuple[str, bool], set[int]] = {}
    placed = []
    for q in searches:
        key, region = (q.type, len(q.attributes) <= 1), vocabulary.region_index[q.region]
        if key not in parts:
            parts[key], regions[key] = {}, set()
        place = parts[key].setdefault(q.attributes, len(parts[key]))
        regions[key].add(region)
        placed.append((key, place, region, q.kind == "unique"))
    ends = dict(zip(parts, accumulate(map(len, parts.values()), initial=0), strict=False))
    at = np.array([(ends[key] + place, region, unique) for key, place, region, unique in placed], dtype=np.int64)
    made = [_PlanPart(*key, list(sets), sorted(regions[key])) for key, sets in parts.items()]
    return _Plan(searches, made, *at.T.copy())
