"""From what the data tells to what is known: attributes of objects, relations of pairs, each yes, no or open."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sightline.exams.turing.annotations.columns import packed
from sightline.exams.turing.annotations.telling import Bools, Ints, Told
from sightline.exams.turing.words.vocabulary import Kind, Link, Source, Vocabulary

Words = NDArray[np.uint64]


@dataclass(frozen=True)
class Things:
    """The annotated objects of some images, in order.

    Attributes:
        frame: ``image``, ``row`` (among all objects), ``type``, ``category``, ``attributes``, the box,
            ``occluded_fraction`` and ``flags``.
        categories: Category of each of all objects, whether of a type or not.
        told: What is told of all of them.
        closed: Whether silence means no, whatever the vocabulary says.
    """

    frame: pl.DataFrame
    categories: pl.Series
    told: Told
    closed: bool
    _values: dict[str, pl.Series] = field(default_factory=dict, repr=False)

    @cached_property
    def types(self) -> NDArray[np.int16]:
        """(O,) positions in `Vocabulary.types`."""
        return self.frame["type"].to_numpy().astype(np.int16)

    @cached_property
    def places(self) -> Ints:
        """Row among all objects → place among these, −1 where it is none of them."""
        places = np.full(len(self.categories), -1, dtype=np.int64)
        places[self.frame["row"].to_numpy()] = np.arange(self.frame.height)
        return places

    def values(self, key: str) -> pl.Series:
        """(O,) `Object.attributes` [`key`], null where it has none."""
        if key not in self._values:
            self._values[key] = pl.Series([f.get(key) for f in self._facts], dtype=pl.String, strict=False)
        return self._values[key]

    @cached_property
    def _facts(self) -> list[dict[str, str]]:
        return [json.loads(text) if text else {} for text in self.frame["attributes"].to_list()]


def attributes(things: Things, vocabulary: Vocabulary) -> tuple[Words, Words]:
    """(O, words) packed: which attributes of its type each object has, and which it has not."""
    width = max((len(kind.attributes) for kind in vocabulary.types), default=0)
    yes, no = (np.zeros((things.frame.height, width), dtype=bool) for _ in range(2))
    known: dict[Source, tuple[Bools, Bools]] = {}
    for t, kind in enumerate(vocabulary.types):
        own = np.flatnonzero(things.types == t)
        for k, attribute in enumerate(kind.attributes):
            if own.size and attribute.source not in known:
                known[attribute.source] = _source(things, attribute.source)
            if own.size:
                yes[own, k], no[own, k] = (side[own] for side in known[attribute.source])
        _exclude(kind, own, yes, no)
    return packed(yes), packed(no & ~yes)


def _exclude(kind: Kind, own: Ints, yes: Bools, no: Bools) -> None:
    """Who has one attribute of an exclusive group has none of the others."""
    for group in kind.exclusive:
        same = [k for k, attribute in enumerate(kind.attributes) if attribute.group == group]
        has = own[np.logical_or.reduce(yes[own][:, same], axis=1)]
        no[has[:, None], same] = True


def _source(things: Things, source: Source) -> tuple[Bools, Bools]:
    """(O,) whom the source gives the attribute, and whom it denies it."""
    if source.kind == "relation":
        return _partners(things, source)
    yes, no, silent = _SOURCES[source.kind](things, source)
    return yes, no | silent if things.closed or source.absent == "no" else no


def _value(things: Things, source: Source) -> tuple[Bools, Bools, Bools]:
    values = things.values(source.key)
    yes = values.is_in(list(source.values)).fill_null(value=False).to_numpy()
    silent = values.is_null().to_numpy()
    return yes, ~yes & ~silent, silent


def _category(things: Things, source: Source) -> tuple[Bools, Bools, Bools]:
    yes = things.frame["category"].is_in(list(source.values)).to_numpy()
    no = things.frame["category"].is_in(list(source.others)).to_numpy() if source.others else ~yes
    return yes, no, ~yes & ~no


def _flag(things: Things, source: Source) -> tuple[Bools, Bools, Bools]:
    """A flag ``<key>_unknown`` says that nobody knows, which is not silence."""
    flags = things.frame["flags"].list
    yes, unknown = flags.contains(source.key).to_numpy(), flags.contains(f"{source.key}_unknown").to_numpy()
    return yes, np.zeros_like(yes), ~yes & ~unknown


def _occluded(things: Things, source: Source) -> tuple[Bools, Bools, Bools]:
    hidden = things.frame["occluded_fraction"].fill_null(float("nan")).to_numpy()
    return hidden > source.above, hidden <= source.above, np.isnan(hidden)


_SOURCES = {"attribute": _value, "category": _category, "flag": _flag, "occluded": _occluded}


def _partners(things: Things, source: Source) -> tuple[Bools, Bools]:
    """By how many partners an object has for sure, and how many it may have."""
    told, words = things.told, (*source.values, *source.reverse)
    ends = (told.subject, told.object) if source.role == "subject" else (told.object, told.subject)
    straight, back = told.says(source.key, source.values), told.says(source.key, source.reverse)
    open_ = told.open_for(source.key, words)
    sure = _pairs(things, source, [(straight, *ends), (back, *ends[::-1])])
    maybe = np.setdiff1d(_pairs(things, source, [(open_, *ends)]), sure)
    n = things.frame.height
    least = np.bincount(sure // len(things.categories), minlength=n)[:n] if sure.size else np.zeros(n, dtype=int)
    extra = np.bincount(maybe // len(things.categories), minlength=n)[:n] if maybe.size else np.zeros(n, dtype=int)
    told_all = things.closed or source.absent == "no"
    most = least + extra if told_all else np.full(n, np.inf)
    if source.exactly is None:
        return least > 0, most == 0
    return (least == source.exactly) & (most == least), (least > source.exactly) | (most < source.exactly)


def _pairs(things: Things, source: Source, rows: Iterable[tuple[Bools, Ints, Ints]]) -> Ints:
    """Each pair of an annotated object and a partner that counts, once, as place · all + partner's row."""
    found = []
    for chosen, own, partner in rows:
        counts = chosen & (things.places[own] >= 0) & (own != partner)
        if source.others:
            counts &= things.categories.is_in(list(source.others)).to_numpy()[partner]
        found.append(things.places[own[counts]] * len(things.categories) + partner[counts])
    return np.unique(np.concatenate(found))


@dataclass(frozen=True)
class Pairs:
    """Every ordered pair of objects of one image, image by image, row-major.

    Attributes:
        starts: (N + 1,) where the pairs of each image begin.
        first: (P,) places among the annotated objects; `second` likewise.
        image_starts: (N + 1,) where the objects of each image begin.
    """

    starts: Ints
    first: Ints
    second: Ints
    image_starts: Ints

    @classmethod
    def of(cls, image_starts: Ints) -> Pairs:
        """Of images whose objects begin there.

        >>> Pairs.of(np.array([0, 2, 3])).second
        array([0, 1, 0, 1, 2])
        """
        n = np.diff(image_starts)
        starts = np.concatenate([[0], np.cumsum(n * n)]).astype(np.int64)
        image = np.repeat(np.arange(len(n)), n * n)
        local = np.arange(starts[-1]) - starts[image]
        begin = image_starts[image]
        return cls(starts, begin + local // n[image], begin + local % n[image], image_starts)

    def place(self, first: Ints, second: Ints) -> Ints:
        """Where pairs of annotated objects of one image stand."""
        image = np.searchsorted(self.image_starts, first, side="right") - 1
        begin, n = self.image_starts[image], self.image_starts[image + 1] - self.image_starts[image]
        places: Ints = self.starts[image] + (first - begin) * n + second - begin
        return places


def relations(things: Things, pairs: Pairs, vocabulary: Vocabulary) -> tuple[Words, Words]:
    """(P, words) packed: which relations hold of each pair, and which fail."""
    words = max(1, -(-len(vocabulary.links) // 64))
    holds, fails = (np.zeros((len(pairs.first), words), dtype=np.uint64) for _ in range(2))
    told, places = things.told, things.places
    told = told.only((places[told.subject] >= 0) & (places[told.object] >= 0) & (told.subject != told.object))
    a, b = places[told.subject], places[told.object]
    where = pairs.place(a, b), pairs.place(b, a)
    for k, link in enumerate(vocabulary.links):
        if link.aspect == "box":
            yes, no = _measured(things, pairs, link)
        else:
            silence = things.closed or link.absent == "no"
            yes, no = _told(told, link, where, np.full(len(pairs.first), silence))
        asked = _joined(link, vocabulary)[things.types[pairs.first], things.types[pairs.second]]
        asked &= pairs.first != pairs.second
        holds[:, k // 64] |= (yes & asked).astype(np.uint64) << np.uint64(k % 64)
        fails[:, k // 64] |= (no & ~yes & asked).astype(np.uint64) << np.uint64(k % 64)
    return holds, fails


def _joined(link: Link, vocabulary: Vocabulary) -> Bools:
    """(T, T) whether it can be asked of two types."""
    names = list(vocabulary.type_index)
    table = np.array([[link.joins(a, b) for b in names] for a in names], dtype=bool)
    return table if link.ordered else table | table.T


def _told(told: Told, link: Link, where: tuple[Ints, Ints], no: Bools) -> tuple[Bools, Bools]:
    """(P,) of which pairs the data says it, and of which it denies it.

    Args:
        told: Relations between annotated objects.
        link: The relation asked for.
        where: Place among the pairs of each row of `told`, and of its two objects swapped.
        no: (P,) what silence means; changed in place.
    """
    straight, swapped = where
    words = (*link.values, *link.reverse)
    forth, back = told.says(link.aspect, link.values), told.says(link.aspect, link.reverse)
    yes = np.zeros_like(no)
    yes[straight[forth]] = yes[swapped[back]] = True
    if not link.ordered:
        yes[swapped[forth]] = yes[straight[back]] = True
    no[straight[told.answers(link.aspect, words)]] = True
    no[straight[told.open_for(link.aspect, words)]] = False
    return yes, no


def _measured(things: Things, pairs: Pairs, link: Link) -> tuple[Bools, Bools]:
    """(P,) whose box is larger (or taller) by the margin, and whose is smaller by it."""
    x0, y0, x1, y1 = (things.frame[c].to_numpy() for c in ("x0", "y0", "x1", "y1"))
    size = (y1 - y0) if link.values == ("taller",) else (x1 - x0) * (y1 - y0)
    first, second = size[pairs.first], size[pairs.second]
    return first > second * (1 + link.margin), second > first * (1 + link.margin)
