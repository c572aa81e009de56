"""Which answers follow from the history by logic alone, so that asking would test nothing.

Estimates over pooled objects forget what the search for an object said of it; these rules do not. They are few, and
each holds of every image the history holds of: where such an image decides the question, it decides it so.
Regions are rectangles, so whoever is seen in one is seen in every region around it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from sightline.exams.turing.vocabulary.questions import History, Label, Question, labels_of
from sightline.exams.turing.vocabulary.vocabulary import Region, Vocabulary


class _Search(NamedTuple):
    """An answered existence or uniqueness question; `before` counts the labels of its type given before it."""

    unique: bool
    answer: bool
    attributes: frozenset[str]
    region: Region
    before: int

    @property
    def leaves_none(self) -> bool:
        """Afterwards nothing unlabelled fits: there was nothing, or the only one was labelled."""
        return self.answer is self.unique

    def narrower(self, attributes: frozenset[str], region: Region) -> bool:
        """Whether whatever fits this search fits those words too."""
        return attributes <= self.attributes and self.region.within(region)

    def wider(self, attributes: frozenset[str], region: Region) -> bool:
        """Whether whatever fits those words fits this search too."""
        return self.attributes <= attributes and region.within(self.region)


class Knowledge:
    """What a history tells, for asking whether it tells the answer to a question.

    >>> from sightline.exams.turing.vocabulary.vocabulary import ObjectType
    >>> image, left = Region("image", (0, 0, 1, 1)), Region("left", (0, 0, 0.5, 1))
    >>> words = Vocabulary("w", (ObjectType("person", ()),), (), (image, left))
    >>> known = Knowledge(((Question("exist", "person"), False),), words)
    >>> known.implied(Question("unique", "person", region="left"))
    False
    """

    def __init__(self, history: History, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._searches: dict[str, list[_Search]] = {}
        self._has: dict[Label, set[str]] = {label: set() for label in labels_of(history)}
        self._lacks: dict[Label, list[frozenset[str]]] = {label: [] for label in self._has}
        self._related: dict[tuple[str, Label | None, Label | None], bool] = {}
        for question, answer in history:
            if question.instantiates:
                self._add_search(question, answer)
            elif question.kind == "relation":
                self._related[question.relation, question.subject, question.object] = answer
            elif question.subject in self._has:
                self._add_attributes(question.subject, frozenset(question.attributes), answer)
        for label in self._has:
            self._learn_from_search(label)

    def has(self, label: Label) -> frozenset[str]:
        """Attributes a labelled object is known to have."""
        return frozenset(self._has[label])

    def implied(self, question: Question) -> bool | None:
        """The answer if it follows, else None."""
        if question.instantiates:
            return self._search(question)
        if question.kind == "relation":
            return self._relation(question)
        return self._attribute(question)

    def _add_search(self, question: Question, answer: bool) -> None:
        searches = self._searches.setdefault(question.type, [])
        before = sum(s.unique and s.answer for s in searches)
        region = self._vocabulary.region(question.region)
        searches.append(_Search(question.kind == "unique", answer, frozenset(question.attributes), region, before))

    def _add_attributes(self, label: Label, names: frozenset[str], answer: bool) -> None:
        if answer:
            self._has[label] |= names
        else:
            self._lacks[label].append(names)

    def _learn_from_search(self, label: Label) -> None:
        """Add what the search for a labelled object says of it."""
        searches = self._searches[label.type]
        labelling = next(s for s in searches if s.unique and s.answer and s.before == label.number - 1)
        # It is the only one that fits; so is whoever was said to exist by narrower words since the label before.
        same = [s for s in searches if s.answer and s.before == labelling.before]
        same = [s for s in same if s.narrower(labelling.attributes, labelling.region)]
        for search in same:
            self._has[label] |= search.attributes
        # It stood there unlabelled when nobody, or nobody else, was found to fit: so it did not.
        self._lacks[label] += [
            s.attributes
            for s in searches
            if s.leaves_none and s is not labelling and s.before < label.number
            if any(where.region.within(s.region) for where in same)
        ]

    def _attribute(self, question: Question) -> bool | None:
        if question.subject not in self._has:
            return None
        wanted, has = set(question.attributes), self._has[question.subject]
        if wanted <= has:
            return True
        # Of a set it lacks, it lacks what is left after those it has.
        if any(lacking - has <= wanted for lacking in self._lacks[question.subject]):
            return False
        return False if self._clash(question.subject.type, wanted | has) else None

    def _clash(self, kind: str, names: set[str]) -> bool:
        """Whether two of these attributes are of one exclusive group."""
        exclusive = self._vocabulary.kind(kind).exclusive
        groups = [self._vocabulary.attribute(kind, name).group for name in names]
        groups = [group for group in groups if group in exclusive]
        return len(set(groups)) < len(groups)

    def _relation(self, question: Question) -> bool | None:
        asked = question.relation, question.subject, question.object
        if asked in self._related or self._vocabulary.link(question.relation).ordered:
            return self._related.get(asked)
        return self._related.get((question.relation, question.object, question.subject))

    def _search(self, question: Question) -> bool | None:
        wanted, region = frozenset(question.attributes), self._vocabulary.region(question.region)
        # Labelling only takes objects away: where none was left, none is now.
        if any(s.leaves_none and s.wider(wanted, region) for s in self._searches.get(question.type, ())):
            return False
        at_least = max(self._left(question.type, wanted, region), default=0)
        if question.kind == "exist":
            return True if at_least >= 1 else None
        return False if at_least >= 2 else None

    def _left(self, kind: str, wanted: frozenset[str], region: Region) -> Iterator[int]:
        """How many unlabelled objects fit at least, by each search of narrower words."""
        searches = self._searches.get(kind, [])
        now = sum(s.unique and s.answer for s in searches)
        for search in searches:
            if not search.leaves_none and search.narrower(wanted, region):
                # Each label given since may have taken one of them away.
                yield (2 if self._several(search, searches) else int(search.answer)) - (now - search.before)

    def _several(self, search: _Search, searches: list[_Search]) -> bool:
        """Not unique, though somebody then unlabelled fits: so two or more did."""
        return search.unique and any(
            s.answer and s.before >= search.before and s.narrower(search.attributes, search.region)
            for s in searches
        )
