"""Designated regions: named sets of them, grids of overlapping windows, and boxes of one's own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from sightline.errors import ConfigError
from sightline.exams.turing.vocabulary.vocabulary import WHOLE, Region
from sightline.hints import did_you_mean

MOST: Final = 64
"""Regions a vocabulary may have: one bit of a word each."""

_DIGITS: Final = 12
"""Boxes are compared, and kept, to so many decimals: thirds that touch must not overlap by a rounding error."""

_THIRD: Final = 1 / 3
_GRID: Final = ("rows", "columns", "width", "height")


def _region(name: str, box: Iterable[float]) -> Region:
    x0, y0, x1, y1 = (round(float(v), _DIGITS) for v in box)
    return Region(name, (x0, y0, x1, y1))


SETS: Final[Mapping[str, tuple[Region, ...]]] = {
    WHOLE: (_region(WHOLE, (0, 0, 1, 1)),),
    "halves": (
        _region("left half", (0, 0, 0.5, 1)),
        _region("right half", (0.5, 0, 1, 1)),
        _region("top half", (0, 0, 1, 0.5)),
        _region("bottom half", (0, 0.5, 1, 1)),
    ),
    "thirds": (
        _region("left third", (0, 0, _THIRD, 1)),
        _region("central third", (_THIRD, 0, 2 * _THIRD, 1)),
        _region("right third", (2 * _THIRD, 0, 1, 1)),
        _region("top third", (0, 0, 1, _THIRD)),
        _region("middle third", (0, _THIRD, 1, 2 * _THIRD)),
        _region("bottom third", (0, 2 * _THIRD, 1, 1)),
    ),
    "quarters": (
        _region("top left quarter", (0, 0, 0.5, 0.5)),
        _region("top right quarter", (0.5, 0, 1, 0.5)),
        _region("bottom left quarter", (0, 0.5, 0.5, 1)),
        _region("bottom right quarter", (0.5, 0.5, 1, 1)),
    ),
}
"""Regions by the name of their set."""

_SINGLE: Final = {region.name: region for regions in SETS.values() for region in regions}

_MIDDLE: Final = {"central third": "middle column", "middle third": "middle row"}
"""Of the thirds these two alone do not say which way they lie."""

_PLACES: Final[Mapping[tuple[float, float, float, float], str]] = {
    **{region.box: _MIDDLE.get(name, name) for name, region in _SINGLE.items() if name != WHOLE},
    (0.25, 0.0, 0.75, 0.5): "top middle",
    (0.0, 0.25, 0.5, 0.75): "middle left",
    (0.25, 0.25, 0.75, 0.75): "middle",
    (0.5, 0.25, 1.0, 0.75): "middle right",
    (0.25, 0.5, 0.75, 1.0): "bottom middle",
}

STANDARD: Final = (WHOLE, "halves", "thirds", "quarters", {"rows": 3, "columns": 3, "width": 0.5, "height": 0.5})
"""The regions of a vocabulary that does not choose its own."""


def place(box: tuple[float, float, float, float]) -> str:
    """Words for where a region lies, as they follow "in the"; empty for a box that has none.

    >>> place((0.0, 0.0, 0.5, 0.5)), place((0.25, 0.25, 0.75, 0.75)), place((0.1, 0.0, 0.4, 1.0))
    ('top left quarter', 'middle', '')
    """
    return _PLACES.get(box, "")


def region_set(spec: Sequence[str | Mapping[str, Any]] = STANDARD, *, where: str = "regions") -> tuple[Region, ...]:
    """The regions that a list names, in its order, the whole image first; of equal boxes the first stays.

    Args:
        spec: Each the name of a set (`SETS`) or of one region in it; ``{rows, columns, width, height}`` for a grid
            of windows spread evenly from edge to edge, which overlap where ``columns × width > 1``; or
            ``{name, box}``. Fractions of the image.
        where: What errors call the place the list comes from.

    >>> [r.name for r in region_set(["halves", "top third"])]
    ['image', 'left half', 'right half', 'top half', 'bottom half', 'top third']
    >>> region_set([{"rows": 1, "columns": 3, "width": 0.5, "height": 1}])[2]
    Region(name='window 1.2 of 1×3, 0.5×1', box=(0.25, 0.0, 0.75, 1.0))
    """
    boxes: dict[tuple[float, float, float, float], Region] = {}
    for region in (*SETS[WHOLE], *(r for i, item in enumerate(spec) for r in _expand(item, f"{where}[{i}]"))):
        boxes.setdefault(region.box, region)
    names: dict[str, Region] = {}
    for region in boxes.values():
        if region.name in names:
            raise ConfigError(f"{where}: two boxes are called {region.name!r}")
        names[region.name] = region
    if len(names) > MOST:
        raise ConfigError(f"{where}: {len(names)} regions, at most {MOST} can be used")
    return tuple(names.values())


def _expand(item: object, where: str) -> tuple[Region, ...]:
    if isinstance(item, str):
        if item in SETS:
            return SETS[item]
        if item in _SINGLE:
            return (_SINGLE[item],)
        known = (*SETS, *_SINGLE)
        near = did_you_mean(item, known) or f"; there are {', '.join(SETS)}"
        raise ConfigError(f"{where}: unknown region {item!r}{near}")
    if isinstance(item, Mapping):
        if set(item) == {"name", "box"}:
            return (_own(item, where),)
        if set(item) == set(_GRID):
            return _grid(item, where)
    raise ConfigError(f"{where}: expected a name, {{name, box}} or {{{', '.join(_GRID)}}}, found {item!r}")


def _own(item: Mapping[str, Any], where: str) -> Region:
    name, box = item["name"], item["box"]
    if not isinstance(name, str) or not name.strip():
        raise ConfigError(f"{where}.name: expected a text, found {name!r}")
    if not isinstance(box, Sequence) or len(box) != 4 or not all(_is_fraction(v) for v in box):
        raise ConfigError(f"{where}.box: expected four fractions of the image [x0, y0, x1, y1], found {box!r}")
    region = _region(name, box)
    if region.box[0] >= region.box[2] or region.box[1] >= region.box[3]:
        raise ConfigError(f"{where}.box: {box!r} has no area")
    if name == WHOLE and region.box != (0, 0, 1, 1):
        raise ConfigError(f"{where}.name: {WHOLE!r} is the whole image, not {box!r}")
    return region


def _grid(item: Mapping[str, Any], where: str) -> tuple[Region, ...]:
    for key in ("rows", "columns"):
        if not isinstance(item[key], int) or isinstance(item[key], bool) or item[key] < 1:
            raise ConfigError(f"{where}.{key}: expected a whole number from 1, found {item[key]!r}")
    for key in ("width", "height"):
        if not _is_fraction(item[key]) or item[key] == 0:
            raise ConfigError(f"{where}.{key}: expected a fraction of the image above 0, found {item[key]!r}")
    rows, columns, width, height = (item[key] for key in _GRID)
    return tuple(
        _region(f"window {r + 1}.{c + 1} of {rows}×{columns}, {width:g}×{height:g}", (x, y, x + width, y + height))
        for r, y in enumerate(_starts(rows, height))
        for c, x in enumerate(_starts(columns, width))
    )


def _starts(n: int, length: float) -> list[float]:
    """Where n windows begin so that the first touches one edge and the last the other; one alone stands central."""
    return [(1 - length) / 2] if n == 1 else [i * (1 - length) / (n - 1) for i in range(n)]


def _is_fraction(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1
