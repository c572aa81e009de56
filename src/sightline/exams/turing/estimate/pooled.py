"""Counts of attributes and relations over the training objects and pairs that agree with what is known (eq. 3)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Iterable, Iterator
from typing import Final, NamedTuple

import numpy as np

from sightline.exams.turing.annotations.columns import packed
from sightline.exams.turing.estimate.bits import Words
from sightline.exams.turing.estimate.corpus import Corpus
from sightline.exams.turing.estimate.counts import count_agreeing, count_sides
from sightline.exams.turing.estimate.estimator import QuestionOptions
from sightline.exams.turing.estimate.labelled import Labelled
from sightline.exams.turing.vocabulary.questions import History, Label, Question
from sightline.exams.turing.vocabulary.vocabulary import REGION

_EVEN = np.uint64(0x5555555555555555)
_MOST_BYTES: Final = 256 << 20


class Fact(NamedTuple):
    """Of a labelled object: it has all of these attributes, or (not `said`) surely lacks one of them."""

    attributes: tuple[str, ...]
    said: bool


class Pooled:
    """Counts after one state of the history; what several questions ask for is worked out once.

    Args:
        corpus: Training images.
        labelled: Labels given so far.
        history: Answered attribute and relation questions.
        options: Which assumptions are made, and how many objects or pairs known negatives must leave.
        ends: What is true of one end of pairs.
    """

    def __init__(
        self, corpus: Corpus, labelled: Labelled, history: History, options: QuestionOptions, ends: PairEnds
    ) -> None:
        self._corpus, self._labelled, self._history, self._ends = corpus, labelled, history, ends
        self._assumptions, self._min_support = options.assumptions, options.min_support
        self._conditions: dict[tuple[object, ...], Words] = {}

    def count(self, question: Question) -> tuple[int, int]:
        """How many objects or pairs that agree with what is known of the question's own are yes, and no.

        Where too few are left, known negatives are dropped one at a time, until there are enough: first those that
        join most attributes, which say least, and of these the latest. Those of the question's own groups stay.
        """
        tally = self._over_objects if question.kind == "attribute" else self._over_pairs
        if not self._assumptions.negatives:
            return tally(question, frozenset(i for i, (_, answer) in enumerate(self._history) if not answer))
        counts = tally(question, frozenset())
        if sum(counts) >= self._min_support:
            return counts
        order = self._droppable(question)
        if not order:
            return counts
        low, high = 0, len(order)  # too few with `low` of them dropped
        counts = tally(question, frozenset(order))
        while high - low > 1 and sum(counts) >= self._min_support:
            middle = (low + high) // 2
            fewer = tally(question, frozenset(order[:middle]))
            if sum(fewer) >= self._min_support:
                high, counts = middle, fewer
            else:
                low = middle
        return counts

    def _droppable(self, question: Question) -> list[int]:
        """Places in the history of the negatives that may be dropped for a question, first those to go first."""
        vocabulary, labels = self._corpus.vocabulary, {question.subject, question.object}
        own: set[str] = set()
        if question.kind == "attribute":
            assert question.subject is not None
            own = {vocabulary.attribute(question.subject.type, name).group for name in question.attributes}
        places = []
        for place, (q, answer) in enumerate(self._history):
            if answer or q.subject not in labels or (q.kind == "relation" and question.kind == "attribute"):
                continue
            if q.kind == "relation":
                group = vocabulary.link(q.relation).group
                if group != vocabulary.link(question.relation).group:
                    places.append(place)
            elif q.subject is not None:
                groups = {vocabulary.attribute(q.subject.type, name).group for name in q.attributes}
                if groups.isdisjoint(own):
                    places.append(place)
        return sorted(places, key=lambda place: (-len(self._history[place][0].attributes), -place))

    def _over_objects(self, question: Question, dropped: frozenset[int]) -> tuple[int, int]:
        label = question.subject
        assert label is not None
        vocabulary = self._corpus.vocabulary
        groups = None
        if self._assumptions.independent_groups:
            groups = frozenset(vocabulary.attribute(label.type, name).group for name in question.attributes)
        key, tables, place = (label, groups, dropped), self._corpus.tables, vocabulary.type_index[label.type]
        start, end = tables.object_starts[place : place + 2].tolist()
        if key not in self._conditions:
            planes = tables.object_planes[:, :, start:end]
            facts = self._facts(label, groups, dropped)
            agreeing = (self._meeting(label.type, planes, fact) for fact in facts)
            self._conditions[key] = _all_of(agreeing, end - start)
        index = vocabulary.attribute_index
        places = np.array([index[label.type, name] for name in question.attributes], dtype=np.int32)
        return count_agreeing(tables.object_planes, start, places, self._conditions[key])

    def _meeting(self, kind: str, planes: Words, fact: Fact) -> Words:
        """Objects of a type a fact is true of."""
        index = self._corpus.vocabulary.attribute_index
        places = [index[kind, name] for name in fact.attributes]
        if fact.said:
            return _all_of((planes[0, k] for k in places), planes.shape[2])
        lacking: Words = np.bitwise_or.reduce(planes[1, places], axis=0)
        return lacking

    def _facts(self, label: Label, groups: Collection[str] | None, dropped: frozenset[int]) -> list[Fact]:
        """What is known of a labelled object, as far as it concerns the groups (None: all)."""
        known = [Fact(self._labelled.given_by[label].attributes, True)]
        known += [
            Fact(q.attributes, answer)
            for place, (q, answer) in enumerate(self._history)
            if q.kind == "attribute" and q.subject == label and place not in dropped
        ]
        if groups is None:
            return known
        vocabulary, facts = self._corpus.vocabulary, []
        for attributes, said in known:
            inside = tuple(name for name in attributes if vocabulary.attribute(label.type, name).group in groups)
            if said or len(inside) == len(attributes):
                facts.append(Fact(inside, said))
        return facts

    def _over_pairs(self, question: Question, dropped: frozenset[int]) -> tuple[int, int]:
        link = self._corpus.vocabulary.link(question.relation)
        group = link.group if self._assumptions.independent_relations else None
        given = frozenset(link.given) if self._assumptions.relations_alone else None
        key = question.subject, question.object, group, given, dropped
        if key not in self._conditions:
            self._conditions[key] = self._pairs_agreeing(question, group, given, dropped)
        yes, no = (self._pair_plane(question, side) for side in (0, 1))
        return count_sides(self._conditions[key], yes, no)

    def _pairs_agreeing(
        self, question: Question, group: str | None, given: Collection[str] | None, dropped: frozenset[int]
    ) -> Words:
        a, b = question.subject, question.object
        assert a is not None
        assert b is not None
        vocabulary, tables = self._corpus.vocabulary, self._corpus.tables
        s, t = vocabulary.type_index[a.type], vocabulary.type_index[b.type]
        words = -(-int(tables.pair_counts[s, t]) // 64)
        related = [
            self._pair_plane(q, 0 if answer else 1, turned=q.subject != a)
            for place, (q, answer) in enumerate(self._history)
            if q.kind == "relation"
            and {q.subject, q.object} == {a, b}
            and (group is None or vocabulary.link(q.relation).group == group)
            and place not in dropped
        ]
        apart = [
            plane
            for end, label in enumerate((a, b))
            for plane in self._end_conditions(label, given, dropped, (s, t), end)
        ]
        return _all_of([*related, *apart], words)

    def _pair_plane(self, question: Question, side: int, *, turned: bool = False) -> Words:
        """Pairs of which the relation holds (side 0) or fails (1); if `turned`, in the order of pairs (b, a)."""
        assert question.subject is not None
        assert question.object is not None
        vocabulary, tables = self._corpus.vocabulary, self._corpus.tables
        s, t = (vocabulary.type_index[label.type] for label in (question.subject, question.object))
        start = int(tables.pair_starts[s, t])
        end = start + -(-int(tables.pair_counts[s, t]) // 64)
        plane = tables.pair_planes[side, vocabulary.link_index[question.relation], start:end]
        if turned and s == t:  # there (a, b) and (b, a) are neighbours; pairs of two types stand in the same order
            return (plane & _EVEN) << np.uint64(1) | (plane >> np.uint64(1)) & _EVEN
        return plane

    def _end_conditions(
        self, label: Label, given: Collection[str] | None, dropped: frozenset[int], types: tuple[int, int], end: int
    ) -> Iterator[Words]:
        """What a relation is taken to depend on of one of its two objects, as planes over all pairs."""
        index = self._corpus.vocabulary.attribute_index
        for attributes, said in self._facts(label, given, dropped):
            planes = [
                self._ends.having(types, end, index[label.type, name], lacking=not said) for name in attributes
            ]
            if said:
                yield from planes
            elif planes:
                yield np.bitwise_or.reduce(planes)
        if given is None or REGION in given:
            region = self._corpus.vocabulary.region_index[self._labelled.given_by[label].region]
            yield self._ends.seen(types, end, region)


def _all_of(planes: Iterable[Words], words: int) -> Words:
    out = np.full(words, ~np.uint64(0))
    for plane in planes:
        out &= plane
    return out


class PairEnds:
    """Planes over the pairs of two types: whose one end has an attribute, lacks it, or is seen in a region.

    They depend on no history, so all streams over a corpus share them. The ones that were not asked for the longest
    are let go.

    Args:
        corpus: Training images.
        most_bytes: What the planes may take together.
    """

    def __init__(self, corpus: Corpus, most_bytes: int = _MOST_BYTES) -> None:
        self._corpus, self._most = corpus, most_bytes
        self._planes: OrderedDict[tuple[int, ...], Words] = OrderedDict()
        self._bytes = 0

    def having(self, types: tuple[int, int], end: int, attribute: int, *, lacking: bool = False) -> Words:
        """Pairs of those types whose first (0) or second (1) end surely has, or lacks, the attribute there."""
        words = (self._corpus.tables.records.shape[1] - 2) // 2
        return self._plane(types, end, attribute // 64 + (words if lacking else 0), attribute % 64)

    def seen(self, types: tuple[int, int], end: int, region: int) -> Words:
        """Pairs of those types whose end is seen in the region."""
        return self._plane(types, end, self._corpus.tables.records.shape[1] - 2, region)

    def _plane(self, types: tuple[int, int], end: int, column: int, bit: int) -> Words:
        key = (*types, end, column, bit)
        if key in self._planes:
            self._planes.move_to_end(key)
            return self._planes[key]
        tables = self._corpus.tables
        start, count = 64 * int(tables.pair_starts[types]), int(tables.pair_counts[types])
        things = tables.pair_things[end, start : start + count]
        bits = (tables.records[:, column] >> np.uint64(bit) & np.uint64(1)).astype(bool)[things]
        plane = packed(bits[None])[0, : -(-count // 64)]
        self._planes[key] = plane
        self._bytes += plane.nbytes
        while self._bytes > self._most and len(self._planes) > 1:
            self._bytes -= self._planes.popitem(last=False)[1].nbytes
        return plane
