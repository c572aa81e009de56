"""What to say of a name that nobody knows."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

_MOST: Final = 40
"""Names that a message lists; of more the first `_FIRST`."""
_FIRST: Final = 12


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The nearest known name, as the end of a sentence; empty where none is near.

    >>> did_you_mean("cub", ["cube", "mug"])
    ", did you mean 'cube'?"
    """
    near = get_close_matches(name, tuple(known), n=1)
    return f", did you mean {near[0]!r}?" if near else ""


def hint(name: str, known: Iterable[str]) -> str:
    """The nearest known name, or else all of them, as `listed`.

    >>> hint("xyz", ["cube", "mug"])
    '; there are cube, mug'
    """
    names = tuple(known)
    return did_you_mean(name, names) or f"; there are {listed(names) or 'none'}"


def listed(names: Iterable[object]) -> str:
    """Names with commas between them; of very many the first, and how many there are.

    >>> listed(["cube", "mug"]), listed(range(1000))
    ('cube, mug', '0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, … (1,000 in all)')
    """
    words = [str(name) for name in names]
    return ", ".join(words) if len(words) <= _MOST else f"{', '.join(words[:_FIRST])}, … ({len(words):,} in all)"
