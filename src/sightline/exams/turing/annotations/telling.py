"""Stored relations as arrays: what the data tells of each pair of objects, and what it leaves open."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sightline.exams.turing.words.vocabulary import Vocabulary
from sightline.scenes.labels import ASPECTS

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

ANSWERS: Final = {aspect: tuple(label.word for label in labels) for aspect, labels in ASPECTS.items()}
"""Aspects of which a pair has exactly one answer, so that any other answer denies; elsewhere several may hold."""

UNSURE: Final = "unsure"
_BACK: Final = {label.word: label.reverse.word for labels in ASPECTS.values() for label in labels}


@dataclass(frozen=True)
class Told:
    """Relations between the objects of some images, one row each.

    What has one answer stands twice, the second time told of (object, subject); so does what raters did not agree
    on.

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

    def only(self, rows: Bools) -> Told:
        """Those rows."""
        return replace(
            self,
            subject=self.subject[rows],
            object=self.object[rows],
            aspect=self.aspect[rows],
            predicate=self.predicate[rows],
        )

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


def told_rows(rows: pl.DataFrame) -> Told:
    """Relations from a frame of ``subject``, ``object`` (rows), ``aspect`` and ``predicate``."""
    both_ways = pl.col("predicate").is_null() | pl.col("aspect").is_in(list(ANSWERS))
    back = rows.filter(both_ways).select(
        subject="object", object="subject", aspect="aspect", predicate=pl.col("predicate").replace(_BACK)
    )
    every = pl.concat([rows.select("subject", "object", "aspect", "predicate"), back])
    subject, thing = (every[end].to_numpy().astype(np.int64) for end in ("subject", "object"))
    (aspect, aspects), (predicate, predicates) = (_codes(every[name]) for name in ("aspect", "predicate"))
    return Told(subject, thing, aspect, predicate, aspects, predicates)


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
    return useful if "" in aspects else useful & pl.col("aspect").is_in(sorted(aspects))
