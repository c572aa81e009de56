"""How much of the pictures is clipped: pixels that are white and object pixels with a full channel, for all worlds.

    python benchmarks/clipping.py [--scenes 40] [--seed 77] [--write]

White is a pixel with all channels at 254 or more. Asked is less than 0.1 % of the pixels on average and at most 1 %
in any picture, and at most 1 % of the object pixels with any channel at 255. Exits with 1 where that is missed.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

import numpy as np

from render import RESULTS, VIEW, table
from sightline.render.fast import FastRenderer
from sightline.worlds import arrange, load_world, presets


def clipped(world: str, scenes: int, seed: int) -> dict[str, Any]:
    """Shares in per cent over the first scenes of a world."""
    spec, renderer = load_world(world), FastRenderer()
    white, full, objects = [], 0, 0
    for index in range(scenes):
        frame = renderer.frames(arrange(spec, seed, index), [VIEW])[0]
        assert frame.image is not None
        white.append(100 * float((frame.image >= 254).all(axis=2).mean()))
        mine = frame.image[frame.ids > 0]
        full, objects = full + int((mine == 255).any(axis=1).sum()), objects + len(mine)
    return {
        "world": world,
        "pictures": scenes,
        "white, % (mean)": f"{np.mean(white):.4f}",
        "white, % (worst picture)": f"{max(white):.3f}",
        "object pixels with a full channel, %": f"{100 * full / max(objects, 1):.3f}",
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenes", type=int, default=40)
    parser.add_argument("--seed", type=int, default=77)
    parser.add_argument("--write", action="store_true", help="keep the results under docs/results/worlds/")
    args = parser.parse_args()
    rows = [clipped(world, args.scenes, args.seed) for world in presets()]
    print(table(rows))
    if args.write:
        (RESULTS / "clipping.md").write_text(table(rows))
    bounds = [[float(x) for x in list(row.values())[2:]] for row in rows]
    sys.exit(any(mean >= 0.1 or worst > 1.0 or full > 1.0 for mean, worst, full in bounds))


if __name__ == "__main__":
    main()
