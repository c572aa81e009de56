"""The Turing exam's chances straight from the definitions: walks every image, object and pair, one at a time.

Shares nothing with `sightline.exams.turing.annotations.semantics` but the nouns.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sightline.exams.turing.annotations.columns import Annotation, Columns
from sightline.exams.turing.estimate.estimator import Assumptions, Chance
from sightline.exams.turing.vocabulary.questions import Label, Question
from sightline.exams.turing.vocabulary.vocabulary import Vocabulary

ANY_GROUP = None


@dataclass
class Thing:
    """An object: names of what it surely has and has not, names of the regions it is seen in."""

    id: str
    type: str
    crowd: bool
    yes: set[str]
    no: set[str]
    seen: set[str]

    def has_all(self, attributes: Iterable[str]) -> bool:
        return all(a in self.yes for a in attributes)

    def lacks_one(self, attributes: Iterable[str]) -> bool:
        return any(a in self.no for a in attributes)


@dataclass
class Picture:
    """An image: its objects, and what surely holds or fails as (relation, subject's place, object's place)."""

    id: str
    things: list[Thing]
    holds: set[tuple[str, int, int]]
    fails: set[tuple[str, int, int]]


def picture_of(image: Annotation, vocabulary: Vocabulary) -> Picture:
    n = len(image.objects)
    things = []
    for i in range(n):
        kind = vocabulary.types[image.types[i]]
        things.append(
            Thing(
                image.objects[i],
                kind.name,
                bool(image.crowd[i]),
                {a.name for k, a in enumerate(kind.attributes) if image.yes[i, k]},
                {a.name for k, a in enumerate(kind.attributes) if image.no[i, k]},
                {w.name for k, w in enumerate(vocabulary.regions) if image.seen[i, k]},
            )
        )
    triples = [(r, k, i, j) for k, r in enumerate(vocabulary.links) for i in range(n) for j in range(n) if i != j]
    holds = {(r.name, i, j) for r, k, i, j in triples if image.holds[i, j, k]}
    fails = {(r.name, i, j) for r, k, i, j in triples if image.fails[i, j, k]}
    return Picture(image.id, things, holds, fails)


def truth(picture: Picture, question: Question, labelled: dict[Label, int]) -> bool | None:
    """True, False, or None for ambiguous."""
    if question.kind == "attribute":
        thing = picture.things[labelled[question.subject]]
        return three(thing.has_all(question.attributes), thing.lacks_one(question.attributes))
    if question.kind == "relation":
        fact = question.relation, labelled[question.subject], labelled[question.object]
        return three(fact in picture.holds, fact in picture.fails)
    surely = possibly = 0
    for thing in fitting_place(picture, question, labelled):
        if not thing.lacks_one(question.attributes):
            possibly += 2 if thing.crowd else 1
        if thing.has_all(question.attributes):
            surely += 2 if thing.crowd else 1
    if question.kind == "exist":
        return three(surely >= 1, possibly == 0)
    return three(surely == 1 and possibly == 1, possibly == 0 or surely >= 2)


def fitting_place(picture: Picture, question: Question, labelled: dict[Label, int]) -> list[Thing]:
    return [
        thing
        for i, thing in enumerate(picture.things)
        if thing.type == question.type and question.region in thing.seen and i not in labelled.values()
    ]


def three(yes: bool, no: bool) -> bool | None:
    return True if yes else False if no else None


def walked(picture: Picture, history: Iterable[tuple[Question, bool]]) -> dict[Label, int] | None:
    """The labels where every answer is decided and as told, else None."""
    labelled: dict[Label, int] = {}
    for q, said in history:
        if truth(picture, q, labelled) is not said:
            return None
        if q.kind == "unique" and said:
            (one,) = [t for t in fitting_place(picture, q, labelled) if t.has_all(q.attributes)]
            number = 1 + len([label for label in labelled if label.type == q.type])
            labelled[Label(q.type, number)] = [t is one for t in picture.things].index(True)
    return labelled


class SlowEstimator:
    """The Estimator protocol by brute force."""

    def __init__(
        self,
        columns: Columns,
        vocabulary: Vocabulary,
        assumptions: Assumptions = Assumptions(),  # noqa: B008
        min_support: int = 30,
        smoothing: float = 0.0,
    ) -> None:
        self.columns, self.vocabulary, self.assumptions = columns, vocabulary, assumptions
        self.min_support, self.smoothing = min_support, smoothing
        self.pictures = [picture_of(columns.image(i), vocabulary) for i in range(len(columns))]
        self.history: list[tuple[Question, bool]] = []

    def fork(self) -> SlowEstimator:
        return SlowEstimator(self.columns, self.vocabulary, self.assumptions, self.min_support, self.smoothing)

    def learn(self, question: Question, answer: bool) -> None:
        self.history.append((question, answer))

    def chances(self, questions: Sequence[Question]) -> list[Chance]:
        return [self.chance(question) for question in questions]

    def chance(self, question: Question) -> Chance:
        if question.instantiates:
            return self.over_images(question, self.kept(question))
        if not self.assumptions.objects_pooled:
            return self.over_images(question, self.history)
        tally = self.over_objects if question.kind == "attribute" else self.over_pairs
        if not self.assumptions.negatives:
            return tally(question, [i for i, (_, said) in enumerate(self.history) if not said])
        dropped: list[int] = []
        for place in [None, *self.drop_order(question)]:
            if place is not None:
                dropped.append(place)
            found = tally(question, dropped)
            if found.support >= self.min_support:
                break
        return found

    def drop_order(self, question: Question) -> list[int]:
        """Places in the history of negatives that may go, one at a time: most attributes first, then the latest.

        Not those that speak of a group the question itself asks for.
        """

        def groups(q: Question) -> set[str]:
            if q.kind == "relation":
                return {"relation " + self.vocabulary.link(q.relation).group}
            return {self.vocabulary.attribute(q.subject.type, a).group for a in q.attributes}

        places = []
        for i, (q, said) in enumerate(self.history):
            speaks = q.kind in ("attribute", "relation") and q.subject in (question.subject, question.object)
            if question.kind == "attribute" and q.kind == "relation":
                speaks = False
            if not said and speaks and not groups(q) & groups(question):
                places.append(i)
        return sorted(places, key=lambda i: (-len(self.history[i][0].attributes), -i))

    def share(self, truths: Iterable[bool | None]) -> Chance:
        """Of the decided ones."""
        decided = [t for t in truths if t is not None]
        if not decided:
            return Chance(math.nan, 0)
        yes = sum(decided)
        return Chance((yes + self.smoothing) / (len(decided) + 2 * self.smoothing), len(decided))

    # Equation 2: over images.

    def kept(self, question: Question) -> list[tuple[Question, bool]]:
        """H′ of an existence or uniqueness question."""
        here = self.vocabulary.region(question.region)
        kept = []
        for q, said in self.history:
            if q.instantiates:
                near = self.vocabulary.region(q.region).meets(here)
                labelled = q.kind == "unique" and said
                if labelled or near or not self.assumptions.forget_elsewhere:
                    kept.append((q, said))
            elif not self.assumptions.forget_facts:
                kept.append((q, said))
        return kept

    def over_images(self, question: Question, history: Sequence[tuple[Question, bool]]) -> Chance:
        truths = []
        for picture in self.pictures:
            labelled = walked(picture, history)
            if labelled is not None:
                truths.append(truth(picture, question, labelled))
        return self.share(truths)

    # Equation 3: over objects and pairs.

    def found_by(self, label: Label) -> Question:
        """The question that labelled it."""
        positives = [q for q, said in self.history if said and q.kind == "unique" and q.type == label.type]
        return positives[label.number - 1]

    def facts(self, label: Label, groups: set[str] | None, dropped: list[int]) -> list[tuple[list[str], bool]]:
        """(attributes, said) known of a labelled object, as far as they concern the groups (ANY_GROUP: all)."""
        known = [(self.found_by(label).attributes, True)]
        known += [
            (q.attributes, said)
            for i, (q, said) in enumerate(self.history)
            if q.kind == "attribute" and q.subject == label and i not in dropped
        ]
        facts = []
        for attributes, said in known:
            in_groups = [
                a
                for a in attributes
                if groups is ANY_GROUP or self.vocabulary.attribute(label.type, a).group in groups
            ]
            if said:
                facts.append((in_groups, True))
            elif len(in_groups) == len(attributes):
                facts.append((in_groups, False))
        return facts

    def over_objects(self, question: Question, dropped: list[int]) -> Chance:
        kind = question.subject.type
        groups = {self.vocabulary.attribute(kind, a).group for a in question.attributes}
        wanted = groups if self.assumptions.independent_groups else ANY_GROUP
        facts = self.facts(question.subject, wanted, dropped)
        alike = [
            thing
            for picture in self.pictures
            for thing in picture.things
            if thing.type == kind and not thing.crowd and meets(thing, facts)
        ]
        return self.share(three(t.has_all(question.attributes), t.lacks_one(question.attributes)) for t in alike)

    def over_pairs(self, question: Question, dropped: list[int]) -> Chance:
        a, b = question.subject, question.object
        link = self.vocabulary.link(question.relation)
        groups = set(link.given) if self.assumptions.relations_alone else ANY_GROUP
        facts_a, facts_b = self.facts(a, groups, dropped), self.facts(b, groups, dropped)
        placed = groups is ANY_GROUP or "region" in groups
        truths = []
        for picture in self.pictures:
            for i, first in enumerate(picture.things):
                for j, second in enumerate(picture.things):
                    if (
                        i != j
                        and (first.type, second.type) == (a.type, b.type)
                        and meets(first, facts_a)
                        and meets(second, facts_b)
                        and (not placed or self.found_by(a).region in first.seen)
                        and (not placed or self.found_by(b).region in second.seen)
                        and self.pair_meets(picture, i, j, question, dropped)
                    ):
                        fact = question.relation, i, j
                        truths.append(three(fact in picture.holds, fact in picture.fails))
        return self.share(truths)

    def pair_meets(self, picture: Picture, i: int, j: int, question: Question, dropped: list[int]) -> bool:
        """Whether the pair stands in the relations known of the two, read on the swapped pair where need be."""
        group = self.vocabulary.link(question.relation).group
        places = {question.subject: i, question.object: j}
        for place, (q, said) in enumerate(self.history):
            if place in dropped or q.kind != "relation" or {q.subject, q.object} != set(places):
                continue
            if self.assumptions.independent_relations and self.vocabulary.link(q.relation).group != group:
                continue
            fact = q.relation, places[q.subject], places[q.object]
            if said and fact not in picture.holds:
                return False
            if not said and fact not in picture.fails:
                return False
        return True


def meets(thing: Thing, facts: list[tuple[list[str], bool]]) -> bool:
    return all(thing.has_all(names) if said else thing.lacks_one(names) for names, said in facts)
