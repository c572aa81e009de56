"""What fills the hole that a removed object leaves: OpenCV's methods, exact counterfactuals, and networks in files.

A fill is any object with a `name` and ``fill(request)``. `remove` calls it and sees to it that pixels outside the
hole stay byte for byte. Specs of `open_fill`::

    telea            Telea's fast marching (OpenCV)
    ns               Navier–Stokes (OpenCV)
    exact            the generated scene rendered without the objects, whole: shadows and reflections go too
    exact-hole       the same inside the hole alone: what lies outside, shadows included, stays
    network:FILE     an in-painting network trained here (.safetensors)
    onnx:FILE        an in-painter with MI-GAN's interface
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, Protocol, cast, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from sightline.errors import ConfigError, DataError, MissingExtraError, ModelError
from sightline.hints import did_you_mean
from sightline.scenes import Scene

Pixels = NDArray[np.uint8]
Mask = NDArray[np.bool_]

NEIGHBOURHOOD: Final = 5
"""Radius OpenCV's methods look around a pixel, pixels."""

FILES: Final[Mapping[str, str]] = {
    "network": "sightline.models.fills.network:NetworkFill",
    "onnx": "sightline.models.fills.onnx:OnnxFill",
}
"""Fills that are read from a file: kind → what opens it, given the path."""


@dataclass(frozen=True, slots=True, eq=False)
class FillRequest:
    """A picture with a hole.

    Attributes:
        pixels: (H, W, 3) uint8 RGB.
        hole: (H, W) bool, True where the picture is to be filled.
        scene: The generated scene, for exact fills.
        view_id: Its view that `pixels` shows.
        gone: Ids of the objects taken away; empty for a control, which takes none.
    """

    pixels: Pixels
    hole: Mask
    scene: Scene | None = None
    view_id: str = ""
    gone: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.pixels.ndim != 3 or self.pixels.shape[2] != 3 or self.pixels.dtype != np.uint8:
            found = f"{self.pixels.shape} {self.pixels.dtype}"
            raise DataError("not a picture to fill", field="pixels", expected="(H, W, 3) uint8", found=found)
        if self.hole.shape != self.pixels.shape[:2] or self.hole.dtype != np.bool_:
            height, width = self.pixels.shape[:2]
            found = f"{self.hole.shape} {self.hole.dtype}"
            raise DataError(
                "hole and picture differ", field="hole", expected=f"({height}, {width}) bool", found=found
            )
        if self.hole.size and self.hole.all():
            problem = "the hole covers the whole image: nothing is left to fill it from"
            raise DataError(problem, field="hole")


@runtime_checkable
class Fill(Protocol):
    """Anything that fills holes.

    Three attributes are optional: ``whole`` (bool), True where pixels outside the hole are the fill's too;
    ``keeps_others`` (bool), True where objects that stay are still there inside the hole; and ``identity`` (str),
    which is all that its pixels depend on beside picture and hole; with it edits can be cached.
    """

    @property
    def name(self) -> str:
        """How tables call it."""

    def fill(self, request: FillRequest) -> Pixels:
        """(H, W, 3) uint8 RGB; only what lies in the hole is looked at."""


def known_fills() -> tuple[str, ...]:
    """Specs of all fills, ``FILE`` where a path stands."""
    return (*_BUILT_IN, *(f"{kind}:FILE" for kind in FILES))


def open_fill(spec: str) -> Fill:
    """Open a fill by name or file (see the module's docstring).

    >>> open_fill("exact-hole").name
    'exact-hole'
    """
    kind, colon, file = spec.partition(":")
    if not colon and kind in _BUILT_IN:
        return _BUILT_IN[kind]()
    if kind in FILES and not file:
        raise ConfigError(f"the fill {spec!r} names no file: expected {kind}:FILE")
    if kind not in FILES:
        near = did_you_mean(kind, (*_BUILT_IN, *FILES))
        raise ConfigError(f"unknown fill {spec!r}{near}; there are {', '.join(known_fills())}")
    module, _, attribute = FILES[kind].partition(":")
    return cast(Fill, getattr(importlib.import_module(module), attribute)(Path(file)))


def remove(request: FillRequest, fill: Fill) -> Pixels:
    """Fill a picture's hole: (H, W, 3) uint8, outside the hole equal to the picture byte for byte.

    Only a fill that is `whole`, such as ``exact``, changes pixels outside. An empty hole changes nothing.
    """
    whole = bool(getattr(fill, "whole", False))
    if not (whole or request.hole.any()):
        return request.pixels.copy()
    given = np.asarray(fill.fill(request))
    if given.shape != request.pixels.shape or given.dtype != np.uint8:
        expected = f"{request.pixels.shape} uint8"
        raise ModelError(f"fill {fill.name}: returned {given.shape} {given.dtype}, expected {expected}")
    return given.copy() if whole else np.where(request.hole[..., None], given, request.pixels)


class OpenCVFill:
    """Fills by one of OpenCV's methods, from the pixels around the hole alone.

    Args:
        name: ``telea`` or ``ns``.
    """

    def __init__(self, name: Literal["telea", "ns"]) -> None:
        try:
            self._cv: Any = importlib.import_module("cv2")
        except ImportError:
            raise MissingExtraError("opencv-python-headless", extra="opencv") from None
        self.name = name
        self.identity = f"{name} {NEIGHBOURHOOD} {self._cv.__version__}"

    def fill(self, request: FillRequest) -> Pixels:
        """The picture with its hole filled."""
        method = self._cv.INPAINT_TELEA if self.name == "telea" else self._cv.INPAINT_NS
        hole = request.hole.astype(np.uint8)
        filled = self._cv.inpaint(np.ascontiguousarray(request.pixels), hole, float(NEIGHBOURHOOD), method)
        return np.asarray(filled, dtype=np.uint8)


class ExactFill:
    """Fills with the generated scene rendered without the objects; only scenes that can be made again have one.

    There is no identity to cache by: a counterfactual follows from the scene and the renderer, and costs little.

    Args:
        whole: The whole counterfactual, so that shadows and reflections outside the hole go too.
    """

    keeps_others = True

    def __init__(self, *, whole: bool) -> None:
        self.whole = whole
        self.name = "exact" if whole else "exact-hole"

    def fill(self, request: FillRequest) -> Pixels:
        """The view without the objects; the picture itself where none is taken away."""
        if request.scene is None:
            raise ConfigError(
                f"the fill {self.name} needs a generated scene, which can be rendered without an object"
            )
        if not request.gone:
            return request.pixels
        return request.scene.without(*request.gone).view(request.view_id).image()


_BUILT_IN: Final[Mapping[str, Callable[[], Fill]]] = {
    "telea": lambda: OpenCVFill("telea"),
    "ns": lambda: OpenCVFill("ns"),
    "exact": lambda: ExactFill(whole=True),
    "exact-hole": lambda: ExactFill(whole=False),
}
