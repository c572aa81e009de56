"""Which attributes an object can have together, by what the vocabulary says of their sources.

Sources that read one thing of an object (its category, one key, how much of it is hidden) share a *space*: the
object lies in exactly one cell of it, and an attribute is the set of cells where it is so. What joins spaces
(exclusive groups, one relation that says another) is a *ban*: cells an object cannot lie in together. Sets of cells
are bits of an int.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from itertools import combinations, permutations
from typing import NamedTuple

from sightline.exams.turing.vocabulary.vocabulary import Attribute, AttributeSource, ObjectType

Domains = tuple[int, ...]
"""Cells an object may lie in, for each space."""

Ban = tuple[tuple[int, int], ...]
"""(space, cells): an object does not lie in all of them."""


class Meaning(NamedTuple):
    """Cells of a space where an attribute is so (`yes`), and where it is not (`no`)."""

    space: int
    yes: int
    no: int


class TypeProfiles:
    """Profiles of the objects of one type.

    >>> words = [("red", "color", ["red"]), ("warm", "color", ["red", "yellow"]), ("blue", "color", ["blue"])]
    >>> made = [Attribute(n, n, n, AttributeSource("attribute", key, tuple(v))) for n, key, v in words]
    >>> kind = TypeProfiles(ObjectType("car", ("car",), tuple(made)))
    >>> kind.follows(["red"], "warm"), kind.follows(["red"], "blue"), kind.follows(["warm"], "red")
    (True, False, None)
    """

    def __init__(self, kind: ObjectType) -> None:
        self._cells: dict[tuple[object, ...], dict[object, int]] = {}
        self.meanings: dict[str, Meaning] = {}
        for attribute in kind.attributes:
            self.meanings[attribute.name] = self._meaning(attribute.source, kind)
        self.everything: Domains = tuple((1 << len(cells)) - 1 for cells in self._cells.values())
        self.bans = tuple(dict.fromkeys([*self._exclusive(kind), *self._said_by_relations(kind)]))

    def having(self, names: Iterable[str], domains: Domains | None = None) -> Domains:
        """Cells of an object that has all those attributes."""
        narrowed = list(self.everything if domains is None else domains)
        for name in names:
            space, yes, _ = self.meanings[name]
            narrowed[space] &= yes
        return tuple(narrowed)

    def lacking(self, names: Iterable[str]) -> Ban:
        """That an object surely lacks one of those attributes."""
        spaces: dict[int, int] = {}
        for name in names:
            space, _, no = self.meanings[name]
            spaces[space] = spaces.get(space, self.everything[space]) & ~no
        return tuple(sorted(spaces.items()))

    def possible(self, domains: Domains, bans: Iterable[Ban] = ()) -> bool:
        """Whether an object can lie in those cells under those bans."""
        return _solvable(domains, frozenset((*self.bans, *bans)))

    def follows(self, has: Iterable[str], name: str) -> bool | None:
        """Whether an object that has some attributes has another: True, False, or None where it may or may not."""
        domains = self.having(has)
        if not self.possible(self.having([name], domains)):
            return False
        return None if self.possible(domains, [self.lacking([name])]) else True

    def joinable(self, names: Sequence[str]) -> bool:
        """Whether one object can have all of these, and none of them follows from the others."""
        if len(names) < 2:
            return True
        return all(self.follows([n for n in names if n != name], name) is None for name in names)

    def _meaning(self, source: AttributeSource, kind: ObjectType) -> Meaning:
        if source.kind == "category":
            cells = self._space(("category",), kind.categories)
            key: tuple[object, ...] = ("category",)  # a closed reading denies what is in neither list
        elif source.kind == "attribute":
            values = {v for a in kind.attributes if _reads(a, source) for v in a.source.values}
            key = ("attribute", source.key)
            cells = self._space(key, [*sorted(values), None])  # None: another value, or none told
        elif source.kind == "occluded":
            shares = sorted({a.source.above for a in kind.attributes if a.source.kind == "occluded"})
            key = ("occluded",)
            cells = self._space(key, [-1.0, *shares])  # a cell begins above its share
            above = _bits(cells, [share for share in shares if share >= source.above])
            return Meaning(self._place(key), above, _bits(cells, cells) & ~above)
        else:
            key = ("flag", source.key) if source.kind == "flag" else ("relation", source)
            cells = self._space(key, [False, True])
            return Meaning(self._place(key), _bits(cells, [True]), _bits(cells, [False]))
        yes = _bits(cells, source.values)
        return Meaning(self._place(key), yes, _bits(cells, cells) & ~yes)

    def _space(self, key: tuple[object, ...], cells: Iterable[object]) -> dict[object, int]:
        return self._cells.setdefault(key, {cell: i for i, cell in enumerate(cells)})

    def _place(self, key: tuple[object, ...]) -> int:
        return list(self._cells).index(key)

    def _exclusive(self, kind: ObjectType) -> Iterable[Ban]:
        for group in sorted(kind.exclusive):
            for a, b in combinations([x.name for x in kind.attributes if x.group == group], 2):
                one, other = self.meanings[a], self.meanings[b]
                if one.space != other.space:
                    yield tuple(sorted([(one.space, one.yes), (other.space, other.yes)]))
                elif one.yes & other.yes:
                    yield ((one.space, one.yes & other.yes),)

    def _said_by_relations(self, kind: ObjectType) -> Iterable[Ban]:
        """A source of relations that says whatever another says: who has the one has the other."""
        related = [a for a in kind.attributes if a.source.kind == "relation"]
        for a, b in permutations(related, 2):
            if a.source != b.source and _says_no_less(b.source, a.source):
                one, other = self.meanings[a.name], self.meanings[b.name]
                yield tuple(sorted([(one.space, one.yes), (other.space, other.no)]))


@cache
def profiles_of(kind: ObjectType) -> TypeProfiles:
    """The profiles of a type, made once."""
    return TypeProfiles(kind)


def told_ends(source: AttributeSource) -> tuple[frozenset[str], frozenset[str]]:
    """Predicates that give the attribute to their subject, and those that give it to their object."""
    straight, back = frozenset(source.values), frozenset(source.reverse)
    return (straight, back) if source.role == "subject" else (back, straight)


def _says_no_less(wide: AttributeSource, narrow: AttributeSource) -> bool:
    same = wide.key in ("", narrow.key) and (not wide.others or set(wide.others) >= set(narrow.others) != set())
    ends = zip(told_ends(narrow), told_ends(wide), strict=True)
    return same and wide.exactly is None and narrow.exactly != 0 and all(few <= many for few, many in ends)


def _reads(attribute: Attribute, source: AttributeSource) -> bool:
    return attribute.source.kind == "attribute" and attribute.source.key == source.key


def _bits(cells: dict[object, int], chosen: Iterable[object]) -> int:
    return sum(1 << cells[cell] for cell in set(chosen) if cell in cells)


@lru_cache(maxsize=1 << 16)
def _solvable(domains: Domains, bans: frozenset[Ban]) -> bool:
    """Whether there is a cell of every space such that no ban has them all."""
    cells, open_bans = list(domains), list(bans)
    changed = True
    while changed:
        changed = False
        if not all(cells):
            return False
        still = []
        for ban in open_bans:
            escapes = [(space, banned) for space, banned in ban if cells[space] & ~banned]
            if not escapes:
                return False
            if any(not cells[space] & banned for space, banned in ban):
                continue  # it lies outside already
            if len(escapes) == 1:
                space, banned = escapes[0]
                cells[space] &= ~banned
                changed = True
            else:
                still.append(ban)
        open_bans = still
    if not open_bans:
        return True
    rest = frozenset(open_bans)
    for space, banned in open_bans[0]:
        outside = tuple(c & ~banned if s == space else c for s, c in enumerate(cells))
        if _solvable(outside, rest):
            return True
    return False
