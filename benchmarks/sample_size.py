"""Do as many clusters as were planned show the difference that was planned for, in 80 of 100 cases?

    python benchmarks/sample_size.py [--repeats 1200] [--pilots 24] [--json]

Two models answer 2 or more questions a cluster (6 in the mean); which is better varies much by cluster. A *pilot*
in which they are alike on the whole is compared, and the number of clusters planned from its standard error. Then
the first is made better by the planned difference, and clusters are drawn anew, as many as were planned: how often
is p < 0.05 in the sign-flip test of `sightline compare`? tests/reference/simulated_clusters.py has the models.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import numpy as np

from sightline.stats import compare
from sightline.stats.paired import minimum_detectable
from sightline.stats.sample_size import plan_clusters

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from reference import simulated_clusters as simulated

PILOTS = (50, 200, 800)
DIFFERENCES = (0.02, 0.05, 0.1)
FLIPS = 1000


def share(totals):
    """Accuracy."""
    return totals[:, :1] / totals[:, 1:]


def measured(pilot: int, difference: float, pilots: int, repeats: int) -> dict[str, float]:
    """Planned sizes over several pilots, and the power at each of them."""
    rng = np.random.default_rng([pilot, round(1000 * difference)])
    factor = float(minimum_detectable(np.ones(1))[0])
    sizes, seen, unpaired = [], 0, 0
    for _ in range(pilots):
        row = compare(*simulated.two_models(rng, pilot), share, [""], resamples=100)[0]
        needed = plan_clusters(row.mde / factor, pilot, difference).clusters
        assert needed is not None
        sizes.append(needed)
        for _ in range(repeats // pilots):
            again = simulated.two_models(rng, needed, difference)
            seed = int(rng.integers(1 << 30))
            seen += compare(*again, share, [""], resamples=FLIPS, seed=seed)[0].p_value < 0.05
            unpaired += 1
    low, middle, high = np.quantile(sizes, [0.1, 0.5, 0.9])
    return {"planned": middle, "low": low, "high": high, "power": seen / unpaired}


def main() -> None:
    """Measure and print a row a design."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=2400)
    parser.add_argument("--pilots", type=int, default=12)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = {
        f"{pilot}, {difference}": measured(pilot, difference, options.pilots, options.repeats)
        for pilot in PILOTS
        for difference in DIFFERENCES
    }
    if options.json:
        print(json.dumps(rows, indent=2))
        return
    print("| pilot | difference | planned, median | 10–90 % of pilots | power then |")
    print("|---|---|---|---|---|")
    for name, row in rows.items():
        pilot, difference = name.split(", ")
        spread = f"{row['low']:,.0f}–{row['high']:,.0f}"
        print(f"| {pilot} | {difference} | {row['planned']:,.0f} | {spread} | {100 * row['power']:.1f} % |")


if __name__ == "__main__":
    main()
