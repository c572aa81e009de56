"""How well looks alone tell road from sidewalk in context/street, and how fast its scenes are placed.

    python benchmarks/context_street.py [--scenes 300] [--patch 24] [--seed 0]

Four patches of each class a scene, all pixels of one class, are described by means, spreads and slopes of their
pixels and their row in the picture; a logistic regression learns on two thirds of the scenes and is asked about the
others.
Beside it stands what the company tells: a strip is called a road where a car is on it, else a sidewalk.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from numpy.typing import NDArray

from sightline.render.fast import FastRenderer
from sightline.worlds import Layout, arrange, load_world
from sightline.worlds.looks import category_of

WORLD = "context/street/train"
CLASSES = ("road", "sidewalk")
A_SCENE = 4

Floats = NDArray[np.float64]


def described(patch: NDArray[np.uint8]) -> list[float]:
    """Statistics of a patch (s, s, 3): means by channel, spread, slopes, curvature, skew; s is divisible by 4."""
    grey = patch.astype(np.float64).mean(axis=2)
    across, down = abs(np.diff(grey, axis=1)), abs(np.diff(grey, axis=0))
    around = grey[:-2, 1:-1] + grey[2:, 1:-1] + grey[1:-1, :-2] + grey[1:-1, 2:]
    bend = abs(4 * grey[1:-1, 1:-1] - around).mean()
    coarse = grey.reshape(grey.shape[0] // 4, 4, grey.shape[1] // 4, 4).mean(axis=(1, 3)).std()
    spread = grey.std()
    skew = ((grey - grey.mean()) ** 3).mean() / (1e-3 + spread) ** 3
    slopes = [across.mean(), down.mean(), across.max(), down.max()]
    logs = [float(np.log(1e-3 + value)) for value in (bend, spread)]
    return [*patch.reshape(-1, 3).mean(axis=0), spread, *slopes, bend, coarse, skew, *logs]


def patches(layouts: list[Layout], size: int, rng: np.random.Generator) -> tuple[Floats, Floats, Floats]:
    """Descriptions (n, F), whether each is of a road (n,), and its scene's place (n,)."""
    renderer, rows, road, scenes = FastRenderer(), [], [], []
    for index, layout in enumerate(layouts):
        (frame,) = renderer.frames(layout)
        assert frame.image is not None
        for name in CLASSES:
            mask = frame.stuff == layout.surroundings.number_of(name)
            sums = np.pad(mask.cumsum(axis=0).cumsum(axis=1), ((1, 0), (1, 0)))
            inside = sums[size:, size:] - sums[:-size, size:] - sums[size:, :-size] + sums[:-size, :-size]
            ys, xs = np.nonzero(inside == size * size)
            for k in rng.permutation(len(ys))[:A_SCENE]:
                y, x = int(ys[k]), int(xs[k])
                rows.append([*described(frame.image[y : y + size, x : x + size]), float(y)])
                road.append(name == "road")
                scenes.append(index)
    return np.array(rows), np.array(road, dtype=np.float64), np.array(scenes, dtype=np.float64)


def fitted(x: Floats, y: Floats) -> Floats:
    """Weights of a logistic regression with a little shrinkage, by Newton's steps."""
    w = np.zeros(x.shape[1])
    for _ in range(30):
        p = 1 / (1 + np.exp(-x @ w))
        curvature = x.T @ (x * (p * (1 - p))[:, None]) + np.eye(len(w))
        w += np.linalg.solve(curvature, x.T @ (y - p) - w)
    return w


def guessed(layouts: list[Layout]) -> float:
    """Share of strips whose class the cars tell."""
    right = strips = 0
    for layout in layouts:
        cars = any(category_of(o.shape.partition(":")[0]) == "car" for o in layout.objects)
        for region in layout.surroundings.ground:
            if region.category in CLASSES:
                strips += 1
                right += (region.category == "road" and cars) or region.category == "sidewalk"
    return right / strips


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenes", type=int, default=300)
    parser.add_argument("--patch", type=int, default=24, help="side of a patch, pixels")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    world = load_world(WORLD)
    layouts = [arrange(world, asked.seed, index) for index in range(asked.scenes)]
    begun = time.process_time()
    again = [arrange(world, asked.seed, index) for index in range(asked.scenes)]
    assert again == layouts
    print(f"placing: {asked.scenes / (time.process_time() - begun):,.0f} scenes a second and core, models built")
    x, y, scenes = patches(layouts, asked.patch, np.random.default_rng(asked.seed))
    learn = scenes < 2 / 3 * asked.scenes
    middle, spread = x[learn].mean(axis=0), x[learn].std(axis=0) + 1e-9
    z = np.column_stack([(x - middle) / spread, np.ones(len(x))])
    right = (z @ fitted(z[learn], y[learn]) > 0) == y
    asked_about, learned = right[~learn], right[learn]
    print(f"by looks, patches of {asked.patch}: {asked_about.mean():.3f} of {len(asked_about):,} right", end="")
    print(f", {learned.mean():.3f} of {len(learned):,} learned from")
    print(f"by company: {guessed(layouts):.3f} of the strips")


if __name__ == "__main__":
    main()
