"""Relations networks as models: no contradictions for any weights, unknown classes, missing options."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from relations_made import CLASSES, random_net, random_pairs, saved, turned

import sightline
from reference.preorder import contradictions
from sightline.errors import ConfigError, ModelError
from sightline.models.nets.checkpoints import dump_checkpoint
from sightline.models.nets.pairs import PaperMlp, PaperMlpConfig
from sightline.models.nets.viewpoint import ViewNet, ViewNetConfig
from sightline.models.registry import load
from sightline.models.relations.model import OrderedModel, PairModel, likeliest_depth, likeliest_occlusion
from sightline.models.relations.network import PairNetwork
from sightline.scenes import View
from sightline.skills import Judgements, Pairs, RelationsSpec, skills_of

REVERSE = np.array([0, 2, 1, 3, -1])


def network(seed: int, **changes: float) -> PairNetwork:
    net = random_net(seed)
    weights = {name: value.detach().numpy() for name, value in net.state_dict().items()}
    limits = {"unsure": 0.38, "unsure_across": 0.3, **changes}
    return PairNetwork(weights, CLASSES, "bc", **limits, ordered=True, about={})


@settings(max_examples=15)
@given(st.integers(0, 1000), st.integers(2, 7), st.sampled_from([0.0, 0.38, 0.6]))
def test_no_contradiction_within_an_image_for_any_weights(seed: int, n: int, unsure: float) -> None:
    pairs = random_pairs(seed, n)
    model = OrderedModel(network(seed, unsure=unsure), name="x")
    said = Judgements.checked(model.relate(pairs), len(pairs), "x")
    i, j = np.nonzero(~np.eye(n, dtype=bool))
    keys = list(zip(i.tolist(), j.tolist(), strict=True))
    assert contradictions(dict(zip(keys, said.depth.tolist(), strict=True))) == []
    back = dict(zip(keys, said.occlusion.tolist(), strict=True))
    assert all(back[a, b] == REVERSE[back[b, a]] for a, b in keys)
    if unsure == 0.0:
        assert not (said.depth == 0).any()


@pytest.mark.parametrize("kind", [PairModel, OrderedModel])
@pytest.mark.parametrize("setting", ["within_image", "across_images"])
def test_confidence_is_the_chance_of_the_label_that_was_given(kind: type[PairModel], setting: str) -> None:
    pairs = random_pairs(3, 4) if setting == "within_image" else random_pairs(3, 4, "across_images", m=3)
    model = kind(network(3), name="x")
    said, chances = model.relate(pairs), model.chances(pairs)
    for row, code in enumerate(said.depth.tolist()):
        assert said.confidence["depth"][row] == pytest.approx(chances.depth[row, code])
    assert ("occlusion" in said.confidence) == (setting == "within_image")
    for row, code in enumerate(said.occlusion.tolist() if setting == "within_image" else []):
        assert said.confidence["occlusion"][row] == pytest.approx(chances.occlusion[row, code])


@settings(max_examples=15)
@given(st.integers(0, 1000), st.integers(1, 5), st.integers(1, 5))
def test_no_contradiction_across_images_for_any_weights(seed: int, n: int, m: int) -> None:
    model = OrderedModel(network(seed, unsure_across=0.0), name="x")
    pairs = random_pairs(seed, n, "across_images", m=m)
    there, back = model.relate(pairs).depth, model.relate(turned(pairs)).depth
    np.testing.assert_array_equal(there, REVERSE[back])
    closer = there.reshape(n, m) == 1
    order = np.argsort(closer.sum(axis=1))
    ranked = closer[order]  # of a total order every row holds all that the rows before it hold
    assert (ranked[1:] >= ranked[:-1]).all()


@settings(max_examples=15)
@given(st.integers(0, 1000), st.integers(1, 4), st.integers(1, 4), st.sampled_from([0.0, 0.4]))
def test_answers_across_images_contradict_none_within(seed: int, n: int, m: int, unsure: float) -> None:
    model = OrderedModel(network(seed, unsure=unsure, unsure_across=unsure), name="x")
    across = random_pairs(seed, n, "across_images", m=m)
    i, j = (axis.ravel() for axis in np.meshgrid(np.arange(n), np.arange(n, n + m), indexing="ij"))
    said = dict(zip(zip(i.tolist(), j.tolist(), strict=True), model.relate(across).depth.tolist(), strict=True))
    said |= {pair[::-1]: int(REVERSE[code]) for pair, code in said.items()}
    boxes = np.concatenate((across.boxes_a[::m], across.boxes_b[:m]))
    names = (*across.categories_a[::m], *across.categories_b[:m])
    for image in (range(n), range(n, n + m)):
        pairs = [(k, other) for k in image for other in image if k != other]
        if pairs:
            a, b = (list(end) for end in zip(*pairs, strict=True))
            ends = tuple(names[k] for k in a), tuple(names[k] for k in b)
            within = Pairs("a", "within_image", across.view_a, across.view_a, boxes[a], boxes[b], *ends)
            said |= dict(zip(pairs, model.relate(within).depth.tolist(), strict=True))
    assert contradictions(said) == []


def test_a_free_network_can_contradict_itself_where_an_ordered_one_cannot() -> None:
    pairs = random_pairs(5, 8)
    i, j = np.nonzero(~np.eye(8, dtype=bool))
    keys = list(zip(i.tolist(), j.tolist(), strict=True))
    broken = 0
    for seed in range(20):
        free = PairModel(network(seed), name="x").relate(pairs).depth.tolist()
        broken += bool(contradictions(dict(zip(keys, free, strict=True))))
    assert broken  # else the tests above would show nothing


def test_a_photo_is_ordered() -> None:
    model = OrderedModel(network(2), name="x")
    pairs = random_pairs(1, 5)
    boxes, names = pairs.boxes_b[[19, *range(4)]], (pairs.categories_b[19], *pairs.categories_b[:4])
    order = model.depth_order(View("a", units="normalised"), boxes, names)
    assert sorted(set(order.level.tolist())) == list(range(order.level.max() + 1))
    row = np.lexsort((-order.score, order.level))
    assert (np.diff(order.score[row]) <= 0).all()  # the closest first


@pytest.mark.parametrize(
    ("chances", "within", "across"),
    [
        ([0.7, 0.2, 0.1, 0.0], 0, 0),  # nothing is likely enough
        ([0.1, 0.5, 0.4, 0.0], 1, 1),
        ([0.1, 0.3, 0.5, 0.1], 2, 2),
        ([0.0, 0.3, 0.1, 0.6], 3, 0),  # same is no answer across images
        ([0.0, 0.5, 0.5, 0.0], 3, 0),  # a tie: neither is closer
    ],
)
def test_depth_labels(chances: list[float], within: int, across: int) -> None:
    one = np.array([chances])
    assert likeliest_depth(one, 0.38, across=False).tolist() == [within]
    assert likeliest_depth(one, 0.38, across=True).tolist() == [across]


def test_occlusion_labels() -> None:
    rows = [
        [0.4, 0.4, 0.1, 0.1],
        [0.2, 0.5, 0.3, 0.0],
        [0.2, 0.3, 0.5, 0.0],
        [0.1, 0.2, 0.2, 0.5],
        [0.2, 0.4, 0.4, 0],
    ]
    assert likeliest_occlusion(np.array(rows)).tolist() == [0, 1, 2, 3, 3]


def test_classes_it_does_not_know_are_counted(tmp_path: Path) -> None:
    model = load(str(saved(random_net(), tmp_path / "mine.safetensors")))
    assert isinstance(model, PairModel)
    assert model.name == "mine"
    model.check_relations(RelationsSpec(("a",), ("cat", "lion", "zebra")))
    facts = model.facts()
    assert (facts["classes"], facts["unknown_classes"], facts["steps"]) == (3, 2, 7)


def test_classes_it_does_not_know_are_noted(tmp_path: Path) -> None:
    data = sightline.generate("geospa/train", tmp_path / "data", scenes=2, size="48x32")
    file = saved(random_net(), tmp_path / "mine.safetensors")
    taken = sightline.examine(str(file), data, "relations", baselines=False)
    classes = len({thing.category for scene in data for thing in scene.objects})
    assert f"mine: of {classes} classes asked about it learned 0" in taken.exams[0].notes


def test_options_that_cues_need(tmp_path: Path) -> None:
    depth = saved(random_net(cues="bcd", objects=8), tmp_path / "depth.safetensors")
    with pytest.raises(ConfigError, match="has the cue d and needs the option depth"):
        load(str(depth))
    plain = saved(random_net(), tmp_path / "plain.safetensors")
    (tmp_path / "maps").mkdir()
    with pytest.raises(ConfigError, match="the option depth is not for it"):
        load(f"{plain}:depth={tmp_path / 'maps'}")
    np.save(tmp_path / "maps" / "a.npy", np.linspace(1, 9, 48).reshape(6, 8))
    model = load(f"{depth}:depth={tmp_path / 'maps'}")
    said = model.relate(random_pairs(0, 3))  # type: ignore[attr-defined]
    assert Judgements.checked(said, 6, "depth").depth.shape == (6,)


def test_the_papers_mlp_answers(tmp_path: Path) -> None:
    net = PaperMlp(PaperMlpConfig(CLASSES, hidden=16))
    file = tmp_path / "mlp.safetensors"
    file.write_bytes(dump_checkpoint(net))
    model = load(str(file))
    pairs = random_pairs(0, 4)
    said = Judgements.checked(model.relate(pairs), 12, "mlp")  # type: ignore[attr-defined]
    assert set(said.depth.tolist()) <= {0, 1, 2, 3}
    across = model.relate(random_pairs(0, 2, "across_images", m=2))  # type: ignore[attr-defined]
    assert across.occlusion.tolist() == [-1] * 4


def test_a_detector_trained_here_finds_the_boxes(tmp_path: Path) -> None:
    shape = ViewNetConfig(("bus", "car"), (8, 8, 16, 16), (1, 1, 1, 1), neck=8, hidden=16, bins=8, side=96)
    file = tmp_path / "viewnet.safetensors"
    file.write_bytes(dump_checkpoint(ViewNet(shape)))
    joined = load(f"consistent+{file}")
    assert skills_of(joined) == ("relate", "detect")
    assert load(f"{saved(random_net(), tmp_path / 'a+b.safetensors')}") is not None  # a plus in a file's name


def test_the_folder_of_a_training_that_is_not_finished(tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_text("{}")
    with pytest.raises(ModelError, match="a training that is not finished: 0 checkpoints"):
        load(str(tmp_path))


@pytest.mark.parametrize("bad", [480.0, -3.0, np.nan])  # pixels, nowhere near the picture, no number
def test_boxes_in_other_units(bad: float) -> None:
    pairs = random_pairs(0, 3)
    pairs.boxes_b[2, 3] = bad
    for kind in (PairModel, OrderedModel):
        with pytest.raises(ModelError, match="boxes must be fractions of the image"):
            kind(network(0), name="x").relate(pairs)
