"""Colours, materials and sizes: what tells two objects of one shape apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sightline.errors import ConfigError
from sightline.hints import hint

Identity = tuple[str, str, str]
"""Shape with size, colour and material: ``("cube:small", "red", "metal")``."""

SIZES: Final[dict[str, float]] = {"small": 0.5, "medium": 1.0, "largish": 1.25, "large": 1.5}
"""How large a shape is against its medium size; *largish* is none of GeoSpa's."""

COLORS: Final[dict[str, tuple[int, int, int]]] = {
    "gray": (87, 87, 87),
    "red": (173, 35, 35),
    "blue": (42, 75, 215),
    "green": (29, 105, 20),
    "brown": (129, 74, 25),
    "purple": (129, 38, 192),
    "cyan": (41, 208, 208),
    "yellow": (255, 238, 51),
    "orange": (240, 128, 20),
    "pink": (250, 150, 185),
    "magenta": (205, 20, 140),
    "wine": (80, 8, 45),
    "olive": (128, 126, 25),
    "lime": (150, 220, 45),
    "mint": (150, 232, 190),
    "teal": (8, 120, 125),
    "sky": (125, 185, 245),
    "navy": (20, 22, 78),
    "lavender": (180, 160, 235),
    "tan": (205, 172, 128),
    "white": (236, 236, 232),
    "black": (24, 24, 26),
}
"""8-bit sRGB: the first eight as CLEVR and GeoSpa have them, the others far from any of those."""


@dataclass(frozen=True, slots=True)
class Material:
    """How a surface answers light.

    Attributes:
        metallic: 1 reflects everything in its own colour, 0 is diffuse with a clear coat.
        roughness: Of the reflection, 0 mirror … 1 matte; the width of the GGX lobe is its square.
        specular: Reflectance of the coat seen head-on; a metal has its colour instead.
        transmission: Share of the light that goes straight through, tinted, as through a thin pane; below 1.
    """

    metallic: float
    roughness: float
    specular: float
    transmission: float = 0.0


MATERIALS: Final[dict[str, Material]] = {
    "rubber": Material(metallic=0.0, roughness=0.7, specular=0.02),
    "metal": Material(metallic=1.0, roughness=0.25, specular=0.0),
    "satin": Material(metallic=1.0, roughness=0.5, specular=0.0),
    "pearl": Material(metallic=0.5, roughness=0.4, specular=0.04),
    "plastic": Material(metallic=0.0, roughness=0.25, specular=0.06),
    "glass": Material(metallic=0.0, roughness=0.1, specular=0.04, transmission=0.9),
}
"""The first two as in CLEVR and GeoSpa: matte, and shiny."""


def split_name(name: str) -> tuple[str, str]:
    """Shape and size of a name.

    >>> split_name("cube:small"), split_name("mug")
    (('cube', 'small'), ('mug', 'medium'))
    """
    shape, colon, size = name.partition(":")
    if not colon:
        return shape, "medium"
    if size not in SIZES:
        raise ConfigError(f"unknown size {size!r}{hint(size, SIZES)}")
    return shape, size


def category_of(shape: str) -> str:
    """Category of a shape: the middle of three parts, else its own name.

    >>> category_of("pascal3d/bus/2"), category_of("cad/car/sedan#17"), category_of("cube")
    ('bus', 'car', 'cube')
    """
    parts = shape.split("/")
    return parts[1] if len(parts) == 3 else shape


def linear(rgb: tuple[float, float, float]) -> tuple[float, float, float]:
    """8-bit sRGB as linear light in [0, 1].

    >>> [round(c, 4) for c in linear((87, 87, 87))]
    [0.0953, 0.0953, 0.0953]
    """
    r, g, b = (_linear(c / 255.0) for c in rgb)
    return r, g, b


def _linear(c: float) -> float:
    return c / 12.92 if c <= 0.04045 else float(((c + 0.055) / 1.055) ** 2.4)


def srgb(light: ArrayLike) -> NDArray[np.uint8]:
    """Linear light in [0, 1] as 8-bit sRGB, whatever the shape of the array.

    >>> srgb([0.0953, 1.0]).tolist()
    [87, 255]
    """
    light = np.clip(np.asarray(light, np.float64), 0.0, 1.0)
    curve = np.where(light <= 0.0031308, 12.92 * light, 1.055 * light ** (1 / 2.4) - 0.055)
    return np.asarray(np.round(255.0 * curve), np.uint8)


LINEAR: Final = np.array([_linear(c / 255.0) for c in range(256)])
"""Light of every byte of an sRGB picture, (256,) float64."""
