"""Relations networks with random weights, and pairs to ask them about."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch

from sightline.models.nets.checkpoints import dump_checkpoint
from sightline.models.nets.pairs import PairNet, PairNetConfig
from sightline.scenes import View
from sightline.skills import Pairs, Setting

CLASSES = ("cat", "dog", "tree")


def random_net(seed: int = 0, **shape: Any) -> PairNet:
    torch.manual_seed(seed)
    net = PairNet(PairNetConfig(CLASSES, **{"members": 2, "hidden": 8, **shape}))
    with torch.no_grad():
        for weight in net.parameters():
            weight += 0.7 * torch.randn_like(weight)
    return net


def saved(net: Any, file: Path) -> Path:
    file.write_bytes(dump_checkpoint(net, {"steps": 7}))
    return file


def random_pairs(seed: int, n: int, setting: Setting = "within_image", *, m: int = 0) -> Pairs:
    """All ordered pairs of n objects of an image; across images those of n objects and m others."""
    rng = np.random.default_rng(seed)
    ends = np.sort(rng.random((n + m, 2, 2)), axis=1).reshape(-1, 4)
    names = rng.choice([*CLASSES, "zebra"], n + m)
    if setting == "within_image":
        i, j = np.nonzero(~np.eye(n, dtype=bool))
    else:
        i, j = (axis.ravel() for axis in np.meshgrid(np.arange(n), np.arange(n, n + m), indexing="ij"))
    views = View("a", units="normalised"), View("a" if setting == "within_image" else "b", units="normalised")
    return Pairs("a", setting, *views, ends[i], ends[j], tuple(names[i]), tuple(names[j]))


def turned(pairs: Pairs) -> Pairs:
    return Pairs(
        pairs.cluster_id,
        pairs.setting,
        pairs.view_b,
        pairs.view_a,
        pairs.boxes_b,
        pairs.boxes_a,
        pairs.categories_b,
        pairs.categories_a,
    )
