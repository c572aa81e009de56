"""All worlds of a small vocabulary, one by one: what every world that fits a history answers the same is certain.

Written from the meaning of the questions; shares nothing with `sightline.exams.turing.logic` but the nouns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations_with_replacement, permutations, product
from typing import NamedTuple

import numpy as np

from sightline.exams.turing.annotations.columns import Columns, packed
from sightline.exams.turing.vocabulary.questions import Label, Question
from sightline.exams.turing.vocabulary.vocabulary import (
    Attribute,
    AttributeSource,
    ObjectType,
    Region,
    RelationType,
    Vocabulary,
)

KINDS = {"sedan": set(), "van": {"large"}, "bus": {"large", "bus"}}
"""Category → attributes it brings."""

PLACES = (("left",), ("right",), ("left", "right"))

WORDS = Vocabulary(
    "small",
    (
        ObjectType(
            "car",
            tuple(KINDS),
            (
                Attribute("large", "form", "large", AttributeSource("category", values=("van", "bus"))),
                Attribute("bus", "form", "a bus", AttributeSource("category", values=("bus",))),
            ),
        ),
    ),
    (),
    (Region("image", (0, 0, 1, 1)), Region("left", (0, 0, 0.5, 1)), Region("right", (0.5, 0, 1, 1))),
)


class Car(NamedTuple):
    """An object: its category, and the halves it is seen in."""

    category: str
    halves: tuple[str, ...]

    def fits(self, question: Question) -> bool:
        seen = question.region == "image" or question.region in self.halves
        return seen and set(question.attributes) <= KINDS[self.category]


World = tuple[Car, ...]


def worlds(most: int) -> list[World]:
    """Every world of at most so many cars."""
    cars = [Car(category, halves) for category, halves in product(KINDS, PLACES)]
    return [world for n in range(most + 1) for world in combinations_with_replacement(cars, n)]


class Walk:
    """One world on the way through a history: which of its cars are labelled."""

    def __init__(self, world: World, labelled: tuple[int, ...] = ()) -> None:
        self.world, self.labelled = world, labelled

    def truth(self, question: Question) -> bool:
        if question.kind == "attribute":
            assert question.subject is not None
            car = self.world[self.labelled[question.subject.number - 1]]
            return set(question.attributes) <= KINDS[car.category]
        fitting = self.fitting(question)
        return len(fitting) == 1 if question.kind == "unique" else bool(fitting)

    def fitting(self, question: Question) -> list[int]:
        return [i for i, car in enumerate(self.world) if i not in self.labelled and car.fits(question)]

    def after(self, question: Question, answer: bool) -> Walk | None:
        """The walk one question further; None where this world answers otherwise."""
        if self.truth(question) is not answer:
            return None
        if question.kind == "unique" and answer:
            return Walk(self.world, (*self.labelled, *self.fitting(question)))
        return self


def columns_of(some: Sequence[World]) -> Columns:
    """The worlds as annotated images."""
    cars = [car for world in some for car in world]
    sizes = np.array([len(world) for world in some])
    has = np.array([[name in KINDS[car.category] for name in ("large", "bus")] for car in cars], dtype=bool)
    seen = np.array([[True, "left" in car.halves, "right" in car.halves] for car in cars], dtype=bool)
    pairs = int((sizes * sizes).sum())
    return Columns(
        ids=np.array([f"w{i}" for i in range(len(some))], dtype=object),
        starts=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        objects=np.array([f"o{i}" for i in range(len(cars))], dtype=object),
        types=np.zeros(len(cars), dtype=np.int16),
        crowd=np.zeros(len(cars), dtype=bool),
        yes=packed(has.reshape(-1, 2)),
        no=packed(~has.reshape(-1, 2)),
        seen=packed(seen.reshape(-1, 3))[:, 0],
        pair_starts=np.concatenate([[0], np.cumsum(sizes * sizes)]).astype(np.int64),
        holds=np.zeros((pairs, 1), dtype=np.uint64),
        fails=np.zeros((pairs, 1), dtype=np.uint64),
        n_attributes=2,
        n_regions=3,
        n_links=0,
    )


LINKS = (
    RelationType("taller", "taller than", aspect="box", values=("taller",), order="strict"),
    RelationType(
        "left", "left of", aspect="s", values=("left",), reverse=("right",), order="partial", opposite="right"
    ),
    RelationType(
        "right", "right of", aspect="s", values=("right",), reverse=("left",), order="partial", opposite="left"
    ),
    RelationType("holds", "holding", aspect="h", values=("holds",), order="asymmetric"),
    RelationType("touches", "touching", ordered=False, aspect="h", values=("holds", "touches")),
)
"""Touching is what holding is too, in either order."""

CARS = tuple(Label("car", n) for n in (1, 2, 3))
Fact = tuple[str, Label, Label]


def relation_worlds() -> Iterator[dict[Fact, bool]]:
    """Every way three cars can be related: relation, subject, object → whether it holds."""
    pairs = list(permutations(CARS, 2))
    orders = [{(a, b) for i, a in enumerate(order) for b in order[i + 1 :]} for order in permutations(CARS)]
    partial = [
        rows
        for bits in product((False, True), repeat=6)
        if is_order(rows := {pair for pair, bit in zip(pairs, bits, strict=True) if bit})
    ]
    for taller, left, bits in product(orders, partial, product(range(4), repeat=3)):
        world: dict[Fact, bool] = {}
        for a, b in pairs:
            world["taller", a, b] = (a, b) in taller
            world["left", a, b] = (a, b) in left
            world["right", a, b] = (b, a) in left
        # Of each two: apart, touching, the first holds the second, the second holds the first.
        for (a, b), how in zip(((CARS[0], CARS[1]), (CARS[0], CARS[2]), (CARS[1], CARS[2])), bits, strict=True):
            world["holds", a, b], world["holds", b, a] = how == 2, how == 3
            world["touches", a, b] = world["touches", b, a] = how > 0
        yield world


def is_order(rows: set[tuple[Label, Label]]) -> bool:
    """Whether the pairs are a strict partial order."""
    if any((b, a) in rows for a, b in rows):
        return False
    return all((a, d) in rows for a, b in rows for c, d in rows if b == c)
