"""How often do 95 % intervals hold the truth? By cluster and, naively, by judgement; and the sign-flip test.

    python benchmarks/interval_coverage.py [--repeats 4000] [--resamples 2000] [--json]

Clusters have 2 or more judgements (6 in the mean) that resemble each other; the true accuracy and F1 are known. See
tests/reference/simulated_clusters.py for the model.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import numpy as np

from sightline.stats import intervals
from sightline.stats.paired import sign_flip

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from reference import simulated_clusters as simulated

CLUSTERS = (20, 50, 120, 200, 400, 1000)
ACCURACIES = (0.6, 0.85, 0.97, 0.995)
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


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--repeats", type=int, default=4000)
    options.add_argument("--resamples", type=int, default=2000)
    options.add_argument("--json", action="store_true")
    given = options.parse_args()
    naive_repeats, naive_resamples = max(1, given.repeats // 10), min(given.resamples, 400)
    rows = [
        {
            "accuracy": accuracy,
            "clusters": n,
            "cluster": by_cluster(n, accuracy, given.repeats, given.resamples),
            "naive": by_judgement(n, accuracy, naive_repeats, naive_resamples),
        }
        for accuracy in ACCURACIES
        for n in CLUSTERS
    ]
    tests = {n: rejected(n, given.repeats, given.resamples) for n in CLUSTERS}
    if given.json:
        print(json.dumps({"coverage": rows, "rejected": tests}))
        return
    print("| true accuracy | clusters | accuracy | F1 | by bootstrap | naive accuracy | naive F1 |")
    print("|---|---|---|---|---|---|---|")
    for row in rows:
        own, naive = ([f"{100 * x:.1f} %" for x in row[kind]["share"]] for kind in ("cluster", "naive"))
        share = f"{100 * row['cluster']['bootstrap']:.0f} %"
        print(f"| {row['accuracy']} | {row['clusters']} | {' | '.join(own)} | {share} | {' | '.join(naive)} |")
    print("\n| clusters | equal models called different (p ≤ 0.05) |\n|---|---|")
    for n, share in tests.items():
        print(f"| {n} | {100 * share:.1f} % |")


if __name__ == "__main__":
    main()
