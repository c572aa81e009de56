"""Facts that stored annotations tell: attributes of objects and relations of pairs, each yes, no or open."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sightline.exams.turing.annotations.columns import packed
from sightline.exams.turing.annotations.visibility import PIXELS, SHARE
from sightline.exams.turing.vocabulary.vocabulary import AttributeSource, ObjectType, RelationType, Vocabulary
from sightline.scenes.labels import ASPECTS

Words = NDArray[np.uint64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

ANSWERS: Final = {aspect: tuple(label.word for label in labels) for aspect, labels in ASPECTS.items()}
"""Aspects of which a pair has exactly one answer, so that any other answer denies; elsewhere several may hold."""

UNSURE: Final = "unsure"
_STORED: Final = ("subject", "object", "aspect", "predicate")
_BACK: Final = {label.word: label.reverse.word for labels in ASPECTS.values() for label in labels}


@dataclass(frozen=True)
class StoredRelations:
    """Relations between the objects of some images as the data has them, one row each.

    What has one answer stands twice, the second time of (object, subject); so does what raters did not agree on.

    Attributes:
        subject: (k,) rows among all objects; `object` likewise.
        aspect: (k,) positions in `aspects`, the data's words.
        predicate: (k,) positions in `predicates`, −1 where there was no majority.
    """

    subject: Ints
    object: Ints
    aspect: Ints
    predicate: Ints
    aspects: tuple[str, ...]
    predicates: tuple[str, ...]

    def only(self, rows: Bools) -> StoredRelations:
        """Those rows."""
        columns: dict[str, Any] = {name: getattr(self, name)[rows] for name in _STORED}
        return replace(self, **columns)

    @cached_property
    def open(self) -> Bools:
        """(k,) nobody knows: no majority, or all were unsure."""
        return (self.predicate < 0) | (self._said([UNSURE]) & self._about(ANSWERS))

    def says(self, aspect: str, words: Iterable[str]) -> Bools:
        """(k,) the predicate is one of the words; the aspect the one named, or any where that is empty."""
        return self._said(words) & self._about([aspect] if aspect else self.aspects)

    def open_for(self, aspect: str, words: Iterable[str]) -> Bools:
        """(k,) it stays open whether one of the words holds."""
        others = [name for name in self.aspects if name not in ANSWERS]
        return self.open & self._about(_chosen(aspect, [*_asked(words), *others]))

    def answers(self, aspect: str, words: Iterable[str]) -> Bools:
        """(k,) a question that the words are answers to has been answered, be it by another word."""
        return ~self.open & self._about(_chosen(aspect, _asked(words)))

    def _about(self, aspects: Iterable[str]) -> Bools:
        return _among(self.aspects, aspects)[self.aspect]

    def _said(self, words: Iterable[str]) -> Bools:
        return _among(self.predicates, words)[self.predicate]


def _among(names: tuple[str, ...], wanted: Iterable[str]) -> Bools:
    """Whether each name is wanted, and at the end, where −1 points, False."""
    chosen = set(wanted)
    return np.array([*(name in chosen for name in names), False])


def _asked(words: Iterable[str]) -> list[str]:
    """Aspects with one answer that have one of the words as an answer."""
    wanted = set(words)
    return [aspect for aspect, answers in ANSWERS.items() if wanted & set(answers)]


def _chosen(aspect: str, aspects: Iterable[str]) -> list[str]:
    return [name for name in aspects if aspect in ("", name)]


def stored_relations(rows: pl.DataFrame) -> StoredRelations:
    """Relations from a frame of ``subject``, ``object`` (rows), ``aspect`` and ``predicate``."""
    both_ways = pl.col("predicate").is_null() | pl.col("aspect").is_in(list(ANSWERS))
    back = rows.filter(both_ways).select(
        subject="object", object="subject", aspect="aspect", predicate=pl.col("predicate").replace(_BACK)
    )
    every = pl.concat([rows.select(_STORED), back])
    subject, thing = (every[end].to_numpy().astype(np.int64) for end in ("subject", "object"))
    (aspect, aspects), (predicate, predicates) = (_codes(every[name]) for name in ("aspect", "predicate"))
    return StoredRelations(subject, thing, aspect, predicate, aspects, predicates)


def _codes(words: pl.Series) -> tuple[Ints, tuple[str, ...]]:
    """Position of each among the different ones, −1 for null; and those."""
    names = words.drop_nulls().unique().sort()
    codes = words.replace_strict(names, pl.int_range(len(names), eager=True), default=-1, return_dtype=pl.Int64)
    return codes.to_numpy(), tuple(names)


def wanted_relations(vocabulary: Vocabulary) -> pl.Expr:
    """Which rows of the relations table the vocabulary has a use for."""
    sources = [a.source for kind in vocabulary.types for a in kind.attributes if a.source.kind == "relation"]
    links = [link for link in vocabulary.links if link.aspect != "box"]
    aspects = {s.key for s in sources} | {link.aspect for link in links}
    words = {w for s in sources for w in (*s.values, *s.reverse)}
    words |= {w for link in links for w in (*link.values, *link.reverse)}
    useful = pl.col("predicate").is_in(sorted(words)) | pl.col("predicate").is_null()
    useful |= pl.col("aspect").is_in(list(ANSWERS))
    wanted = useful if "" in aspects else useful & pl.col("aspect").is_in(sorted(aspects))
    covering = {w for kind in vocabulary.types for a in kind.attributes for w in a.source.covered}
    return wanted | pl.col("predicate").is_in(sorted(covering))


@dataclass(frozen=True)
class KnownObjects:
    """The annotated objects of some images, in order.

    Attributes:
        frame: ``image``, ``row`` (among all objects), ``type``, ``category``, ``attributes``, the box and
            whether it is in ``fractions`` of the image, ``occluded_fraction`` and ``flags``.
        categories: Category of each of all objects, whether of a type or not.
        stored: Relations between all of them.
        closed: Whether silence means no, whatever the vocabulary says.
        visible: Rows, among all objects, of those that are seen: an answer may rest on these partners alone.
    """

    frame: pl.DataFrame
    categories: pl.Series
    stored: StoredRelations
    closed: bool
    visible: Ints
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


def attributes(things: KnownObjects, vocabulary: Vocabulary) -> tuple[Words, Words]:
    """(O, words) packed: which attributes of its type each object has, and which it has not."""
    width = max((len(kind.attributes) for kind in vocabulary.types), default=0)
    yes, no = (np.zeros((things.frame.height, width), dtype=bool) for _ in range(2))
    known: dict[AttributeSource, tuple[Bools, Bools]] = {}
    for t, kind in enumerate(vocabulary.types):
        of_type = np.flatnonzero(things.types == t)
        for k, attribute in enumerate(kind.attributes):
            if of_type.size and attribute.source not in known:
                known[attribute.source] = _source(things, attribute.source)
            if of_type.size:
                yes[of_type, k], no[of_type, k] = (side[of_type] for side in known[attribute.source])
        _exclude(kind, of_type, yes, no)
    return packed(yes), packed(no & ~yes)


def _exclude(kind: ObjectType, objects: Ints, yes: Bools, no: Bools) -> None:
    """Deny those who have one attribute of an exclusive group all the others."""
    for group in kind.exclusive:
        same = [k for k, attribute in enumerate(kind.attributes) if attribute.group == group]
        has = objects[np.logical_or.reduce(yes[objects][:, same], axis=1)]
        no[has[:, None], same] = True


def _source(things: KnownObjects, source: AttributeSource) -> tuple[Bools, Bools]:
    """(O,) whom the source gives the attribute, and whom it denies it."""
    if source.kind == "relation":
        yes, no = _partners(things, source)
    else:
        yes, no, silent = _SOURCES[source.kind](things, source)
        no = no | silent if things.closed or source.absent == "no" else no
    if source.covered:
        hidden = _covered(things, source.covered)
        yes, no = yes & ~hidden, no & ~hidden
    return yes, no


def _covered(things: KnownObjects, predicates: Iterable[str]) -> Bools:
    """(O,) whether something stands in one of these relations to the object, and so in the way of the view."""
    stored, hidden = things.stored, np.zeros(things.frame.height, dtype=bool)
    places = things.places[stored.subject[stored.says("", predicates)]]
    hidden[places[places >= 0]] = True
    return hidden


def _value(things: KnownObjects, source: AttributeSource) -> tuple[Bools, Bools, Bools]:
    values = things.values(source.key)
    yes = values.is_in(list(source.values)).fill_null(value=False).to_numpy()
    silent = values.is_null().to_numpy()
    return yes, ~yes & ~silent, silent


def _category(things: KnownObjects, source: AttributeSource) -> tuple[Bools, Bools, Bools]:
    yes = things.frame["category"].is_in(list(source.values)).to_numpy()
    no = things.frame["category"].is_in(list(source.others)).to_numpy() if source.others else ~yes
    return yes, no, ~yes & ~no


def _flag(things: KnownObjects, source: AttributeSource) -> tuple[Bools, Bools, Bools]:
    """A flag ``<key>_unknown`` says that nobody knows, which is not silence."""
    flags = things.frame["flags"].list
    yes, unknown = flags.contains(source.key).to_numpy(), flags.contains(f"{source.key}_unknown").to_numpy()
    return yes, np.zeros_like(yes), ~yes & ~unknown


def _occluded(things: KnownObjects, source: AttributeSource) -> tuple[Bools, Bools, Bools]:
    hidden = things.frame["occluded_fraction"].fill_null(float("nan")).to_numpy()
    return hidden > source.above, hidden <= source.above, np.isnan(hidden)


_SOURCES = {"attribute": _value, "category": _category, "flag": _flag, "occluded": _occluded}


def _partners(things: KnownObjects, source: AttributeSource) -> tuple[Bools, Bools]:
    """(O,) who has the attribute and who has it not, by how many partners they have for sure and may have."""
    stored, words = things.stored, (*source.values, *source.reverse)
    ends = (stored.subject, stored.object) if source.role == "subject" else (stored.object, stored.subject)
    straight, back = stored.says(source.key, source.values), stored.says(source.key, source.reverse)
    open_ = stored.open_for(source.key, words)
    said = _pairs(things, source, [(straight, *ends), (back, *ends[::-1])])
    seen = np.isin(said % max(1, len(things.categories)), things.visible)
    sure = said[seen]  # whether there is one that cannot be seen is for nobody to say
    maybe = np.setdiff1d(np.concatenate([_pairs(things, source, [(open_, *ends)]), said[~seen]]), sure)
    n = things.frame.height
    least, extra = (np.bincount(pairs // len(things.categories), minlength=n) for pairs in (sure, maybe))
    complete = things.closed or source.absent == "no"
    most = least + extra if complete else np.full(n, np.inf)
    if source.exactly is None:
        return least > 0, most == 0
    return (least == source.exactly) & (most == least), (least > source.exactly) | (most < source.exactly)


def _pairs(things: KnownObjects, source: AttributeSource, rows: Iterable[tuple[Bools, Ints, Ints]]) -> Ints:
    """Each pair of an annotated object and a partner that counts, once, as place · all + partner's row."""
    pairs = []
    for chosen, thing, partner in rows:
        counts = chosen & (things.places[thing] >= 0) & (thing != partner)
        if source.others:
            counts &= things.categories.is_in(list(source.others)).to_numpy()[partner]
        pairs.append(things.places[thing[counts]] * len(things.categories) + partner[counts])
    return np.unique(np.concatenate(pairs))


@dataclass(frozen=True)
class ImagePairs:
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
    def of(cls, image_starts: Ints) -> ImagePairs:
        """Of images whose objects begin there.

        >>> ImagePairs.of(np.array([0, 2, 3])).second
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


def relations(things: KnownObjects, pairs: ImagePairs, vocabulary: Vocabulary) -> tuple[Words, Words]:
    """(P, words) packed: which relations hold of each pair, and which fail."""
    words = max(1, -(-len(vocabulary.links) // 64))
    holds, fails = (np.zeros((len(pairs.first), words), dtype=np.uint64) for _ in range(2))
    stored, places = things.stored, things.places
    inside = (places[stored.subject] >= 0) & (places[stored.object] >= 0)
    stored = stored.only(inside & (stored.subject != stored.object))
    a, b = places[stored.subject], places[stored.object]
    where = pairs.place(a, b), pairs.place(b, a)
    turned = pairs.place(pairs.second, pairs.first)
    for k, link in enumerate(vocabulary.links):
        if link.aspect == "box":
            yes, no = _measured(things, pairs, link)
        else:
            silence = things.closed or link.absent == "no"
            yes, no = _said(stored, link, where, np.full(len(pairs.first), silence))
            if link.strict:
                no = yes[turned]  # what lies level is ambiguous
        asked = _joined(link, vocabulary)[things.types[pairs.first], things.types[pairs.second]]
        asked &= pairs.first != pairs.second
        holds[:, k // 64] |= (yes & asked).astype(np.uint64) << np.uint64(k % 64)
        fails[:, k // 64] |= (no & ~yes & asked).astype(np.uint64) << np.uint64(k % 64)
    return holds, fails


def _joined(link: RelationType, vocabulary: Vocabulary) -> Bools:
    """(T, T) whether it can be asked of two types."""
    names = list(vocabulary.type_index)
    table = np.array([[link.joins(a, b) for b in names] for a in names], dtype=bool)
    return table if link.ordered else table | table.T


def _said(stored: StoredRelations, link: RelationType, where: tuple[Ints, Ints], no: Bools) -> tuple[Bools, Bools]:
    """(P,) of which pairs the data says it, and of which it denies it.

    Args:
        stored: Relations between annotated objects.
        link: The relation asked for.
        where: Place among the pairs of each row of `stored`, and of its two objects swapped.
        no: (P,) what silence means; changed in place.
    """
    straight, swapped = where
    words = (*link.values, *link.reverse)
    forth, back = stored.says(link.aspect, link.values), stored.says(link.aspect, link.reverse)
    yes = np.zeros_like(no)
    yes[straight[forth]] = yes[swapped[back]] = True
    if not link.ordered:
        yes[swapped[forth]] = yes[straight[back]] = True
    no[straight[stored.answers(link.aspect, words)]] = True
    no[straight[stored.open_for(link.aspect, words)]] = False
    return yes, no


def _measured(things: KnownObjects, pairs: ImagePairs, link: RelationType) -> tuple[Bools, Bools]:
    """(P,) whose box is larger (or taller) by the margin, and whose is smaller by it.

    The larger one must be so even if it were drawn `PIXELS` narrower and lower.
    """
    x0, y0, x1, y1 = (things.frame[c].to_numpy() for c in ("x0", "y0", "x1", "y1"))
    width, height = x1 - x0, y1 - y0
    drawn = np.where(things.frame["fractions"].to_numpy(), SHARE, PIXELS)
    small_width, small_height = np.maximum(width - drawn, 0), np.maximum(height - drawn, 0)
    tall = link.values == ("taller",)
    size, least = (height, small_height) if tall else (width * height, small_width * small_height)
    first, second = pairs.first, pairs.second
    return least[first] > size[second] * (1 + link.margin), least[second] > size[first] * (1 + link.margin)
