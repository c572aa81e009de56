"""Photos small enough to travel inside a page."""

from __future__ import annotations

import base64
import io

from PIL import Image

from sightline.errors import DataError
from sightline.scenes import View

LONGEST = 640
"""Longer side of an embedded photo, pixels."""


def photo(view: View, longest: int = LONGEST) -> str | None:
    """The view's picture as a ``data:image/jpeg`` URI, shrunk; None where there is none to be read.

    >>> photo(View("v")) is None
    True
    """
    if view.load_image is None:
        return None
    try:
        pixels = view.image()
    except DataError:
        return None  # a lost photo must not cost the reader the report; the boxes are still drawn
    picture = Image.fromarray(pixels)
    picture.thumbnail((longest, longest))
    buffer = io.BytesIO()
    picture.save(buffer, format="JPEG", quality=80, optimize=True)
    return "data:image/jpeg;base64," + base64.b64encode(buffer.getvalue()).decode()
