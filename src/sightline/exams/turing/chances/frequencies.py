"""The share of yes among the training images, objects or pairs that fit the history (equations 1–3), counted fast.

Of the images it keeps one set per region: those on which what H′ keeps for a question of that region holds. All
regions share the labelling steps, so the labelled objects are the same for all.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from sightline.errors import ConfigError
from sightline.exams.turing.chances.belief import Assumptions, Chance
from sightline.exams.turing.chances.bits import Longs, Words
from sightline.exams.turing.chances.corpus import Corpus
from sightline.exams.turing.chances.counting import Marked, count_objects, count_planes, mark_objects, mark_planes
from sightline.exams.turing.chances.labelled import Labelled, is_in
from sightline.exams.turing.chances.pair_ends import PairEnds, packed_bits
from sightline.exams.turing.chances.pooled import Pooled
from sightline.exams.turing.words.questions import Label, Question, Told
from sightline.worlds.hints import hint

_ALL_MADE = Assumptions()
_WHOLE, _LABELS = -2, -1  # rows after the regions': the whole history, its labelling steps alone

_Sought = tuple[str, tuple[str, ...]]  # type and attributes


class Frequencies:
    """A `Belief` that counts over a corpus; memory does not grow with the number of questions asked.

    Args:
        corpus: Training images.
        assumptions: Which invariance assumptions are made.
        min_support: Known negatives about objects and pairs condition only where so many are left.
        smoothing: So many yes and so many no are added to every count; none by default.
    """

    def __init__(
        self,
        corpus: Corpus,
        assumptions: Assumptions = _ALL_MADE,
        min_support: int = 30,
        smoothing: float = 0.0,
    ) -> None:
        self.corpus, self.assumptions = corpus, assumptions
        self.min_support, self.smoothing = min_support, smoothing
        regions = corpus.vocabulary.regions
        self._masks = np.tile(corpus.everything, (len(regions) + 2, 1))
        self._meets = np.array([[a.meets(b) for b in regions] for a in regions], dtype=bool)
        self._known: list[dict[_Sought, tuple[Chance, Chance]]] = [{} for _ in regions]
        self._labelled = Labelled.none_of(corpus)
        self._facts: list[Told] = []
        self._pooled: Pooled | None = None
        self._ends = PairEnds(corpus)

    def fork(self) -> Frequencies:
        """A fresh one with an empty history, over the same corpus."""
        fresh = Frequencies(self.corpus, self.assumptions, self.min_support, self.smoothing)
        fresh._ends = self._ends
        return fresh

    @property
    def labels(self) -> tuple[Label, ...]:
        """The labels given so far, in order."""
        return tuple(self._labelled.slots)

    def chances(self, questions: Sequence[Question]) -> list[Chance]:
        """The chance of a yes for each, given the history so far.

        Raises:
            ConfigError: A question about an object that was not labelled, or in words the vocabulary has not.
        """
        index = self.corpus.vocabulary.region_index
        try:
            self._look_up(q for q in questions if q.kind == "exist" or q.kind == "unique")
            return [
                self._known[index[q.region]][q.type, q.attributes][q.kind == "unique"]
                if q.kind == "exist" or q.kind == "unique"
                else self._about_labelled(q)
                for q in questions
            ]
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

    def _look_up(self, questions: Iterable[Question]) -> None:
        """Count what is not known yet: simple ones together per type and region, others per type."""
        index, known = self.corpus.vocabulary.region_index, self._known
        simple: dict[tuple[int, str], dict[tuple[str, ...], None]] = {}
        joined: dict[str, tuple[set[tuple[str, ...]], set[int]]] = {}
        planes = {kind: self._labelled.in_planes(self.corpus, kind) for kind in self.corpus.vocabulary.type_index}
        for q in questions:
            region = index[q.region]
            if (q.type, q.attributes) not in known[region]:
                if len(q.attributes) <= 1 and planes[q.type]:
                    simple.setdefault((region, q.type), {})[q.attributes] = None
                else:
                    sets, regions = joined.setdefault(q.type, (set(), set()))
                    sets.add(q.attributes)
                    regions.add(region)
        for region, kind in sorted(simple):  # by region, so that its mask stays in the cache
            self._count_planes(region, kind, tuple(simple[region, kind]))
        for kind, (sets, regions) in joined.items():
            self._count_objects(kind, sets, sorted(regions))

    def _count_planes(self, region: int, kind: str, sets: Sequence[tuple[str, ...]]) -> None:
        tables = self.corpus.tables
        places = np.array([self._place(kind, names) for names in sets], dtype=np.int32)
        predicates = tables.first[self.corpus.vocabulary.type_index[kind]] + 1 + places
        out = np.empty((len(sets), 4), dtype=np.int64)
        count_planes(
            self.corpus.planes, tables.sure[predicates, region], tables.possible[predicates, region], places,
            region, self._marked(kind), self._masks[region], out,
        )  # fmt: skip
        self._keep(region, kind, sets, out)

    def _count_objects(self, kind: str, sets: Iterable[tuple[str, ...]], regions: Sequence[int]) -> None:
        vocabulary = self.corpus.vocabulary
        width = len(vocabulary.kind(kind).attributes)
        placed = sorted((self._place(kind, names) % (width + 1), names) for names in sets)  # none: −1, the last
        firsts, ordered = zip(*placed, strict=True)
        heads = np.searchsorted(firsts, np.arange(width + 2)).astype(np.int32)
        out = np.zeros((len(ordered), len(vocabulary.regions), 4), dtype=np.int64)
        count_objects(
            *self._labelled.objects(self.corpus, kind), self._masks[:_WHOLE],
            np.uint64(sum(1 << region for region in regions)),
            np.stack([self.corpus.wanted(kind, names) for names in ordered]), heads, out,
        )  # fmt: skip
        for region in regions:
            self._keep(region, kind, ordered, out[:, region])

    def _keep(self, region: int, kind: str, sets: Sequence[tuple[str, ...]], counts: Longs) -> None:
        size, known = int(np.bitwise_count(self._masks[region]).sum()), self._known[region]
        for names, (exist, unique, open_exist, open_unique) in zip(sets, counts.tolist(), strict=True):
            known[kind, names] = self._chance(exist, size - open_exist), self._chance(unique, size - open_unique)

    def _learn_search(self, question: Question, answer: bool) -> None:
        region = self.corpus.vocabulary.region_index[question.region]
        mask = self._mark(question, region, answer)
        near = np.ones(len(self._masks), dtype=bool)
        if not Told(question, answer).labels:
            near[_LABELS] = False
            if self.assumptions.forget_elsewhere:
                near[:_WHOLE] = self._meets[region]
        self._narrow(mask, near)
        if Told(question, answer).labels:
            self._labelled = self._labelled.and_one_more(self.corpus, question, self._masks[_LABELS])

    def _mark(self, question: Question, region: int, answer: bool) -> Words:
        """Images that surely answer so."""
        tables, kind, unique = self.corpus.tables, question.type, question.kind == "unique"
        place = self.corpus.vocabulary.type_index[kind]
        out: Words = self._masks[_LABELS].copy()
        if len(question.attributes) <= 1 and self._labelled.in_planes(self.corpus, kind):
            k = self._place(kind, question.attributes)
            row = int(tables.first[place]) + 1 + k
            mark_planes(
                self.corpus.planes, tables.sure[row, region], tables.possible[row, region], k, region,
                self._marked(kind), unique, answer, out,
            )  # fmt: skip
        else:
            mark_objects(
                *self._labelled.objects(self.corpus, kind), self.corpus.wanted(kind, question.attributes), region,
                unique, answer, out,
            )  # fmt: skip
        return out

    def _narrow(self, mask: Words, rows: NDArray[np.bool_]) -> None:
        for row in np.flatnonzero(rows):
            self._masks[row] &= mask
            if row < len(self._known):
                self._known[row].clear()

    def _marked(self, kind: str) -> Marked:
        found = self._labelled.marked.get(kind)
        if found is not None:
            return found
        nothing = np.zeros((0, 0, self.corpus.words), dtype=np.uint64)
        return Marked(nothing, nothing, np.zeros((0, len(self._known), self.corpus.words), dtype=np.uint64))

    def _place(self, kind: str, attributes: tuple[str, ...]) -> int:
        return self.corpus.vocabulary.attribute_index[kind, attributes[0]] if attributes else -1

    # Attributes and relations.

    def _about_labelled(self, question: Question) -> Chance:
        self._check(question)
        if not self.assumptions.objects_pooled:
            left = is_in(self._masks[_WHOLE], self._labelled.images)
            yes, no = (int((side & left).sum()) for side in self._labelled.having(self.corpus, question))
            return self._chance(yes, yes + no)
        if self._pooled is None:
            self._pooled = Pooled(
                self.corpus, self._labelled, self._facts, self.assumptions, self.min_support, self._ends
            )
        return self._chance(*self._pooled.count(question))

    def _learn_fact(self, question: Question, answer: bool) -> None:
        self._check(question)
        rows = np.zeros(len(self._masks), dtype=bool)
        rows[_WHOLE] = not self.assumptions.objects_pooled
        rows[:_WHOLE] = not self.assumptions.forget_facts
        if rows.any():
            so = self._labelled.having(self.corpus, question)[0 if answer else 1]
            bits = np.zeros(self.corpus.words * 64, dtype=bool)
            bits[self._labelled.images[so]] = True
            self._narrow(packed_bits(bits), rows)
        self._facts.append(Told(question, answer))

    def _check(self, question: Question) -> None:
        vocabulary = self.corpus.vocabulary
        labels = [question.subject] if question.kind == "attribute" else [question.subject, question.object]
        for label in labels:
            if label not in self._labelled.slots:
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
        return Chance((yes + self.smoothing) / (decided + 2 * self.smoothing), decided)
