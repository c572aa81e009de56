"""Where the labelled objects are: in each training image that fits all labels, one object per label."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sightline.exams.turing.estimate.bits import MOST, Ints, Longs, TypeObjects, Words, find_pairs
from sightline.exams.turing.estimate.corpus import Corpus
from sightline.exams.turing.estimate.counts import LabelledFacts, label_objects, still_left
from sightline.exams.turing.vocabulary.questions import Label, Question

LABELS_IN_PLANES = MOST - 2
"""Objects of one type whose facts are kept as planes; after more of them its objects are counted singly."""

FEW = 50
"""All objects are counted singly when fewer than one image in so many is left: then that is faster."""


@dataclass(frozen=True, eq=False)
class Labelled:
    """The labelled objects of the images on which all labels can be given.

    Attributes:
        corpus: Training images.
        mask: (words,) those images.
        given_by: The question that gave each label, in order.
        chosen: Bit for each object of a label's type: which ones were labelled so, in images left by then.
        marked: Type → facts about its labelled objects as planes, label by label; only of types with at most
            `LABELS_IN_PLANES` labels, while many images are left.
        members: Type → positions of its objects in those images, or in more: narrowed when they are needed.
    """

    corpus: Corpus
    mask: Words
    given_by: Mapping[Label, Question] = field(default_factory=dict)
    chosen: Mapping[Label, Words] = field(default_factory=dict)
    marked: Mapping[str, tuple[Words, ...]] = field(default_factory=dict)
    members: dict[str, Ints] = field(default_factory=dict)
    narrowed: set[str] = field(default_factory=set)

    @cached_property
    def images(self) -> Ints:
        """(n,) the images, ascending."""
        return bits_set(self.mask)

    @cached_property
    def held(self) -> Mapping[Label, Ints]:
        """(n,) the object each label names in those images."""
        tables, index, out = self.corpus.tables, self.corpus.vocabulary.type_index, {}
        for label, chosen in self.chosen.items():
            things = bits_set(chosen) + np.int32(tables.type_starts[index[label.type]])
            out[label] = things[is_in(self.mask, tables.image_of[things])]
        return out

    @cached_property
    def many(self) -> bool:
        """Whether so many images are left that planes are the faster way."""
        return not self.given_by or int(np.bitwise_count(self.mask).sum()) * FEW > len(self.corpus)

    def number(self, kind: str) -> int:
        """How many objects of a type are labelled."""
        return sum(label.type == kind for label in self.given_by)

    def in_planes(self, kind: str) -> bool:
        """Whether questions about a type are counted by planes, rather than over its objects."""
        return self.many and self.number(kind) <= LABELS_IN_PLANES

    def labelled_facts(self, kind: str) -> LabelledFacts:
        """Facts about the labelled objects of a type that is counted by planes."""
        marked = self.marked.get(kind, ())
        nothing = np.zeros((0, self.corpus.words), dtype=np.uint64)
        first, second = (*marked, nothing, nothing)[:LABELS_IN_PLANES]
        return LabelledFacts(len(marked), first, second)

    def objects(self, kind: str) -> tuple[TypeObjects, Ints, Words]:
        """Objects of a type: all, positions of those in images that are left, and which of all are labelled."""
        things = self.corpus.tables.things(self.corpus.vocabulary.type_index[kind])
        if kind not in self.narrowed:
            every = np.arange(len(things.image_of), dtype=np.int32)
            self.members[kind] = still_left(things.image_of, self.members.get(kind, every), self.mask)
            self.narrowed.add(kind)
        return things, self.members[kind], self._taken(kind)

    def and_one_more(self, question: Question, mask: Words) -> Labelled:
        """After a positive uniqueness question, which the images of the mask answer with yes."""
        corpus, kind = self.corpus, question.type
        label, place = Label(kind, self.number(kind) + 1), corpus.vocabulary.type_index[kind]
        after = replace(
            self,
            mask=mask.copy(),
            given_by={**self.given_by, label: question},
            members=dict(self.members),
            narrowed=set(),
        )
        part = slice(*corpus.tables.type_starts[place : place + 2].tolist())
        facts = corpus.number_of_facts(kind) if after.in_planes(kind) else 0
        planes, chosen = np.empty((facts, corpus.words), dtype=np.uint64), np.zeros_like(self._taken(kind))
        label_objects(
            corpus.tables.image_of[part], corpus.tables.facts[part], self._fitting(question), mask, chosen, planes
        )
        marked = {name: of_type for name, of_type in self.marked.items() if name != kind}
        if after.in_planes(kind):
            marked[kind] = (*self.marked.get(kind, ()), planes)
        return replace(after, chosen={**self.chosen, label: chosen}, marked=marked if after.many else {})

    def _taken(self, kind: str) -> Words:
        """Bit for each object of a type that is labelled."""
        starts, place = self.corpus.tables.object_starts, self.corpus.vocabulary.type_index[kind]
        out = np.zeros(int(starts[place + 1] - starts[place]), dtype=np.uint64)
        for label, chosen in self.chosen.items():
            if label.type == kind:
                out |= chosen
        return out

    def _fitting(self, question: Question) -> Words:
        """Bit for each object that fits a search and is not labelled; a crowd, being several, never does."""
        tables, vocabulary = self.corpus.tables, self.corpus.vocabulary
        start, end = tables.object_starts[vocabulary.type_index[question.type] :][:2].tolist()
        seen = tables.seen_planes[vocabulary.region_index[question.region], start:end]
        out: Words = seen & ~self._taken(question.type)
        for name in question.attributes:
            out &= tables.object_planes[0, vocabulary.attribute_index[question.type, name], start:end]
        return out

    def having(self, question: Question) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """(n,) images where an attribute or relation question about labelled objects is surely yes, surely no."""
        assert question.subject is not None
        corpus, things = self.corpus, self.held[question.subject]
        if question.kind == "attribute":
            return having_all(corpus, question.subject.type, question.attributes, things)
        assert question.object is not None
        others = self.held[question.object]
        at = _positions(corpus, question.subject.type, question.object.type, things, others)
        link = corpus.vocabulary.link_index[question.relation]
        planes = corpus.tables.pair_planes[:, link]
        bits = planes[:, at >> 6] >> (at & 63).astype(np.uint64) & np.uint64(1)
        return bits[0].astype(bool), bits[1].astype(bool)


def having_all(
    corpus: Corpus, kind: str, attributes: tuple[str, ...], things: Ints
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """(n,) which of the objects, all of one type, surely have all attributes, and which surely lack one."""
    wanted = corpus.wanted(kind, attributes)
    has, lacks = np.split(corpus.tables.records[things, :-2], 2, axis=1)
    yes: NDArray[np.bool_] = ((has & wanted) == wanted).all(axis=1)
    no: NDArray[np.bool_] = ((lacks & wanted) != 0).any(axis=1)
    return yes, no


def bits_set(words: Words) -> Ints:
    """Positions of the bits that are set, ascending.

    >>> bits_set(np.array([5], dtype=np.uint64))
    array([0, 2], dtype=int32)
    """
    return np.flatnonzero(np.unpackbits(words.view(np.uint8), bitorder="little")).astype(np.int32)


def is_in(mask: Words, images: Ints) -> NDArray[np.bool_]:
    """(n,) which of the images are in the mask."""
    inside: NDArray[np.bool_] = mask[images >> 6] >> (images & 63).astype(np.uint64) & np.uint64(1) != 0
    return inside


def _positions(corpus: Corpus, a: str, b: str, things: Ints, others: Ints) -> Longs:
    """(n,) where the pairs stand among all pairs; see `counting.fill_pairs` for their order."""
    s, t = corpus.vocabulary.type_index[a], corpus.vocabulary.type_index[b]
    start, count = 64 * int(corpus.tables.pair_starts[s, t]), int(corpus.tables.pair_counts[s, t])
    subjects, objects = corpus.tables.pair_things[:, start : start + count]
    if s < t:
        return start + find_pairs(subjects, objects, 1, things, others)
    if s > t:
        return start + find_pairs(objects, subjects, 1, others, things)
    first, second = np.minimum(things, others), np.maximum(things, others)
    return start + find_pairs(subjects, objects, 2, first, second) + (things > others)
