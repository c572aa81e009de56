"""Pixels and SVG into each other: a drawing as PNG in our own letters, pictures as data URIs, depth as colours."""

from __future__ import annotations

import base64
import io
import re
import unicodedata
from collections.abc import Iterable
from functools import cache
from importlib.resources import as_file, files
from typing import Any, Final

import numpy as np
import resvg_py
from numpy.typing import NDArray
from PIL import Image, ImageFont

from sightline.show.svg import element, shade

UNKNOWN_DEPTH: Final = (120, 126, 133)
_FAMILY: Final = "Roboto"
_VARIABLE: Final = re.compile(r"var\(--[\w-]+,\s*([^()]*)\)")
_RANGES: Final = (
    "20-7E A0-17F 394 3B1-3C9 2010-2015 2018-201E 2020-2022 2026 2030 "
    "2032-2033 20AC 2122 2212 2248 2260 2264-2265 FFFD"
)
_LETTERS: Final = frozenset(
    chr(code)
    for low, _, high in (span.partition("-") for span in _RANGES.split())
    for code in range(int(low, 16), int(high or low, 16) + 1)
)
"""What the shipped font has; see fonts/README.md."""

Placed = tuple[Image.Image, tuple[int, int]]
"""A picture with the place of its top left corner, pixels."""


def raster(
    body: str, size: tuple[int, int], pictures: Iterable[Placed] = (), *, paper: str = "#ffffff"
) -> Image.Image:
    """Draw SVG elements in pixel units over pictures on paper: RGB of that (width, height).

    Pictures are pasted as they are instead of travelling through the SVG, so their pixels stay exact. The letters
    are of the shipped font, whatever fonts a machine has; theme colours are those of a light page.
    """
    sheet = Image.new("RGB", size, paper)
    for picture, place in pictures:
        sheet.paste(picture, place)
    if not body:
        return sheet
    shape = {"width": size[0], "height": size[1], "font_family": _FAMILY}
    svg = element("svg", body, xmlns="http://www.w3.org/2000/svg", **shape)
    plain = _VARIABLE.sub(r"\1", svg).replace("currentColor", "#1c232b")
    fonts: dict[str, Any] = dict.fromkeys(("font_family", "sans_serif_family", "serif_family"), _FAMILY)
    drawn = resvg_py.svg_to_bytes(
        svg_string=spell(plain), skip_system_fonts=True, font_files=list(_font_files()), **fonts
    )
    with Image.open(io.BytesIO(drawn)) as marks:
        sheet.paste(marks, mask=marks)
    return sheet


def png(picture: Image.Image, level: int = 6) -> bytes:
    """Encode a picture as PNG; a higher `level`, to 9, makes files smaller and takes longer."""
    buffer = io.BytesIO()
    picture.save(buffer, format="PNG", compress_level=level)
    return buffer.getvalue()


def spell(text: str) -> str:
    """Put the text into letters that the shipped font has: accents dropped, anything else a question mark.

    >>> spell("café – 3×4"), spell("Ḿ猫")
    ('café – 3×4', 'M?')
    """
    if text.isascii():
        return text
    return "".join(c if c in _LETTERS else _spelled(c) for c in text)


def _spelled(character: str) -> str:
    if character in "\n\t":
        return " "
    plain = [c for c in unicodedata.normalize("NFKD", character) if not unicodedata.combining(c)]
    return "".join(c if c in _LETTERS else "?" for c in plain)


def measure(text: str, size: float, *, bold: bool = False) -> float:
    """Width of a line as `raster` sets it, pixels."""
    return _font(bold).getlength(spell(text)) * size / 100


@cache
def _font(bold: bool) -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(_font_files()[bold], 100)


@cache
def _font_files() -> tuple[str, str]:
    """Regular and bold."""
    folder = files("sightline.show").joinpath("fonts")
    regular, bold = (as_file(folder.joinpath(f"Roboto-{weight}.ttf")).__enter__() for weight in ("Regular", "Bold"))
    return str(regular), str(bold)


def data_uri(
    picture: NDArray[np.uint8] | Image.Image,
    *,
    longest: int = 640,
    form: str = "jpeg",
    resample: Image.Resampling = Image.Resampling.LANCZOS,
) -> str:
    """Encode a picture as a ``data:`` URI, shrunk to `longest` pixels on its longer side.

    >>> data_uri(np.zeros((2, 2, 3), dtype=np.uint8))[:23]
    'data:image/jpeg;base64,'
    """
    shown = (Image.fromarray(picture) if isinstance(picture, np.ndarray) else picture).copy()
    shown.thumbnail((longest, longest), resample)
    buffer = io.BytesIO()
    options = {"quality": 82} if form == "jpeg" else {}
    shown.save(buffer, format=form, optimize=True, **options)
    return f"data:image/{form};base64,{base64.b64encode(buffer.getvalue()).decode()}"


@cache
def ramp() -> NDArray[np.uint8]:
    """(255, 3) colours of depth: near is pale sand, far is deep blue, in steps that look equal."""
    codes = [shade(i / 254)[1:] for i in range(255)]
    return np.array([[int(c[k : k + 2], 16) for k in (0, 2, 4)] for c in codes], dtype=np.uint8)


def depth_range(depth: NDArray[Any]) -> tuple[float, float] | None:
    """(near, far) in metres that the ramp spans: all but the outermost hundredth at either end.

    >>> depth_range(np.array([[1.0, 2.0], [np.nan, 3.0]]))
    (1.02, 2.98)
    >>> depth_range(np.array([[np.nan]])) is None
    True
    """
    known = depth[np.isfinite(depth)]
    if not known.size:
        return None
    near, far = np.percentile(known, (1, 99))
    return round(float(near), 6), round(float(far), 6)


def depth_picture(depth: NDArray[Any], near: float, far: float) -> Image.Image:
    """Colour a depth map, (H, W) metres: a picture of 255 steps from near to far, grey where depth is unknown."""
    share = np.clip(np.nan_to_num((depth - near) / max(far - near, 1e-9)), 0, 1)
    steps = np.where(np.isfinite(depth), np.round(share * 254), 255).astype(np.uint8)
    picture = Image.fromarray(steps)
    picture.putpalette(np.vstack((ramp(), [UNKNOWN_DEPTH])).astype(np.uint8).tobytes())
    return picture
