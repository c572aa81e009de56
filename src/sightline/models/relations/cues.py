"""Numbers that describe ordered pairs of boxes, split by what happens to them when the pair is turned round.

The functions take numpy arrays or torch tensors alike: training computes them of boxes moved at random, on any
device, answering of boxes as they are, without torch.
"""

from __future__ import annotations

import sys
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from sightline.errors import ConfigError, ModelError

Cue = Literal["b", "c", "d", "a"]
CUES: Final[tuple[Cue, ...]] = ("b", "c", "d", "a")
"""Boxes, classes, depth maps, appearance."""

PAPER_BOXES: Final = 11
"""Numbers of the paper's cue B: two boxes, then height, width and area of what they share."""
SYMMETRIC: Final = 17
ANTISYMMETRIC: Final = 13
_LEAST: Final = 1e-3  # side of a box in fractions below which it counts as this
_BORDER: Final = 0.005  # distance from the border of the picture below which a box touches it


def checked_cues(cues: str) -> str:
    """The letters of a sum of cues in the paper's order; ConfigError for another letter or a sum without boxes.

    >>> checked_cues("cb")
    'bc'
    """
    if not cues or set(cues) - set(CUES) or "b" not in cues or len(set(cues)) != len(cues):
        raise ConfigError(f"cues are b with any of c, d and a (boxes, classes, depth, appearance), not {cues!r}")
    return "".join(cue for cue in CUES if cue in cues)


def checked_fractions(boxes: NDArray[np.float64], who: str) -> NDArray[np.float64]:
    """The boxes (n, 4) if they can be fractions of an image; ModelError for what must be pixels, or no number.

    A detector's box may reach beyond the picture, but not by more than the picture's own size.
    """
    given = np.asarray(boxes, dtype=np.float64)
    if given.size and not (given.min() >= -1.0 and given.max() <= 2.0):
        found = f"{given.min():.6g} to {given.max():.6g}"
        raise ModelError(f"{who}: boxes must be fractions of the image, xyxy, found numbers of {found}")
    return given


def paper_boxes(a: Any, b: Any) -> Any:
    """Describe ordered pairs of boxes as the paper does: (n, 11) from (n, 4) xyxy in fractions of the image.

    >>> import numpy as np
    >>> paper_boxes(np.array([[0.0, 0.0, 0.5, 0.5]]), np.array([[0.25, 0.0, 1.0, 0.5]]))[0, 8:].tolist()
    [0.5, 0.25, 0.125]
    """
    wide, high = _shared(a, b)
    numbers = [*(a[..., i] for i in range(4)), *(b[..., i] for i in range(4)), high, wide, wide * high]
    return _library(a).stack(numbers, -1)


def box_cues(a: Any, b: Any) -> tuple[Any, Any]:
    """Describe ordered pairs of boxes: (n, 17) numbers that stay and (n, 13) that change sign when turned round.

    What stays: sums of the edges, logarithms of both areas, distances of centres and edges, what is shared, borders
    touched. What turns: differences of the edges, log ratios of sides and areas, whose share is larger.

    Args:
        a: (n, 4) boxes of the first objects, xyxy in fractions of the image.
        b: (n, 4) boxes of the second ones.
    """
    xp = _library(a)
    wide, high = _shared(a, b)
    (wa, ha, xa), (wb, hb, xb) = _sides(a), _sides(b)
    area_a, area_b, shared = wa * ha, wb * hb, wide * high
    share_a, share_b = shared / area_a, shared / area_b
    larger = xp.log(area_a) - xp.log(area_b)
    touch_a, touch_b = ([_touches(box, i) for i in range(4)] for box in (a, b))
    edges = range(4)
    stays = [
        *(a[..., i] + b[..., i] for i in edges),
        xp.log(area_a) + xp.log(area_b),
        abs(xa - xb),
        abs((a[..., 1] + a[..., 3]) - (b[..., 1] + b[..., 3])),
        abs(a[..., 3] - b[..., 3]),
        abs(larger),
        wide,
        high,
        shared / (area_a + area_b - shared),
        share_a + share_b,
        *(touch_a[i] + touch_b[i] for i in edges),
    ]
    turns = [
        *(a[..., i] - b[..., i] for i in edges),
        xp.log(wa) - xp.log(wb),
        xp.log(ha) - xp.log(hb),
        share_a - share_b,
        larger * (share_a + share_b),
        (a[..., 3] - b[..., 3]) * (share_a + share_b),
        *(touch_a[i] - touch_b[i] for i in edges),
    ]
    return xp.stack(stays, -1), xp.stack(turns, -1)


def _library(array: Any) -> Any:
    """Numpy or torch, whichever the array belongs to."""
    return sys.modules[type(array).__module__.partition(".")[0]]


def _shared(a: Any, b: Any) -> tuple[Any, Any]:
    """Width and height of what two boxes share, 0 where they share nothing."""
    xp = _library(a)
    wide = xp.minimum(a[..., 2], b[..., 2]) - xp.maximum(a[..., 0], b[..., 0])
    high = xp.minimum(a[..., 3], b[..., 3]) - xp.maximum(a[..., 1], b[..., 1])
    return wide.clip(0), high.clip(0)


def _sides(box: Any) -> tuple[Any, Any, Any]:
    """Width, height and horizontal centre."""
    wide, high = (box[..., 2] - box[..., 0]).clip(_LEAST), (box[..., 3] - box[..., 1]).clip(_LEAST)
    return wide, high, (box[..., 0] + box[..., 2]) / 2


def _touches(box: Any, edge: int) -> Any:
    """1 where an edge (0 left, 1 top, 2 right, 3 bottom) lies at the border of the picture, else 0."""
    near = box[..., edge] <= _BORDER if edge < 2 else box[..., edge] >= 1.0 - _BORDER
    return near * (box[..., edge] * 0 + 1)
