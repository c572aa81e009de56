"""Scenes drawn on a card while it computes something else; only where there is a card."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from sightline.render.fast.cuda import CudaRenderer
from sightline.training.sornet.layouts import PlacedScenes
from sightline.training.sornet.pictures import CudaSceneRenderer, canonical_bank
from sightline.worlds import load_world

pytestmark = [pytest.mark.long, pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA card")]


def test_scenes_drawn_beside_other_work_are_whole() -> None:
    """Batches are drawn on streams of their own: what reads them waits, and their memory is not drawn into."""
    world, views = load_world("geospa/train"), ("original", "top")
    placed = PlacedScenes(world, views, seed=3, size=64, batches=6)
    renderer, plain = CudaSceneRenderer(world, canonical=2, seed=0), CudaRenderer()
    plain.know(world.solids())
    batches = [placed[number] for number in range(len(placed))]
    bank = canonical_bank(world, plain, count=2, seed=0)
    assert torch.equal(renderer.bank, bank.views)
    assert torch.equal(renderer.outlines, bank.outlines)
    matrix = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
    drawn, total = [], torch.zeros((), device="cuda", dtype=torch.float64)
    for turn in range(3):
        for batch in batches:
            scenes = renderer.draw(batch, (0, 1))
            for _ in range(20):
                torch.mm(matrix, matrix)
            total += scenes.views.double().sum()
            if turn == 2:
                drawn.append((scenes.views.clone(), scenes.labels.clone()))
            del scenes
    expected = 0.0
    for batch, (pictures, labels) in zip(batches, drawn, strict=True):
        for view in range(len(views)):
            image = plain.pictures(plain.upload(batch.views[view])).image.copy_to_host()
            assert np.array_equal(pictures[:, view].cpu().numpy(), image)
            expected += 3.0 * float(image.astype(np.float64).sum())
        assert np.array_equal(labels.cpu().numpy(), batch.labels)
    assert float(total) == expected
