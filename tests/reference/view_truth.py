"""What is true of a view, pixel by pixel, straight from the definitions in docs/reference/worlds-truth.md."""

from __future__ import annotations

from sightline.render.frames import Frame


def seen(frame: Frame, index: int) -> tuple[set[tuple[int, int]], set[tuple[int, int]]]:
    """Visible and amodal pixels (x, y) of one object."""
    height, width = frame.ids.shape
    pixels = [(x, y) for y in range(height) for x in range(width)]
    visible = {(x, y) for x, y in pixels if frame.ids[y, x] == index + 1}
    return visible, {(x, y) for x, y in pixels if frame.amodal[index, y, x]}


def box(pixels: set[tuple[int, int]]) -> tuple[float, float, float, float]:
    xs, ys = [x for x, _ in pixels], [y for _, y in pixels]
    return min(xs), min(ys), max(xs) + 1, max(ys) + 1


def flags(frame: Frame, index: int) -> set[str]:
    visible, amodal = seen(frame, index)
    height, width = frame.ids.shape
    told = set()
    if not visible:
        told.add("hidden")
    if visible != amodal:
        told.add("occluded")
    if any(x in (0, width - 1) or y in (0, height - 1) for x, y in amodal):
        told.add("truncated")
    return told


def occlusion(frame: Frame, a: int, b: int) -> str:
    first, second = _hides(frame, a, b), _hides(frame, b, a)
    if first and second:
        return "mutual"
    return "occludes" if first else "occluded" if second else "none"


def _hides(frame: Frame, a: int, b: int) -> bool:
    _, amodal = seen(frame, b)
    over = sum(frame.ids[y, x] == a + 1 for x, y in amodal)
    return over >= max(4, 0.01 * len(amodal))


def depth(frame: Frame, a: int, b: int, tolerance: float) -> str:
    first, second = frame.mean_depth[a], frame.mean_depth[b]
    if abs(first - second) <= tolerance * min(first, second):
        return "same"
    return "closer" if first < second else "farther"
