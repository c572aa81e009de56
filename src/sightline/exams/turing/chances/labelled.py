"""Where the labelled objects are: in each training image that fits all labels, one object per label."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from sightline.exams.turing.chances.bits import MOST, Ints, Longs, Things, Words
from sightline.exams.turing.chances.corpus import Corpus
from sightline.exams.turing.chances.counting import Marked, label_objects, still_left
from sightline.exams.turing.chances.laying import find_pairs
from sightline.exams.turing.words.questions import Label, Question

LABELS_IN_PLANES = MOST - 2
"""Objects of one type whose facts are kept as planes; after more of them its objects are counted singly."""

FEW = 50
"""All objects are counted singly when fewer than one image in so many is left: then that is faster."""


@dataclass(frozen=True, eq=False)
class Labelled:
    """The labelled objects of the n images on which all labels can be given.

    Attributes:
        mask: (words,) those images.
        images: (n,) the same, ascending.
        held: (labels, n) their labelled objects.
        slots: Row of `held` of each label.
        found: The question that gave each label.
        taken: Type → bit for each of its objects that is labelled.
        marked: Type → facts as planes; only of types with at most `LABELS_IN_PLANES` labels, while many images are
            left.
        members: Type → positions of its objects in those images, or in more: narrowed when they are needed.
    """

    mask: Words
    images: Ints
    held: Ints
    slots: Mapping[Label, int] = field(default_factory=dict)
    found: Mapping[Label, Question] = field(default_factory=dict)
    taken: Mapping[str, Words] = field(default_factory=dict)
    marked: Mapping[str, Marked] = field(default_factory=dict)
    members: dict[str, Ints] = field(default_factory=dict)
    narrowed: set[str] = field(default_factory=set)

    @classmethod
    def none_of(cls, corpus: Corpus) -> Labelled:
        """Before the first label: every image is left."""
        return cls(corpus.everything, corpus.images, np.zeros((0, len(corpus)), dtype=np.int32))

    def number(self, kind: str) -> int:
        """How many objects of a type are labelled."""
        return sum(label.type == kind for label in self.slots)

    def in_planes(self, corpus: Corpus, kind: str) -> bool:
        """Whether questions about a type are counted by planes, rather than over its objects."""
        many = not self.slots or len(self.images) * FEW > len(corpus)
        return many and self.number(kind) <= LABELS_IN_PLANES

    def objects(self, corpus: Corpus, kind: str) -> tuple[Things, Ints, Words]:
        """Objects of a type: all, positions of those in images that are left, and which of all are labelled."""
        things = corpus.tables.things(corpus.vocabulary.type_index[kind])
        if kind not in self.members:
            self.members[kind] = np.arange(len(things.image_of), dtype=np.int32)
        if self.slots and kind not in self.narrowed:
            self.members[kind] = still_left(things.image_of, self.members[kind], self.mask)
            self.narrowed.add(kind)
        nothing = np.zeros(-(-len(things.image_of) // 64), dtype=np.uint64)
        return things, self.members[kind], self.taken.get(kind, nothing)

    def and_one_more(self, corpus: Corpus, question: Question, mask: Words) -> Labelled:
        """After a positive uniqueness question, which the images of the mask answer with yes."""
        vocabulary, kind = corpus.vocabulary, question.type
        label = Label(kind, self.number(kind) + 1)
        keep = still_left(self.images, corpus.images[: len(self.images)], mask)
        images = self.images[keep]
        held = np.empty((len(self.held) + 1, len(images)), np.int32)
        held[:-1] = self.held[:, keep]
        after = replace(
            self, mask=mask.copy(), images=images, held=held, slots={**self.slots, label: len(self.held)},
            found={**self.found, label: question}, members=dict(self.members), narrowed=set(),
        )  # fmt: skip
        planes = _room(corpus, kind, wanted=after.in_planes(corpus, kind))
        things, members, before = self.objects(corpus, kind)
        taken = before.copy()
        label_objects(
            things, members, taken, corpus.wanted(kind, question.attributes),
            vocabulary.region_index[question.region], mask, held[-1], _unsure(corpus, kind), planes,
        )  # fmt: skip
        held[-1] += np.int32(corpus.tables.type_starts[vocabulary.type_index[kind]])
        marked = {name: kept for name, kept in self.marked.items() if name != kind}
        if after.in_planes(corpus, kind):
            marked[kind] = planes if label.number == 1 else _joined(self.marked[kind], planes)
        return replace(after, taken={**self.taken, kind: taken}, marked=marked)

    def having(self, corpus: Corpus, question: Question) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """(n,) images where an attribute or relation question about labelled objects is surely yes, surely no."""
        assert question.subject is not None
        things = self.held[self.slots[question.subject]]
        if question.kind == "attribute":
            return having_all(corpus, question.subject.type, question.attributes, things)
        assert question.object is not None
        others = self.held[self.slots[question.object]]
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


def is_in(mask: Words, images: Ints) -> NDArray[np.bool_]:
    """(n,) which of the images are in the mask."""
    inside: NDArray[np.bool_] = mask[images >> 6] >> (images & 63).astype(np.uint64) & np.uint64(1) != 0
    return inside


def _unsure(corpus: Corpus, kind: str) -> Words:
    """The attributes of a type that are unknown of some object."""
    tables, place = corpus.tables, corpus.vocabulary.type_index[kind]
    names = [attribute.name for attribute in corpus.vocabulary.types[place].attributes]
    rows = slice(int(tables.first[place]) + 1, int(tables.first[place]) + 1 + len(names))
    open_ones = (tables.sure[rows] != tables.possible[rows]).any(axis=(1, 2))
    return corpus.wanted(kind, tuple(name for name, is_open in zip(names, open_ones, strict=True) if is_open))


def _room(corpus: Corpus, kind: str, *, wanted: bool) -> Marked:
    """Planes to be filled with the facts about one more labelled object; none at all if not wanted."""
    width, regions = len(corpus.vocabulary.kind(kind).attributes), len(corpus.vocabulary.regions)
    bits = (width, width, regions) if wanted else (0, 0, 0)
    return Marked(*(np.zeros((1, n, corpus.words), dtype=np.uint64) for n in bits))


def _joined(before: Marked, new: Marked) -> Marked:
    return Marked(*(np.concatenate(pair) for pair in zip(before, new, strict=True)))


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
