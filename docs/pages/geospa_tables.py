"""Can-contain and can-support, worked out from geometry, against GeoSpa's own tables.

    python docs/pages/geospa_tables.py                                        # print the page
    python docs/pages/geospa_tables.py --write docs/results/geospa_tables.md  # and write it

Needs GeoSpa's tables (SIGHTLINE_DATA, else ../shared/data); takes seconds.

Rows of the pair tables are containers or supporters, columns items; of the triple tables the first axis is the
container or supporter: 1 is found there only where both pairs fit with that reading, and the table is symmetric in
the other two axes.
"""

from __future__ import annotations

import argparse
import json
import os
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sightline.worlds.fits import TOLERANCE, contain_margin, support_margin
from sightline.worlds.shapes import solid

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("SIGHTLINE_DATA", ROOT.parent / "shared" / "data"))

Margin = Callable[..., float]
Flags = NDArray[np.bool_]
KITCHEN_WORDS = {"milk": "milk_carton", "pillbottle": "pill_bottle"}


@dataclass(frozen=True)
class Comparison:
    """One relation of one set of shapes: GeoSpa's tables and our margins.

    Attributes:
        names: Our names of the shapes, in the order of the tables.
        pairs: (n, n) table; 0 does not fit, 1 fits, 2 fits and leaves no room beside it.
        triples: (n, n, n) table; −1 undecided.
        margins: (n, n) metres.
        triple_margins: (n, n, n) metres; −inf where a pair does not fit.
    """

    names: tuple[str, ...]
    pairs: NDArray[np.int64]
    triples: NDArray[np.int8]
    margins: NDArray[np.float64]
    triple_margins: NDArray[np.float64]

    @property
    def agreement(self) -> float:
        """Share of pair cells where both say the same."""
        return float(((self.pairs > 0) == (self.margins >= -TOLERANCE)).mean())

    @cached_property
    def judged(self) -> Flags:
        """Triple cells that count: both pairs fit by the table and by us, and the table has decided."""
        fits: Flags = (self.pairs > 0) & (self.margins >= -TOLERANCE)
        return fits[:, :, None] & fits[:, None, :] & (self.triples >= 0)

    @cached_property
    def full(self) -> Flags:
        """Triple cells with an item that the pair table marks 2."""
        two = self.pairs == 2
        return two[:, :, None] | two[:, None, :]

    def triple_agreement(self, where: Flags | None = None) -> float:
        """Share of the judged triple cells, of those in `where` if given, where both say the same."""
        cells = self.judged if where is None else self.judged & where
        same = (self.triples == 1) == (self.triple_margins >= -TOLERANCE)
        return float(same[cells].mean())

    def differing(self) -> Iterator[tuple[str, str, int, float]]:
        """Pair cells where we differ: container, item, the table's entry, our margin."""
        for i, j in np.argwhere((self.pairs > 0) != (self.margins >= -TOLERANCE)):
            yield self.names[i], self.names[j], int(self.pairs[i, j]), float(self.margins[i, j])


def our_name(name: str) -> str:
    """Our name of a shape of GeoSpa's.

    >>> our_name("cube_container_01_small"), our_name("kitchen_milk")
    ('cube_container:small', 'milk_carton:medium')
    """
    if name.startswith("kitchen_"):
        word = name.removeprefix("kitchen_")
        return f"{KITCHEN_WORDS.get(word, word)}:medium"
    shape, _, size = name.partition("_01")
    return f"{shape}:{size.removeprefix('_') or 'medium'}"


def compare(relation: str, kitchen: bool = False, data: Path = DATA) -> Comparison:
    """Read the tables of ``contain`` or ``support`` and work out our margins."""
    folder = data / "geospa"
    file = "val_kitchen_properties.json" if kitchen else "properties.json"
    shapes = json.loads((folder / "properties" / file).read_text())["shapes"]
    names = tuple(our_name(name) for name in sorted(shapes, key=shapes.get))
    stem = (f"kitchen_rels_{relation}_dou", f"kitchen_rels_{relation}_tri")
    pair, triple = stem if kitchen else (f"rels_dou_{relation}", f"rels_tri_{relation}")
    tables = folder / "relations"
    margin: Margin = contain_margin if relation == "contain" else support_margin
    margins = np.array([[margin(a, b) for b in names] for a in names])
    return Comparison(
        names,
        np.loadtxt(tables / f"{pair}.dat", dtype=np.int64),
        np.load(tables / f"{triple}.npy"),
        margins,
        triple_margins(margin, names, margins >= -TOLERANCE),
    )


def triple_margins(margin: Margin, names: tuple[str, ...], fits: Flags) -> NDArray[np.float64]:
    n = len(names)
    made = np.full((n, n, n), -np.inf)
    for i, j, k in np.argwhere(fits[:, :, None] & fits[:, None, :]):
        made[i, j, k] = margin(names[i], names[j], names[k])
    return made


def side_by_side(support: Comparison) -> Flags:
    """The rule that GeoSpa's support triples seem to follow: only the middle of each item has to be carried.

    The two lie side by side along the supporter's longer side, with their shorter sides that way, and the distance
    of their middles must be less than that side; equality does not fit.
    """
    long = np.array([max(solid(name).outline.half) for name in support.names])
    short = np.array([min(solid(name).outline.half) for name in support.names])
    carried: Flags = 2.0 * long[:, None, None] - short[:, None] - short > TOLERANCE
    return carried


def percent(share: float) -> str:
    return f"{100 * share:.2f} %"


def page() -> Iterator[str]:
    sets = {(r, k): compare(r, k) for k in (False, True) for r in ("contain", "support")}
    contain, support = sets["contain", False], sets["support", False]
    yield from ("# GeoSpa's tables", "", "```console", "$ python docs/pages/geospa_tables.py", "```", "")
    yield wrapped(
        """Can-contain and can-support of Sightline are geometry (`sightline.worlds.fits`); GeoSpa has tables, made
        by sliding silhouettes over each other. Rows are containers or supporters, columns items. In the triple
        tables the first axis is the container or supporter; the other two, the item and the one already there, may
        be exchanged. A cell of a triple table is judged where both pairs fit by GeoSpa's pair table and by ours,
        and where it is not −1. Margins are worked out once and kept with the package; `python
        tools/bake_margins.py` does so again, in two minutes of a core."""
    )
    yield from ("", "| | pairs | agree | triples judged | agree |", "|---|---:|---:|---:|---:|")
    for (relation, kitchen), c in sets.items():
        name = f"{'kitchen' if kitchen else 'GeoSpa'}, {relation}"
        n, judged = len(c.names), int(c.judged.sum())
        share = percent(c.triple_agreement()) if judged else "–"
        yield f"| {name} | {n}×{n} | {percent(c.agreement)} | {judged:,} | {share} |"
    yield ""
    yield from contain_notes(contain)
    yield from support_notes(support)
    yield from (
        "The kitchen rows are for information: the shapes are our own models, only their sizes are GeoSpa's.",
        "GeoSpa's kitchen contain table is all zero, though a glass and a mug have room.",
        "",
    )
    for title, key in (
        ("Contain: every pair that differs", ("contain", False)),
        ("Support: every pair that differs", ("support", False)),
        ("Kitchen, contain: every pair that differs", ("contain", True)),
        ("Kitchen, support: every pair that differs", ("support", True)),
    ):
        yield from listing(title, sets[key])


def contain_notes(c: Comparison) -> Iterator[str]:
    ours, theirs = c.triple_margins >= -TOLERANCE, c.triples == 1
    more, fewer = (ours & ~theirs & c.judged).sum(), (~ours & theirs & c.judged).sum()
    ties = (ours & ~theirs & c.judged & (c.triple_margins < TOLERANCE)).sum()
    empty = np.broadcast_to(~theirs.any(axis=(1, 2))[:, None, None], ours.shape)
    twos, rest = c.judged & c.full, c.judged & ~c.full
    yield wrapped(
        f"""**Contain.** The pair table has 2 in {(c.pairs == 2).sum()} cells, read as 1 here. GeoSpa takes such an
        item to fill its container: none of the {twos.sum():,} judged triples with one is 1, though a cube_container
        of 1 m in a rectangle_cont of 2.1 m leaves 1.1 m. Some containers have no 1 at all among their triples:
        rectangle_cylinder:medium, 1.5 m × 1.0 m, where two cylinders of 0.45 m have ample room, or
        cube_cylinder:medium, whose cavity is that of cylinder_container:medium, which has some. Without both kinds
        the triples agree in {percent(c.triple_agreement(~c.full & ~empty))} of {(rest & ~empty).sum():,}. They
        differ in one direction only: in {more:,} cells we find room where GeoSpa has none
        ({(ours & twos).sum():,} with a 2, {(ours & rest & empty).sum():,} more in containers without a 1; {ties} of
        all are ties), in {fewer} the other way round."""
    )
    yield ""


def support_notes(c: Comparison) -> Iterator[str]:
    same = (side_by_side(c) == (c.triples == 1))[c.judged].mean()
    yield wrapped(
        f"""**Support.** All {len(list(c.differing()))} pairs that differ are ties, which fit here. GeoSpa's triples
        are 1 in {(c.triples == 1)[c.judged].sum():,} of {c.judged.sum():,} judged cells: a large rectangle_cont
        carries two of its own size. They follow another rule than GeoSpa's text: only the middle of each item has
        to be carried, side by side along the longer side (agrees in {percent(float(same))}). Ours asks that both
        lie fully on the supporter, as the definition of support does."""
    )
    yield ""


def wrapped(text: str) -> str:
    return textwrap.fill(" ".join(text.split()), 116)


def listing(title: str, c: Comparison) -> Iterator[str]:
    rows = list(c.differing())
    yield from (f"## {title} ({len(rows)})", "")
    if rows:
        yield from ("| container or supporter | item | GeoSpa | ours | margin, m |", "|---|---|---:|---:|---:|")
    for container, item, table, margin in rows:
        fits = int(margin >= -TOLERANCE)
        shown = "none" if np.isinf(margin) else f"{0.0 if abs(margin) < TOLERANCE else margin:.4f}"
        yield f"| {container} | {item} | {table} | {fits} | {shown} |"
    yield ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", type=Path, metavar="FILE")
    args = parser.parse_args()
    text = "\n".join(page())
    print(text)
    if args.write:
        args.write.write_text(text.rstrip("\n") + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
