"""Edited scenes made without a renderer: squares of a colour on grey, each colour a class."""

from __future__ import annotations

import numpy as np
import torch

from sightline.training.context.scenes import EditedScenes, edit_table, grown

COLOURS = ((220, 40, 40), (40, 200, 60), (50, 60, 220))
GREY = 128


def coloured_scenes(
    count: int, seed: int = 0, side: int = 32, *, shown: tuple[int, ...] = (1, 2, 3), labelled: bool = False
) -> EditedScenes:
    """Scenes of one to three squares, none over another, and every square removed in turn."""
    draw = np.random.default_rng(seed)
    images = np.full((count, side, side, 3), GREY, np.uint8)
    maps = np.full((count, side, side), 3, np.uint8)
    bare: list[tuple[int, int, np.ndarray]] = []
    for n in range(count):
        kinds = sorted(draw.choice(3, draw.choice(shown), replace=False).tolist())
        corners = draw.choice(4, len(kinds), replace=False)
        parts = {}
        for kind, corner in zip(kinds, corners.tolist(), strict=True):
            size = int(draw.integers(side // 6, side // 3))
            y, x = (corner // 2) * side // 2 + 1, (corner % 2) * side // 2 + 1
            parts[kind] = (slice(y, y + size), slice(x, x + size))
            images[(n, *parts[kind])] = COLOURS[kind]
            maps[(n, *parts[kind])] = kind
        for kind in kinds:
            edit = images[n].copy()
            edit[parts[kind]] = GREY
            bare.append((n, kind, edit))
    truth = torch.from_numpy(maps)
    areas = torch.stack([(truth == kind).float().mean(dim=(1, 2)) for kind in range(4 if labelled else 3)], dim=1)
    source, gone = (torch.tensor([one[i] for one in bare]) for i in (0, 1))
    holes = grown(truth[source] == gone[:, None, None], 1)
    return EditedScenes(
        classes=("red", "green", "blue", "floor")[: 4 if labelled else 3],
        things=3,
        images=torch.from_numpy(images),
        labels=areas > 0,
        areas=areas,
        edits=torch.from_numpy(np.stack([one[2] for one in bare])),
        source=source,
        gone=gone,
        table=edit_table(source, count),
        maps=truth if labelled else None,
        holes=holes if labelled else None,
        facts={"worlds": {"coloured": count}, "seed": seed, "fill": "exact"},
    )
