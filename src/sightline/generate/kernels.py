"""Compiled kernels: made once on a machine, before there are workers that would all begin to make them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from numba.core.event import Listener, install_listener

from sightline.generate.making import Maker

WORDS = "compiling kernels, once: about a minute"


def warm_up(maker: Maker) -> None:
    """Place a scene and draw a stamp of it, so that everything is compiled and lies in the cache on disk."""
    layout = maker.layout(maker.recipe.start)
    stamp = replace(layout.shots[0], size=(8, 8))
    maker.renderer.frame(layout, stamp, shade=maker.recipe.renderer == "fast")


@contextmanager
def compiling_told(say: Callable[[str], None] | None) -> Iterator[None]:
    """Say so when this process begins to compile; what comes from the cache is not worth a word."""
    if say is None:
        yield
        return
    with install_listener("numba:compile", _Once(say)):
        yield


class _Once(Listener):
    def __init__(self, say: Callable[[str], None]) -> None:
        self._say: Callable[[str], None] | None = say

    def on_start(self, event: Any) -> None:  # noqa: ARG002
        if self._say is not None:
            self._say(WORDS)
            self._say = None

    def on_end(self, event: Any) -> None:
        pass
