"""Segmentation by pose on the exam's pictures: the paper's Table 4, with a model's own azimuths among its rows."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from sightline.exams.base import Measures, Name
from sightline.exams.viewpoint.records import ViewRecords
from sightline.generation.open import own_shapes
from sightline.geometry.viewpoints import Floats
from sightline.render.pose_masks import (
    CHOICES,
    Counts,
    PosedObject,
    chosen_overlaps,
    drawn_overlaps,
    model_library,
    posed_objects,
    said_objects,
)
from sightline.stats import mean_known
from sightline.stats.viewed_boxes import MEANS, means_over
from sightline.store import Dataset
from sightline.worlds.shapes.library import register_library

CADS: Final = "pascal3d"
"""What a shape library of the user's is called: as imports of PASCAL3D+ name the models of their objects."""
ROWS: Final = {
    "true": "true CAD model",
    "random": "random CAD model",
    "closest": "closest other CAD model",
    "predicted": "true CAD model, predicted azimuth",
}
"""What is drawn → what tables call it."""
VARIANTS: Final = {"segmentation": "", "segmentation_occlusion": ", nearer objects drawn over farther ones"}
"""Path of each variant → what tables say of it."""


class PosedPicture(NamedTuple):
    """A picture's objects with masks and models; class → pixels of each of `CHOICES`, see `chosen_overlaps`."""

    unit: str
    item: str
    objects: list[PosedObject]
    chosen: Mapping[str, Counts]


def cad_library(data: Dataset, cads: Path | None) -> dict[str, tuple[str, ...]]:
    """Class → models to choose from, made known to `worlds.solid`: the user's, the data's or our own."""
    return data.memo(
        ("CAD library", cads),
        lambda: model_library(own_shapes(data) if cads is None else register_library(cads, CADS)),
    )


def posed_pictures(data: Dataset, split: str | None, most: int, cads: Path | None) -> list[PosedPicture]:
    """Draw the models over the first so many pictures that have any, with their true poses."""
    library = cad_library(data, cads)
    made: list[PosedPicture] = []
    for scene in data.scenes(split):
        for view in scene.views:
            if len(made) == most:
                return made
            objects = posed_objects(scene, view)
            if objects:
                item = scene.id if len(scene.views) == 1 else f"{scene.id}/{view.id}"
                chosen = chosen_overlaps(objects, library, tuple(item.encode()))
                made.append(PosedPicture(scene.id, item, objects, chosen))
    return made


def segmentation_measures(read: ViewRecords, pictures: list[PosedPicture]) -> Measures:
    """Pooled IoU by class of true, random and closest models, and of true ones with the azimuths that were said."""
    units = sorted({one.unit for one in pictures})
    classes = sorted({name for one in pictures for name in one.chosen})
    counts = np.zeros((len(units), len(classes), len(CHOICES) + 1, 2, 2))
    for one in pictures:
        said = drawn_overlaps(list(said_objects(one.objects, read.azimuths.get(one.item, {}))))
        for name, chosen in one.chosen.items():
            place = counts[units.index(one.unit), classes.index(name)]
            place[:-1] += chosen
            place[-1] += said.get(name, 0)
    labels = means_over(classes)

    def of_choices(totals: Floats) -> Floats:
        """(B, labels, choices, variants) IoU."""
        with np.errstate(invalid="ignore", divide="ignore"):
            shares = totals[..., 0] / totals[..., 1]
        return np.stack(
            [mean_known(shares[:, [classes.index(n) for n in of]], axis=1) for of in labels.values()], axis=1
        )

    def statistic(totals: Floats) -> Floats:
        shares = of_choices(totals)
        rows = [shares[:, :, 0], shares[:, :, 1:-2].mean(axis=2), shares[:, :, -2], shares[:, :, -1]]
        return np.stack(rows, axis=3).transpose(0, 2, 3, 1).reshape(len(totals), -1)  # variants, rows, labels

    names = [
        Name((path, row, label), words, f"segmentation by pose, mean IoU{how}" * (label == MEANS[0]), percent=True)
        for path, how in VARIANTS.items()
        for row, words in ROWS.items()
        for label in labels
    ]
    spread = of_choices(counts.sum(axis=0)[None])[0, :, 1:-2].std(axis=1)
    facts = {
        path: {"random_sd": dict(zip(labels, spread[:, v].tolist(), strict=True)), "n_images": len(pictures)}
        for v, path in enumerate(VARIANTS)
    }
    return Measures(tuple(units), counts, statistic, tuple(names), facts, detail=True)
