"""Marking a JSON file of detections with viewpoints against one of the truth, class by class."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sightline.plain import plain
from sightline.stats import Interval
from sightline.stats.viewed_boxes import ViewedBoxes, ViewMatches, ViewRules, matches_by_class, view_figures
from sightline.store.formats.view_boxes import MEAN, read_view_boxes


@dataclass(frozen=True)
class ViewScores:
    """AP and AVP by class and their means over the classes for which they are defined.

    Attributes:
        rules: How detections were judged.
        matches: Class → its detections with the objects they went to.
        n_images: Images with an object or a detection.
        figures: Class, ``mean`` or ``mean without bottle`` → path (``("avp", "8")``) → score; no interval where
            none was asked for, and NaN where undefined.
    """

    rules: ViewRules
    matches: Mapping[str, ViewMatches] = field(repr=False)
    n_images: int
    figures: Mapping[str, Mapping[tuple[str, ...], Interval]]

    def to_dict(self) -> dict[str, Any]:
        """JSON values: class → ``ap`` and ``avp`` by number of views; ``mean`` likewise, null where undefined."""
        document: dict[str, Any] = {}
        for name, scores in self.figures.items():
            inner = document.setdefault(name if name in self.matches else MEAN, {})
            if name not in (MEAN, *self.matches):
                inner = inner.setdefault("without_bottle", {})
            inner["avp"] = {}
            for path, score in scores.items():
                place = inner
                for key in path[:-1]:
                    place = place.setdefault(key, {})
                place[path[-1]] = plain(score.value)
                if score.method:
                    intervals = inner.setdefault("intervals", {})
                    intervals[" ".join(path)] = [plain(score.low), plain(score.high)]
        return document


def score_view_files(
    truth: Path, detections: Path, rules: ViewRules | None = None, *, resamples: int = 0, seed: int = 0
) -> ViewScores:
    """Score a file of detections with viewpoints.

    Args:
        truth: A JSON list of ``{"image", "class", "box": [x1, y1, x2, y2], "azimuth": degrees or null,
            "difficult"}``; both files may also have ``elevation`` and ``theta``, which ARP needs.
        detections: A list of ``{"image", "class", "box", "score", "azimuth"}``.
        rules: How detections are judged; by default as the script of PASCAL3D+ does.
        resamples: Bootstrap resamples by image behind the intervals; 0 for none.
        seed: Of the resampling.
    """
    judged = rules or ViewRules()
    images: dict[str, int] = {}
    objects = ViewedBoxes(**read_view_boxes(truth, images, detected=False))
    said = ViewedBoxes(**read_view_boxes(detections, images, detected=True))
    classes = sorted({*objects.category.tolist(), *said.category.tolist()})
    matches = dict(matches_by_class(objects, said, judged, classes))
    figures = view_figures(matches, judged, max(len(images), 1), resamples=resamples, seed=seed)
    return ViewScores(judged, matches, len(images), figures)
