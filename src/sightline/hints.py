"""What to say of a name that nobody knows."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The nearest known name, as the end of a sentence; empty where none is near.

    >>> did_you_mean("cub", ["cube", "mug"])
    ", did you mean 'cube'?"
    """
    near = get_close_matches(name, tuple(known), n=1)
    return f", did you mean {near[0]!r}?" if near else ""


def hint(name: str, known: Iterable[str]) -> str:
    """The nearest known name, or else all of them.

    >>> hint("xyz", ["cube", "mug"])
    '; there are cube, mug'
    """
    names = tuple(known)
    return did_you_mean(name, names) or f"; there are {', '.join(names) or 'none'}"
