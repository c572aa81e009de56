"""A small made-up label set in the form of 2.5VRD, for demos and tests where the real one is not at hand.

Every image is a perspective view of a ground plane (metres, fractions of the image): things stand on the ground, so
that far ones are small and high in the image, or hang. Raters see the true order of depths the less surely the
closer the two are. Blind rules therefore get about the scores they get on the real labels: the lower bottom edge is
closer in about four of five pairs within an image, and in about three of five across images, whose cameras differ.
Class ids begin with ``/sim/``, so that nobody takes the set for real.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sightline.errors import ConfigError
from sightline.exams.relations.collection import LARGEST, SMALLEST, ClassRules, collect, generator
from sightline.exams.relations.pairs import majority
from sightline.geometry import area, intersection
from sightline.scenes import NO_MAJORITY, Depth, Occlusion, words
from sightline.skills import Setting
from sightline.store.formats import vrd25
from sightline.store.tables import Tables

CLASSES: Final[dict[str, tuple[float, float, float]]] = {
    "apple": (0.09, 0.09, 0.0),
    "armchair": (0.95, 0.9, 0.0),
    "balloon": (0.35, 0.3, 0.5),
    "bench": (0.8, 1.5, 0.0),
    "bicycle": (1.05, 1.7, 0.0),
    "bird": (0.2, 0.25, 0.4),
    "bottle": (0.3, 0.09, 0.0),
    "box": (0.4, 0.5, 0.0),
    "building": (9.0, 12.0, 0.0),
    "bus": (3.0, 8.0, 0.0),
    "car": (1.5, 3.6, 0.0),
    "cat": (0.3, 0.45, 0.0),
    "chair": (0.9, 0.5, 0.0),
    "clock": (0.35, 0.35, 0.5),
    "cup": (0.1, 0.12, 0.0),
    "dog": (0.6, 0.8, 0.0),
    "lamp": (0.5, 0.4, 0.3),
    "laptop": (0.25, 0.35, 0.0),
    "person": (1.7, 0.6, 0.0),
    "picture": (0.6, 0.8, 0.7),
    "plant": (0.6, 0.5, 0.1),
    "sign": (0.7, 0.7, 0.4),
    "table": (0.75, 1.4, 0.0),
    "tree": (5.0, 4.0, 0.0),
    "truck": (2.8, 5.5, 0.0),
}
"""Height and width in metres, and how often a thing of the class hangs."""

RATERS: Final = 5

_SPLIT_SHARE: Final = {"validation": 0.25, "test": 1.0}
_ASPECT: Final = 0.75  # height to width of the image
_NAMES: Final = tuple(CLASSES)
_SIZES: Final = np.array(list(CLASSES.values()))


def simulate(folder: str | Path, *, images: int = 120, seed: int = 0, raters: int = RATERS) -> None:
    """Write the CSV files of a simulated set: validation and test, within and across images.

    Args:
        folder: Where to; the files are named as 2.5VRD's.
        images: Images of the test split; validation has a quarter of that. At least 8.
        seed: Same seed, same files.
        raters: Votes a pair.
    """
    vrd25.write(simulated_tables(images=images, seed=seed, raters=raters), folder)


def simulated_tables(*, images: int = 120, seed: int = 0, raters: int = RATERS) -> Tables:
    """What `simulate` writes, as tables."""
    if images < 8 or raters < 1 or seed < 0:
        raise ConfigError("simulate needs at least 8 images, 1 rater and a seed of 0 or more")
    parts = []
    for split, share in _SPLIT_SHARE.items():
        ids = [f"sim-{split}-{number:05d}" for number in range(max(2, round(share * images)))]
        things = pl.concat([simulated_image(image, seed=seed) for image in ids])
        chosen = collect(things.drop("depth"), ClassRules(), seed=seed)
        parts += [
            _tables(things, chosen.within, "within_image", split, seed, raters),
            _tables(things, chosen.across, "across_images", split, seed, raters),
        ]
    return Tables.concat(parts)


def simulated_image(image: str, *, seed: int) -> pl.DataFrame:
    """The things of one image: boxes as in `collect`, and their true depth in metres."""
    rng = generator(seed, image)
    number = int(rng.integers(2, 8))
    horizon = rng.normal(0.4, 0.1)  # of the image height
    focal = float(np.exp(rng.normal(0.1, 0.25)))  # of the image height
    scale = float(np.exp(rng.uniform(np.log(0.8), np.log(16.0))))  # metres: how far things are here
    camera = 0.6 * scale**0.5 * float(np.exp(rng.normal(0.0, 0.25)))  # metres above what things stand on
    # A table has cups on it and a street cars: things of a size that fits how far one looks.
    fits = np.exp(-0.5 * ((np.log(_SIZES[:, 0] * _SIZES[:, 1]) / 2 - np.log(scale / 6)) / 0.5) ** 2)
    rows: list[tuple[str, float, float, float, float, float]] = []
    while len(rows) < number:
        kind = int(rng.choice(len(_NAMES), p=fits / fits.sum()))
        depth = scale * float(np.exp(rng.normal(0.0, 0.5)))
        box = _box(rng, _SIZES[kind], depth, horizon, camera, focal)
        if SMALLEST <= float(area(box)) <= LARGEST:
            rows.append((_NAMES[kind], depth, *box))
    columns = dict(zip(("category", "depth", "x0", "y0", "x1", "y1"), zip(*rows, strict=True), strict=True))
    return pl.DataFrame(columns).select(
        scene_id=pl.lit(image),
        object_id=pl.int_range(pl.len()).cast(pl.String),
        category="/sim/" + pl.col("category"),
        group=pl.lit(False),
        **{name: pl.col(name) for name in ("x0", "y0", "x1", "y1", "depth")},
    )


def _box(
    rng: np.random.Generator, size: NDArray[np.float64], depth: float, horizon: float, camera: float, focal: float
) -> NDArray[np.float64]:
    """The box of a thing, xyxy, cut to the image; may come out empty."""
    height, width = size[:2] * np.exp(rng.normal(0.0, 0.2, 2))
    foot = camera * rng.uniform(0.7, 1.6) if rng.random() < size[2] else 0.0  # metres above the ground
    bottom = horizon + focal * (camera - foot) / depth + rng.normal(0.0, 0.03)
    middle, half = rng.uniform(0.05, 0.95), 0.5 * focal * width / depth * _ASPECT
    box = np.array([middle - half, bottom - focal * height / depth, middle + half, bottom])
    cut: NDArray[np.float64] = np.clip(box, 0.0, 1.0).round(6)
    return cut


def _tables(
    things: pl.DataFrame, pairs: pl.DataFrame, setting: Setting, split: str, seed: int, raters: int
) -> Tables:
    prefix = f"{setting}/{split}/"
    seen = things.with_columns(scene_id=prefix + pl.col("scene_id"), view_id=pl.lit("0"))
    return Tables.build(
        views=seen.select("scene_id", "view_id")
        .unique(maintain_order=True)
        .with_columns(split=pl.lit(split), source=pl.lit(setting), units=pl.lit("normalised")),
        objects=seen.select("scene_id", "object_id", "category"),
        sightings=seen.select("scene_id", "view_id", "object_id", "x0", "y0", "x1", "y1"),
        relations=_relations(things, pairs, setting, prefix, seed, raters),
    )


def _relations(
    things: pl.DataFrame, pairs: pl.DataFrame, setting: Setting, prefix: str, seed: int, raters: int
) -> pl.DataFrame:
    """The raters' word on every pair, one row a pair and aspect."""
    truth = things.select("scene_id", "object_id", "depth")
    for end in (1, 2):
        named = truth.rename({"scene_id": f"scene_{end}", "object_id": f"object_{end}", "depth": f"depth_{end}"})
        pairs = pairs.join(named, on=[f"scene_{end}", f"object_{end}"], how="left", maintain_order="left")
    across = setting == "across_images"
    votes = [
        _votes(generator(seed, f"{setting}|{a}|{b}"), group, across=across, raters=raters)
        for (a, b), group in pairs.group_by("scene_1", "scene_2", maintain_order=True)
    ]
    parts = [
        _rows(pairs, aspect, np.concatenate([v[k] for v in votes]), prefix, across=across)
        for k, aspect in enumerate(("depth", "occlusion")[: 1 if across else 2])
    ]
    return pl.concat(parts).sort("pair", maintain_order=True).drop("pair")


def _votes(
    rng: np.random.Generator, pairs: pl.DataFrame, *, across: bool, raters: int
) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
    """(n, raters) codes of depth and of occlusion for the pairs of one image or image pair."""
    a, b = pairs["box_1"].to_numpy(), pairs["box_2"].to_numpy()
    order = np.log(pairs["depth_2"].to_numpy() / pairs["depth_1"].to_numpy())[:, None]  # > 0: the first is closer
    shape = (pairs.height, raters)
    noise, margin, shyness = (0.35, 0.0, 0.07) if across else (0.15, 0.09, 0.06)
    felt = order + rng.normal(0.0, noise, shape)
    depth = np.where(felt > 0, Depth.CLOSER, Depth.FARTHER)
    depth = np.where(np.abs(felt) < margin, Depth.SAME, depth)
    # A pair may be hard for everyone, so that "unsure" sometimes has a majority.
    shy = shyness + (rng.random((pairs.height, 1)) < shyness) * 0.8
    depth = np.where(rng.random(shape) < shy, Depth.UNSURE, depth)
    covered = intersection(a, b) / np.minimum(area(a), area(b))
    touches = rng.random(shape) < (covered / (covered + 0.4))[:, None]
    hides = np.where(felt > 0, Occlusion.OCCLUDES, Occlusion.OCCLUDED)
    both = (rng.random((pairs.height, 1)) < 0.06) & (rng.random(shape) < 0.8)
    hides = np.where(both, Occlusion.MUTUAL, hides)
    return depth.astype(np.int8), np.where(touches, hides, Occlusion.NONE).astype(np.int8)


def _rows(pairs: pl.DataFrame, aspect: str, votes: NDArray[np.int8], prefix: str, *, across: bool) -> pl.DataFrame:
    named = np.array(words(aspect))
    label = majority((votes[:, :, None] == np.arange(len(named))).sum(axis=1))
    return pairs.select(
        pair=pl.int_range(pl.len()),
        scene_id=prefix + pl.col("scene_1"),
        subject="object_1",
        object="object_2",
        object_scene=prefix + pl.col("scene_2") if across else pl.lit(None, pl.String),
        aspect=pl.lit(aspect),
        predicate=pl.Series([None if code == NO_MAJORITY else str(named[code]) for code in label], dtype=pl.String),
        votes=pl.Series(named[votes].tolist(), dtype=pl.List(pl.String)),
    )
