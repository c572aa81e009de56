"""Let a ViewNet answer about drawn views, and score it as the viewpoint exam does: with numpy alone.

Objects of which no pixel is visible are left out: there is no box to give.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray

from sightline.geometry.viewpoints import Floats, azimuth_gap, flipped, rotation_gap
from sightline.models.nets.viewpoint import ViewNet
from sightline.models.viewnet import detected
from sightline.stats import Interval, intervals, ranked_intervals, sort_errors
from sightline.stats.viewed_boxes import ViewedBoxes, ViewRules, matches_by_class, means_over, ranked_groups
from sightline.training.viewpoint.views import ViewBatch, ViewSource

RULES: Final = ViewRules(rotations=(30.0,), symmetry=True)
"""How detections are judged: as by the exam, up to symmetry."""

RIGHT: Final = {"accuracy_pi_6": 30.0, "accuracy_pi_18": 10.0}


@dataclass(frozen=True)
class ViewAnswers:
    """Objects of C views, and what a network says of them.

    Attributes:
        images: C.
        objects: G objects with truth and symmetry.
        place: (G,) which of its scene's models each is; worlds that hide one hide the first, 0.
        angles: (G, 3) degrees, said of the true boxes and classes.
        named: (G,) classes said of the true boxes.
        found: Its own detections.
    """

    images: int
    objects: ViewedBoxes
    place: NDArray[np.int64]
    angles: Floats
    named: NDArray[np.object_]
    found: ViewedBoxes


def answer_views(net: ViewNet, batches: Iterable[ViewBatch]) -> ViewAnswers:
    """Let a network find the objects of some views, and judge those in the true boxes.

    Args:
        net: On the device of the views.
        batches: Views whose sides are multiples of 32 pixels.
    """
    was = net.training
    net.eval()
    names = np.array(net.config.classes, dtype=object)
    given: list[tuple[NDArray[Any], ...]] = []
    found: list[tuple[NDArray[Any], ...]] = []
    images = 0
    for batch in batches:
        device = batch.pictures.device.type
        with torch.inference_mode(), torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
            pictures = batch.pictures.permute(0, 3, 1, 2).float() / 255.0
            judged = net.judge(net(pictures), batch.boxes)
            own = detected(net, pictures)
        seen = (batch.classes >= 0) & (batch.pixels > 0)
        image, place = (part.cpu().numpy() for part in torch.nonzero(seen, as_tuple=True))
        parts = (batch.classes, batch.boxes, batch.angles, batch.symmetry, judged.classes.argmax(dim=-1))
        truth = [part.cpu().numpy()[image, place] for part in parts]
        said = judged.angles(batch.classes.clamp(min=0)).cpu().numpy()[image, place]
        given.append((image + images, place, *truth, said))
        for i, one in enumerate(own):
            found.append((np.full(len(one.scores), images + i), *one))
        images += len(batch)
    net.train(was)
    columns = (np.concatenate(column) for column in zip(*given, strict=True))
    image, place, classes, boxes, angles, symmetry, named, said = columns
    at, box, score, kind, views = (np.concatenate(column) for column in zip(*found, strict=True))
    objects = ViewedBoxes(image, names[classes], boxes.astype(float), angles.astype(float), symmetry=symmetry)
    own_boxes = ViewedBoxes(at, names[kind], box, views, score)
    return ViewAnswers(images, objects, place, said.astype(float), names[named], own_boxes)


def score_views(answers: ViewAnswers, *, resamples: int = 1000) -> dict[str, Any]:
    """Score answers in given boxes and in the network's own, by class and in the mean, with 95 % intervals by view.

    Returns:
        ``given`` → measure → class or mean → interval; ``detected`` likewise; everything up to symmetry.
    """
    objects = answers.objects
    classes = sorted(set(objects.category.tolist()))
    matches = dict(matches_by_class(objects, answers.found, RULES, classes))
    ranked = ranked_groups(matches, RULES, answers.images)
    own = ranked_intervals({"/".join(path): of for path, of in ranked.items()}, points="all", resamples=resamples)
    found: dict[str, dict[str, Interval]] = {}
    for path in ranked:
        found.setdefault(" ".join(path[:-1]), {})[path[-1]] = own["/".join(path)]
    given = score_given(answers, resamples=resamples)
    return {"images": answers.images, "objects": len(objects), "given": given, "detected": found}


def score_given(
    answers: ViewAnswers, rows: NDArray[np.bool_] | None = None, *, resamples: int = 1000
) -> dict[str, dict[str, Interval]]:
    """Score answers in given boxes alone: measure → class or mean → interval, up to symmetry.

    Args:
        answers: What is scored.
        rows: (G,) which objects count; None for all.
        resamples: Of the views, where an interval needs them.
    """
    chosen = np.arange(len(answers.objects)) if rows is None else np.flatnonzero(rows)
    objects, said, named = answers.objects.take(chosen), answers.angles[chosen], answers.named[chosen]
    classes = sorted(set(objects.category.tolist()))
    assert objects.symmetry is not None
    error = rotation_gap(objects.angles, said, objects.symmetry)
    hits = {name: error < limit for name, limit in RIGHT.items()}
    hits["front_for_back"] = flipped(objects.angles, said, objects.symmetry)
    hits["side_right"] = azimuth_gap(objects.angles[:, 0], said[:, 0], objects.symmetry) < 90.0
    hits["class"] = named == objects.category
    given: dict[str, dict[str, Interval]] = {}
    for measure, hit in hits.items():
        counts = np.zeros((answers.images, len(classes), 2))
        for c, name in enumerate(classes):
            of_class = objects.category == name
            for k, flags in enumerate((of_class & hit, of_class)):
                counts[:, c, k] = np.bincount(objects.image[flags], minlength=answers.images)
        groups = {label: [classes.index(name) for name in of] for label, of in means_over(classes).items()}
        given[measure] = dict(zip(groups, _shares(counts, list(groups.values()), resamples), strict=True))
    medians = {
        label: [
            sort_errors(error[objects.category == name], objects.image[objects.category == name], answers.images)
            for name in of
        ]
        for label, of in means_over(classes).items()
    }
    angles = ranked_intervals(medians, resamples=resamples, proportion=False)
    given["median_error"] = {label: angle.within(0.0, 180.0) for label, angle in angles.items()}
    return given


def _shares(counts: Floats, groups: list[list[int]], resamples: int) -> list[Interval]:
    """Mean over the classes of each group of the share of hits."""

    def statistic(totals: Floats) -> Floats:
        with np.errstate(invalid="ignore", divide="ignore"):
            shares = totals[..., 0] / totals[..., 1]
        known = np.isfinite(shares)
        sums = np.where(known, shares, 0.0)
        with np.errstate(invalid="ignore"):
            return np.stack([sums[:, of].sum(axis=1) / known[:, of].sum(axis=1) for of in groups], axis=1)

    return intervals(counts, statistic, resamples=resamples)


def drawn(source: ViewSource, batches: int) -> Iterable[ViewBatch]:
    """The first batches of a source."""
    return (source.views(loaded) for loaded in source.loader(0, batches))
