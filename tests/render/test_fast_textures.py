"""Textures: where the camera sees which texel, and what stays of one that is far away."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from fast_layouts import layout_of, shot, sign, thing

from sightline.render.fast import FastRenderer, pack
from sightline.render.fast.pack import Pool
from sightline.render.fast.textures import texture_rows
from sightline.worlds.layout import Light
from sightline.worlds.looks import LINEAR
from sightline.worlds.shapes import Catalogue

LIGHT = (Light("front", (0.0, -30.0, 0.45), 8.0, 9000.0),)
"""Far and straight ahead: all of a cube's front gets the same."""


def drawn(picture: np.ndarray, *, away: float = 6.0, focal: float = 58.5, side: int = 90) -> np.ndarray:
    """The front of a sign with that picture as the camera sees it, (side, side, 3), and its colour relative to the
    same sign in even grey."""
    view = shot((0.0, -away, 0.45), (0.0, 0.0, 0.45), focal=focal, size=(side, side))
    images = []
    for shown in (picture, np.full((1, 1, 3), 128, np.uint8)):
        catalogue = Catalogue([sign(shown, "own_sign")])
        layout = layout_of([thing("own_sign", 0.0, 0.0)], view, lights=LIGHT)
        renderer = FastRenderer(solid=catalogue.solid)
        renderer.frame(layout, view)
        [worked] = renderer._worked.values()
        images.append((worked.state.colour.copy(), worked.seen.parts == 9))
    (colour, where), (grey, _) = images
    return np.where(where[..., None], colour / np.maximum(grey, 1e-9) * LINEAR[128], np.nan)


def test_every_texel_is_where_it_belongs() -> None:
    picture = np.random.default_rng(1).integers(0, 256, (3, 4, 3), dtype=np.uint8)
    seen = drawn(picture)
    rows, columns = np.nonzero(~np.isnan(seen[..., 0]))
    top, bottom, left, right = rows.min(), rows.max() + 1, columns.min(), columns.max() + 1
    for i in range(3):
        for j in range(4):
            y, x = top + (i + 0.5) * (bottom - top) / 3, left + (j + 0.5) * (right - left) / 4
            assert seen[int(y), int(x)] == pytest.approx(LINEAR[picture[i, j]], abs=0.1), (i, j)


def test_a_fine_texture_far_away_is_its_mean() -> None:
    """A checkerboard of 256 × 256 over some twenty pixels: grey without a pattern."""
    picture = np.zeros((256, 256, 3), np.uint8)
    picture[::2, ::2] = picture[1::2, 1::2] = 255
    seen = drawn(picture, away=25.0)
    inner = seen[~np.isnan(seen[..., 0])]
    assert len(inner) > 9
    assert inner == pytest.approx(0.5, abs=0.02)


def test_copies_of_a_texture_halve_and_keep_the_mean() -> None:
    picture = np.random.default_rng(2).integers(0, 256, (8, 16, 3), dtype=np.uint8)
    rows, at, sizes = texture_rows(picture), 0, []
    while at < len(rows):
        width, height, left = rows[at].tolist()
        sizes.append((width, height, left))
        level = rows[at + 1 : at + 1 + width * height] / 65535
        assert level.mean(axis=0) == pytest.approx(LINEAR[picture].mean(axis=(0, 1)), abs=1e-4)
        at += 1 + width * height
    assert sizes == [(16, 8, 4), (8, 4, 3), (4, 2, 2), (2, 1, 1), (1, 1, 0)]


def test_sizes_share_a_texture_and_pools_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    catalogue = Catalogue([sign(np.zeros((4, 4, 3), np.uint8), "own_sign")])
    pool = Pool(catalogue.solid)
    pool.know(["own_sign:small"])
    once = len(pool.meshes.texels)
    pool.know(["own_sign:large", "cube"])
    assert len(pool.meshes.texels) == once == 24
    assert pool.meshes.uv.shape == (36, 6)
    monkeypatch.setattr(pack, "MOST_TEXELS", 23)
    with pytest.raises(Exception, match="too many texels for one renderer"):
        Pool(catalogue.solid).know(["own_sign"])
    monkeypatch.setattr(pack, "MOST_FACES", 11)
    with pytest.raises(Exception, match="too many triangles for one renderer"):
        Pool(lambda name: replace(catalogue.solid(name))).know(["cube"])
