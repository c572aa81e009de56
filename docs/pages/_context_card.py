"""The context paper's Tables 1 to 4 and 7 from our trainings, on a card or a CPU, with paired intervals, as JSON.

Reads the two files that ``benchmarks/context.py … --pack`` wrote. Intervals are by held-out scene; a figure of
three seeds is the mean of their figures on the same scenes, so an interval says how it would move on other scenes,
not with other seeds: those are given one by one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from _context_photos import number
from sightline.stats import intervals
from sightline.stats.intervals import percentile_limits
from sightline.stats.ranked import Ranking, mean_known, rank, resampled_scores

METHODS = ("baseline", "longer", "rand", "const")
"""Those of the paper, and the baseline with twice the steps."""
BASES = {"paired": "baseline", "paired_longer": "longer"}
"""What methods are held against, each by those after it."""
PARTS = ("full", "cooccur")
NETS = ("light", "vgg")
WORLDS = ("full", "unbiased", "reversed")
SUBSETS = {"full": 1, "cooccur": 2, "single": -1}
"""Pictures of a class, of two and more, of exactly one."""
ROAD = ("road", "sidewalk")
ORDER = (
    *(f"street-{name}" for name in ("baseline", "longer", "random-ignore", "sizebased-ignore")),
    *(f"street-{name}" for name in ("hardnegative-ignore", "sizebased-negative", "hardnegative-negative")),
    *(f"street-{name}" for name in ("sizebased-kept", "sizebased-grey")),
    *(f"three-{method}-{part}" for part in PARTS for method in ("baseline", "longer", "hardnegative-negative")),
)
"""Segmenters as the paper's tables have them."""
STREETS = ("full", "with_car", "without_car", "reversed")
LEAST = 10
"""Pictures that a pair of classes needs for its AR to count."""
ALPHA = 0.1
RESAMPLES = 1000

Floats = NDArray[np.float64]
Arrays = Mapping[str, NDArray[Any]]


def measured(folders: Sequence[Path]) -> dict[str, Any]:
    """Everything of the page's section, from folders with ``context-card.json`` and ``context-card.npz``."""
    facts: dict[str, Any] = {}
    arrays: dict[str, NDArray[Any]] = {}
    for folder in folders:
        facts |= json.loads((folder / "context-card.json").read_text(encoding="utf-8"))
        with np.load(folder / "context-card.npz") as content:
            arrays |= {key: content[key] for key in content.files}
    kinds = {
        word: {n: one for n, one in facts.items() if one.get("kind") == word}
        for word in ("classifier", "segmenter")
    }
    made: dict[str, Any] = {"classifiers": {}}
    for net in NETS:
        of = {name: one for name, one in kinds["classifier"].items() if name.startswith(f"{net}-")}
        if of:
            made["classifiers"][net] = classifiers(net, of, arrays)
    streets = {name: one for name, one in kinds["segmenter"].items() if name.startswith("street-")}
    three = {name: one for name, one in kinds["segmenter"].items() if name.startswith("three-")}
    made["streets"] = segmenters(streets, arrays) if streets else {}
    made["three"] = three_classes(three, arrays) if three else {}
    made["inpainter"] = {n: painter(n, one, arrays) for n, one in facts.items() if "held_out" in one}
    made["fills"] = under_fills(facts["fills"], arrays) if "fills" in facts else {}
    made["device"] = next(one["device"] for one in facts.values() if "device" in one)
    return made


def about(facts: Mapping[str, Any]) -> dict[str, Any]:
    """How a network was taught."""
    training = facts["training"]
    kept = ("steps", "batch", "rate", "removal", "hinge", "share", "negative", "start", "size")
    plan = {key: value for key, value in training["plan"].items() if key in kept}
    plan |= {"start": bool(plan["start"])} if "start" in plan else {}
    return {
        "plan": plan,
        "pixels": facts["pixels"],
        "scenes": training["source"]["scenes"],
        "examined": {world: figures["n_scenes"] for world, figures in facts["figures"].items()},
        "images_seen": facts["images_seen"],
        "train_seconds": facts["train_seconds"],
    }


def classifiers(net: str, facts: Mapping[str, Any], arrays: Arrays) -> dict[str, Any]:
    """Table 1 of one kind of network: a row a part and method, over the seeds that baseline and method share."""
    made: dict[str, Any] = {}
    for part in PARTS:
        for method in METHODS:
            seeds = [seed for seed in range(10) if f"{net}-{method}-{part}-{seed}" in facts]
            if not seeds:
                continue
            names = [f"{net}-{method}-{part}-{seed}" for seed in seeds]
            row: dict[str, Any] = {**about(facts[names[0]]), "seeds": seeds}
            row["images_seen"] = round(float(np.mean([facts[name]["images_seen"] for name in names])))
            row["train_seconds"] = max(facts[name]["train_seconds"] for name in names)
            row["figures"] = dict(of_seeds(names, arrays))
            for word, base in BASES.items():
                shared = [seed for seed in seeds if f"{net}-{base}-{part}-{seed}" in facts]
                if METHODS.index(method) > METHODS.index(base) and shared:
                    pairs = [[f"{net}-{one}-{part}-{seed}" for seed in shared] for one in (method, base)]
                    row[word] = dict(paired(*pairs, arrays))
            made[f"{method}-{part}"] = row
    return made


def of_seeds(names: Sequence[str], arrays: Arrays) -> Iterator[tuple[str, dict[str, Any]]]:
    """Figures of one method: mean over seeds with its interval by scene, and each seed's."""
    for figure, (value, low, high, each) in figures(names, arrays).items():
        yield figure, {"value": [value, low, high], "seeds": each}


def paired(ours: Sequence[str], base: Sequence[str], arrays: Arrays) -> Iterator[tuple[str, dict[str, Any]]]:
    """Differences of one method to the baseline of the same seeds, likewise."""
    for figure, (value, low, high, each) in figures(ours, arrays, base).items():
        yield figure, {"difference": value, "low": low, "high": high, "seeds": each}


Figure = tuple[float, float, float, list[float]]


def figures(names: Sequence[str], arrays: Arrays, base: Sequence[str] = ()) -> dict[str, Figure]:
    """V^min, V^mean and mAP by world and subset of some networks; less those of others on the same scenes."""
    made: dict[str, Figure] = {}
    for world in WORLDS:
        for key in ("v_min", "v_mean"):
            counts = np.stack([violations(name, world, key, arrays) for name in (*names, *base)], axis=1)
            for word, share in (("", by_class), ("_pooled", together)):
                made[f"{key}{word}, {world}"] = counted(counts, share, len(names))
        for subset in SUBSETS if world == "full" else ("full",):
            groups = {name: rankings(name, world, subset, arrays) for name in (*names, *base)}
            made[f"map, {world}, {subset}"] = ranked(groups, len(names))
    return made


def violations(name: str, world: str, key: str, arrays: Arrays) -> Floats:
    """(scenes, classes, 2) cases and those violated."""
    one = {part: arrays[f"{name}|{world}_{part}"] for part in ("scene", "kind", key, "labels")}
    counts = np.zeros((*one["labels"].shape, 2))
    np.add.at(counts, (one["scene"], one["kind"], 0), 1.0)
    np.add.at(counts, (one["scene"], one["kind"], 1), one[key])
    return counts


def by_class(totals: Floats) -> Floats:
    """(…) mean over classes of the share violated, of totals (…, classes, 2)."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return mean_known(totals[..., 1] / totals[..., 0])


def together(totals: Floats) -> Floats:
    """(…) share violated of all cases."""
    summed = totals.sum(axis=-2)
    with np.errstate(invalid="ignore", divide="ignore"):
        return summed[..., 1] / summed[..., 0]


def counted(counts: Floats, share: Callable[[Floats], Floats], first: int) -> Figure:
    """Mean over the first networks of a share, less that of the others; counts are (scenes, networks, …)."""

    def difference(each: Floats) -> Floats:
        base = each[..., first:]
        return each[..., :first].mean(axis=-1, keepdims=True) - (
            base.mean(axis=-1, keepdims=True) if base.size else 0.0
        )

    found = intervals(counts, lambda totals: difference(share(totals)), proportion=counts.shape[1] == first)[0]
    each = share(counts.sum(axis=0))
    seeds = each[:first] - (each[first:] if len(each) > first else 0.0)
    return rounded(found.value, found.low, found.high, seeds)


def rankings(name: str, world: str, subset: str, arrays: Arrays) -> list[Ranking]:
    """One ranking a class, over the scenes of a subset."""
    labels, scores = (arrays[f"{name}|{world}_{part}"] for part in ("labels", "scores"))
    shown, asked = labels.sum(axis=1), SUBSETS[subset]
    rows = shown == 1 if asked < 0 else shown >= asked
    places = np.arange(rows.sum())
    return [
        rank(score, places, truth, truth.astype(float))
        for truth, score in zip(labels[rows].T, scores[rows].T, strict=True)
    ]


def ranked(groups: Mapping[str, list[Ranking]], first: int) -> Figure:
    """Mean over the first networks of the mAP, less that of the others."""
    each = np.array([mean_precision(group) for group in groups.values()])
    drawn = resampled_scores(groups, points="all", resamples=RESAMPLES)
    seeds = each[:first] - (each[first:] if len(each) > first else 0.0)
    values = drawn[:, :first].mean(axis=1)
    if len(each) > first:
        values = values - drawn[:, first:].mean(axis=1)
    low, high = percentile_limits(values[:, None], 0.95)
    return rounded(float(seeds.mean()), float(low[0]), float(high[0]), seeds)


def mean_precision(group: Sequence[Ranking]) -> float:
    """Mean over classes of the area under the curve."""
    from sightline.stats.ranked import average_precision

    each = [average_precision(ranking, points="all").item() for ranking in group]
    return float(np.nanmean(each))


def rounded(value: float, low: float, high: float, seeds: Floats) -> Figure:
    """To four digits; NaN stays."""
    return round(value, 4), round(low, 4), round(high, 4), [round(float(one), 4) for one in seeds]


def segmenters(facts: Mapping[str, Any], arrays: Arrays) -> dict[str, Any]:
    """Tables 2, 3 and 7: every strategy's figures, and differences to those without removal."""
    made: dict[str, Any] = {}
    for name in sorted(facts, key=list(ORDER).index):
        made[name] = {**about(facts[name]), "figures": dict(street_figures([name], facts, arrays))}
        for word, base in bases_of(name, facts):
            made[name][word] = dict(street_figures([name, base], facts, arrays))
    return made


def bases_of(name: str, facts: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What a segmenter is held against: the networks without removal of its scenes that come before it."""
    kind, part = name.partition("-")[0], facts[name]["part"]
    for word, method in BASES.items():
        base = f"street-{method}" if kind == "street" else f"{kind}-{method}-{part}"
        if base in facts and ORDER.index(base) < ORDER.index(name):
            yield word, base


def street_figures(names: Sequence[str], facts: Mapping[str, Any], arrays: Arrays) -> Iterator[tuple[str, Any]]:
    """Figures of one segmenter, or its differences to a second on the same scenes."""
    about_it = facts[names[0]]
    classes = about_it["classes"]
    places = [classes.index(name) for name in about_it["among"] or classes]
    for world in STREETS:
        if f"{names[0]}|{world}_both" not in arrays:
            continue
        pixels = np.stack([overlaps(name, world, arrays) for name in names], axis=1)
        yield f"miou, {world}", compared(pixels, lambda t, p=places: mean_known(iou(t)[..., p]))
        yield f"accuracy, {world}", compared(pixels, lambda t: t[..., 0].sum(-1) / t[..., 2].max(-1))
        for name in ROAD:
            place = classes.index(name)
            yield f"iou {name}, {world}", compared(pixels, lambda t, c=place: iou(t)[..., c])
    if f"{names[0]}|full_gone" in arrays:
        yield from affected_rates(names, about_it, arrays)


def affected_rates(names: Sequence[str], facts: Mapping[str, Any], arrays: Arrays) -> Iterator[tuple[str, Any]]:
    """AR of road and sidewalk, their largest, and the mean over classes of the largest."""
    classes = facts["classes"]
    counts = np.stack([changes(name, "full", facts["things"], arrays) for name in names], axis=1)
    heard = counts[:, 0, :, :, 0].sum(axis=0) >= LEAST
    if not heard.any():
        return
    yield "max AR", compared(counts, lambda t: mean_known(loudest(t, heard)))
    for name in ROAD:
        c, d = classes.index(name), classes.index("car")
        if heard[c].any():
            yield f"max AR {name}", compared(counts, lambda t, c=c: loudest(t, heard)[..., c])
        if heard[c, d]:
            yield f"AR {name} car", compared(counts, lambda t, c=c, d=d: t[..., c, d, 1] / t[..., c, d, 0])


def overlaps(name: str, world: str, arrays: Arrays) -> Floats:
    """(scenes, classes, 3) pixels of both, of either, and of the picture."""
    both, either, pixels = (arrays[f"{name}|{world}_{part}"] for part in ("both", "either", "pixels"))
    return np.stack([both, either, np.broadcast_to(pixels[:, None], both.shape)], axis=-1).astype(float)


def iou(totals: Floats) -> Floats:
    """(…, classes) of totals (…, classes, 3)."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return totals[..., 0] / totals[..., 1]


def changes(name: str, world: str, things: int, arrays: Arrays) -> Floats:
    """(scenes, classes, things, 2) pictures with a class and a removed one, and those where it is affected."""
    before, after, source, gone, labels = (
        arrays[f"{name}|{world}_{part}"] for part in ("before", "after", "source", "gone", "labels")
    )
    change = after - before
    known = np.isfinite(change)
    known[np.arange(len(gone)), gone] = False
    counts = np.zeros((len(labels), labels.shape[1], things, 2))
    edits, kinds = np.nonzero(known)
    places = source[edits], kinds, gone[edits]
    np.add.at(counts, (*places, 0), 1.0)
    np.add.at(counts, (*places, 1), np.abs(change[edits, kinds]) >= ALPHA - 1e-6)
    return counts


def loudest(totals: Floats, heard: NDArray[np.bool_]) -> Floats:
    """(…, classes) the largest AR of each, over pairs with pictures enough."""
    with np.errstate(invalid="ignore", divide="ignore"):
        rates = np.where(heard & (totals[..., 0] > 0), totals[..., 1] / totals[..., 0], -1.0)
    most = rates.max(axis=-1)
    return np.where(most < 0, np.nan, most)


def compared(counts: Floats, share: Callable[[Floats], Floats]) -> list[float | None] | None:
    """A figure of one network, or the difference of two; counts are (scenes, networks, …)."""

    def statistic(totals: Floats) -> Floats:
        each = share(totals)
        return each[..., :1] - each[..., 1:2] if counts.shape[1] > 1 else each

    return number(intervals(counts, statistic, proportion=counts.shape[1] == 1)[0])


def three_classes(facts: Mapping[str, Any], arrays: Arrays) -> dict[str, Any]:
    """Table 4: mIoU of three classes on Full, Co-occur and Single scenes, by the scenes learned from."""
    made: dict[str, Any] = {}
    for name in sorted(facts, key=list(ORDER).index):
        one = facts[name]
        made[name] = {**about(one), "part": one["part"], "figures": subsets([name], facts, arrays)}
        for word, base in bases_of(name, facts):
            made[name][word] = subsets([name, base], facts, arrays)
    return made


def subsets(names: Sequence[str], facts: Mapping[str, Any], arrays: Arrays) -> dict[str, Any]:
    """Mean IoU by subset, of one network or less that of a second."""
    one = facts[names[0]]
    places = [one["classes"].index(name) for name in one["among"]]
    shown = arrays[f"{names[0]}|full_labels"][:, places].sum(axis=1)
    made = {}
    for word, asked in SUBSETS.items():
        rows = shown == 1 if asked < 0 else shown >= asked
        pixels = np.stack([overlaps(name, "full", arrays)[rows] for name in names], axis=1)
        made[word] = compared(pixels, lambda t: mean_known(iou(t)[..., places])) if rows.any() else None
    return made


def painter(name: str, facts: Mapping[str, Any], arrays: Arrays) -> dict[str, Any]:
    """PSNR in the hole by held-out world, beside other fills, paired by hole."""
    made: dict[str, Any] = {key: facts[key] for key in ("plan", "source", "images_seen", "bytes") if key in facts}
    made["train_seconds"] = facts.get("train_seconds")
    made["worlds"] = {}
    rows: dict[str, list[NDArray[Any]]] = {}
    for world in facts["held_out"]:
        each = {key: arrays[f"{name}|{world}|{key}"] for key in ("psnr", "psnr_flat", "psnr_telea", "psnr_ns")}
        made["worlds"][world] = decibels(each)
        for key, values in each.items():
            rows.setdefault(key, []).append(values)
    made["worlds"]["all"] = decibels({key: np.concatenate(values) for key, values in rows.items()})
    return made


def decibels(each: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
    """Mean PSNR of each fill, dB, and the network's gain over the others with its interval by hole."""
    made: dict[str, Any] = {
        "holes": len(each["psnr"]),
        **{key: round(float(v.mean()), 2) for key, v in each.items()},
    }
    for key, values in each.items():
        if key != "psnr":
            gain = np.stack([np.ones(len(values)), each["psnr"] - values], axis=1)
            made[f"over{key.removeprefix('psnr')}"] = number(
                intervals(gain, lambda t: t[:, 1:] / t[:, :1], proportion=False)[0]
            )
    return made


def under_fills(facts: Mapping[str, Any], arrays: Arrays) -> dict[str, Any]:
    """V^min of all classifiers under every fill, less that under exact removal; verdicts and order that change."""
    scene = arrays["fills|scene"]
    names, others = facts["networks"], [fill for fill in facts["fills"] if fill != "exact"]

    def totals(flags: NDArray[Any]) -> Floats:
        """(scenes, 2) cases and the sum of a figure over them."""
        counts = np.zeros((facts["scenes"], 2))
        np.add.at(counts, (scene, 0), 1.0)
        np.add.at(counts, (scene, 1), flags)
        return counts

    def flags(fill: str, name: str) -> NDArray[np.float64]:
        return arrays[f"fills|{fill}_{name}_v_min"].astype(float)

    def figure(values: NDArray[Any], *, proportion: bool) -> list[float | None] | None:
        return number(intervals(totals(values), lambda t: t[:, 1:] / t[:, :1], proportion=proportion)[0])

    made: dict[str, Any] = {
        "scenes": facts["scenes"],
        "cases": len(scene),
        "networks": {},
        "all": {},
        "ranking": {},
    }
    for name in names:
        row: dict[str, Any] = {"exact": figure(flags("exact", name), proportion=True)}
        for fill in others:
            row[fill] = figure(flags(fill, name) - flags("exact", name), proportion=False)
        made["networks"][name] = row
    apart = [
        (a, b)
        for a, b in combinations(names, 2)
        if (gap := figure(flags("exact", a) - flags("exact", b), proportion=False)) and told_apart(gap)
    ]
    exact = {name: flags("exact", name).mean() for name in names}
    for fill in others:
        each = [(flags(fill, name), flags("exact", name)) for name in names]
        made["all"][fill] = {
            "difference": figure(np.mean([a - b for a, b in each], axis=0), proportion=False),
            "other_verdict": figure(np.mean([a != b for a, b in each], axis=0), proportion=True),
        }
        shares = {name: flags(fill, name).mean() for name in names}
        same = [np.sign(shares[a] - shares[b]) == np.sign(exact[a] - exact[b]) for a, b in combinations(names, 2)]
        kept = [np.sign(shares[a] - shares[b]) == np.sign(exact[a] - exact[b]) for a, b in apart]
        made["ranking"][fill] = {
            "pairs": len(same),
            "same": int(sum(same)),
            "apart": len(kept),
            "kept": int(sum(kept)),
        }
    return made


def told_apart(value: Sequence[float | None]) -> bool:
    """Whether the interval of a difference excludes 0."""
    low, high = value[1], value[2]
    return low is not None and high is not None and (low > 0 or high < 0)
