"""Detections with viewpoints, ranked: AP, AVP and ARP by class, under the rules of PASCAL3D+'s script or others.

The script: objects marked difficult are removed, a detection goes to the object it overlaps most and is wrong where
another went there before (in file order within an image), and AVP has the recall of AP, while its precision counts
only detections whose view is right too. The text read literally asks for box and view in recall as well.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from sightline.errors import ConfigError
from sightline.geometry.viewpoints import Flags, Floats, Turns, azimuth_gap, rotation_gap, same_section
from sightline.stats.intervals import Interval
from sightline.stats.matching import BoxSet, match_best
from sightline.stats.ranked import Ranking, average_precision, rank, ranked_intervals

Difficult = Literal["remove", "ignore"]

BOTTLE: Final = "bottle"
"""The class that the paper leaves out of its averages: from every side it looks the same."""
MEANS: Final = ("mean", f"mean without {BOTTLE}")
"""Over all classes, and over all but that."""
VIEWS: Final = (4, 8, 16, 24)
"""Sections of the azimuth that the paper scores."""


@dataclass(frozen=True)
class ViewRules:
    """How detections with viewpoints are judged.

    Attributes:
        views: Numbers of sections of the azimuth, one AVP each.
        within: Degrees of azimuth below which a view is right, one AVP each.
        rotations: Degrees of rotation below which a view is right, one ARP each.
        difficult: Objects marked so are removed, and a detection on one is a false positive; or ignored with it.
        overlap: Lowest intersection over union of a match.
        inclusive: Boxes hold whole pixels, their last column and row included.
        literal: Recall too counts only detections whose view is right.
        symmetry: A view that looks the same as the truth is right.
    """

    views: tuple[int, ...] = VIEWS
    within: tuple[float, ...] = ()
    rotations: tuple[float, ...] = ()
    difficult: Difficult = "remove"
    overlap: float = 0.5
    inclusive: bool = False
    literal: bool = False
    symmetry: bool = False

    def __post_init__(self) -> None:
        if any(n < 1 for n in self.views) or len(set(self.views)) < len(self.views):
            raise ConfigError(f"views must be different whole numbers ≥ 1, found {','.join(map(str, self.views))}")
        for degrees in (*self.within, *self.rotations):
            if not 0 < degrees <= 180:
                raise ConfigError(f"a view is right within more than 0° and at most 180°, found {degrees:g}")
        if self.difficult not in get_args(Difficult):
            raise ConfigError(f"difficult objects are removed or ignored, found {self.difficult!r}")
        if not 0 < self.overlap <= 1:
            raise ConfigError(f"the overlap of a match must lie above 0 and at most at 1, found {self.overlap:g}")

    def kept(self, objects: ViewedBoxes) -> Flags:
        """(n,) objects that are not removed."""
        if self.difficult == "remove" and objects.difficult is not None:
            return ~objects.difficult
        return np.ones(len(objects), dtype=bool)

    @property
    def measures(self) -> tuple[tuple[str, ...], ...]:
        """Paths of all scores of a class, AP first; the order of the thresholds of `ViewMatches.ranking`."""
        more = [("avp", f"{n}") for n in self.views] + [("avp_within", f"{d:g}") for d in self.within]
        return (("ap",), *more, *(("arp", f"{d:g}") for d in self.rotations))


@dataclass(frozen=True)
class ViewedBoxes:
    """Boxes with the viewpoint each is seen from, of any class, over C images.

    Attributes:
        image: (n,) index of the image, 0…C−1.
        category: (n,) class names.
        box: (n, 4) xyxy.
        angles: (n, 3) azimuth, elevation and theta, degrees; NaN where unknown.
        score: (n,) detections only: higher is surer.
        difficult: (n,) objects only: marked as hard to see.
        symmetry: (n,) objects only: see `Turns`.
    """

    image: NDArray[np.int64]
    category: NDArray[np.object_]
    box: Floats
    angles: Floats
    score: Floats | None = None
    difficult: Flags | None = None
    symmetry: Turns | None = None

    def __len__(self) -> int:
        return len(self.image)

    def take(self, rows: NDArray[Any]) -> ViewedBoxes:
        """Some of them, by index or flag."""
        chosen = {name: None if value is None else value[rows] for name, value in vars(self).items()}
        return ViewedBoxes(**chosen)  # type: ignore[arg-type]


@dataclass(frozen=True)
class ViewMatches:
    """Detections of one class with the objects they went to.

    Attributes:
        objects: G objects that can be found or are ignored.
        detections: N detections.
        found: (N,) index of the object each overlaps enough, −1 for none.
        first: (N,) whether none before it went there.
        rules: How they were matched.
    """

    objects: ViewedBoxes
    detections: ViewedBoxes
    found: NDArray[np.int64]
    first: Flags
    rules: ViewRules

    @cached_property
    def ignored(self) -> Flags:
        """(G,) objects that count as nothing."""
        marked = self.objects.difficult
        return np.zeros(len(self.objects), dtype=bool) if marked is None else marked

    @cached_property
    def hit(self) -> Flags:
        """(N,) detections that found an object of their own which counts."""
        hits: Flags = self.first & ~np.append(self.ignored, True)[self.found]
        return hits

    def right(self) -> Flags:
        """(T, N) whether a detection's view is right, one row a score of the rules; box alone in the first."""
        rules = self.rules
        truth = np.vstack([self.objects.angles, np.full(3, np.nan)])[self.found]  # −1, none, looks up the last
        said = self.detections.angles
        given = self.objects.symmetry
        turns = np.ones(len(truth), dtype=np.int64)
        if rules.symmetry and given is not None:
            turns = np.append(given, 1)[self.found]
        with np.errstate(invalid="ignore"):
            gap, turned = azimuth_gap(truth[:, 0], said[:, 0], turns), rotation_gap(truth, said, turns)
            rows = [np.ones(len(truth), dtype=bool)]
            rows += [same_section(truth[:, 0], said[:, 0], turns, n) for n in rules.views]
            rows += [gap < degrees for degrees in rules.within] + [turned < degrees for degrees in rules.rotations]
        return np.stack(rows)

    def ranking(self, n_images: int, *, only: Flags | None = None, normal: float | None = None) -> Ranking:
        """Rank the detections, one threshold a score of the rules.

        Args:
            n_images: C.
            only: (G,) objects that are to be found; the others are ignored, as are detections on them.
            normal: As many objects as precision is computed for; by default those there are.
        """
        assert self.detections.score is not None
        left_out = self.ignored if only is None else self.ignored | ~only
        vain = np.append(left_out, False)[self.found]
        hit = self.hit & ~vain
        right = self.right() & hit
        hits = right if self.rules.literal else np.broadcast_to(hit, right.shape)
        positives = np.bincount(self.objects.image[~left_out], minlength=n_images)
        ignored = np.broadcast_to(vain, right.shape)
        made = rank(
            self.detections.score, self.detections.image, hits, positives, ignored=ignored, credit=right & hits
        )
        return replace(made, normal=normal)

    def undefined(self) -> Flags:
        """(T,) scores that cannot be told: no object, or none of the detections there are, has such an angle."""
        needs = {"ap": [], "avp": [0], "avp_within": [0], "arp": [0, 1, 2]}
        lacks = [np.isnan(of.angles[~self.ignored] if of is self.objects else of.angles) for of in self._both()]
        return np.array(
            [
                any(bool(len(table)) and bool(table[:, needs[path[0]]].any(axis=1).all()) for table in lacks)
                for path in self.rules.measures
            ]
        )

    def _both(self) -> tuple[ViewedBoxes, ViewedBoxes]:
        return self.objects, self.detections


def matches_by_class(
    objects: ViewedBoxes, detections: ViewedBoxes, rules: ViewRules, classes: Iterable[str]
) -> Iterator[tuple[str, ViewMatches]]:
    """Match the detections of each class to its objects under the rules: (class, matches)."""
    kept = objects.take(rules.kept(objects))
    for name in classes:
        there, said = (of.take(of.category == name) for of in (kept, detections))
        given = [BoxSet(of.image, of.box) for of in (said, there)]
        found, first = match_best(*given, threshold=rules.overlap, inclusive=rules.inclusive)
        yield name, ViewMatches(there, said, found, first, rules)


def means_over(classes: Sequence[str]) -> dict[str, list[str]]:
    """Class or mean → the classes it is of: all, and all but bottle where that is among others."""
    means = {MEANS[0]: list(classes)}
    if BOTTLE in classes and len(classes) > 1:
        means[MEANS[1]] = [name for name in classes if name != BOTTLE]
    return means | {name: [name] for name in classes}


def ranked_groups(
    matches: Mapping[str, ViewMatches], rules: ViewRules, n_images: int
) -> dict[tuple[str, ...], list[Ranking]]:
    """Path of each score and class or mean → the rankings it is the mean of; nothing to find where undefined.

    Args:
        matches: Class → its detections and objects.
        rules: How they were matched.
        n_images: C.
    """
    empty = np.zeros(0)
    nothing = rank(empty, empty.astype(int), np.zeros((1, 0), bool), np.zeros(n_images))
    of_class: dict[tuple[str, ...], Ranking] = {}
    for name, found in matches.items():
        ranking, unknown = found.ranking(n_images), found.undefined()
        for t, path in enumerate(rules.measures):
            of_class[*path, name] = nothing if unknown[t] else ranking.at([t])
    return {
        (*path, label): [of_class[*path, name] for name in classes] or [nothing]
        for path in rules.measures
        for label, classes in means_over(list(matches)).items()
    }


def view_figures(
    matches: Mapping[str, ViewMatches], rules: ViewRules, n_images: int, *, resamples: int = 0, seed: int = 0
) -> dict[str, dict[tuple[str, ...], Interval]]:
    """Every score of every class, the mean over classes, and that without bottle where there is bottle."""
    groups = ranked_groups(matches, rules, n_images)
    if resamples:
        named = {f"{i}": rankings for i, rankings in enumerate(groups.values())}
        found = list(ranked_intervals(named, points="all", resamples=resamples, seed=seed).values())
    else:
        found = [_without_limits(rankings) for rankings in groups.values()]
    figures: dict[str, dict[tuple[str, ...], Interval]] = {name: {} for name in matches}
    for (*path, label), interval in zip(groups, found, strict=True):
        figures.setdefault(label, {})[tuple(path)] = interval
    return figures


def _without_limits(rankings: list[Ranking]) -> Interval:
    values = [average_precision(one, points="all").item() for one in rankings]
    known = [value for value in values if not math.isnan(value)]
    return Interval(sum(known) / len(known) if known else math.nan, math.nan, math.nan, 0, "")
