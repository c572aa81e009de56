"""Context scores of real models on photos of coco-tiny and coco-lightly, as JSON for docs/results/context.md."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import sightline as sl
from _verification_rows import ROOT, SHARED
from sightline.exams.context.counts import ContextRecords
from sightline.exams.context.exam import FEWEST, ContextExam
from sightline.exams.scoring import RunResult
from sightline.geometry.masks import dilate
from sightline.stats import Interval, intervals
from sightline.store import Dataset

WEIGHTS = Path(os.environ.get("SIGHTLINE_WEIGHTS", ROOT.parent / "shared" / "weights"))
MODELS = {"classify": "efficientdet-lite2.tflite", "segment": "deeplabv3.tflite"}
MIGAN = WEIGHTS / "migan_pipeline_v2.onnx"
FILLS = {"telea": "telea", "ns": "ns", "MI-GAN": f"onnx:{MIGAN}"}
SETS = {"coco-tiny": "validation", "coco-lightly": None}
"""Photos, and the split of them; None for all."""
PAIRED = (("ns", "telea"), ("MI-GAN", "telea"))
SHOWN = {
    "classify": ("V^min, all cases together", "V^mean, all cases together", "V^min", "mAP, Full"),
    "segment": ("max AR, mean over classes", "mIoU, Full"),
}
"""Rows of a comparison that the page shows."""


@dataclass(frozen=True)
class Photos:
    """Imported photos and the runs over them, each made once in a folder."""

    folder: Path

    def data(self, name: str) -> Dataset:
        """A set of photos, imported."""
        place = self.folder / name
        if not (place / "dataset.json").exists():
            source = {"coco-tiny": SHARED / name, "coco-lightly": SHARED / name / "panoptic_segmentation"}[name]
            images = {"coco-tiny": (), "coco-lightly": ("--images", SHARED / name / "images" / "val2017")}[name]
            command = [sys.executable, "-m", "sightline", "import", source, *images, "--out", place]
            subprocess.run(command, check=True)
        return sl.open(place)

    def run(self, name: str, skill: str, fill: str) -> RunResult:
        """One model under one fill; what is there is kept."""
        exam = ContextExam(fill=FILLS[fill], split=SETS[name], skill=skill)  # type: ignore[arg-type]
        spec = f"tflite:{WEIGHTS / MODELS[skill]}"
        short = MODELS[skill].partition(".")[0]
        out = self.folder / "runs" / name
        (result,) = sl.examine(spec, self.data(name), exam, out=out, baselines=False, names=[short], resume=True)
        return result


def measured(folder: Path, fills: Sequence[str], say: Callable[[str], None]) -> dict[str, Any]:
    """Figures of both models on both sets under some fills, and paired differences between fills."""
    photos = Photos(folder)
    facts: dict[str, Any] = {}
    for name in SETS:
        facts[name] = {}
        for skill in MODELS:
            results: dict[str, RunResult] = {}
            for fill in fills:
                say(f"{name}: {MODELS[skill]}, {fill}")
                results[fill] = photos.run(name, skill, fill)
            kinds = {"classify": classified, "segment": segmented}
            facts[name][skill] = {fill: kinds[skill](result) for fill, result in results.items()}
            facts[name][f"{skill}_paired"] = {
                f"{a} − {b}": differences(results[a], results[b], SHOWN[skill])
                for a, b in PAIRED
                if a in results and b in results
            }
            if name == "coco-tiny" and skill == "classify" and "telea" in results:
                facts[name]["grown_limit"] = grown_limit(photos.data(name), results["telea"])
    return facts


def number(value: Interval | None) -> list[float | None] | None:
    """Value and limits, to four digits; None where it cannot be had."""
    if value is None or not math.isfinite(value.value):
        return None
    return [round(v, 4) if math.isfinite(v) else None for v in (value.value, value.low, value.high)]


def controls(result: RunResult) -> dict[str, Any]:
    """How often edits that remove something, and such that do not, affect a class; what is found again."""
    at = result.scores.at
    return {
        "controls": {kind: number(at("controls", kind)) for kind in ("removal", "false_edit", "empty_region")},
        "n_controls": result.scores.facts["n_controls"],
        "comes_back": number(at("comes_back")),
    }


def classified(result: RunResult) -> dict[str, Any]:
    """Figures of a classifier."""
    at, facts = result.scores.at, result.scores.facts
    read = ContextRecords.of(result.records)
    assert read is not None
    cases = facts["n_cases_by_class"]
    by_class = {
        name: {"n": n, **{key: number(at(key, name)) for key in ("v_min", "v_mean", "ap")}}
        for name, n in cases.items()
        if n >= FEWEST
    }
    return {
        "images": facts["n_images"],
        "images_with_cases": read.cases["item"].n_unique(),
        "cases": facts["n_cases"],
        "classes_with_cases": sum(n > 0 for n in cases.values()),
        "chance": facts["chance"],
        **{key: {of: number(at(key, of)) for of in ("mean", "pooled")} for key in ("v_min", "v_mean")},
        "cases_left": facts.get("n_cases_left"),
        "v_min_left": number(at("v_min_left", "pooled")),
        "v_mean_left": number(at("v_mean_left", "pooled")),
        "ties_min": round(float((read.cases["lowest"] == read.cases["without"]).mean() or 0), 4),
        "ties_mean": round(float((read.cases["gap"] == 0).mean() or 0), 4),
        "by_context": {
            k: {"n": n, "chance": facts["chance_by_context"]["v_min"][k]}
            | {key: number(at(f"{key}_by_context", k)) for key in ("v_min", "v_mean")}
            for k, n in facts["n_by_context"].items()
        },
        "map": {of: number(at("map", of)) for of in ("full", "cooccur", "single")},
        "n_by_subset": facts["n_by_subset"],
        "by_class": by_class,
        **controls(result),
    }


def segmented(result: RunResult) -> dict[str, Any]:
    """Figures of a segmenter."""
    at, facts = result.scores.at, result.scores.facts
    pairs = [
        {
            "affected": c,
            "removed": d,
            "n": n,
            "ar": number(at("ar", "pairs", c, d)),
            "delta": number(at("delta_iou", c, d)),
        }
        for c, of in facts.get("images_by_pair", {}).items()
        for d, n in of.items()
        if n >= FEWEST
    ]
    return {
        "images": facts["n_images"],
        "max_ar": number(at("ar", "max", "mean")),
        "max_ar_by_class": {
            name: number(value) for name, value in result.scores.below("ar", "max").items() if name != "mean"
        },
        "pairs": sorted(pairs, key=lambda pair: -(pair["ar"] or [0])[0]),
        "n_pairs": facts.get("n_pairs"),
        "n_thin_pairs": facts.get("n_thin_pairs"),
        "sparsity": (facts.get("ar") or {}).get("sparsity"),
        "by_alpha": {key: number(value) for key, value in result.scores.below("ar", "by_alpha").items()},
        "miou": number(at("miou", "full")),
        "pixel_accuracy": number(at("pixel_accuracy")),
        "known": sorted(result.scores.below("iou")),
        **controls(result),
    }


def differences(a: RunResult, b: RunResult, names: Sequence[str]) -> dict[str, Any]:
    """Paired differences a − b of some figures, by source image."""
    rows = {row.name.strip(): row for row in sl.compare(a, b).comparisons}
    return {
        name: {
            "difference": round(r.difference, 4),
            "low": round(r.low, 4),
            "high": round(r.high, 4),
            "p": round(r.p_value, 4),
        }
        for name in names
        if (r := rows.get(name)) is not None
    }


def grown_limit(data: Dataset, result: RunResult) -> dict[str, Any]:
    """V^min, V^mean and ties with the limit of 30 % on the grown hole instead of on the masks."""
    small = {
        (item.id, name)
        for item in ContextExam(split="validation").items(data)
        for name, mask in item.masks().items()
        if mask is not None and mask.any() and dilate(mask, 5).mean() <= 0.3
    }
    read = ContextRecords.of(result.records)
    assert read is not None
    kept = [
        (row["edit"] != "removal")
        or ((row["item"], row["gone"]) in small and (row["item"], row["category"]) in small)
        for row in read.rows.select("edit", "item", "gone", "category").iter_rows(named=True)
    ]
    cases = ContextRecords(read.rows.filter(pl.Series(kept)), read.items, read.units, read.skill).cases
    found = [cases["lowest"] < cases["without"], cases["gap"] < 0, cases["lowest"] == cases["without"]]
    counts = np.zeros((len(read.units), 4))
    np.add.at(
        counts, cases["unit"].to_numpy(), np.column_stack([np.ones(len(cases)), *(f.to_numpy() for f in found)])
    )
    v_min, v_mean, ties = intervals(counts, lambda totals: totals[..., 1:] / totals[..., :1], proportion=True)
    return {
        "cases": len(cases),
        "images": cases["item"].n_unique(),
        "v_min": number(v_min),
        "v_mean": number(v_mean),
        "ties": number(ties),
        "chance": round(float((cases["k"] / (cases["k"] + 1)).mean() or 0), 4),
    }


def violations(result: RunResult, most: int) -> Iterator[tuple[str, str, str, float, float]]:
    """(image, class, context, score without context, score without the class) of the largest violations."""
    read = ContextRecords.of(result.records)
    assert read is not None
    broken = read.cases.filter(pl.col("lowest") < pl.col("without")).sort(pl.col("lowest") - pl.col("without"))
    yield from broken.head(most).select("item", "category", "context", "lowest", "without").iter_rows()
