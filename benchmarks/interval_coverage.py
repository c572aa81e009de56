"""How often do 95 % intervals hold the truth? By cluster, naively by judgement, for rare positives, for AP.

    python benchmarks/interval_coverage.py [--repeats 4000] [--resamples 2000] [--only rare ranked] [--json]

Clusters have 2 or more judgements (6 in the mean) that resemble each other; the true scores are known. See
tests/reference/simulated_clusters.py for the models.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import special

from sightline.stats import average_precision, intervals, rank, ranked_intervals
from sightline.stats.paired import sign_flip

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from reference import simulated_clusters as simulated

CLUSTERS = (20, 50, 120, 200, 400, 1000)
ACCURACIES = (0.6, 0.85, 0.97, 0.995)
PREVALENCES = (0.01, 0.03, 0.1)
RARE_CLUSTERS = (20, 50, 100, 200, 500)
MODELS = {"good": (0.7, 0.6), "fair": (0.3, 0.3), "bad": (0.1, 0.1), "worst": (0.03, 0.03)}  # recall and precision
DESIGNS = (  # clusters, prevalence, correlation within a cluster: 18 to 60 positives
    (37, 0.1, 0.2),
    (37, 0.1, 0.02),
    (100, 0.03, 0.02),
    (200, 0.02, 0.2),
    (500, 0.01, 0.02),
    (500, 0.02, 0.1),
)
SCORES = np.arange(0.02, 0.31, 0.01)
IMAGES = (20, 50, 100, 200, 400)
PARTS = ("cases", "rare", "hitless", "ranked", "swaps")
BLOCK = 50  # repeats that share their bootstrap draws


def by_cluster(n: int, accuracy: float, repeats: int, resamples: int) -> dict[str, object]:
    """Coverage of accuracy and F1, and how often the bootstrap was the method."""
    rng = np.random.default_rng([n, round(1000 * accuracy)])
    found = []
    for seed in range(0, repeats, BLOCK):
        samples = simulated.clusters(rng, (n, min(BLOCK, repeats - seed)), accuracy)
        found += intervals(samples, simulated.statistics, resamples=resamples, seed=seed)
    return {
        "share": simulated.coverage(found, simulated.truth(accuracy)).tolist(),
        "bootstrap": float(np.mean([i.method == "percentile bootstrap" for i in found])),
    }


def by_judgement(n: int, accuracy: float, repeats: int, resamples: int) -> dict[str, object]:
    """The same when every judgement is taken for independent."""
    rng = np.random.default_rng([n, round(1000 * accuracy), 1])
    found = []
    for seed in range(repeats):
        rows = simulated.by_judgement(simulated.clusters(rng, (n,), accuracy))
        found += intervals(rows, simulated.statistics, resamples=resamples, seed=seed)
    return {"share": simulated.coverage(found, simulated.truth(accuracy)).tolist()}


def rare(model: str, prevalence: float, n: int, repeats: int, resamples: int) -> dict[str, object]:
    """Coverage of precision, recall and F1 where positives are rare; how often there is an interval, and no hit."""
    rng = np.random.default_rng([n, round(1000 * prevalence), round(100 * MODELS[model][0])])
    truth, found, positives, no_hit = simulated.rare_truth(*MODELS[model]), [], [], []
    for seed in range(0, repeats, BLOCK):
        samples = simulated.rare(rng, (n, min(BLOCK, repeats - seed)), prevalence, *MODELS[model])
        found += intervals(samples, simulated.rare_statistics, resamples=resamples, seed=seed)
        positives.append(samples[..., [0, 2]].sum(axis=(0, 2)))
        no_hit.append(samples[..., 0].sum(axis=0) == 0)
    f1 = found[2::3]
    hitless = [i for i, none in zip(f1, np.concatenate(no_hit), strict=True) if none and np.isfinite(i.low)]
    return {
        "share": simulated.coverage(found, truth).tolist(),
        "positives": float(np.concatenate(positives).mean()),
        "given": float(np.isfinite([i.low for i in f1]).mean()),
        "no_hit": float(np.concatenate(no_hit).mean()),
        "no_hit_high": float(np.median([i.high for i in hitless])) if hitless else None,
    }


class Seen(NamedTuple):
    """What R samples without a hit show, each (R,): half an error a judgement and at most one a scene."""

    judgements: np.ndarray
    scenes: np.ndarray
    errors: np.ndarray

    def wilson(self, n: np.ndarray) -> np.ndarray:
        """Wilson's upper limit of 0 in n judgements, Student's quantile with a scene less in freedom."""
        squared = special.stdtrit(self.scenes - 1.0, 0.975) ** 2
        return squared / (n + squared)


HITLESS = {
    "Wilson with Student's quantile (before)": lambda seen: seen.wilson(seen.judgements),
    "Clopper–Pearson": lambda seen: 1 - 0.025 ** (1 / seen.judgements),
    "mid-p (ours)": lambda seen: 1 - 0.05 ** (1 / seen.judgements),
    "Jeffreys": lambda seen: special.betaincinv(0.5, seen.judgements + 0.5, 0.975),
    "each scene a judgement, Wilson": lambda seen: seen.wilson(seen.scenes),
    "each miss and false claim a judgement, Wilson": lambda seen: seen.wilson(seen.errors),
}
"""Upper limits of an F1 of 0."""
EXAMPLE = Seen(np.array(22.0), np.array(37.0), np.array(44.0))  # 22 misses and 22 false claims in 37 scenes


def hitless(n: int, prevalence: float, likeness: float, repeats: int) -> dict[str, list[float]]:
    """Coverage of F1 by each rule for the limit without a hit, at each true F1; with hits all agree."""
    shares: dict[str, list[float]] = {rule: [] for rule in HITLESS}
    for truth in SCORES:
        rng = np.random.default_rng([n, round(1000 * prevalence), round(1000 * truth)])
        held: dict[str, list[np.ndarray]] = {rule: [] for rule in HITLESS}
        for _ in range(0, repeats, BLOCK):
            samples = simulated.rare(rng, (n, BLOCK), prevalence, truth, truth, likeness=likeness)
            found = intervals(samples, simulated.rare_statistics, resamples=100)[2::3]
            low, high = (np.array([getattr(i, side) for i in found]) for side in ("low", "high"))
            errors = samples[..., 1:].sum(axis=-1)
            seen = Seen(np.minimum(errors / 2, 1).sum(axis=0), (errors > 0).sum(axis=0), errors.sum(axis=0))
            none, given = samples[..., 0].sum(axis=0) == 0, np.isfinite(low)
            for rule, limit in HITLESS.items():
                upper = np.where(none, limit(seen), high)
                held[rule].append(((low <= truth) & (truth <= upper))[given])
        for rule, parts in held.items():
            shares[rule].append(float(np.concatenate(parts).mean()))
    return shares


def ranked(n: int, repeats: int, resamples: int) -> float:
    """Coverage of average precision over n images."""

    def ranking(clusters: int):
        score, cluster, hit, objects = simulated.detections(rng, clusters)
        return rank(score, cluster, hit, objects)

    rng = np.random.default_rng([n, 3])
    truth = average_precision(ranking(100_000)).item()
    found = [ranked_intervals({"AP": [ranking(n)]}, resamples=resamples, seed=i)["AP"] for i in range(repeats)]
    return float(simulated.coverage(found, [truth])[0])


def rejected(n: int, repeats: int, resamples: int) -> float:
    """Share of comparisons of equally good models with p ≤ 0.05."""
    rng = np.random.default_rng([n, 2])
    p = []
    for seed in range(0, repeats, BLOCK):
        both = np.stack(simulated.two_models(rng, (n, min(BLOCK, repeats - seed))), axis=1)
        p.append(sign_flip(both, _difference, flips=resamples, seed=seed))
    return float((np.concatenate(p) <= 0.05).mean())


def _difference(totals: np.ndarray) -> np.ndarray:
    rates = totals[..., 0] / totals[..., 1]
    return rates[:, 0] - rates[:, 1]


def study(parts: list[str], repeats: int, resamples: int) -> dict[str, object]:
    """Run the parts asked for."""
    few_repeats, few_resamples = max(1, repeats // 10), min(resamples, 400)
    results: dict[str, object] = {}
    if "cases" in parts:
        results["coverage"] = [
            {
                "accuracy": accuracy,
                "clusters": n,
                "cluster": by_cluster(n, accuracy, repeats, resamples),
                "naive": by_judgement(n, accuracy, few_repeats, few_resamples),
            }
            for accuracy in ACCURACIES
            for n in CLUSTERS
        ]
    if "rare" in parts:
        results["rare"] = [
            {"model": m, "prevalence": p, "clusters": n, **rare(m, p, n, repeats, few_resamples)}
            for m in MODELS
            for p in PREVALENCES
            for n in RARE_CLUSTERS
        ]
    if "hitless" in parts:
        results["hitless"] = [{"design": design, "share": hitless(*design, repeats)} for design in DESIGNS]
    if "ranked" in parts:
        results["ranked"] = {n: ranked(n, few_repeats, few_resamples) for n in IMAGES}
    if "swaps" in parts:
        results["rejected"] = {n: rejected(n, repeats, resamples) for n in CLUSTERS}
    return results


def percent(share: float | None, digits: int = 1) -> str:
    return "–" if share is None or np.isnan(share) else f"{100 * share:.{digits}f} %"


def show(results: dict[str, object]) -> None:
    """Print the tables of docs/results/coverage.md."""
    if "coverage" in results:
        print("| true accuracy | clusters | accuracy | F1 | by bootstrap | naive accuracy | naive F1 |")
        print("|---|---|---|---|---|---|---|")
        for row in results["coverage"]:
            shares, naive = ([percent(x) for x in row[kind]["share"]] for kind in ("cluster", "naive"))
            by = percent(row["cluster"]["bootstrap"], 0)
            print(f"| {row['accuracy']} | {row['clusters']} | {' | '.join(shares)} | {by} | {' | '.join(naive)} |")
    if "rare" in results:
        print("\n| model | prevalence | clusters | positives ", end="")
        print("| precision | recall | F1 | F1 has limits | no hit | upper limit then |\n|" + "---|" * 10)
        for row in results["rare"]:
            shares = " | ".join(percent(x) for x in row["share"])
            rest = f"{percent(row['given'], 0)} | {percent(row['no_hit'], 0)} | {percent(row['no_hit_high'], 0)}"
            about = f"{row['model']} | {percent(row['prevalence'], 0)} | {row['clusters']} | {row['positives']:.0f}"
            print(f"| {about} | {shares} | {rest} |")
    if "hitless" in results:
        print("\n| upper limit without a hit | of the example | coverage: lowest ", end="")
        print("| at a true F1 of | highest |\n|---|---|---|---|---|")
        for rule, limit in HITLESS.items():
            shares = np.array([row["share"][rule] for row in results["hitless"]])
            at = SCORES[np.unravel_index(shares.argmin(), shares.shape)[1]]
            worst, best = percent(shares.min()), percent(shares.max())
            print(f"| {rule} | {percent(float(limit(EXAMPLE)))} | {worst} | {at:.2f} | {best} |")
    if "ranked" in results:
        print("\n| images | AP |\n|---|---|")
        for n, share in results["ranked"].items():
            print(f"| {n} | {percent(share)} |")
    if "rejected" in results:
        print("\n| clusters | equal models called different (p ≤ 0.05) |\n|---|---|")
        for n, share in results["rejected"].items():
            print(f"| {n} | {percent(share)} |")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--repeats", type=int, default=4000)
    options.add_argument("--resamples", type=int, default=2000)
    options.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    options.add_argument("--json", action="store_true")
    given = options.parse_args()
    results = study(given.only, given.repeats, given.resamples)
    if given.json:
        print(json.dumps(results))
    else:
        show(results)


if __name__ == "__main__":
    main()
