"""Pictures of a toy with a front, a back and two sides that are mirror images, on grey noise."""

from __future__ import annotations

from functools import partial

import numpy as np

from sightline.training.dpm.plan import TrainingPicture

SIZE = (72, 96)


def toy(section: int, high: int, wide: int) -> np.ndarray:
    """(high, wide) brightness: bars across from the front, bars down from behind, a wedge to one side else."""
    y, x = np.mgrid[:high, :wide]
    if section == 0:
        return np.where((8 * y // high) % 2, 230, 20)
    if section == 2:
        return np.where((8 * x // wide) % 2, 230, 20)
    wedge = np.where(np.abs(2 * y / high - 1) <= 1 - x / wide, 230, 20)  # it points to the right
    return wedge if section == 1 else wedge[:, ::-1]


def toy_picture(number: int, sections: tuple[int, ...], rng: np.random.Generator) -> TrainingPicture:
    """One toy for each section, side by side; none for no section."""
    pixels = rng.normal(120, 12, SIZE)
    boxes = []
    for place, section in enumerate(sections):
        high = int(rng.integers(32, 42))
        wide = high if section % 2 == 0 else round(1.2 * high)
        room = SIZE[1] // len(sections)
        left = place * room + int(rng.integers(0, max(1, room - wide)))
        top = int(rng.integers(0, SIZE[0] - high))
        pixels[top : top + high, left : left + wide] = toy(section, high, wide)[:, : SIZE[1] - left]
        boxes.append((left, top, min(left + wide, SIZE[1]), top + high))
    colours = np.repeat(np.clip(pixels, 0, 255).astype(np.uint8)[..., None], 3, axis=2)
    angles = np.array([(90.0 * s + rng.uniform(-20, 20), 5.0 + s, s) for s in sections]).reshape(-1, 3)
    return TrainingPicture(
        f"toy/{number}",
        partial(np.asarray, colours),
        np.array(boxes, dtype=np.float64).reshape(-1, 4),
        ("toy",) * len(sections),
        angles,
        np.ones(len(sections), dtype=bool),
    )


def toy_pictures(count: int, seed: int = 0) -> list[TrainingPicture]:
    """Pictures of one toy each, its four sides in turn, and every fifth one empty."""
    rng = np.random.default_rng(seed)
    return [toy_picture(i, () if i % 5 == 4 else ((i - i // 5) % 4,), rng) for i in range(count)]
