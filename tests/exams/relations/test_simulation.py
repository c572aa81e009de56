"""The made-up label set: valid, reproducible, and about as hard as the real one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from sightline.errors import ConfigError
from sightline.exams.relations.pairs import PairTable, pair_table
from sightline.exams.relations.simulation import simulate, simulated_image, simulated_tables
from sightline.geometry import area
from sightline.scenes import NO_MAJORITY, validate
from sightline.store.convert import scenes_from_tables
from sightline.store.formats import vrd25
from sightline.store.tables import Tables

SETTINGS = ("within_image", "across_images")


@pytest.fixture(scope="module")
def tables() -> Tables:
    return simulated_tables(images=160, seed=4)


def right(table: PairTable, cue: np.ndarray) -> float:
    """Share of the clearly ordered pairs in which the object with more of the cue is closer."""
    clear = np.isin(table.depth, (1, 2))
    return float(((cue[table.first] > cue[table.second]) == (table.depth == 1))[clear].mean())


def test_it_is_a_valid_set(tables: Tables):
    for scene in scenes_from_tables(tables):
        validate(scene)
        assert 2 <= len(scene.objects) <= 7
    share = area(tables.sightings.select("x0", "y0", "x1", "y1").to_numpy())
    assert ((share >= 0.02) & (share <= 0.7)).all()
    assert tables.objects["category"].str.starts_with("/sim/").all()
    assert tables.objects["category"].n_unique() >= 20
    assert sorted(set(tables.views.select("source", "split").rows())) == [
        (setting, split) for setting in sorted(SETTINGS) for split in ("test", "validation")
    ]


def test_blind_rules_score_as_on_real_labels(tables: Tables):
    """Real: bottom edge 0.857 / 0.597, area 0.686 / 0.612 (measured on 2.5VRD's test split)."""
    within, across = (pair_table(tables, setting, "test") for setting in SETTINGS)
    assert 0.72 < right(within, within.boxes[:, 3]) < 0.88
    assert 0.54 < right(across, across.boxes[:, 3]) < 0.70
    assert 0.58 < right(within, area(within.boxes)) < 0.76
    assert 0.50 < right(across, area(across.boxes)) < 0.68


def test_raters_disagree_in_every_way(tables: Tables):
    within, across = (pair_table(tables, setting, "test") for setting in SETTINGS)
    assert set(within.depth) == {NO_MAJORITY, 0, 1, 2, 3}
    assert set(within.occlusion) == {NO_MAJORITY, 0, 1, 2, 3}
    assert set(across.depth) >= {NO_MAJORITY, 0, 1, 2}
    assert (within.depth_votes.sum(axis=1) == 5).all()
    unanimous = [(t.depth_votes.max(axis=1) == 5).mean() for t in (within, across)]
    assert all(0.4 < share < 0.9 for share in unanimous)
    hidden = np.isin(within.occlusion, (1, 2)) & np.isin(within.depth, (1, 2))
    assert (within.occlusion == within.depth)[hidden].mean() > 0.9  # the closer one hides the other


def test_raters_err_more_where_depths_are_close(tables: Tables):
    ids = tables.views.filter(pl.col("source") == "within_image", pl.col("split") == "test")["scene_id"]
    images = [scene.rsplit("/", 1)[-1] for scene in ids]
    truth = pl.concat([simulated_image(image, seed=4) for image in images])
    depth = {(scene, number): z for scene, number, z in truth.select("scene_id", "object_id", "depth").iter_rows()}
    table = pair_table(tables, "within_image", "test")
    keys = [
        (table.scenes[s].rsplit("/", 1)[-1], n) for s, n in zip(table.object_scene, table.object_ids, strict=True)
    ]
    order = np.log([depth[keys[b]] / depth[keys[a]] for a, b in zip(table.first, table.second, strict=True)])
    votes = np.where(order > 0, table.depth_votes[:, 1], table.depth_votes[:, 2])
    near, far = np.abs(order) < 0.2, np.abs(order) > 0.6
    assert votes[near].mean() / 5 < 0.75 < 0.85 < votes[far].mean() / 5


def test_files_are_read_back(tmp_path: Path):
    simulate(tmp_path, images=12, seed=9, raters=3)
    assert len(list(tmp_path.glob("*.csv"))) == 8
    again = Tables.concat(vrd25.read(tmp_path)).sorted()
    for name, frame in simulated_tables(images=12, seed=9, raters=3).sorted().frames():
        assert_frame_equal(frame, again.frame(name))


def test_the_seed_decides_everything():
    one, same, other = (simulated_tables(images=8, seed=seed) for seed in (1, 1, 2))
    for name, frame in one.frames():
        assert_frame_equal(frame, same.frame(name))
    assert not one.sightings.equals(other.sightings)
    more = simulated_tables(images=16, seed=1)  # an image does not depend on how many others there are
    kept = more.sightings.join(one.sightings, on="scene_id", how="semi")
    assert_frame_equal(kept.sort("scene_id", "object_id"), one.sightings.sort("scene_id", "object_id"))


@pytest.mark.parametrize("options", [{"images": 7}, {"raters": 0}, {"seed": -1}])  # too few, nobody, no seed
def test_impossible_wishes_are_refused(options):
    with pytest.raises(ConfigError, match="at least 8 images"):
        simulated_tables(**options)
