"""How fast the blind relations network answers on one core, and how long the training of such a network takes.

OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python benchmarks/relations_speed.py [--pairs 1000000] [--out FILE]
OMP_NUM_THREADS=2 python benchmarks/relations_speed.py --train 30000 [--out FILE]

Pairs are random boxes and classes of one image. Asked *both ways*, half of them are the others turned round, as the
exam asks: a network that computes each unordered pair once has half the work. *Distinct* are unordered ones.
Beside them stand the rule of the lower edge and a product of matrices, in the same process.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from sightline.models.registry import load
from sightline.scenes import View
from sightline.skills import Pairs

NAMES = ("bottom_edge", "blind_mlp")


def seconds(work: Callable[[], object]) -> float:
    """CPU seconds of one call."""
    began = time.process_time()
    work()
    return time.process_time() - began


def random_pairs(n: int, *, both_ways: bool) -> Pairs:
    """Make n ordered pairs of random boxes; both ways, the second half are the first turned round."""
    rng = np.random.default_rng(0)
    n = n // 2 if both_ways else n
    ends = np.sort(rng.random((2, n, 2, 2)), axis=2).reshape(2, n, 4)
    names = rng.choice(load("blind_mlp").network.classes, (2, n))  # type: ignore[attr-defined]
    if both_ways:
        ends, names = (np.concatenate((one, one[::-1]), axis=1) for one in (ends, names))
    view = View("all", units="normalised")
    return Pairs("all", "within_image", view, view, ends[0], ends[1], tuple(names[0]), tuple(names[1]))


def answering(n: int) -> dict[str, Any]:
    """CPU seconds of the network and of a rule for n pairs."""
    square = np.random.default_rng(0).random((2000, 2000)).astype(np.float32)
    made: dict[str, Any] = {"pairs": n, "products": seconds(lambda: [square @ square for _ in range(5)])}
    print(f"matrix products of 80 GFLOP: {made['products']:.2f} s")
    for asked, both_ways in (("both_ways", True), ("distinct", False)):
        pairs = random_pairs(n, both_ways=both_ways)
        made[asked] = {}
        for name in NAMES:
            model: Any = load(name)
            model.relate(random_pairs(2000, both_ways=True))  # what is only made once
            spent = made[asked][name] = seconds(lambda model=model, pairs=pairs: model.relate(pairs))  # type: ignore[misc]
            times = spent / made["products"]
            print(
                f"{name}, {asked.replace('_', ' ')}: {n:,} pairs in {spent:.2f} s, {times:.2f} times the products"
            )
    return made


def training(n: int) -> dict[str, Any]:
    """Seconds, of the clock and of the CPU, that our plan takes for n random pairs."""
    import torch

    from sightline.training.fit import fit
    from sightline.training.relations.examples import PairExamples, RelationSource
    from sightline.training.relations.plan import RelationsPlan
    from sightline.training.relations.task import RelationsTask

    rng, plan = np.random.default_rng(0), RelationsPlan()
    label = rng.integers(0, 4, n)
    shares = np.eye(4, dtype=np.float32)[label]
    boxes = np.sort(rng.random((n, 2, 2)), axis=1).reshape(n, 4).astype(np.float32)
    classes = tuple(f"class {k}" for k in range(300))
    first, second = rng.integers(0, n, (2, n))
    examples = PairExamples(
        classes,
        boxes,
        rng.integers(1, len(classes) + 1, n),
        np.zeros((n, 0), np.float32),
        first,
        second,
        np.arange(n) % 2 == 1,
        shares,
        shares,
        label,
        label,
    )
    source = RelationSource(examples, batch=plan.batch, members=plan.members, seed=0, facts={})
    with TemporaryDirectory() as folder:
        clock, cpu = time.perf_counter(), time.process_time()
        fit(RelationsTask(plan, source), Path(folder) / "net", device="cpu")
        spent = {"seconds": time.perf_counter() - clock, "cpu_seconds": time.process_time() - cpu}
    made = {"pairs": n, "steps": plan.steps, "batch": plan.batch, "threads": torch.get_num_threads(), **spent}
    print(f"{plan.steps:,} steps on {n:,} pairs: {made['seconds']:.1f} s, {made['cpu_seconds']:.1f} s of CPU")
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=1_000_000, help="ordered pairs that are asked")
    parser.add_argument(
        "--train", type=int, default=0, metavar="N", help="instead teach a network on so many pairs"
    )
    parser.add_argument("--out", type=Path, help="JSON of the figures; what it holds of others stays")
    given = parser.parse_args()
    made = {"training": training(given.train)} if given.train else {"answering": answering(given.pairs)}
    if given.out is not None:
        known = json.loads(given.out.read_text()) if given.out.exists() else {}
        given.out.write_text(json.dumps({**known, **made}, indent=2) + "\n")


if __name__ == "__main__":
    main()
