"""Train the small tabletop network that comes with Sightline; writes its weights.

    sightline generate geospa/train --scenes 500 --size 144x96 --out geospa
    sightline generate kitchen --scenes 250 --size 144x96 --out kitchen
    sightline generate context/train --scenes 250 --size 144x96 --out context
    python tools/train_tabletop.py geospa kitchen context --out tabletop-tiny.safetensors

It learns depth, and where boxes are, from the truth of generated scenes; some ten minutes of one core.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch import Tensor, nn

import sightline
from sightline.models.nets.checkpoints import dump_checkpoint
from sightline.models.nets.tabletop import STRIDE, TabletopConfig, TabletopMaps, TabletopNet

BATCH, RATE = 16, 2e-3


def examples(places: list[Path], config: TabletopConfig) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Pictures, log depth, centres and extents of all views."""
    width, height = config.image
    cells = height // STRIDE, width // STRIDE
    pictures, depths, centres, extents = [], [], [], []
    for place in places:
        for scene in sightline.open(place):
            view = scene.views[0]
            picture = Image.fromarray(view.image()).resize(config.image, Image.Resampling.BILINEAR)
            pictures.append(np.asarray(picture, dtype=np.uint8))
            depth = view.depth()
            rows = (np.arange(cells[0]) + 0.5) * depth.shape[0] / cells[0]
            columns = (np.arange(cells[1]) + 0.5) * depth.shape[1] / cells[1]
            depths.append(np.log(depth[np.ix_(rows.astype(int), columns.astype(int))]))
            centre, extent = np.zeros(cells, np.float32), np.zeros((2, *cells), np.float32)
            across, down = np.meshgrid(np.arange(cells[1]) + 0.5, np.arange(cells[0]) + 0.5)
            for seen in scene.seen_in(view.id):
                x0, y0, x1, y1 = np.array(seen.box) / np.array([*(view.size or (1, 1))] * 2)
                x, y = (x0 + x1) / 2 * cells[1], (y0 + y1) / 2 * cells[0]
                near = np.exp(-((across - x) ** 2 + (down - y) ** 2) / 2)
                extent[:, near > np.maximum(centre, 0.3)] = np.log([[x1 - x0], [y1 - y0]])
                centre = np.maximum(centre, near)
                centre[min(int(y), cells[0] - 1), min(int(x), cells[1] - 1)] = 1.0
            centres.append(centre)
            extents.append(extent)
    return (
        torch.from_numpy(np.stack(pictures)).permute(0, 3, 1, 2),
        torch.from_numpy(np.stack(depths)).float(),
        torch.from_numpy(np.stack(centres)).float(),
        torch.from_numpy(np.stack(extents)).float(),
    )


def loss_of(maps: TabletopMaps, depth: Tensor, centre: Tensor, extent: Tensor) -> Tensor:
    """Absolute error of log depth and log extent, and the focal loss of centres."""
    known = torch.isfinite(depth)
    far = (maps.depth - depth.nan_to_num(0.0, 0.0, 0.0)).abs()[known].mean()
    sure, unsure = torch.sigmoid(maps.centre), torch.sigmoid(-maps.centre)
    logs = nn.functional.logsigmoid(maps.centre), nn.functional.logsigmoid(-maps.centre)
    is_centre = centre >= 1.0
    focal = -(unsure**2 * logs[0])[is_centre].sum() - ((1 - centre) ** 4 * sure**2 * logs[1])[~is_centre].sum()
    near = (extent != 0).any(dim=1, keepdim=True).expand_as(extent)
    size = (maps.extent - extent).abs()[near].mean()
    return 2 * far + focal / is_centre.sum().clamp(min=1) + size


def main() -> None:
    """Train, and write the weights."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path, nargs="+", help="generated datasets")
    parser.add_argument("--out", type=Path, required=True, help="the safetensors file")
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--seconds", type=float, default=1e9, help="end after so many")
    wanted = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    net = TabletopNet(TabletopConfig())
    pictures, depth, centre, extent = examples(wanted.data, net.config)
    begun, steps = time.monotonic(), wanted.steps
    optimizer = torch.optim.AdamW(net.parameters(), RATE, weight_decay=1e-2)
    draw = torch.Generator().manual_seed(1)
    step = 0
    for step in range(1, steps + 1):
        done = max(step / steps, (time.monotonic() - begun) / wanted.seconds)
        for group in optimizer.param_groups:
            group["lr"] = RATE * min(step / 100, 1.0) * max(0.02, 1 - done)
        chosen = torch.randint(len(pictures), (BATCH,), generator=draw)
        batch = [pictures[chosen].float() / 255, depth[chosen], centre[chosen], extent[chosen]]
        if torch.rand((), generator=draw) < 0.5:
            batch = [values.flip(-1) for values in batch]
        light = 0.7 + 0.6 * torch.rand((BATCH, 3, 1, 1), generator=draw)
        loss = loss_of(net((batch[0] * light).clamp(0, 1)), *batch[1:])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 5.0)
        optimizer.step()
        if step % 100 == 0:
            sys.stderr.write(f"step {step} loss {loss.item():.3f} {time.monotonic() - begun:.0f} s\n")
        if done >= 1.0:
            break
    facts = {"data": [place.name for place in wanted.data], "pictures": len(pictures), "steps": step}
    wanted.out.write_bytes(dump_checkpoint(net.eval(), facts, half=True))
    sys.stdout.write(f"wrote {wanted.out}, {wanted.out.stat().st_size / 1e3:.0f} kB\n")


if __name__ == "__main__":
    main()
