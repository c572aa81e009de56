"""Scores of segmenters: mIoU, and which classes suffer when another class is removed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
import polars as pl

from sightline.exams.base import Measures, Name
from sightline.exams.context.counts import SUBSETS, ContextRecords, Floats, Share, comes_back, measured, subsets
from sightline.exams.context.records import TURNED
from sightline.stats import mean_known

SWEEP: Final = (0.02, 0.05, 0.1, 0.2, 0.3, 0.5)
"""Changes of an IoU that the affected rate is also given for."""


def segmented(read: ContextRecords, alpha: float, fewest: int, companion: str = "") -> Iterator[Measures]:
    """MIoU and accuracy, affected rates, IoU by companion, and what comes back."""
    yield _overlap(read)
    yield from _affected(read, alpha, fewest)
    yield _companions(read, companion)
    own = read.rows.filter(pl.col("found").is_not_null())
    yield comes_back(read, own, pl.col("found"), "share of a removed class's pixels still given that class")


def _overlap(read: ContextRecords) -> Measures:
    """IoU of each class over all pixels, mIoU on Full, Co-occur and Single, pixel accuracy."""
    rows = read.rows.filter(pl.col("edit") == "original")
    rows = rows.join(read.items.select("item", n=pl.col("labelled").list.len()), on="item")
    classes = sorted(set(rows.filter(pl.col("pixels") > 0)["category"]))
    fields = {name: pl.col(name) for name in ("both", "either", "pixels")}
    parts = [read.counted(of, classes, "category", fields) for of in subsets(rows).values()]
    c, shares = len(classes), []
    for s, (subset, word) in enumerate(SUBSETS.items()):
        name = Name(("miou", subset), word, "mIoU", "", f"mIoU, {word}", -1, percent=True)
        shares.append(Share(name, 0, 1, range(s * c, (s + 1) * c)))
    right = Name(("pixel_accuracy",), "pixel accuracy", "mIoU", "", "pixel accuracy", -1, percent=True)
    shares.append(Share(right, 0, 2, range(c), pooled=True))
    for i, name in enumerate(classes):
        shares.append(
            Share(Name(("iou", name), name, "IoU by class", "IoU", f"  IoU, {name}", 1, percent=True), 0, 1, [i])
        )
    facts = {"n_by_subset": {word: of["item"].n_unique() for word, of in subsets(rows).items()}}
    # Pixels are no independent cases: no Wilson interval.
    return measured(read, np.concatenate(parts, axis=1), shares, facts=facts, proportion=False, bounds=(0.0, 1.0))


def _affected(read: ContextRecords, alpha: float, fewest: int) -> Iterator[Measures]:
    """AR(c_i, c_j), its maximum over c_j, its sparsity, the sweep of α, and the signed mean ΔIoU."""
    removed = read.changes.filter(pl.col("edit") == "removal")
    removed = removed.with_columns(pair=pl.concat_list("category", "gone").list.join("\n"))
    times = {tuple(pair.split("\n")): n for pair, n in removed["pair"].value_counts().iter_rows()}
    pairs = sorted(times)
    thick = [pair for pair in pairs if times[pair] >= fewest]
    size = pl.col("delta").abs() + 1e-12  # α itself counts, however it was rounded
    fields = {"n": pl.lit(1), "hit": size >= alpha, "delta": pl.col("delta")}
    fields |= {f"{a:g}": size >= a for a in SWEEP}
    counts = read.counted(removed, ["\n".join(pair) for pair in thick], "pair", fields)
    classes = sorted({name for name, _ in thick})
    rows = {name: [i for i, pair in enumerate(thick) if pair[0] == name] for name in classes}

    def highest(totals: Floats, name: str, field: int) -> Floats:
        rates: Floats = totals[:, rows[name], field] / totals[:, rows[name], 0]
        most: Floats = np.fmax.reduce(rates, axis=1)
        return most

    names = [Name(("unaffected", "mean"), "unaffected by the worst removal", headline=1, percent=True)]
    names += [Name(("ar", "max", "mean"), "max AR, mean over classes", "affected", "", percent=True)]
    names += [
        Name(("ar", "max", name), name, "max AR by class", "max AR", f"  max AR, {name}", 1, percent=True)
        for name in classes
    ]
    names += [Name(("unaffected", name), name, part=True, percent=True) for name in classes]
    names += [Name(("ar", "by_alpha", f"{a:g}"), f"max AR at α = {a:g}", percent=True) for a in SWEEP]
    names += [Name(("ar", "pairs", *pair), f"{pair[0]} without {pair[1]}", percent=True) for pair in thick]

    def statistic(totals: Floats) -> Floats:
        with np.errstate(invalid="ignore", divide="ignore"):
            most = np.stack([highest(totals, name, 1) for name in classes], axis=1)
            sweep = [
                mean_known(np.stack([highest(totals, name, 3 + a) for name in classes], axis=1))
                for a in range(len(SWEEP))
            ]
            rates = totals[:, :, 1] / totals[:, :, 0]
        mean = mean_known(most)[:, None]
        return np.concatenate([1 - mean, mean, most, 1 - most, np.stack(sweep, axis=1), rates], axis=1)

    whole = counts.sum(axis=0)
    facts: dict[str, Any] = {"n_pairs": len(pairs), "n_thin_pairs": len(pairs) - len(thick)}
    facts["images_by_pair"] = _nested({pair: times[pair] for pair in pairs})
    facts["turned"] = _turned(read)
    if not thick:
        why = f"no two classes, one of them removable, stand together in {fewest} images"
        yield measured(read, counts, (), facts=facts | {"ar": None, "reasons": {"ar": why}})
        return
    quiet = float((whole[:, 1] <= 0.1 * whole[:, 0]).mean())
    facts["ar"] = {"alpha": alpha, "sparsity": quiet}
    yield Measures(read.units, counts, statistic, tuple(names), facts)
    gaps = [
        Share(Name(("delta_iou", *pair), f"{pair[0]} without {pair[1]}"), 2, 0, [i]) for i, pair in enumerate(thick)
    ]
    yield measured(read, counts, gaps, proportion=False, bounds=(-1.0, 1.0))


def _nested(flat: Mapping[Sequence[str], Any]) -> dict[str, dict[str, Any]]:
    made: dict[str, dict[str, Any]] = {}
    for (first, second), value in flat.items():
        made.setdefault(first, {})[second] = value
    return made


def _turned(read: ContextRecords) -> dict[str, Any]:
    """Class → removed class → what its affected pixels turned into, and how far from the hole they lie."""
    turned = read.rows.filter(pl.col("edit") == TURNED)
    made: dict[tuple[str, str], Any] = {}
    for (name, gone), of in turned.group_by("category", "gone", maintain_order=True):
        pixels = of["pixels"].to_numpy().astype(float)
        to = of.group_by("to").agg(pl.col("pixels").sum()).sort("pixels", "to", descending=[True, False])
        made[str(name), str(gone)] = {
            "to": {word or "none": n / pixels.sum() for word, n in to.iter_rows()},
            "distance": float(np.average(of["distance"].to_numpy(), weights=pixels)),
        }
    return _nested(dict(sorted(made.items())))


def companions(read: ContextRecords) -> dict[str, str]:
    """Class → the removable class that most images with it have as well; of equals the one with the most pixels."""
    original = read.rows.filter(pl.col("edit") == "original").select("item", "category", "pixels")
    pixels = {(item, name): n or 0 for item, name, n in original.iter_rows()}
    seen: dict[str, dict[str, tuple[int, int]]] = {}
    for item, labelled, removable in read.items.select("item", "labelled", "removable").iter_rows():
        for name in labelled or ():
            for other in removable or ():
                if other != name:
                    times, area = seen.setdefault(name, {}).get(other, (0, 0))
                    seen[name][other] = times + 1, area + pixels.get((item, other), 0)
    # The most first; the last resort is the name, so that every run says the same.
    return {name: min(of, key=lambda o: (-of[o][0], -of[o][1], o)) for name, of in sorted(seen.items())}


def _companions(read: ContextRecords, companion: str) -> Measures:
    """IoU of each class in images with its companion and in those without (the paper's Table 2)."""
    rows = read.rows.filter(pl.col("edit") == "original").join(
        read.items.select("item", present=pl.concat_list("classes", "labelled")), on="item"
    )
    known = set(rows.filter(pl.col("pixels") > 0)["category"])
    pairs = dict.fromkeys(sorted(known - {companion}), companion) if companion else companions(read)
    classes = [name for name in pairs if name in known]
    fields = {name: pl.col(name) for name in ("both", "either")} | {"n": pl.col("pixels") > 0}
    rows = rows.filter(pl.col("category").is_in(classes))
    of_class = rows["category"].replace_strict(pairs, return_dtype=pl.String) if classes else rows["category"]
    beside = rows.with_columns(companion=of_class).select(pl.col("present").list.contains(pl.col("companion")))
    with_it = beside.to_series()
    parts, shares = [], []
    images: dict[str, dict[str, int]] = {name: {} for name in classes}
    for s, (word, where) in enumerate((("with", with_it), ("without", ~with_it))):
        parts.append(read.counted(rows.filter(where), classes, "category", fields))
        for i, name in enumerate(classes):
            label, family = f"{name}, {word} {pairs[name]}", "with and without"
            n = images[name][word] = int(parts[s][:, i, 2].sum())
            table, said = "IoU with and without a companion (images with the class)", f"{label} ({n})"
            path = ("iou_by_companion", name, word)
            shown = Name(path, said, table, family, f"  {label}", 2, percent=True)
            shares.append(Share(shown, 0, 1, [s * len(classes) + i]))
    facts: dict[str, Any] = {"companions": {name: pairs[name] for name in classes}, "n_by_companion": images}
    if companion and not any(of["with"] for of in images.values()):
        facts["reasons"] = {"iou_by_companion": f"no image has {companion} beside another class"}
    return measured(read, np.concatenate(parts, axis=1), shares, facts=facts, proportion=False, bounds=(0.0, 1.0))
