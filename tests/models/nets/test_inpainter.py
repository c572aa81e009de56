"""The in-painter against Tables 5 and 6 of the context paper."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from sightline.errors import ConfigError
from sightline.models.nets.inpainter import WIDTHS, Discriminator, Inpainter, InpainterConfig

TABLE = [  # in, out, side, stride, share of the picture's side it is given
    (4, 64, 4, 1, 1),
    (64, 128, 4, 2, 1),
    (128, 256, 4, 2, 1 / 2),
    (256, 512, 4, 2, 1 / 4),
    (512, 256, 3, 1, 1 / 8),
    (256, 256, 3, 1, 1 / 8),
    *[(256, 256, 3, 1, 1 / 8)] * 10,
    (256, 256, 3, 1, 1 / 4),
    (256, 128, 3, 1, 1 / 2),
    (128, 64, 3, 1, 1),
    (64, 3, 7, 1, 1),
]


def test_layers_are_those_of_the_tables() -> None:
    net, seen = Inpainter().eval(), []

    def note(layer: nn.Module, given: tuple[torch.Tensor], made: torch.Tensor) -> None:
        assert isinstance(layer, nn.Conv2d)
        seen.append((layer, tuple(given[0].shape), tuple(made.shape)))

    for part in net.modules():
        if isinstance(part, nn.Conv2d):
            part.register_forward_hook(note)  # type: ignore[arg-type]
    with torch.inference_mode():
        painted = net(torch.zeros(1, 3, 32, 48), torch.ones(1, 1, 32, 48))
    assert painted.shape == (1, 3, 32, 48)
    skips = [one for one in seen if one[0].kernel_size == (1, 1)]
    assert [(layer.in_channels, layer.out_channels) for layer, _, _ in skips] == [(512, 256)]
    layers = [one for one in seen if one[0].kernel_size != (1, 1)]
    assert len(layers) == len(TABLE)
    for (layer, given, made), (taken, out, side, stride, share) in zip(layers, TABLE, strict=True):
        assert (layer.in_channels, layer.out_channels) == (taken, out)
        assert (layer.kernel_size, layer.stride) == ((side, side), (stride, stride))
        extra = side - stride  # padded by hand, so that sides are divided by the stride alone
        assert given[2:] == (32 * share + extra, 48 * share + extra)
        assert made[2:] == (32 * share / stride, 48 * share / stride)


def test_each_convolution_but_the_last_has_instance_norm_and_a_leaky_relu() -> None:
    net = Inpainter()
    norms = [part.num_features for part in net.modules() if isinstance(part, nn.InstanceNorm2d)]
    assert norms == [out for _, out, *_ in TABLE[:-1]]
    layer = net.encoder[0]
    y = layer(torch.randn(2, 4, 8, 8))
    means = torch.where(y < 0, y / 0.1, y).mean(dim=(2, 3))  # before the leaky ReLU each channel has mean 0
    assert means.abs().max() < 1e-5
    assert (y < 0).any()
    painted = net(torch.rand(1, 3, 16, 16), torch.zeros(1, 1, 16, 16))
    assert painted.abs().max() < 1


@pytest.mark.parametrize(
    ("name", "weights", "megabytes"),
    [("seed", 11_532_227, 23.1), ("narrow", 6_491_091, 13.0), ("small", 1_367_765, 2.7)],
)
def test_sizes(name: str, weights: int, megabytes: float) -> None:
    with torch.device("meta"):
        net = Inpainter(InpainterConfig(WIDTHS[name]))
    count = sum(weight.numel() for weight in net.parameters())
    assert count == weights
    assert round(2 * count / 1e6, 1) == megabytes


def test_what_lies_in_the_hole_is_not_looked_at_and_any_size_will_do() -> None:
    net = Inpainter(InpainterConfig(4, 1)).eval()
    picture, hole = torch.rand(1, 3, 21, 30), torch.zeros(1, 1, 21, 30)
    hole[..., 5:12, 7:20] = 1
    other = torch.where(hole > 0, torch.rand(1, 3, 21, 30), picture)
    with torch.inference_mode():
        assert torch.equal(net(picture, hole), net(other, hole))
        assert net(picture, hole).shape == (1, 3, 21, 30)


def test_the_discriminator_judges_patches() -> None:
    judged = Discriminator(4)(torch.rand(2, 3, 64, 96), torch.zeros(2, 1, 64, 96))
    assert judged.shape == (2, 1, 4, 6)


@pytest.mark.parametrize("values", [{"width": 0}, {"blocks": 1.5}])
def test_odd_shapes_are_refused(values: dict[str, int]) -> None:
    with pytest.raises(ConfigError, match="whole number"):
        InpainterConfig(**values)
