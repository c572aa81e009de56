"""How the records of the viewpoint exam are counted: AP, AVP and ARP, accuracies, errors, confusion; by image."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from sightline.exams.base import Measures, Name, RankedMeasures
from sightline.exams.viewpoint.records import COARSE, ViewRecords
from sightline.geometry.viewpoints import Flags, Floats, azimuth_bins, flipped, same_section
from sightline.stats import Ranking, SortedErrors, mean_known, sort_errors
from sightline.stats.viewed_boxes import MEANS, ViewRules, means_over, ranked_groups

FINE: Final = 10.0
"""Degrees of rotation below which a view is right: π/18."""
CONFUSED: Final = 8
"""Sections of the azimuth of the confusion matrix."""
THIRDS: Final = {"0–1/3": (0.0, 1 / 3), "1/3–2/3": (1 / 3, 2 / 3), "2/3–1": (2 / 3, 1.0)}
"""Occlusion ratios: (lower, upper end]; the first holds 0 too."""
ACCURACY: Final = {
    "accuracy_pi_6": "accuracy at π/6",
    "accuracy_pi_18": "accuracy at π/18",
    "flipped": "front taken for back",
    "unanswered": "unanswered",
}
"""Shares of objects → what tables call them."""


def viewpoint_measures(read: ViewRecords, *, detected: bool) -> Iterator[Measures | RankedMeasures]:
    """Count the records of a run; `detected` says that the boxes were the model's own."""
    if detected:
        yield _ranked(read)
        if any(_third_of(read, name).any() for name in THIRDS):
            yield _thirds(read)
    else:
        yield _accuracy(read)
        yield _medians(read)
    yield _confusion(read, detected=detected)


def _ranked(read: ViewRecords) -> RankedMeasures:
    """AP, AVP and ARP by class and their means."""
    ranked = ranked_groups(read.matches, read.rules, len(read.units))
    words = titles(read.rules)
    main: tuple[str, ...] = ("avp", "8") if 8 in read.rules.views else ("ap",)
    first: dict[tuple[str, ...], int] = {("ap",): 2, main: 1}
    paths = [(key[:-1], key[-1]) for key in ranked]
    names = tuple(
        _name(path, words[path], label, headline=first.get(path, 0), main=path == main) for path, label in paths
    )
    facts = {
        "n_images": len(read.units),
        "n_objects": len(read.objects),
        "n_detections": len(read.detections),
        "n_by_class": {name: int((read.objects.category == name).sum()) for name in read.classes},
    }
    return RankedMeasures(read.units, {"/".join(path): of for path, of in ranked.items()}, names, facts)


def titles(rules: ViewRules) -> dict[tuple[str, ...], str]:
    """Path of each score of detections → what tables call it."""
    words = {"ap": "AP", "avp": "AVP, {} views", "avp_within": "AVP, {}°", "arp": "ARP, {}°"}
    return {path: words[path[0]].format(*path[1:]) for path in rules.measures}


def _name(path: tuple[str, ...], title: str, label: str, *, headline: int = 0, main: bool = False) -> Name:
    """A share by class or mean; of one that may stand in the headline every class is shown and compared."""
    is_mean = label in MEANS
    family = title if headline else None
    if label == MEANS[0] and title:
        family = "" if headline else "means"
    return Name(
        (*path, label),
        label,
        title if headline or is_mean else "",
        family,
        title if label == MEANS[0] else f"  {label}",
        headline=headline if label == MEANS[0] else 0,
        part=main and not is_mean,
        percent=True,
    )


def _third_of(read: ViewRecords, third: str) -> Flags:
    low, high = THIRDS[third]
    ratio = read.occlusion
    return ((ratio > low) | (low == 0.0)) & (ratio <= high)


def _thirds(read: ViewRecords) -> RankedMeasures:
    """Normalised AP by occlusion third: objects of the other thirds are ignored, N is a third of the class's."""
    c = len(read.units)
    groups: dict[str, list[Ranking | SortedErrors]] = {}
    names = []
    rankings: dict[tuple[str, str], Ranking] = {}
    for name in read.classes:
        rows = (read.objects.category == name) & read.rules.kept(read.objects)
        n = max(rows.sum() / len(THIRDS), 1.0)
        for third in THIRDS:
            only = _third_of(read, third)[rows]
            rankings[third, name] = read.matches[name].ranking(c, only=only, normal=n).at([0])
    for third in THIRDS:
        for label, classes in means_over(read.classes).items():
            groups[f"{third}/{label}"] = [rankings[third, name] for name in classes]
            title = "normalised AP by occlusion" if label == "mean" else ""
            names.append(Name(("normalised_ap", third, label), third, title, percent=True))
    return RankedMeasures(read.units, groups, tuple(names), detail=True)


def _accuracy(read: ViewRecords) -> Measures:
    """Accuracy at π/6 and π/18, flips and unanswered objects, by class, their means, and by occlusion third."""
    error, known = read.error, read.known
    with np.errstate(invalid="ignore"):
        hits = {
            "accuracy_pi_6": error < COARSE,
            "accuracy_pi_18": error < FINE,
            "flipped": flipped(read.objects.angles, read.answers, read.symmetry),
            "unanswered": np.isnan(read.answers[:, 0]),
        }
    parts = {name: read.objects.category == name for name in read.classes}
    thirds = {third: _third_of(read, third) for third in THIRDS}
    groups = {**parts, **{third: flags for third, flags in thirds.items() if flags.any()}}
    counts = np.zeros((len(read.units), len(groups), len(hits), 2))
    for g, inside in enumerate(groups.values()):
        for h, hit in enumerate(hits.values()):
            for k, flags in enumerate((hit & inside & known, inside & known)):
                counts[:, g, h, k] = np.bincount(read.objects.image[flags], minlength=len(read.units))
    columns, names = [], []
    for h, measure in enumerate(hits):
        for label, classes in means_over(read.classes).items():
            columns.append((h, [list(groups).index(name) for name in classes]))
            title, main = ACCURACY[measure] * (measure != "unanswered"), measure == "accuracy_pi_6"
            names.append(_name((measure,), title, label, headline=int(main), main=main))
        for third in groups:
            if third in THIRDS:
                columns.append((h, [list(groups).index(third)]))
                title = "accuracy at π/6 by occlusion" if measure == "accuracy_pi_6" else ""
                names.append(Name((measure, "occlusion", third), third, title, percent=True))

    def statistic(totals: Floats) -> Floats:
        with np.errstate(invalid="ignore", divide="ignore"):
            shares = totals[..., 0] / totals[..., 1]
        return np.stack([mean_known(shares[:, of, h]) for h, of in columns], axis=1)

    facts = {
        "n_images": len(read.units),
        "n_objects": int(known.sum()),
        "n_by_class": {name: int((flags & known).sum()) for name, flags in parts.items()},
    }
    return Measures(read.units, counts, statistic, tuple(names), facts)


def _medians(read: ViewRecords) -> RankedMeasures:
    """Median geodesic error by class, and its mean over classes."""
    c = len(read.units)
    of_class = {}
    for name in read.classes:
        rows = (read.objects.category == name) & read.known
        of_class[name] = sort_errors(read.error[rows], read.objects.image[rows], c)
    groups: dict[str, list[Ranking | SortedErrors]] = {}
    names = []
    for label, classes in means_over(read.classes).items():
        groups[label] = [of_class[name] for name in classes]
        family = "means" if label == "mean" else None
        title = "median error, degrees" if label in MEANS else ""
        names.append(Name(("median_error", label), label, title, family, "median error, degrees"))
    return RankedMeasures(read.units, groups, tuple(names), proportion=False, bounds=(0.0, 180.0))


def _confusion(read: ViewRecords, *, detected: bool) -> Measures:
    """Confusion of sections of the azimuth, by class: rows the truth; their mean diagonal.

    Of objects that were answered: where the boxes are a model's own, of those it found.
    """
    n, c = CONFUSED, len(read.units)
    truth, said = (azimuth_bins(of[:, 0], n) for of in (read.objects.angles, read.answers))
    alike = same_section(read.objects.angles[:, 0], read.answers[:, 0], read.symmetry, n)
    said = np.where(alike, truth, said)
    used = (truth >= 0) & (said >= 0)
    code = np.array([read.classes.index(name) for name in read.objects.category], dtype=np.int64)
    counts = np.zeros((c, len(read.classes), n, n))
    np.add.at(counts, (read.objects.image[used], code[used], truth[used], said[used]), 1)
    labels = means_over(read.classes)
    columns = [[read.classes.index(name) for name in classes] for classes in labels.values()]

    def statistic(totals: Floats) -> Floats:
        with np.errstate(invalid="ignore", divide="ignore"):
            diagonal = np.einsum("bcii->bci", totals) / totals.sum(axis=3)
        of_class = mean_known(diagonal)  # over sections that occur
        return np.stack([mean_known(of_class[:, of]) for of in columns], axis=1)

    title = f"mean diagonal of the confusion of {n} views" + (", of what was found" if detected else "")
    names = tuple(
        Name(("confusion_diagonal", label), label, title if label in MEANS else "", percent=True)
        for label in labels
    )
    table = counts.sum(axis=0).astype(int)
    facts = {"confusion": {name: table[i].tolist() for i, name in enumerate(read.classes)}}
    # No share of independent cases: whoever gives one answer has 1 in n, come what may.
    how: dict[str, Any] = {"proportion": False, "bounds": (0.0, 1.0), "detail": detected}
    return Measures(read.units, counts, statistic, names, facts, **how)
