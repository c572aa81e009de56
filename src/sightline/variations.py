"""Change pictures in ways that leave their scenes as they were: mirror, compress, move, add noise, grey out.

A change is a frozen dataclass of pure methods that change pixels, boxes and masks alike, so that what is said of a
thing before can be held against what is said of it after. Pixels are (H, W, 3) uint8 RGB, boxes (n, 4) xyxy in
fractions of the image, masks (..., H, W) bool, sizes (width, height) in pixels. Nothing given is written to.

>>> Mirror().boxes(np.array([[0.0, 0.0, 0.25, 1.0]]), (8, 4)).tolist()
[[0.75, 0.0, 1.0, 1.0]]
"""

from __future__ import annotations

import io
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Final
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from sightline.errors import ConfigError
from sightline.scenes import View

Pixels = NDArray[np.uint8]
Boxes = NDArray[np.float64]
Masks = NDArray[np.bool_]
Size = tuple[int, int]


class Variation(ABC):
    """One change of a picture; `name` stands for it in files, `moves` says whether things change their place."""

    name: ClassVar[str]
    moves: ClassVar[bool] = True

    @abstractmethod
    def pixels(self, pixels: Pixels) -> Pixels:
        """Change a picture: (H, W, 3) uint8, the size stays."""

    def boxes(self, boxes: Boxes, size: Size) -> Boxes:  # noqa: ARG002 - most changes need no size
        """Change boxes as the picture of that size was: (n, 4) fractions of the image, none reaches outside."""
        return np.array(boxes, dtype=np.float64)

    def masks(self, masks: Masks) -> Masks:
        """Change masks as the picture was: (..., H, W) bool."""
        return masks.copy()

    def view(self, view: View) -> View:
        """Change a view, under an id of its own; its picture is loaded and changed when somebody looks at it.

        Truth that a view may carry (depth, ids, masks) is left out, as is a camera that would no longer fit.
        """
        loader = view.load_image
        return replace(
            view.without_truth(),
            id=self.named(view.id),
            image_ref=None,
            camera=None if self.moves else view.camera,
            load_image=None if loader is None else lambda: self.pixels(loader()),
        )

    def named(self, view_id: str) -> str:
        """The id of a changed view; a model that keeps what it saw by id must not take it for the original.

        >>> Mirror().named("kitchen")
        'kitchen@mirror'
        """
        return f"{view_id}@{self.name}"


@dataclass(frozen=True)
class Mirror(Variation):
    """Exchange left and right."""

    name: ClassVar[str] = "mirror"

    def pixels(self, pixels: Pixels) -> Pixels:
        """Mirror a picture; twice gives the same bytes."""
        return np.ascontiguousarray(pixels[:, ::-1])

    def boxes(self, boxes: Boxes, size: Size) -> Boxes:  # noqa: ARG002
        """Mirror boxes."""
        x0, y0, x1, y1 = np.asarray(boxes, dtype=np.float64).reshape(-1, 4).T
        return np.column_stack([1.0 - x1, y0, 1.0 - x0, y1])

    def masks(self, masks: Masks) -> Masks:
        """Mirror masks."""
        return np.ascontiguousarray(masks[..., ::-1])


@dataclass(frozen=True)
class Jpeg(Variation):
    """Compress to JPEG and back.

    Attributes:
        quality: From 1 (worst) to 95, as libjpeg counts.
    """

    quality: int = 50

    name: ClassVar[str] = "jpeg"
    moves: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not 1 <= self.quality <= 95:
            raise ConfigError(f"the quality of a JPEG goes from 1 to 95, found {self.quality}")

    def pixels(self, pixels: Pixels) -> Pixels:
        """Compress a picture; the same bytes for the same version of libjpeg."""
        from PIL import Image

        file = io.BytesIO()
        Image.fromarray(pixels).save(file, "JPEG", quality=self.quality)
        with Image.open(file) as again:
            return np.asarray(again.convert("RGB"), dtype=np.uint8)


@dataclass(frozen=True)
class Noise(Variation):
    """Add Gaussian noise to every channel of every pixel, the same whenever the same view is changed.

    Attributes:
        sigma: Its standard deviation, of 255.
        seed: Of the noise; a view's id is added to it.
    """

    sigma: float = 15.0
    seed: int = 0

    name: ClassVar[str] = "noise"
    moves: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not 0 < self.sigma <= 255:
            raise ConfigError(f"the sigma of noise lies above 0 and at most at 255, found {self.sigma:g}")

    def pixels(self, pixels: Pixels) -> Pixels:
        """Add the noise, rounded, and cut off below 0 and above 255."""
        drawn = np.random.default_rng(self.seed).normal(0.0, self.sigma, pixels.shape)
        return np.clip(np.rint(pixels + drawn), 0, 255).astype(np.uint8)

    def view(self, view: View) -> View:
        """Change a view by noise of its own."""
        own = replace(self, seed=self.seed + crc32(view.id.encode()))
        return super(Noise, own).view(view)


@dataclass(frozen=True)
class Grey(Variation):
    """Put one grey in the place of the whole picture: what is left is the question."""

    name: ClassVar[str] = "blind"
    moves: ClassVar[bool] = False

    def pixels(self, pixels: Pixels) -> Pixels:
        """A picture of that size, 128 everywhere."""
        return np.full_like(pixels, 128)


@dataclass(frozen=True)
class Shift(Variation):
    """Move what is seen by whole pixels; what comes in repeats the picture's edge, what goes out is lost.

    Attributes:
        right: Pixels to the right; negative to the left.
        down: Pixels down; negative up.
    """

    right: int
    down: int

    name: ClassVar[str] = "shift"

    def pixels(self, pixels: Pixels) -> Pixels:
        """Move a picture."""
        rows, columns = (
            np.clip(np.arange(n) - by, 0, n - 1)
            for n, by in zip(pixels.shape[:2], (self.down, self.right), strict=True)
        )
        moved: Pixels = pixels[rows[:, None], columns]
        return moved

    def boxes(self, boxes: Boxes, size: Size) -> Boxes:
        """Move boxes; a part that leaves the image is cut off."""
        by = np.array([self.right, self.down] * 2) / np.array([*size, *size])
        moved: Boxes = np.clip(np.asarray(boxes, dtype=np.float64).reshape(-1, 4) + by, 0.0, 1.0)
        return moved

    def masks(self, masks: Masks) -> Masks:
        """Move masks; what comes in is empty."""
        moved = np.zeros_like(masks)
        height, width = masks.shape[-2:]
        (y_to, y_from), (x_to, x_from) = (_overlap(height, self.down), _overlap(width, self.right))
        moved[..., y_to, x_to] = masks[..., y_from, x_from]
        return moved


def _overlap(length: int, by: int) -> tuple[slice, slice]:
    """Where a line of that length lands when it is moved, and where that part comes from."""
    return slice(max(by, 0), max(length + min(by, 0), 0)), slice(max(-by, 0), max(length - max(by, 0), 0))


SMALL: Final = 0.02
"""The largest small shift, as a share of the picture's width and height."""


def small_shift(rng: np.random.Generator, size: Size, largest: float = SMALL) -> Shift:
    """Draw a shift of at most a share of the picture's size in either direction, and of at least one pixel."""
    most = [max(1, round(largest * side)) for side in size]
    right, down = (int(rng.integers(-n, n + 1)) for n in most)
    return Shift(right, down) if right or down else Shift(most[0], 0)


VARIATIONS: Final[Mapping[str, Callable[[np.random.Generator, Size], Variation]]] = {
    Mirror.name: lambda _rng, _size: Mirror(),
    Jpeg.name: lambda _rng, _size: Jpeg(),
    Shift.name: small_shift,
}
"""Name of a change → draws one for a picture of that size."""
