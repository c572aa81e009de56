"""How fast the blind relations network answers, on one core, beside the rule of the lower edge.

OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python benchmarks/relations_speed.py [--pairs 1000000]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

from sightline.models.registry import load
from sightline.scenes import View
from sightline.skills import Pairs


def seconds(work: Callable[[], object]) -> float:
    """CPU seconds of one call."""
    began = time.process_time()
    work()
    return time.process_time() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=1_000_000, help="ordered pairs, both directions of each")
    half = parser.parse_args().pairs // 2
    rng = np.random.default_rng(0)
    ends = np.sort(rng.random((2, half, 2, 2)), axis=2).reshape(2, half, 4)
    model = load("blind_mlp")
    names = rng.choice(model.network.classes, (2, half))  # type: ignore[attr-defined]
    view = View("all", units="normalised")
    boxes_a, boxes_b = np.concatenate((ends[0], ends[1])), np.concatenate((ends[1], ends[0]))
    names_a, names_b = tuple(np.concatenate((names[0], names[1]))), tuple(np.concatenate((names[1], names[0])))
    pairs = Pairs("all", "within_image", view, view, boxes_a, boxes_b, names_a, names_b)
    square = rng.random((2000, 2000)).astype(np.float32)
    product = seconds(lambda: [square @ square for _ in range(5)])
    print(f"matrix products of 80 GFLOP: {product:.2f} s")
    for name in ("bottom_edge", "blind_mlp"):
        loaded = load(name)
        spent = seconds(lambda loaded=loaded: loaded.relate(pairs))  # type: ignore[misc, attr-defined]
        print(f"{name}: {2 * half:,} pairs in {spent:.2f} s, {spent / product:.2f} times the products")


if __name__ == "__main__":
    main()
