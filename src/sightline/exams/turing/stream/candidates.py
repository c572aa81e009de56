"""What may be asked next, whatever its chance: the questions of each phase of a story, by number of attributes."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import combinations
from typing import NamedTuple

from sightline.exams.turing.vocabulary.questions import Label, Question
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
    """Sets of that many attributes which one object can have: no two of an exclusive group.

    >>> from sightline.exams.turing.vocabulary.vocabulary import Attribute, AttributeSource
    >>> words = [("red", "colour"), ("blue", "colour"), ("parked", "motion")]
    >>> attributes = tuple(Attribute(name, group, name, AttributeSource("flag")) for name, group in words)
    >>> kind = ObjectType("car", (), attributes, frozenset({"colour"}))
    >>> list(attribute_sets(kind, 2))
    [('red', 'parked'), ('blue', 'parked')]
    """
    for chosen in combinations(kind.attributes, size):
        groups = [a.group for a in chosen if a.group in kind.exclusive]
        if len(set(groups)) == len(groups):
            yield tuple(a.name for a in chosen)
