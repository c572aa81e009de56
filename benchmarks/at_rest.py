"""Do invented scenes stay as they are when physics is let loose on them? MuJoCo, one second, nothing held.

    python benchmarks/at_rest.py [--scenes 50] [--seconds 1] [--worlds geospa/train,kitchen] [--json]

An object counts as moved if its centre of mass goes more than 1 cm or it turns by more than 1 degree. See
tests/reference/physics.py for how solids become convex pieces.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import numpy as np

from sightline.worlds import arrange, load_world, presets

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from reference import physics

METRES, DEGREES = 0.01, 1.0


def let_go(world: str, scenes: int, seconds: float) -> dict[str, object]:
    """How many objects of a world's first scenes move."""
    layouts = [arrange(load_world(world), 0, i) for i in range(scenes)]
    found = [
        (o, m) for layout in layouts for o, m in zip(layout.objects, physics.moved(layout, seconds), strict=True)
    ]
    off = [o for o, m in found if m.metres > METRES or m.degrees > DEGREES]
    metres = np.array([m.metres for _, m in found])
    return {
        "world": world,
        "scenes": scenes,
        "objects": len(found),
        "in or on others": sum(o.parent >= 0 for o, _ in found),
        "moved": len(off),
        "moved, by way": {how: sum(o.how == how for o in off) for how in ("independent", "contained", "supported")},
        "median mm": float(1000 * np.median(metres)),
        "largest mm": float(1000 * metres.max()),
        "largest degrees": max(m.degrees for _, m in found),
    }


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--scenes", type=int, default=50)
    options.add_argument("--seconds", type=float, default=1.0)
    options.add_argument("--worlds", default=",".join(presets()))
    options.add_argument("--json", action="store_true")
    given = options.parse_args()
    rows = [let_go(world, given.scenes, given.seconds) for world in given.worlds.split(",")]
    if given.json:
        print(json.dumps(rows))
        return
    print("| world | scenes | objects | in or on others | moved | median mm | largest mm | largest degrees |")
    print("|---|---|---|---|---|---|---|---|")
    for row in rows:
        small = " | ".join(f"{row[key]:.2f}" for key in ("median mm", "largest mm", "largest degrees"))
        counts = " | ".join(f"{row[key]:,}" for key in ("scenes", "objects", "in or on others", "moved"))
        print(f"| {row['world']} | {counts} | {small} |")


if __name__ == "__main__":
    main()
