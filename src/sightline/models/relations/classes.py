"""The classes that a relations network learned, and how many of an exam's it did not."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import repeat
from typing import Final

import numpy as np
from numpy.typing import NDArray

UNKNOWN: Final = 0
"""Place of every class that was not learned."""


class LearnedClasses:
    """Places of class names, from 1 on; a network without the cue c has none and counts none.

    Args:
        names: The names in the order of their places.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._places = {name: place for place, name in enumerate(names, UNKNOWN + 1)}
        self._asked = self._unknown = 0

    def places(self, names: Sequence[str]) -> NDArray[np.intp]:
        """(n,) places of class names.

        >>> LearnedClasses(("cat", "dog")).places(("dog", "emu")).tolist()
        [2, 0]
        """
        return np.fromiter(map(self._places.get, names, repeat(UNKNOWN)), dtype=np.intp, count=len(names))

    def count(self, asked: Collection[str]) -> None:
        """Count the classes that an exam asks about, and those among them that were not learned."""
        if self._places:
            self._asked, self._unknown = len(asked), len(set(asked) - self._places.keys())

    def facts(self) -> dict[str, int]:
        """What was counted; nothing before an exam."""
        return {"classes": self._asked, "unknown_classes": self._unknown} if self._asked else {}
