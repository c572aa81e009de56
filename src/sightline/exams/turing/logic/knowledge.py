"""Which answers follow from the history and the vocabulary alone, so that asking would test nothing.

Estimates over pooled objects forget what the search for an object said of it, and what elsewhere was found; these
rules do not. Each holds of every image the history holds of: where such an image decides the question, it decides
it so. An object is seen in at least one *place*, a part of the image that no region divides, and so in every region
around it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise, product
from typing import NamedTuple

from sightline.exams.turing.logic.profiles import Ban, Domains, TypeProfiles, profiles_of
from sightline.exams.turing.logic.relations import Pair, RelationRules
from sightline.exams.turing.vocabulary.questions import History, Label, Question, labels_of
from sightline.exams.turing.vocabulary.vocabulary import Region, Vocabulary


class _Search(NamedTuple):
    """An answered existence or uniqueness question; `before` counts the labels of its type given before it."""

    unique: bool
    answer: bool
    attributes: frozenset[str]
    region: int
    before: int

    @property
    def leaves_none(self) -> bool:
        """Afterwards nothing unlabelled fits: there was nothing, or the only one was labelled."""
        return self.answer is self.unique


class _Least(NamedTuple):
    """At least `number` objects fit the words, of those unlabelled when `before` labels were given."""

    number: int
    attributes: frozenset[str]
    region: int
    before: int


class Rules:
    """What a vocabulary's words say, whatever the history: worked out once for all streams.

    Attributes:
        relations: Rules between relations.
        profiles: By type, which attributes its objects can have together.
        places: Bits of the regions around each place, for all places that differ in that.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self.relations = RelationRules(vocabulary)
        self.places = _places(vocabulary.regions)
        self.profiles: dict[str, TypeProfiles] = {kind.name: profiles_of(kind) for kind in vocabulary.types}


class _TypeKnowledge:
    """What the searches for objects of one type, and answers about those labelled, tell."""

    def __init__(self, kind: str, rules: Rules) -> None:
        self._profiles, self._places = rules.profiles[kind], rules.places
        self.searches: list[_Search] = []
        self.answers: list[list[tuple[frozenset[str], bool]]] = []
        self._least_bans: dict[tuple[tuple[int, ...], int | None], list[frozenset[Ban]]] = {}
        self._label_bans: dict[tuple[int, int | None], list[frozenset[Ban]]] = {}
        self._settled = False

    @property
    def labels(self) -> int:
        """How many objects are labelled."""
        return len(self.answers)

    def add(self, question: Question, answer: bool, region: int) -> None:
        unique = question.kind == "unique"
        self.searches.append(_Search(unique, answer, frozenset(question.attributes), region, self.labels))
        if unique and answer:
            self.answers.append([])

    # What one object can be.

    def _bans(self, place: int, searches: Iterable[_Search]) -> Iterator[Ban]:
        """What an object seen there must lack, since no such object was found."""
        for search in searches:
            if place >> search.region & 1:
                yield self._profiles.lacking(search.attributes)

    @cached_property
    def _none_left(self) -> list[_Search]:
        return [s for s in self.searches if s.leaves_none]

    @cached_property
    def _banned(self) -> list[tuple[int, frozenset[Ban]]]:
        """Each place with what an unlabelled object there must lack."""
        return [(place, frozenset(self._bans(place, self._none_left))) for place in self._places]

    def _banned_in(self, regions: tuple[int, ...], outside: int | None) -> list[frozenset[Ban]]:
        """What an unlabelled object must lack that is seen in each region and not outside: the least of it."""
        if (regions, outside) not in self._least_bans:
            allowed = [one for one in self._banned if outside is None or not one[0] >> outside & 1]
            inside = [{bans for place, bans in allowed if place >> region & 1} for region in regions]
            unions = {frozenset[Ban]().union(*chosen) for chosen in product(*inside)}
            self._least_bans[regions, outside] = [one for one in unions if not any(other < one for other in unions)]
        return self._least_bans[regions, outside]

    def can_be(
        self,
        attributes: Iterable[str],
        regions: Sequence[int],
        outside: int | None = None,
        lacks: Iterable[str] = (),
    ) -> bool:
        """Whether an unlabelled object can fit the words, seen in all those regions.

        Args:
            attributes: It has them all.
            regions: It is seen in each.
            outside: It is not seen in that region.
            lacks: It surely lacks one of them; empty for nothing.
        """
        domains = self._profiles.having(attributes)
        lacking = [self._profiles.lacking(lacks)] if lacks else []
        wanted = tuple(dict.fromkeys(regions))
        return any(self._profiles.possible(domains, [*bans, *lacking]) for bans in self._banned_in(wanted, outside))

    def _must_fit(self, least: _Least, attributes: frozenset[str], region: int) -> bool:
        """Whether every unlabelled object that fits the words of a bound fits these."""
        if not (least.region == region or not self.can_be(least.attributes, [least.region], outside=region)):
            return False
        return attributes <= least.attributes or not self.can_be(least.attributes, [least.region], lacks=attributes)

    # Labelled objects.

    @cached_property
    def _labelling(self) -> list[_Search]:
        return [s for s in self.searches if s.unique and s.answer]

    @cached_property
    def _same(self) -> list[list[_Search]]:
        """For each label the searches that its object is known to fit."""
        known = []
        for labelling in self._labelling:
            # It is the only one that fits; so is whoever was said to exist by narrower words since the last label.
            since = [s for s in self.searches if s.answer and s.before == labelling.before]
            known.append([s for s in since if self._narrower(s, labelling.attributes, labelling.region)])
        return known

    def _narrower(self, search: _Search | _Least, attributes: frozenset[str], region: int) -> bool:
        """Whether whatever fits a search fits those words, by the meaning of the words alone."""
        if any(place >> search.region & 1 and not place >> region & 1 for place in self._places):
            return False
        if attributes <= search.attributes:
            return True
        lacking = [self._profiles.lacking(attributes)]
        return not self._profiles.possible(self._profiles.having(search.attributes), lacking)

    def label_can_be(
        self, number: int, attributes: Iterable[str] = (), region: int | None = None, lacks: Iterable[str] = ()
    ) -> bool:
        """Whether a labelled object (numbered from 0) can have those attributes, be seen there, and lack one."""
        if not self._settled:
            self._settled = True
            self._add_needed()
        has, facts = self._facts[number]
        domains = self._profiles.having(attributes, has)
        lacking = [self._profiles.lacking(lacks)] if lacks else []
        return any(
            self._profiles.possible(domains, [*bans, *facts, *lacking]) for bans in self._banned_for(number, region)
        )

    def _add_needed(self) -> None:
        """Add what labelled objects must fit because too few others can, of as many as were found."""
        changed = True
        while changed:
            changed = False
            for least in self._found:
                if self.can_be(least.attributes, [least.region]):
                    continue  # an unlabelled one may be among them
                since = range(least.before, self.labels)
                can = [number for number in since if self.label_can_be(number, least.attributes, least.region)]
                search = _Search(False, True, least.attributes, least.region, least.before)
                if len(can) <= least.number:
                    for number in can:
                        if search not in self._same[number]:
                            self._same[number].append(search)
                            changed = True
            if changed:
                self.__dict__.pop("_facts", None)
                self._label_bans.clear()

    @cached_property
    def _facts(self) -> list[tuple[Domains, list[Ban]]]:
        """What each labelled object is known to be, by its searches and the answers about it."""
        known = []
        for same, answers in zip(self._same, self.answers, strict=True):
            has = self._profiles.having([name for s in same for name in s.attributes])
            for names, answer in answers:
                has = self._profiles.having(names, has) if answer else has
            known.append((has, [self._profiles.lacking(names) for names, answer in answers if not answer]))
        return known

    def _banned_for(self, number: int, region: int | None) -> list[frozenset[Ban]]:
        """What a labelled object must lack, since no such object was found before its label: the least of it."""
        if (number, region) not in self._label_bans:
            same, labelling = self._same[number], self._labelling[number]
            earlier = [s for s in self._none_left if s is not labelling and s.before <= number]
            # Not unique, and nobody but this one could fit: nobody did.
            earlier += [
                s
                for s in self.searches
                if s.unique and not s.answer and s.before == number
                if self._narrower(s, labelling.attributes, labelling.region)
            ]
            regions = self._innermost([s.region for s in same] + ([] if region is None else [region]))
            unions = set()
            for places in product(*([p for p in self._places if p >> r & 1] for r in regions)):
                unions.add(frozenset(ban for place in places for ban in self._bans(place, earlier)))
            self._label_bans[number, region] = [one for one in unions if not any(other < one for other in unions)]
        return self._label_bans[number, region]

    def _innermost(self, regions: Sequence[int]) -> list[int]:
        """The regions without those around another of them."""
        different = list(dict.fromkeys(regions))
        inside = {
            (a, b)
            for a in different
            for b in different
            if a != b and all(place >> b & 1 for place in self._places if place >> a & 1)
        }
        return [b for b in different if not any((a, b) in inside and (b, a) not in inside for a in different)]

    # Searches.

    @cached_property
    def _found(self) -> list[_Least]:
        """How many objects fitted at least, by each search that found some."""
        return [
            _Least(2 if s.unique else 1, s.attributes, s.region, s.before)
            for s in self.searches
            if (s.answer and not s.unique) or (not s.answer and s.unique and self._somebody(s))
        ]

    @cached_property
    def _bounds(self) -> list[_Least]:
        """How many unlabelled objects fit at least: those found, less those that may be labelled since."""
        left = []
        for one in self._found:
            taken = sum(
                self.label_can_be(number, one.attributes, one.region) for number in range(one.before, self.labels)
            )
            if one.number > taken:
                left.append(one._replace(number=one.number - taken))
        return left

    def _somebody(self, search: _Search) -> bool:
        """Whether somebody then unlabelled fits: with "not unique", two or more did."""
        return any(
            s.answer
            and self._narrower(s, search.attributes, search.region)
            and not (s.unique and s.before < search.before)  # that one was labelled
            and not any(self.label_can_be(n, s.attributes, s.region) for n in range(s.before, search.before))
            for s in self.searches
        ) or any(self._label_fits(n, search) for n in range(search.before, self.labels))

    def _label_fits(self, number: int, search: _Search) -> bool:
        """Whether a labelled object is known to fit a search."""
        inside = any(self._narrower(s, frozenset(), search.region) for s in self._same[number])
        return inside and (not search.attributes or not self.label_can_be(number, lacks=search.attributes))

    def search(self, unique: bool, attributes: frozenset[str], region: int) -> bool | None:
        """The answer to a search if it follows."""
        if not self.can_be(attributes, [region]):
            return False
        fitting = [one for one in self._bounds if self._must_fit(one, attributes, region)]
        if not unique:
            return True if fitting else None
        if any(one.number >= 2 for one in fitting) or self._not_unique_as(attributes, region):
            return False
        for i, one in enumerate(fitting):
            for other in fitting[:i]:
                names = one.attributes | other.attributes
                if not self.can_be(names, [one.region, other.region]):
                    return False  # two different objects
        return None

    def _not_unique_as(self, attributes: frozenset[str], region: int) -> bool:
        """Whether the same objects, none of them labelled since, were found not to be unique by other words."""
        asked = _Least(1, attributes, region, self.labels)
        for s in self.searches:
            if s.answer or not s.unique:
                continue
            other = _Least(1, s.attributes, s.region, s.before)
            if self._must_fit(asked, s.attributes, s.region) and self._must_fit(other, attributes, region):
                since = range(s.before, self.labels)
                if not any(self.label_can_be(number, s.attributes, s.region) for number in since):
                    return True
        return False


class Knowledge:
    """What a history tells, for asking whether it tells the answer to a question.

    >>> from sightline.exams.turing.vocabulary.vocabulary import ObjectType
    >>> image, left = Region("image", (0, 0, 1, 1)), Region("left", (0, 0, 0.5, 1))
    >>> words = Vocabulary("w", (ObjectType("person", ("person",)),), (), (image, left))
    >>> known = Knowledge(((Question("exist", "person"), False),), words)
    >>> known.implied(Question("unique", "person", region="left"))
    False
    """

    def __init__(self, history: History, vocabulary: Vocabulary, rules: Rules | None = None) -> None:
        self._vocabulary, self._rules = vocabulary, rules or Rules(vocabulary)
        self._types = {kind.name: _TypeKnowledge(kind.name, self._rules) for kind in vocabulary.types}
        self._labels = labels_of(history)
        self._told: dict[Pair, bool] = {}
        for question, answer in history:
            if question.instantiates:
                region = vocabulary.region_index[question.region]
                self._types[question.type].add(question, answer, region)
            elif question.kind == "relation":
                assert question.subject is not None
                assert question.object is not None
                self._told[question.relation, question.subject, question.object] = answer
            elif question.subject in self._labels:
                answers = self._types[question.subject.type].answers[question.subject.number - 1]
                answers.append((frozenset(question.attributes), answer))

    def has(self, label: Label) -> frozenset[str]:
        """Attributes a labelled object is known to have."""
        known, number = self._types[label.type], label.number - 1
        names = (a.name for a in self._vocabulary.kind(label.type).attributes)
        return frozenset(name for name in names if not known.label_can_be(number, lacks=[name]))

    def implied(self, question: Question) -> bool | None:
        """The answer if it follows, else None."""
        if question.instantiates:
            region = self._vocabulary.region_index[question.region]
            known = self._types[question.type]
            return known.search(question.kind == "unique", frozenset(question.attributes), region)
        if question.kind == "relation":
            assert question.subject is not None
            assert question.object is not None
            return self._rules.relations.settled(
                self._literals, (question.relation, question.subject, question.object)
            )
        return self._attribute(question)

    def _attribute(self, question: Question) -> bool | None:
        if question.subject not in self._labels:
            return None
        known, number = self._types[question.subject.type], question.subject.number - 1
        if not known.label_can_be(number, question.attributes):
            return False if known.label_can_be(number) else None  # None: what is known of it contradicts itself
        return None if known.label_can_be(number, lacks=question.attributes) else True

    @cached_property
    def _literals(self) -> dict[Pair, bool]:
        """What is told of pairs, and what attributes that an object lacks deny."""
        denied: dict[Pair, bool] = {}
        denials = self._rules.relations.denials
        for label in self._labels if denials else ():
            known = self._types[label.type]
            for (kind, name), links in denials.items():
                if kind == label.type and links and not known.label_can_be(label.number - 1, [name]):
                    for other in self._labels:
                        if other != label:
                            pairs = ((n, other, label) if second else (n, label, other) for n, second in links)
                            denied.update(dict.fromkeys(pairs, False))
        return denied | self._told


def _places(regions: Sequence[Region]) -> tuple[int, ...]:
    """Bits of the regions around each rectangle that no edge of a region divides, each set of them once."""
    edges = [sorted({region.box[k] for region in regions for k in (axis, axis + 2)}) for axis in (0, 1)]
    found = {}
    for (x0, x1), (y0, y1) in product(pairwise(edges[0]), pairwise(edges[1])):
        here = Region("", (x0, y0, x1, y1))
        bits = sum(1 << k for k, region in enumerate(regions) if here.within(region))
        if bits:
            found[bits] = True
    return tuple(found)
