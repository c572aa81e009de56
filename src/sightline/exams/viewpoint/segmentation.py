"""Segmentation by pose: how well do CAD models, drawn from a viewpoint, cover what is seen (the paper's Table 4)?

A model is drawn with the true elevation, distance and theta; its azimuth is the true one or a detector's. Which
model: the true one, any of its category, or another whose geometry is closest to the true one's. IoU is pooled over
all pixels of a class; the base version knows nothing of occlusion, the other draws the objects of a picture in
front of each other as their distances say.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sightline.errors import ConfigError
from sightline.exams.run import RunRecords
from sightline.exams.viewpoint.angles import Flags, Floats
from sightline.geometry import Viewpoint
from sightline.geometry.masks import decode
from sightline.render.fast.raster import depths_alone
from sightline.scenes import Scene
from sightline.worlds.cad import SUBTYPES
from sightline.worlds.shapes import solid

DRAWS = 5
"""Random choices of models, of which mean and standard deviation are given."""
_SAMPLES = 400
"""Points of a surface that its distance to another is measured by."""


@dataclass(frozen=True, eq=False)
class CadShape:
    """A surface in the CAD frame: centred, box diagonal 1, z up, front −y.

    Attributes:
        vertices: (V, 3).
        faces: (F, 3) indices.
    """

    vertices: NDArray[np.float32]
    faces: NDArray[np.int32]

    @cached_property
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
        image: The picture.
        category: Class.
        model: Index of its true model among those of the class.
        viewpoint: Its true pose.
        mask: (H, W) bool: what is seen of it.
        azimuth: Degrees, as a detector says; None where it was not found with an IoU above 0.5.
        diagonal: Length of its box's diagonal, to compare distances of different objects in a picture; metres, say.
    """

    image: str
    category: str
    model: int
    viewpoint: Viewpoint
    mask: Flags
    azimuth: float | None = None
    diagonal: float = 1.0


@dataclass(frozen=True)
class PoseSegmentation:
    """IoU of drawn models by class, in [0, 1].

    Attributes:
        true: With the true model and pose.
        random: With any model of the class: mean over `DRAWS` draws and their standard deviation.
        closest: With the other model whose geometry is closest; no class with a single model.
        predicted: With the true model and a detector's azimuth, over the objects it found; empty without any.
    """

    true: Mapping[str, float]
    random: Mapping[str, tuple[float, float]]
    closest: Mapping[str, float]
    predicted: Mapping[str, float]


def silhouette(shape: CadShape, viewpoint: Viewpoint, size: tuple[int, int]) -> NDArray[np.float32]:
    """Draw a model from a viewpoint: inverse depth in 1 / diagonals, (H, W) float32, 0 where it is not seen."""
    return depths_alone(
        np.ascontiguousarray(shape.vertices, np.float32),
        np.ascontiguousarray(shape.faces, np.int32),
        *viewpoint.camera(),
        size,
    )


def cad_shape(name: str) -> CadShape:
    """The surface of a shape that worlds know by name, such as ``cad/bus/city#3``, in the CAD frame."""
    made = solid(name)
    low, high = made.vertices.min(axis=0), made.vertices.max(axis=0)
    return CadShape((made.vertices - (low + high) / 2) / np.linalg.norm(high - low), made.faces)


def posed_objects(
    scenes: Iterable[Scene], azimuths: Mapping[tuple[str, str], float] | None = None
) -> tuple[list[PosedObject], dict[str, list[CadShape]], dict[str, list[int]]]:
    """Take objects with a pose, a mask and a shape from scenes; their models, and a library of others by class.

    The library has the first variant of each of the class's sub-types, as an annotator has a few models to choose
    from.

    Args:
        scenes: Generated from the worlds ``cad/…``.
        azimuths: (picture, object) → degrees, as a model says (`answered_azimuths`); the others were not found.

    Returns:
        Objects, class → models, class → places of the library among these.
    """
    said, made = azimuths or {}, list[PosedObject]()
    places: dict[str, dict[str, int]] = {}
    for scene in scenes:
        things = {o.id: o for o in scene.objects}
        for view in scene.views:
            picture = scene.id if len(scene.views) == 1 else f"{scene.id}/{view.id}"
            for seen in scene.seen_in(view.id):
                thing, turn = things[seen.object_id], seen.viewpoint
                if thing.shape is None or seen.visible_mask is None or turn is None or not turn.continuous:
                    continue
                width, height = view.require_size()
                of = places.setdefault(thing.category, {})
                model = of.setdefault(thing.shape, len(of))
                extent = solid(thing.shape).vertices
                diagonal = float(np.linalg.norm(extent.max(axis=0) - extent.min(axis=0)))
                mask = decode(seen.visible_mask, height, width)
                azimuth = said.get((picture, seen.object_id))
                made.append(PosedObject(picture, thing.category, model, turn, mask, azimuth, diagonal))
    library = {}
    for name, of in places.items():
        kinds = [f"cad/{name}/{kind}#0:medium" for kind in SUBTYPES.get(name, ())]
        library[name] = [of.setdefault(kind, len(of)) for kind in kinds]
    return made, {name: [cad_shape(shape) for shape in of] for name, of in places.items()}, library


def answered_azimuths(records: RunRecords) -> dict[tuple[str, str], float]:
    """(picture, object) → azimuth in degrees of every object a model answered or found."""
    rows = records.rows.filter((pl.col("kind") == "object") & pl.col("answer").is_not_null())
    return {(item, thing): answer for item, thing, answer in rows.select("item", "object", "answer").iter_rows()}


def pose_segmentation(
    objects: Sequence[PosedObject],
    shapes: Mapping[str, Sequence[CadShape]],
    library: Mapping[str, Sequence[int]] | None = None,
    *,
    occlusion: bool = False,
    seed: int = 0,
) -> PoseSegmentation:
    """Segment pictures by projected models: true, random, closest, and with a detector's azimuth.

    Args:
        objects: All objects with a pose.
        shapes: Class → its models.
        library: Class → places of the models that random and closest ones are taken from; by default all.
        occlusion: Draw nearer objects of a picture over farther ones.
        seed: Of the random models.
    """
    for one in objects:
        if not 0 <= one.model < len(shapes.get(one.category, ())):
            raise ConfigError(f"{one.image}: no model {one.model} of the class {one.category!r}")
    rng = np.random.default_rng(seed)
    known = {name: list((library or {}).get(name, ())) or list(range(len(of))) for name, of in shapes.items()}
    draws = []
    for _ in range(DRAWS):
        models = [int(rng.choice(known[one.category])) for one in objects]
        drawn = [replace(one, model=model) for one, model in zip(objects, models, strict=True)]
        draws.append(pooled_iou(drawn, shapes, occlusion))
    nearest = {
        (name, model): closest
        for name, of in shapes.items()
        for model in {one.model for one in objects if one.category == name}
        if (closest := closest_model(of, model, known[name])) is not None
    }
    others = [(one, nearest.get((one.category, one.model))) for one in objects]
    moved = [replace(one, model=model) for one, model in others if model is not None]
    found = [
        replace(one, viewpoint=replace(one.viewpoint, azimuth=one.azimuth))
        for one in objects
        if one.azimuth is not None
    ]
    return PoseSegmentation(
        pooled_iou(objects, shapes, occlusion),
        {
            name: (float(np.mean([d[name] for d in draws])), float(np.std([d[name] for d in draws])))
            for name in draws[0]
        },
        pooled_iou(moved, shapes, occlusion),
        pooled_iou(found, shapes, occlusion),
    )


def pooled_iou(
    objects: Sequence[PosedObject], shapes: Mapping[str, Sequence[CadShape]], occlusion: bool = False
) -> dict[str, float]:
    """Intersection over union of drawn models and masks by class, pooled over the pixels of all pictures.

    Args:
        objects: Each is drawn as its model, from its viewpoint.
        shapes: Class → its models.
        occlusion: Draw nearer objects of a picture over farther ones.
    """
    by_image: dict[str, list[PosedObject]] = {}
    for one in objects:
        by_image.setdefault(one.image, []).append(one)
    shared: dict[str, int] = {}
    whole: dict[str, int] = {}
    for there in by_image.values():
        height, width = there[0].mask.shape
        near = np.stack(
            [silhouette(shapes[o.category][o.model], o.viewpoint, (width, height)) / o.diagonal for o in there]
        )
        drawn = near > 0
        if occlusion:
            drawn &= near == near.max(axis=0)
        for name in dict.fromkeys(o.category for o in there):
            of = np.array([o.category == name for o in there])
            said, seen = drawn[of].any(axis=0), np.any([o.mask for o in there if o.category == name], axis=0)
            shared[name] = shared.get(name, 0) + int((said & seen).sum())
            whole[name] = whole.get(name, 0) + int((said | seen).sum())
    return {name: shared[name] / whole[name] if whole[name] else float("nan") for name in sorted(shared)}


def closest_model(shapes: Sequence[CadShape], model: int, among: Sequence[int]) -> int | None:
    """Find the other model whose surface is closest, by the mean distance of points both ways; None without one."""
    others = [place for place in among if place != model]
    if not others:
        return None
    gaps = []
    for place in others:
        apart = np.linalg.norm(shapes[model].points[:, None] - shapes[place].points[None], axis=2)
        gaps.append(apart.min(axis=0).mean() + apart.min(axis=1).mean())
    return others[int(np.argmin(gaps))]
