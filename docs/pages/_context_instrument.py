"""How far context scores under a fill lie from those under exact removal, on generated worlds, as JSON.

Small networks, taught on a CPU by ``benchmarks/context.py``, are examined under every fill on the same scenes.
Exact removal gives the score that is meant, so the difference is the fill's error.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.ndimage import uniform_filter
from scipy.stats import kendalltau, spearmanr

import sightline as sl
from _context_photos import FILLS, controls, differences, number
from sightline.exams.context.counts import ContextRecords
from sightline.exams.context.exam import ContextExam
from sightline.exams.context.items import ContextItem, Edits
from sightline.exams.scoring import RunResult
from sightline.generation import generate
from sightline.stats import intervals
from sightline.store import Dataset

WORLDS = ("context/train", "context/unbiased", "context/reversed")
STREET = "context/street/full"
SCENES, STREETS, FEW = 100, 60, 30
"""Scenes of a world, of streets, and scenes that the slow fill is measured on."""
SEED, SIZE, STREET_SIZE, RADIUS = 77, (240, 160), (192, 128), 3
EXACT, SLOW = "exact", "MI-GAN"
SCORED = ("exact", "exact-hole", "telea", "ns")
RULES = ("pixel_count", "context_only", "chance")
FIGURES = {"v_min": "V^min, all cases together", "v_mean": "V^mean, all cases together"}
MAP = "mAP, Full"
ROAD = ("road", "sidewalk")
SAME = 60.0
"""PSNR of pictures that are the same, dB."""
CHANGED = 4
"""Levels by which a pixel outside the hole must differ to be called changed: the shadow of what was removed."""

Pixels = NDArray[np.uint8]


@dataclass(frozen=True)
class OnceExam(ContextExam):
    """The exam with its edits kept in memory: the next model is shown the same pictures."""

    def edits(self, item: ContextItem) -> Edits:
        """The edits of an item, made once."""
        return _edits(self, item)


@lru_cache(maxsize=2000)
def _edits(exam: OnceExam, item: ContextItem) -> Edits:
    return ContextExam.edits(exam, item)


@dataclass(frozen=True)
class Worlds:
    """Generated scenes and runs over them, each made once in a folder; networks of another."""

    folder: Path
    networks: Path

    def data(self, world: str) -> Dataset:
        """Scenes of a world."""
        place = self.folder / world.replace("/", "-")
        count, size = (STREETS, STREET_SIZE) if world == STREET else (SCENES, SIZE)
        if not (place / "dataset.json").exists():
            generate(world, place, scenes=count, seed=SEED, size=size)
        return sl.open(place)

    def models(self, kind: str) -> dict[str, str]:
        """Networks taught, by name: classifiers, or segmenters of streets."""
        begin = {"classifier": "light-", "segmenter": "street-"}[kind]
        files = sorted(self.networks.glob(f"{begin}*/{kind}.safetensors"))
        return {file.parent.name.removeprefix(begin).replace("-full-", " "): f"{kind}:{file}" for file in files}

    def results(
        self, world: str, fill: str, models: Mapping[str, str], limit: int | None = None
    ) -> dict[str, RunResult]:
        """Runs of models under a fill, by name."""
        exam = OnceExam(fill=FILLS.get(fill, fill), radius=RADIUS)
        results = sl.examine(
            list(models.values()),
            self.data(world),
            exam,
            out=self.folder / ("runs" if limit is None else f"runs-{limit}") / world.replace("/", "-"),
            baselines=False,
            names=list(models),
            resume=True,
            limit=limit,
        )
        return {result.name: result for result in results}


def measured(folder: Path, networks: Path, fills: Sequence[str], say: Callable[[str], None]) -> dict[str, Any]:
    """Figures of all networks on all worlds under all fills, beside exact removal."""
    worlds = Worlds(folder, networks)
    nets = worlds.models("classifier")
    facts: dict[str, Any] = {"scenes": SCENES, "few": FEW, "size": SIZE, "radius": RADIUS, "worlds": {}}
    tables = []
    for world in WORLDS:
        models = nets | {rule: rule for rule in RULES}
        results: dict[str, dict[str, RunResult]] = {}
        for fill in fills:
            if fill == SLOW and world != "context/unbiased":
                continue
            say(f"{world}, {fill}")
            results[fill] = worlds.results(world, fill, models, FEW if fill == SLOW else None)
        few = worlds.results(world, EXACT, models, FEW) if SLOW in results else {}
        beside = {f: few if f == SLOW else results[EXACT] for f in results}
        facts["worlds"][world] = {
            "models": {
                name: {f: _figures(of[name], beside[f][name]) for f, of in results.items()} for name in models
            },
            "methods": {
                f"{name} − {base}": differences(
                    results[EXACT][name], results[EXACT][base], (*FIGURES.values(), MAP)
                )
                for name, base in _pairs_of_methods(nets)
            },
            "ranking": {
                f: ranking({n: of[n] for n in nets}, {n: beside[f][n] for n in nets}) for f, of in results.items()
            },
        }
        say(f"{world}, pictures")
        tables += [
            verdicts(world, f, {n: of[n] for n in nets}, results[EXACT], edits_facts(worlds, world, f))
            for f, of in results.items()
            if f != EXACT
        ]
    cases = pl.concat(tables)
    facts["quality"] = {
        f: quality(cases.filter(pl.col("fill") == f)) for f in cases["fill"].unique(maintain_order=True)
    }
    facts["groups"] = groups(cases)
    return facts


def _pairs_of_methods(nets: Sequence[str] | Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """(taught with removal, baseline) of the same seed."""
    for name in nets:
        base = f"baseline {name.split()[-1]}"
        if name != base and base in nets:
            yield name, base


def trained(networks: Path) -> dict[str, Any]:
    """What ``benchmarks/context.py`` wrote of the networks: pictures seen, seconds, and figures by test world."""
    made: dict[str, Any] = {"classifiers": {}, "segmenters": {}}
    for file in sorted((networks / "results").glob("*.json")):
        facts = json.loads(file.read_text(encoding="utf-8"))
        if "figures" not in facts:  # an in-painter's
            continue
        kind = "classifiers" if "v_min" in facts["figures"]["full"] else "segmenters"
        of = {"scenes": facts["training"]["source"]["scenes"], "images_seen": facts["images_seen"]}
        for world, one in facts["figures"].items():
            if kind == "classifiers":
                kept = {"v_min": one["v_min"]["mean"], "v_mean": one["v_mean"]["mean"], "map": one["map"]}
            else:
                kept = {"miou": one["miou"]["full"], "iou": {n: one["iou"]["full"].get(n) for n in ROAD}}
                kept["max_ar"] = {n: one["ar"]["max"].get(n) for n in ROAD}
                kept["n_scenes"] = one["n_scenes"]
            of[world] = kept
        made[kind][file.stem] = of
    return made


def streets(folder: Path, networks: Path, fills: Sequence[str], say: Callable[[str], None]) -> dict[str, Any]:
    """AR of segmenters of streets under all fills, beside exact removal."""
    worlds = Worlds(folder, networks)
    models = worlds.models("segmenter")
    results = {}
    for fill in fills:
        say(f"{STREET}, {fill}")
        results[fill] = worlds.results(STREET, fill, models)
    made: dict[str, Any] = {"scenes": STREETS, "size": STREET_SIZE, "radius": RADIUS, "models": {}}
    for name in models:
        made["models"][name] = {}
        for fill, of in results.items():
            at = of[name].scores.at
            made["models"][name][fill] = {
                "max_ar": number(at("ar", "max", "mean")),
                "miou": number(at("miou", "full")),
                "road": number(at("ar", "pairs", "road", "car")),
                "sidewalk": number(at("ar", "pairs", "sidewalk", "car")),
                **controls(of[name]),
                "paired": differences(
                    of[name],
                    results[EXACT][name],
                    ("max AR, mean over classes", "max AR, road", "max AR, sidewalk"),
                ),
            }
    return made


def _figures(result: RunResult, exact: RunResult) -> dict[str, Any]:
    """Figures of a run, and what they differ by from those under exact removal of the same scenes."""
    at = result.scores.at
    return {
        "cases": result.scores.facts["n_cases"],
        "v_min": number(at("v_min", "pooled")),
        "v_mean": number(at("v_mean", "pooled")),
        "map": number(at("map", "full")),
        "chance": result.scores.facts["chance"]["v_min"],
        **controls(result),
        "paired": differences(result, exact, tuple(FIGURES.values())),
    }


def ranking(of: Mapping[str, RunResult], exact: Mapping[str, RunResult]) -> dict[str, Any]:
    """In how many pairs of networks a fill orders V^min as exact removal does, of all and of those told apart."""
    values, common = ({n: one[n].scores.at("v_min", "pooled").value for n in of} for one in (of, exact))
    pairs = list(combinations(of, 2))
    same = [np.sign(values[a] - values[b]) == np.sign(common[a] - common[b]) for a, b in pairs]
    apart = []
    for a, b in pairs:
        row = differences(exact[a], exact[b], (FIGURES["v_min"],))[FIGURES["v_min"]]
        apart.append(row["low"] > 0 or row["high"] < 0)
    tau = kendalltau([values[n] for n in of], [common[n] for n in of]).statistic if len(of) > 1 else float("nan")
    return {
        "order": sorted(values, key=lambda n: values[n]),
        "pairs": len(pairs),
        "same": int(sum(same)),
        "apart": int(sum(apart)),
        "apart_same": int(sum(s for s, told in zip(same, apart, strict=True) if told)),
        "tau": round(float(tau), 3),
    }


@lru_cache(maxsize=100)
def edits_facts(worlds: Worlds, world: str, fill: str) -> pl.DataFrame:
    """One row an edit: PSNR and SSIM in the hole; size, shadow and material of what was removed."""
    data = worlds.data(world)
    exact, filled = (OnceExam(fill=FILLS.get(f, f), radius=RADIUS) for f in (EXACT, fill))
    rows = []
    for item in exact.items(data)[: FEW if fill == SLOW else None]:
        truth = {edit.gone: edit for edit in exact.edits(item).shown if edit.kind == "removal"}
        before = item.view.image()
        for edit in filled.edits(item).shown:
            if edit.kind != "removal":
                continue
            hole = edit.hole
            assert hole is not None
            a, b = edit.view.image(), truth[edit.gone].view.image()
            moved = np.abs(b.astype(int) - before).max(axis=2) > CHANGED
            things = [thing for thing in item.scene.objects if thing.category == edit.gone]
            kinds = {thing.attributes.get("material", "") for thing in things}
            rows.append(
                {
                    "item": item.id,
                    "category": edit.gone,
                    "psnr": psnr(a, b, hole),
                    "ssim": ssim(a, b, hole),
                    "area": float(item.masks()[edit.gone].mean()),  # type: ignore[union-attr]
                    "shadow": float((moved & ~hole).sum() / hole.sum()),
                    "material": kinds.pop() if len(kinds) == 1 else "several",
                }
            )
    return pl.DataFrame(rows)


def psnr(a: Pixels, b: Pixels, hole: NDArray[np.bool_]) -> float:
    """Peak signal-to-noise ratio in the hole, dB, at most `SAME`."""
    error = np.mean((a[hole].astype(float) - b[hole]) ** 2)
    return float(min(SAME, 10 * np.log10(255**2 / max(error, 1e-9))))


def ssim(a: Pixels, b: Pixels, hole: NDArray[np.bool_], side: int = 7) -> float:
    """Structural similarity of grey, 7×7 windows, the mean over pixels of the hole; outside of it both are `b`."""
    y = b.astype(float).mean(axis=2)
    x = np.where(hole, a.astype(float).mean(axis=2), y)
    mean_x, mean_y = uniform_filter(x, side), uniform_filter(y, side)
    var_x, var_y = uniform_filter(x * x, side) - mean_x**2, uniform_filter(y * y, side) - mean_y**2
    both = uniform_filter(x * y, side) - mean_x * mean_y
    c1, c2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2
    alike = (2 * mean_x * mean_y + c1) * (2 * both + c2) / ((mean_x**2 + mean_y**2 + c1) * (var_x + var_y + c2))
    return float(alike[hole].mean())


def verdicts(
    world: str, fill: str, of: Mapping[str, RunResult], exact: Mapping[str, RunResult], edits: pl.DataFrame
) -> pl.DataFrame:
    """One row a network and case: violated under the fill and under exact removal, and the score's error."""
    made = []
    for name, result in of.items():
        ours, true = (ContextRecords.of(r.records) for r in (result, exact[name]))
        assert ours is not None
        assert true is not None
        columns = ["item", "category", "without", "lowest"]
        joined = ours.cases.select(columns).join(
            true.cases.select(columns), on=["item", "category"], suffix="_exact"
        )
        made.append(
            joined.select(
                "item",
                "category",
                model=pl.lit(name),
                violated=pl.col("lowest") < pl.col("without"),
                exact=pl.col("lowest_exact") < pl.col("without_exact"),
                error=(pl.col("without") - pl.col("without_exact")).abs(),
            )
        )
    cases = pl.concat(made).join(edits, on=["item", "category"])
    return cases.with_columns(world=pl.lit(world), fill=pl.lit(fill))


def quality(cases: pl.DataFrame) -> dict[str, Any]:
    """Picture quality beside the error of scores, of one fill over all networks and worlds."""
    edits = cases.unique(["world", "item", "category"])
    flips, bias = case_figures(cases)
    return {
        "edits": len(edits),
        "cases": len(cases),
        "psnr": round(float(edits["psnr"].mean() or 0), 2),
        "ssim": round(float(edits["ssim"].mean() or 0), 3),
        "other_verdict": flips,
        "v_min_error": bias,
        "score_error": round(float(cases["error"].mean() or 0), 3),
        "psnr_error": correlation(cases["psnr"], cases["error"]),
        "ssim_error": correlation(cases["ssim"], cases["error"]),
        "psnr_other": correlation(cases["psnr"], cases["violated"] != cases["exact"]),
    }


def correlation(a: pl.Series, b: pl.Series) -> float | None:
    """Spearman's, to three digits; None where one of them is constant."""
    return round(float(spearmanr(a, b).statistic), 3) if min(a.n_unique(), b.n_unique()) > 1 else None


def case_figures(cases: pl.DataFrame) -> tuple[list[float | None] | None, list[float | None] | None]:
    """Share of cases with another verdict than under exact removal, and V^min less exact V^min, by scene."""
    units = (cases["world"] + "/" + cases["item"]).to_numpy()
    _, place = np.unique(units, return_inverse=True)
    fields = (
        np.ones(len(cases)),
        (cases["violated"] != cases["exact"]).to_numpy(),
        cases["violated"].to_numpy().astype(float) - cases["exact"].to_numpy(),
    )
    counts = np.zeros((place.max() + 1, 3))
    np.add.at(counts, place, np.column_stack(fields))
    flips = intervals(counts[:, :2], lambda t: t[:, 1:] / t[:, :1])[0]
    bias = intervals(counts[:, [0, 2]], lambda t: t[:, 1:] / t[:, :1], proportion=False)[0]
    return number(flips), number(bias)


def groups(cases: pl.DataFrame) -> dict[str, Any]:
    """The same by size of what was removed, by how much of its shadow lies outside the hole, and by material."""
    made: dict[str, Any] = {}
    for title, grouped in _grouped(cases):
        made[title] = {}
        for label in dict.fromkeys(grouped.sort("order")["group"]):
            made[title][label] = {}
            for fill in grouped["fill"].unique(maintain_order=True):
                of = grouped.filter((pl.col("group") == label) & (pl.col("fill") == fill))
                if len(of):
                    flips, bias = case_figures(of)
                    made[title][label][fill] = {"cases": len(of), "other_verdict": flips, "v_min_error": bias}
    return made


def _grouped(cases: pl.DataFrame) -> Iterator[tuple[str, pl.DataFrame]]:
    for title, column in (("size", "area"), ("shadow", "shadow")):
        limits = np.quantile(cases[column].to_numpy(), [1 / 3, 2 / 3])
        names = [
            f"below {100 * limits[0]:.1f} %",
            f"{100 * limits[0]:.1f} to {100 * limits[1]:.1f} %",
            f"above {100 * limits[1]:.1f} %",
        ]
        third = np.searchsorted(limits, cases[column].to_numpy(), side="left")
        yield title, cases.with_columns(group=pl.Series([names[i] for i in third]), order=pl.Series(third))
    yield "material", cases.with_columns(group=pl.col("material"), order=pl.col("material"))
