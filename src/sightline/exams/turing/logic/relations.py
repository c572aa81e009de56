"""What relations between labelled objects say of one another: orders, opposites, predicates, and attributes.

A *literal* is a relation of two labelled objects with a yes or no. Rules lead from one literal to another
(opposites, turned orders, a relation whose predicates are among another's, answers of which a pair has one); a
transitive relation leads from two to a third. A question is settled where one of its answers would contradict what
is known.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import permutations
from typing import NamedTuple

from sightline.exams.turing.annotations.facts import ANSWERS, UNSURE
from sightline.exams.turing.logic.profiles import told_ends
from sightline.exams.turing.vocabulary.questions import Label, Question
from sightline.exams.turing.vocabulary.vocabulary import RelationType, Vocabulary
from sightline.scenes.labels import ASPECTS

Pair = tuple[str, Label, Label]
"""Relation, subject, object."""

Known = Mapping[Pair, bool]


class _Rule(NamedTuple):
    """If a relation has the answer, then another (of the two turned round, if `turned`) has its answer `then`."""

    answer: bool
    relation: str
    turned: bool
    then: bool


class RelationRules:
    """The rules of a vocabulary's relations.

    >>> taller = RelationType("taller", "taller than", aspect="box", values=("taller",), order="strict")
    >>> rules = RelationRules(Vocabulary("w", (), (taller,), ()))
    >>> a, b, c = Label("car", 1), Label("car", 2), Label("car", 3)
    >>> rules.settled({("taller", a, b): False}, ("taller", b, a))
    True
    >>> rules.settled({("taller", a, b): False, ("taller", b, c): False}, ("taller", a, c))
    False
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._rules: dict[str, list[_Rule]] = {link.name: [] for link in vocabulary.links}
        for link in vocabulary.links:
            self._add_own(link)
        for one, other in permutations(vocabulary.links, 2):
            self._add_by_predicates(one, other)
        self._transitive = {link.name for link in vocabulary.links if link.transitive}

    def settled(self, known: Known, asked: Pair) -> bool | None:
        """The answer that follows from those known, or None."""
        closed = self.closed(known)
        if closed is None:  # what is known contradicts itself: nothing follows from it but itself
            return known.get(asked)
        if asked in closed:
            return closed[asked]
        for answer in (True, False):
            if self._spread(dict(closed), [(asked, answer)]) is None:
                return not answer
        return None

    def closed(self, known: Known) -> Known | None:
        """All that follows from literals, those included; None where they contradict each other."""
        return self._spread({}, list(known.items()))

    def rejected_with(self, question: Question) -> frozenset[Question]:
        """Questions that are ambiguous where this one is: those that say the same, or the contrary, of the two."""
        assert question.subject is not None
        assert question.object is not None
        first = question.relation, question.subject, question.object
        same, queue = {first}, [first]
        while queue:
            relation, a, b = queue.pop()
            for rule in self._rules[relation]:
                there = (rule.relation, b, a) if rule.turned else (rule.relation, a, b)
                converse = _Rule(not rule.answer, rule.relation, rule.turned, not rule.then)
                if there not in same and converse in self._rules[relation]:
                    same.add(there)
                    queue.append(there)
        return frozenset(Question("relation", subject=a, object=b, relation=name) for name, a, b in same)

    @cached_property
    def denials(self) -> Mapping[tuple[str, str], tuple[tuple[str, bool], ...]]:
        """(type, attribute) → (relation, whether the object is its second): what an object without it is not in."""
        found: dict[tuple[str, str], tuple[tuple[str, bool], ...]] = {}
        for kind in self._vocabulary.types:
            for attribute in kind.attributes:
                source = attribute.source
                if source.kind != "relation" or source.exactly is not None or source.others:
                    continue
                straight, back = told_ends(source)
                found[kind.name, attribute.name] = tuple(
                    (link.name, second)
                    for link in self._vocabulary.links
                    for second in (False, True)
                    if source.key in ("", link.aspect)
                    and any(_ends(link))
                    and _within(_ends(link, turned=second), (straight, back))
                )
        return found

    def _add_own(self, link: RelationType) -> None:
        rules = self._rules[link.name]
        if not link.ordered:
            rules += [_Rule(answer, link.name, True, answer) for answer in (True, False)]
        elif link.strict:
            rules += [_Rule(answer, link.name, True, not answer) for answer in (True, False)]
        elif link.order:
            rules.append(_Rule(True, link.name, True, False))
        if link.opposite in self._rules:
            for one, other in ((link.name, link.opposite), (link.opposite, link.name)):
                self._rules[one] += [_Rule(answer, other, True, answer) for answer in (True, False)]

    def _add_by_predicates(self, one: RelationType, other: RelationType) -> None:
        """Rules from one relation to another that the same predicates of the data decide."""
        told = all(link.values or link.reverse for link in (one, other))
        if one.aspect == "box" or one.aspect != other.aspect or not told:
            return
        rules = self._rules[one.name]
        for turned in (False, True):
            these, those = _ends(one), _ends(other, turned=turned)
            if one.aspect in ANSWERS:
                every = frozenset({*ANSWERS[one.aspect], ""} - {UNSURE})  # "": silence, which may be read as no
                first, second = (_answers(one.aspect, ends) for ends in (these, those))
                # A strict order answers no only where the turned pair is yes.
                not_first = _answers(one.aspect, these[::-1]) if one.strict else every - first
                not_second = _answers(one.aspect, those[::-1]) if other.strict else every - second
                for answer, cells in ((True, first), (False, not_first)):
                    if not cells & not_second:
                        rules.append(_Rule(answer, other.name, turned, True))
                    elif not cells & second:
                        rules.append(_Rule(answer, other.name, turned, False))
            elif _within(these, those):
                rules.append(_Rule(True, other.name, turned, True))
            elif _within(those, these):
                rules.append(_Rule(False, other.name, turned, False))

    def _spread(self, known: dict[Pair, bool], fresh: list[tuple[Pair, bool]]) -> dict[Pair, bool] | None:
        """Add literals and all that follows from them; None at a contradiction."""
        while fresh:
            pair, answer = fresh.pop()
            if pair in known:
                if known[pair] is not answer:
                    return None
                continue
            known[pair] = answer
            name, a, b = pair
            fresh += [
                ((rule.relation, b, a) if rule.turned else (rule.relation, a, b), rule.then)
                for rule in self._rules[name]
                if rule.answer is answer
            ]
            if name in self._transitive:
                fresh += _chained(known, pair, answer)
        return known


def _chained(known: Known, pair: Pair, answer: bool) -> list[tuple[Pair, bool]]:
    """What a literal of a transitive relation and one that is known say of a third pair."""
    name, a, b = pair
    found: list[tuple[Pair, bool]] = []
    for (other, s, t), said in known.items():
        if other != name or (s, t) == (a, b):
            continue
        if answer and said:
            if s == b and t != a:
                found.append(((name, a, t), True))
            if t == a and s != b:
                found.append(((name, s, b), True))
        elif answer != said:  # a before b, and s not before t
            before, behind, first, last = (a, b, s, t) if answer else (s, t, a, b)
            if first == before and last != behind:
                found.append(((name, behind, last), False))
            if last == behind and first != before:
                found.append(((name, first, before), False))
    return found


def _ends(link: RelationType, *, turned: bool = False) -> tuple[frozenset[str], frozenset[str]]:
    """Predicates that say it of (subject, object), and those that say it of (object, subject)."""
    straight, back = frozenset(link.values), frozenset(link.reverse)
    if not link.ordered:
        return straight | back, straight | back
    return (back, straight) if turned else (straight, back)


def _within(few: Sequence[frozenset[str]], many: Sequence[frozenset[str]]) -> bool:
    return all(one <= other for one, other in zip(few, many, strict=True))


def _answers(aspect: str, ends: Iterable[frozenset[str]]) -> frozenset[str]:
    """Answers about (subject, object) that say it, of an aspect of which a pair has one answer."""
    straight, back = ends
    labels = {label.word: label.reverse.word for label in ASPECTS[aspect]}
    return straight | {labels[word] for word in back if word in labels}
