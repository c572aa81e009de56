# ruff: noqa: E402 - without torch there is nothing to import
"""SORNet: the fast forward pass against the slow one of the text, and what the attention mask promises."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="networks need torch")

from hypothesis import given, settings
from hypothesis import strategies as st
from nets_made import BOTH, batch, config, net, shown
from torch.nn import functional

from reference import sornet_forward as oracle
from sightline.errors import ConfigError
from sightline.models.nets.sornet import PREDICATES, SIZES, Sornet, consistent, sornet_config

CLOSE = {"rtol": 0.0, "atol": 2e-5}
few = settings(max_examples=12, deadline=None)


NET = net()

SHAPES: list[tuple[dict[str, Any], tuple[int, ...], int]] = [
    # config, views shown, queries
    ({"views": ("original",)}, (0,), 3),  # one view
    ({}, (0, 1), 4),  # two views
    ({}, (1,), 2),  # the second alone
    ({}, (1, 0), 2),  # the other way round
    ({}, (0, 1), 1),  # one query, no pair
    ({"width": 15, "heads": 3, "depth": 1, "hidden": 1, "image": (12, 8), "patch": 4}, (0, 1), 7),  # odd sizes
    ({"width": 7, "heads": 1, "depth": 3, "image": (5, 5), "patch": 5, "views": ("a", "b", "c")}, (2, 0), 3),
    ({"width": 8, "heads": 8, "depth": 1, "image": (8, 16), "patch": 8, "predicates": ("left",)}, (0,), 3),
    ({"published": True, "views": ("original",)}, (0,), 3),  # the authors' network
    ({"published": True}, (1, 0), 2),
]


@pytest.mark.parametrize(("changes", "views", "n"), SHAPES)
def test_the_forward_pass_is_the_texts(changes: dict[str, Any], views: tuple[int, ...], n: int) -> None:
    made = net(3, **changes)
    it = made.config
    images, queries = shown(n, len(views), seed=n, image=it.image, side=it.patch)
    weights = {name: value.numpy() for name, value in made.state_dict().items()}
    expected = oracle.forward(weights, images, queries, views, it.heads, it.depth)
    with torch.no_grad():
        found = made(*batch(images, queries), views)[0].numpy()
    assert found.shape == (n, n, len(it.predicates))
    np.testing.assert_allclose(found, expected, **CLOSE)
    assert n == 1 or expected.std(axis=(0, 1)).min() > 0.005  # a mistake would show


def test_floats_of_0_to_1_are_bytes() -> None:
    images, queries = batch(*shown(3))
    with torch.no_grad():
        found = NET(images / 255.0, queries / 255.0)
        torch.testing.assert_close(found, NET(images, queries), **CLOSE)


def test_scenes_of_a_batch_do_not_mix() -> None:
    scenes = [shown(3, seed=seed) for seed in range(3)]
    with torch.no_grad():
        together = NET(*(torch.from_numpy(np.stack(part)) for part in zip(*scenes, strict=True)))
        for i, scene in enumerate(scenes):
            torch.testing.assert_close(together[i], NET(*batch(*scene))[0], **CLOSE)


def test_no_queries_have_no_verdicts() -> None:
    images, _ = shown(0)
    with torch.no_grad():
        found = NET(*batch(images, np.zeros((0, 32, 32, 3), np.uint8)))
    assert found.shape == (1, 0, 0, 8)


@few
@given(n=st.integers(1, 5), others=st.integers(0, 4), seed=st.integers(0, 99), data=st.data())
def test_an_embedding_does_not_know_the_other_queries(n: int, others: int, seed: int, data: st.DataObject) -> None:
    """Others may be added, be padding, or come in any order."""
    images, queries = shown(n, seed=seed)
    more = np.concatenate((queries, shown(others, seed=seed + 1)[1] * data.draw(st.integers(0, 1))))
    order = np.array(data.draw(st.permutations(range(n + others))))
    with torch.no_grad():
        alone = NET.embed(*batch(images, queries))[0]
        among = NET.embed(*batch(images, more[order]))[0]
    torch.testing.assert_close(among[np.argsort(order)[:n]], alone, **CLOSE)


@few
@given(order=st.permutations(range(5)), seed=st.integers(0, 99))
def test_verdicts_follow_the_order_of_the_queries(order: list[int], seed: int) -> None:
    images, queries = shown(5, seed=seed)
    with torch.no_grad():
        plain, moved = NET(*batch(images, queries))[0], NET(*batch(images, queries[order]))[0]
    torch.testing.assert_close(moved, plain[order][:, order], **CLOSE)


def test_subject_and_object_are_told_apart() -> None:
    with torch.no_grad():
        found = NET(*batch(*shown(4)))[0]
    assert (found - found.transpose(0, 1)).abs().max() > 0.1


def test_padding_gets_no_gradient_and_gives_none() -> None:
    """With the loss masked, the weights learn the same as from the scene without padding."""
    images, queries = batch(*shown(3))
    padded = torch.cat((queries, torch.full((1, 2, 32, 32, 3), 200, dtype=torch.uint8)), dim=1).float() / 255.0
    padded.requires_grad_()
    truth = (torch.arange(9 * 8) % 3 == 0).float().view(1, 3, 3, 8)
    wanted = torch.zeros(1, 5, 5, 8)
    wanted[:, :3, :3] = truth
    there = torch.zeros_like(wanted, dtype=torch.bool)
    there[:, :3, :3] = True
    gradients = []
    for asked, right, counted in ((padded, wanted, there), (queries.float() / 255.0, truth, there[:, :3, :3])):
        NET.zero_grad()
        loss = functional.binary_cross_entropy_with_logits(NET(images, asked), right, reduction="none")
        loss[counted].mean().backward()
        gradients.append({name: weight.grad.clone() for name, weight in NET.named_parameters()})
    NET.zero_grad()
    assert padded.grad is not None
    assert padded.grad[:, 3:].abs().max() == 0.0
    assert padded.grad[:, :3].abs().amax(dim=(-1, -2, -3)).min() > 0.0
    for name, gradient in gradients[0].items():
        torch.testing.assert_close(gradient, gradients[1][name], rtol=1e-4, atol=1e-6, msg=name)


@pytest.mark.parametrize("named", [(0,), (1,), (0, 1), (1, 0)])
def test_a_view_is_embedded_by_its_own_weights(named: tuple[int, ...]) -> None:
    """Only the named views' patch embeddings and positions are read; queries go by the first."""
    images, queries = batch(*shown(2, len(named)))
    NET.zero_grad()
    NET(images, queries, named).sum().backward()
    read = [layer.weight.grad is not None for layer in NET.patches]
    positions = NET.positions.grad.abs().sum(dim=(1, 2)) > 0
    NET.zero_grad()
    assert read == [True, 1 in named]
    assert positions.tolist() == [0 in named, 1 in named]


def test_views_may_come_in_any_order() -> None:
    """Attention knows no order: only which view is which matters."""
    images, queries = batch(*shown(3))
    with torch.no_grad():
        plain = NET(images, queries)
        torch.testing.assert_close(NET(images.flip(1), queries, (1, 0)), plain, **CLOSE)
        assert (NET(images.flip(1), queries) - plain).abs().max() > 0.01


def test_as_many_views_as_names() -> None:
    with pytest.raises(ConfigError, match="2 views are shown to SORNet, 1 are named"):
        NET(*batch(*shown(2)), (0,))


def test_attention_is_a_share_of_the_picture() -> None:
    images, queries = batch(*shown(4))
    with torch.no_grad():
        looked = NET.attention(images, queries)
    assert looked.shape == (2, 1, 4, 2, 2, 3)  # blocks, batch, queries, views, rows, columns
    assert looked.min() >= 0.0
    whole = looked.sum(dim=(-1, -2, -3))
    assert (whole < 1.0).all()  # the rest of its attention a query keeps for itself
    assert (whole > 0.1).all()


def test_attention_is_where_the_picture_matters() -> None:
    """With all values but one patch's out of reach, its share is what it was given: the maps keep their places."""
    made = net(1, depth=1, heads=1)
    images, queries = batch(*shown(1))
    with torch.no_grad():
        tokens = torch.cat(made.tokens(images, queries), dim=1)
        block = made.blocks[0]
        q, k, _ = block.qkv(block.before_attention(tokens))[0].split(32, dim=-1)
        scores = (k @ q[-1]) / 32**0.5  # a query looks at all patches and itself; there is no other query
        expected = scores.softmax(dim=0)[:-1].view(2, 2, 3)
        torch.testing.assert_close(made.attention(images, queries)[0, 0, 0], expected, **CLOSE)


pairs = st.integers(0, 4).flatmap(
    lambda n: st.lists(st.floats(-5, 5, width=32), min_size=n * n * 8, max_size=n * n * 8).map(
        lambda values: torch.tensor(values, dtype=torch.float32).reshape(n, n, 8)
    )
)


@settings(max_examples=30, deadline=None)
@given(logits=pairs)
def test_two_ways_to_say_one_thing_agree(logits: Any) -> None:
    told = consistent(logits)
    for one, other in (("left", "right"), ("front", "behind")):
        i, j = PREDICATES.index(one), PREDICATES.index(other)
        torch.testing.assert_close(told[..., i], told[..., j].T)  # a left of b: b right of a
    assert torch.equal(told[..., 4:], logits[..., 4:])
    torch.testing.assert_close(consistent(told), told)  # nothing is left to mend
    assert torch.equal(consistent(logits[None])[0], told)  # with or without a batch


def test_agreement_weighs_both_statements() -> None:
    logits = torch.zeros(2, 2, 8)
    logits[0, 1, 0], logits[0, 1, 1], logits[1, 0, 0], logits[1, 0, 1] = 1.0, -2.0, -4.0, 3.0  # left, right
    assert consistent(logits)[0, 1, 0] == pytest.approx((1.0 + 3.0) / 2)
    assert consistent(logits)[1, 0, 0] == pytest.approx((-4.0 - 2.0) / 2)  # told by its own two statements alone
    single = torch.ones(2, 2, 1)
    assert torch.equal(consistent(single, ("left",)), single)  # its opposite is not judged


@pytest.fixture
def without_onednn() -> Iterator[None]:
    """Some processors claim the instructions that oneDNN takes for bf16 and do not have them."""
    enabled, *_ = torch.backends.mkldnn.set_flags(_enabled=False)
    yield
    torch.backends.mkldnn.set_flags(_enabled=enabled)


@pytest.mark.usefixtures("without_onednn")
def test_half_precision_is_close() -> None:
    images, queries = batch(*shown(4))
    with torch.no_grad():
        plain = NET(images, queries)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            rough = NET(images, queries)
    assert rough.dtype == torch.float32
    assert 0.0 < (rough - plain).abs().max() < 0.1 * plain.abs().max()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"width": 30}, "width 30 is no multiple of its 4 heads"),
        ({"depth": 0}, "depth must be a whole number ≥ 1, not 0"),
        ({"hidden": 1.5}, "hidden must be a whole number ≥ 1, not 1.5"),
        ({"image": (96, 60)}, "image .* is no multiple of its patch"),
        ({"image": (96,)}, "image .* is no multiple of its patch"),  # one side
        ({"image": (0, 32)}, "image .* is no multiple of its patch"),  # nothing to see
        ({"views": ()}, "one or more different views, not none"),
        ({"views": ("top", "top")}, "one or more different views, not top, top"),
        ({"predicates": ()}, "SORNet judges different ones of left, .* not none"),
        ({"predicates": ("left", "left")}, "not left, left"),  # one twice
        ({"predicates": ("left", "above")}, "not left, above"),  # unknown
    ],
)
def test_networks_that_cannot_be(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        config(**changes)


def test_sizes() -> None:
    assert {name: (it.width, it.depth, it.heads) for name, it in SIZES.items()} == {
        "tiny": (256, 7, 4),
        "small": (384, 12, 6),
        "base": (768, 12, 12),
        "paper": (768, 12, 12),
        "paper-tiny": (256, 7, 4),
    }
    assert sornet_config("base", views=BOTH).views == BOTH
    with pytest.raises(ConfigError, match="unknown size 'huge' of SORNet; there are tiny, small, base"):
        sornet_config("huge")


def test_tiny_fits_16_megabytes_in_half_precision() -> None:
    with torch.device("meta"):
        made = Sornet(sornet_config("tiny", views=BOTH))
    assert sum(weight.numel() for weight in made.parameters()) * 2 + 20_000 < 16e6  # with the header


def test_the_published_network_begins_as_its_authors_began() -> None:
    torch.manual_seed(0)
    made = Sornet(sornet_config("paper-tiny"))
    width, hidden = made.config.width, made.config.hidden
    weights = made.state_dict()
    assert not any(name.startswith("patches") and name.endswith("bias") for name in weights)
    assert float(weights["positions"].std()) == pytest.approx(width**-0.5, rel=0.05)
    assert float(weights["readout.subject.weight"].abs().max()) == pytest.approx((2 * width) ** -0.5, rel=0.01)
    assert float(weights["readout.weight"].abs().max()) == pytest.approx(hidden**-0.5, rel=0.01)
    assert float(weights["blocks.0.qkv.weight"].abs().max()) == pytest.approx((6 / (4 * width)) ** 0.5, rel=0.01)
    assert float(weights["blocks.0.qkv.bias"].abs().max()) == 0.0
    torch.testing.assert_close(weights["first.weight"], torch.ones(width))


def test_the_published_size() -> None:
    paper = sornet_config("paper")
    assert (paper.width, paper.depth, paper.heads, paper.hidden, paper.patch, paper.grid) == (
        768,
        12,
        12,
        512,
        32,
        (10, 15),
    )
