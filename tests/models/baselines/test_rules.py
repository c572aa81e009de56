from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from exams.relations.pair_tables import make_table, random_table
from reference import rules as slow
from sightline.errors import ConfigError
from sightline.exams.relations.pairs import pair_table
from sightline.models import load
from sightline.models.adapters.depth_maps import MissingMapError
from sightline.models.baselines.depth import DepthRule
from sightline.models.baselines.rules import depth_by_lead, occlusion_by_depth, tuned_margin, tuned_overlap
from sightline.scenes import REVERSE, View, words
from sightline.skills import SILENT, Judgements, Pairs, RelationsStudy
from sightline.store.formats import vrd25
from sightline.store.tables import Tables

RULES = sorted(slow.MEASURES)
SETTINGS = ["within_image", "across_images"]
steps = st.integers(0, 20).map(lambda k: k / 20)  # coarse, so that ties happen
boxes = st.tuples(steps, steps, steps, steps).map(
    lambda b: (min(b[0], b[2]), min(b[1], b[3]), max(b[0], b[2]) + 0.05, max(b[1], b[3]) + 0.05)
)


def worded(said: Judgements, i: int) -> tuple[str, str]:
    return words("depth")[said.depth[i]], words("occlusion")[said.occlusion[i]]


@settings(max_examples=60, deadline=None)
@given(
    pairs=st.lists(st.tuples(boxes, boxes), min_size=1, max_size=6),
    margin=steps,
    overlap=steps,
    rule=st.sampled_from(RULES),
    setting=st.sampled_from(SETTINGS),
)
def test_rules_equal_the_oracle_and_turn_round(
    ask: Any, turned: Any, pairs: list[Any], margin: float, overlap: float, rule: str, setting: Any
) -> None:
    model = load(f"{rule}:margin={margin},overlap={overlap}")
    asked = ask([a for a, _ in pairs], [b for _, b in pairs], setting=setting)
    said = Judgements.checked(model.relate(asked), len(pairs), rule)
    back = model.relate(turned(asked))
    reverse = np.array(REVERSE)
    np.testing.assert_array_equal(back.depth, reverse[said.depth])
    np.testing.assert_array_equal(back.occlusion, reverse[said.occlusion])
    for i, (a, b) in enumerate(pairs):
        order = slow.depth(rule, a, b, margin, setting)
        assert words("depth")[said.depth[i]] == order
        if setting == "within_image":
            assert worded(said, i) == (order, slow.occlusion(order, a, b, overlap))
        else:
            assert said.occlusion[i] == SILENT


@pytest.mark.parametrize(
    ("lead", "setting", "code"),
    [
        (0.02, "within_image", 3),  # exactly the margin is within it
        (0.0, "within_image", 3),  # a tie is the same depth
        (np.nan, "within_image", 0),  # nothing known
        (0.001, "across_images", 1),  # the better guess
        (0.0, "across_images", 0),  # no guess to make
        (np.nan, "across_images", 0),  # nothing known
    ],
)
def test_depth_at_the_edges(lead: float, setting: Any, code: int) -> None:
    assert depth_by_lead(np.array([lead]), 0.02, setting).tolist() == [code]
    assert depth_by_lead(np.array([-lead]), 0.02, setting).tolist() == [REVERSE[code]]


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_tuning_finds_the_best_of_all_thresholds(seed: int) -> None:
    """No threshold, be it in the grid or not, does better than the tuned one by more than the grid is coarse."""
    rng = np.random.default_rng(seed)
    lead, shared = rng.normal(size=30).round(1), np.maximum(rng.normal(size=30), 0).round(1)
    truth, hidden = rng.integers(-1, 4, 30).astype(np.int8), rng.integers(-1, 4, 30).astype(np.int8)
    margin = tuned_margin(lead, truth)
    scores = {
        m: slow.paper_f1(truth.tolist(), depth_by_lead(lead, m, "within_image").tolist(), "depth")
        for m in sorted({0.0, *np.abs(lead[np.abs(lead) < np.abs(lead).max()]), margin})
    }
    assert scores[margin] == pytest.approx(max(scores.values()), abs=1e-4)
    depth = depth_by_lead(lead, margin, "within_image")
    overlap = tuned_overlap(depth, shared, hidden)
    scores = {
        t: slow.mean_label_f1(hidden.tolist(), occlusion_by_depth(depth, shared, t).tolist())
        for t in sorted({0.0, *shared[shared < shared.max()], overlap})
    }
    assert scores[overlap] == pytest.approx(max(scores.values()), abs=1e-4)


BOXES = [(0, 0.0, 1, 0.1), (0, 0.1, 1, 0.2), (0, 0.5, 1, 0.6), (0, 0.9, 1, 1.0)]


def small_table() -> Any:
    """Bottoms at 0.1, 0.2, 0.6, 1.0: neighbours by 0.1 are at the same depth, others ordered, none overlap."""
    pairs = [(0, 1), (1, 0), (2, 0), (3, 2)]
    return make_table(pairs, [3, 3, 1, 1], scene_of=[0] * 4, boxes=BOXES, occlusion=[0, 0, 0, 0])


def test_prepare_tunes_the_margin_and_tells() -> None:
    model = load("bottom_edge_tuned")
    model.prepare_relations(RelationsStudy(train={"within_image": small_table()}, test={}))
    told = model.facts()
    assert 0.1 <= told["margin"] < 0.4
    assert (told["overlap"], told["tuned_on"]) == (0.0, 4)


def test_prepare_leaves_given_thresholds_alone() -> None:
    model = load("bottom_edge:margin=0.3,overlap=0.2")
    model.prepare_relations(RelationsStudy(train={"within_image": random_table(1)}, test={}))
    assert model.facts() == {"margin": 0.3, "overlap": 0.2, "tuned_on": 0}


def test_the_overlap_is_tuned_by_default() -> None:
    near, far = (0.0, 0.5, 0.5, 1.0), (0.0, 0.0, 0.5, 0.4)
    touching, hidden = (0.0, 0.0, 0.5, 0.51), (0.0, 0.0, 0.5, 0.9)
    table = make_table(
        [(0, 1), (0, 2), (0, 3)],
        [1, 1, 1],
        scene_of=[0] * 4,
        boxes=[near, far, touching, hidden],
        occlusion=[0, 0, 1],
    )
    model = load("bottom_edge")
    model.prepare_relations(RelationsStudy(train={"within_image": table}, test={}))
    assert 0.005 <= model.facts()["overlap"] < 0.2
    plain = load("bottom_edge")
    plain.prepare_relations(RelationsStudy(train={}, test={"within_image": table}))
    assert plain.facts()["overlap"] == 0.0


def test_tuning_without_training() -> None:
    model = load("size_tuned")
    with pytest.raises(ConfigError, match="size with margin=tuned needs a training split with within_image pairs"):
        model.prepare_relations(RelationsStudy(train={}, test={"within_image": random_table(1)}))
    model.prepare_relations(
        RelationsStudy(train={}, test={"across_images": random_table(1, setting="across_images")})
    )


def test_an_unprepared_tuned_rule_says_so(ask: Any) -> None:
    model = load("size_tuned")
    with pytest.raises(ConfigError, match="needs a training split"):
        model.relate(ask([BOXES[0]], [BOXES[1]]))
    assert model.relate(ask([BOXES[0]], [BOXES[1]], setting="across_images")).depth.tolist() == [0]


def maps_for(folder: Path, slopes: dict[str, float]) -> None:
    """Maps whose depth falls down the image by a slope: lower is closer."""
    for name, slope in slopes.items():
        np.save(folder / f"{name}.npy", np.repeat(10.0 - slope * np.arange(10.0)[:, None], 4, axis=1))


@pytest.mark.parametrize(
    ("options", "depth", "occlusion"),
    [
        ("", [1, 3], [1, 0]),  # smaller is closer, equal is same
        (",inverse=true", [2, 3], [2, 0]),  # larger is closer
        (",margin=3", [3, 3], [0, 0]),  # within the margin
    ],
)
def test_depth_rule(
    tmp_path: Path, ask: Any, turned: Any, options: str, depth: list[int], occlusion: list[int]
) -> None:
    maps_for(tmp_path, {"x": 0.5})
    model = load(f"depth:folder={tmp_path}{options}")
    asked = ask([(0, 0.5, 1, 1), (0, 0, 0.5, 1)], [(0, 0, 1, 0.6), (0.5, 0, 1, 1)])
    said, back = model.relate(asked), model.relate(turned(asked))
    assert (said.depth.tolist(), said.occlusion.tolist()) == (depth, occlusion)
    np.testing.assert_array_equal(back.depth, np.array(REVERSE)[said.depth])
    np.testing.assert_array_equal(back.occlusion, np.array(REVERSE)[said.occlusion])


@pytest.mark.parametrize(("images", "code"), [(("x", "y"), 1), (("y", "x"), 2)])
def test_depth_rule_across_images(tmp_path: Path, ask: Any, images: tuple[str, str], code: int) -> None:
    maps_for(tmp_path, {"x": 0.501, "y": 0.5})
    whole = [(0, 0, 1, 1)]
    said = load(f"depth:folder={tmp_path}").relate(ask(whole, whole, setting="across_images", images=images))
    assert (said.depth.tolist(), said.occlusion.tolist()) == ([code], [SILENT])


def test_depth_rule_tunes_on_the_maps_there_are(tmp_path: Path, ask: Any) -> None:
    train = make_table(
        [(0, 1), (2, 3), (4, 5)],
        [1, 3, 1],
        scene_of=[0, 0, 1, 1, 2, 2],
        boxes=[(0, 0.5, 1, 1), (0, 0, 1, 0.5)] * 3,
        occlusion=[0, 0, 0],
    )
    maps_for(tmp_path, {"0": 0.5, "1": 0.1})  # scene 2 has no map
    model = load(f"depth_tuned:folder={tmp_path}")
    model.prepare_relations(RelationsStudy(train={"within_image": train}, test={}))
    told = model.facts()
    assert 0.5 <= told["margin"] < 2.5
    assert told["tuned_on"] == 2
    with pytest.raises(MissingMapError, match="image within_image/test/x"):
        model.relate(ask([(0, 0, 1, 1)], [(0, 0, 1, 1)]))


def test_depth_rule_without_any_training_map(tmp_path: Path) -> None:
    study = RelationsStudy(train={"within_image": small_table()}, test={})
    with pytest.raises(ConfigError, match="none of the 4 training pairs can be measured"):
        load(f"depth_tuned:folder={tmp_path}").prepare_relations(study)
    model = load(f"depth:folder={tmp_path}")
    model.prepare_relations(study)
    assert model.facts() == {"margin": 0.02, "overlap": 0.0, "tuned_on": 0}


def test_depth_rule_takes_any_source(ask: Any) -> None:
    class Known:
        def estimate_depth(self, view: Any) -> Any:
            assert view.id == "within_image/test/x"
            return np.array([[1.0, 2.0]])

    asked: Pairs = ask([(0, 0, 0.5, 1)], [(0.5, 0, 1, 1)])
    assert DepthRule(Known()).relate(asked).depth.tolist() == [1]


@pytest.fixture(scope="session")
def real_tables(real_data: Path) -> Tables:
    return Tables.concat(list(vrd25.read(real_data / "2.5vrd")))


@pytest.mark.realdata
@pytest.mark.parametrize(
    ("rule", "setting", "accuracy"),
    [
        ("bottom_edge", "within_image", 0.857),
        ("size", "within_image", 0.686),
        ("bottom_edge", "across_images", 0.597),
        ("size", "across_images", 0.612),
    ],
)
def test_accuracy_on_clear_pairs(real_tables: Tables, rule: str, setting: Any, accuracy: float) -> None:
    """How often the rule orders a pair as the raters did; where it does not order it, it is right half the time."""
    table = pair_table(real_tables, setting, "test")
    clear = table.take(np.isin(table.depth, (1, 2)))
    said = depth_by_lead(load(rule).table_lead(clear), 0.0, setting)
    right = np.where(np.isin(said, (1, 2)), said == clear.depth, 0.5)
    assert right.mean() == pytest.approx(accuracy, abs=0.001)


@pytest.mark.realdata
def test_tuning_on_the_real_validation_split(real_tables: Tables) -> None:
    """The published margins came from a grid search on this split; ours must not be beaten by them there."""
    table = pair_table(real_tables, "within_image", "validation")
    for name, published in (("location_tuned", 0.02), ("size_tuned", 0.0)):
        model = load(name)
        model.prepare_relations(RelationsStudy(train={"within_image": table}, test={}))
        lead = model.table_lead(table)
        f1 = [
            slow.paper_f1(table.depth.tolist(), depth_by_lead(lead, m, "within_image").tolist(), "depth")
            for m in (model.facts()["margin"], published)
        ]
        assert f1[0] >= f1[1] - 1e-3


def test_depth_is_tuned_on_training_photos() -> None:
    class Brightness:
        """Depth maps read off a photo; none without one."""

        def estimate_depth(self, view: View) -> NDArray[np.float64]:
            if view.load_image is None:
                raise MissingMapError("no photo")
            return view.image()[..., 0].astype(np.float64)

    table = small_table()
    photo = np.tile(np.arange(20, dtype=np.uint8)[:, None, None], (1, 20, 3))
    model = DepthRule(Brightness(), inverse=True, margin="tuned")
    with pytest.raises(ConfigError, match="training pairs can be measured"):
        model.prepare_relations(RelationsStudy(train={"within_image": table}, test={}))
    asked: list[str] = []

    def view(scene: str) -> View:
        asked.append(scene)
        return View(scene, size=(20, 20), units="normalised", load_image=lambda: photo)

    model.prepare_relations(RelationsStudy(train={"within_image": table}, test={}, view=view))
    assert set(asked) == {str(table.scenes[s]) for s in table.object_scene[np.union1d(table.first, table.second)]}
    assert model.facts()["tuned_on"] == len(table)
