"""Segmentation by pose: how well do CAD models, drawn from a viewpoint, cover what is seen (the paper's Table 4)?

A model is drawn with the true elevation, distance and theta; its azimuth is the true one or a detector's. Which
model: the true one, any of a library of its class, or the other one there whose surface is closest. Pixels are
counted by class and pooled; the base version knows nothing of occlusion, the other draws the objects of a picture
in front of each other as their distances say.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sightline.geometry.masks import decode
from sightline.geometry.viewpoints import Flags, Floats, Viewpoint
from sightline.render.fast.raster import depths_alone
from sightline.scenes import Scene, View
from sightline.worlds.cad import CAD, PREFIX
from sightline.worlds.looks import category_of
from sightline.worlds.shapes import is_known, solid, split_name

DRAWS: Final = 5
"""Random choices of models, of which mean and standard deviation are given."""
CHOICES: Final = ("true", *(f"random {i + 1}" for i in range(DRAWS)), "closest")
"""Which models are drawn from true viewpoints, in the order of `chosen_overlaps`."""
_SAMPLES: Final = 400
"""Points of a surface that its distance to another is measured by."""

Counts = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class CadShape:
    """A surface in the CAD frame: centred, box diagonal 1, z up, front −y.

    Attributes:
        vertices: (V, 3).
        faces: (F, 3) indices.
        diagonal: Of its box before it was scaled, metres.
    """

    vertices: NDArray[np.float32]
    faces: NDArray[np.int32]
    diagonal: float = 1.0

    def points(self) -> Floats:
        """(n, 3) points spread over the surface, the same every time."""
        corners = self.vertices.astype(np.float64)[self.faces]
        across = np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1)
        rng = np.random.default_rng(0)
        chosen = corners[rng.choice(len(across), _SAMPLES, p=across / across.sum())]
        a, b = np.sort(rng.random((2, _SAMPLES, 1)), axis=0)
        points: Floats = chosen[:, 0] * a + chosen[:, 1] * (b - a) + chosen[:, 2] * (1 - b)
        return points


@dataclass(frozen=True, eq=False)
class PosedObject:
    """An object in a picture, for its model to be drawn over it.

    Attributes:
        id: In its scene.
        category: Class.
        shape: Name of its model, which `solid` knows.
        viewpoint: Its pose.
        mask: (H, W) bool: what is seen of it.
    """

    id: str
    category: str
    shape: str
    viewpoint: Viewpoint
    mask: Flags


@lru_cache(maxsize=1024)
def cad_shape(name: str) -> CadShape:
    """The surface of a shape that worlds know by name, such as ``cad/bus/city#3``, in the CAD frame."""
    made = solid(name)
    low, high = made.vertices.min(axis=0), made.vertices.max(axis=0)
    diagonal = float(np.linalg.norm(high - low))
    vertices = np.ascontiguousarray((made.vertices - (low + high) / 2) / diagonal, np.float32)
    return CadShape(vertices, np.ascontiguousarray(made.faces, np.int32), diagonal)


def silhouette(shape: CadShape, viewpoint: Viewpoint, size: tuple[int, int]) -> NDArray[np.float32]:
    """Draw a model from a viewpoint: inverse depth in 1 / diagonals, (H, W) float32, 0 where it is not seen."""
    return depths_alone(shape.vertices, shape.faces, *viewpoint.camera(), size)


def posed_objects(scene: Scene, view: View) -> list[PosedObject]:
    """Objects of a view that have a pose, a mask and a shape that `solid` knows."""
    things, made = {o.id: o for o in scene.objects}, []
    for seen in scene.seen_in(view.id):
        thing, turn = things[seen.object_id], seen.viewpoint
        if thing.shape is None or seen.visible_mask is None or turn is None or not turn.continuous:
            continue
        if not is_known(thing.shape):
            continue
        width, height = view.require_size()
        mask = decode(seen.visible_mask, height, width)
        made.append(PosedObject(thing.id, thing.category, thing.shape, turn, mask))
    return made


def model_library(shapes: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Class → models to choose from, as an annotator has a few: those named, and of our own one a sub-type.

    >>> model_library(["real/bus/1", "real/bus/2"])["bus"], model_library(["cad/bus/city"])["car"][0]
    (('real/bus/1', 'real/bus/2'), 'cad/car/suv#0')
    """
    made: dict[str, list[str]] = {}
    for name in shapes:
        if not name.startswith(PREFIX) and category_of(name) != name:
            made.setdefault(category_of(name), []).append(name)
    own: dict[str, list[str]] = {}
    for name in CAD:
        own.setdefault(category_of(name), []).append(f"{name}#0")
    return {name: tuple(made.get(name, own.get(name, ()))) for name in {**own, **made}}


def drawn_overlaps(objects: Sequence[PosedObject]) -> dict[str, Counts]:
    """Draw the models of one picture: class → (2, 2) pixels that drawing and masks share, and that either has.

    The first row is without occlusion; in the second nearer objects are drawn over farther ones.
    """
    if not objects:
        return {}
    height, width = objects[0].mask.shape
    shapes = [cad_shape(one.shape) for one in objects]
    near = np.stack(
        [
            silhouette(shape, one.viewpoint, (width, height)) / shape.diagonal
            for shape, one in zip(shapes, objects, strict=True)
        ]
    )
    drawn = near > 0
    variants = drawn, drawn & (near == near.max(axis=0))
    made = {}
    for name in dict.fromkeys(one.category for one in objects):
        of = np.array([one.category == name for one in objects])
        seen = np.any([one.mask for one in objects if one.category == name], axis=0)
        said = [variant[of].any(axis=0) for variant in variants]
        made[name] = np.array([[(one & seen).sum(), (one | seen).sum()] for one in said], dtype=np.int64)
    return made


def chosen_overlaps(
    objects: Sequence[PosedObject], library: Mapping[str, Sequence[str]], seed: Sequence[int] = (0,)
) -> dict[str, Counts]:
    """Draw true, random and closest models of one picture: class → (`CHOICES`, 2, 2), see `drawn_overlaps`.

    Where a class has no other model, or none at all to choose from, nothing is drawn and nothing counted.

    Args:
        objects: Of the picture, with true viewpoints.
        library: Class → names of the models that random and closest ones are taken from.
        seed: Of the random models.
    """
    rng = np.random.default_rng([*seed])
    made = {one.category: np.zeros((len(CHOICES), 2, 2), np.int64) for one in objects}
    for i, choice in enumerate(CHOICES):
        drawn = []
        for one in objects:
            known = tuple(library.get(one.category, ()))
            shape: str | None = one.shape
            if choice == "closest":
                shape = closest_model(one.shape, known)
            elif choice != "true":
                shape = known[int(rng.integers(len(known)))] if known else None
            drawn += [] if shape is None else [replace(one, shape=shape)]
        for name, counts in drawn_overlaps(drawn).items():
            made[name][i] = counts
    return made


def said_objects(objects: Iterable[PosedObject], azimuths: Mapping[str, float]) -> Iterator[PosedObject]:
    """Objects by id with another azimuth, degrees; those without one were not found, and are left out."""
    for one in objects:
        if one.id in azimuths:
            yield replace(one, viewpoint=replace(one.viewpoint, azimuth=azimuths[one.id]))


@lru_cache(maxsize=4096)
def closest_model(name: str, among: tuple[str, ...]) -> str | None:
    """Find the other model whose surface is closest, by the mean distance of points both ways; None without one."""
    others = [other for other in among if split_name(other) != split_name(name)]
    if not others:
        return None
    mine, gaps = cad_shape(name).points(), []
    for other in others:
        apart = np.linalg.norm(mine[:, None] - cad_shape(other).points()[None], axis=2)
        gaps.append(apart.min(axis=0).mean() + apart.min(axis=1).mean())
    return others[int(np.argmin(gaps))]
