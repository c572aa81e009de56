"""The four published relationship networks: shapes, gradients everywhere, union boxes only within an image."""

from __future__ import annotations

import pytest
import torch

from sightline.errors import ConfigError
from sightline.models.nets.vrd import (
    ARCHITECTURES,
    UNION,
    Hourglass,
    SeenPairs,
    SmallBackbone,
    VrdNet,
    VrdNetConfig,
    relative_place,
)


def pairs(*, across: bool) -> SeenPairs:
    torch.manual_seed(0)
    boxes = torch.rand(2, 5, 2, 2).sort(dim=2).values.reshape(2, 5, 4)
    image = torch.tensor([0, 0, 1, 1, 1])
    other = 1 - image if across else image
    classes = torch.randint(0, 3, (2, 5))
    return SeenPairs(torch.rand(2, 3, 64, 96), image, other, *boxes, *classes)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_logits_and_gradients(architecture: str) -> None:
    net = VrdNet(VrdNetConfig(("cat", "dog"), architecture, width=4, side=96))
    settings = (False,) if architecture in UNION else (False, True)
    for across in settings:
        said = net(pairs(across=across))
        assert said.depth.shape == said.occlusion.shape == (5, 4)
        (said.depth.sum() + said.occlusion.sum()).backward()
    without = [name for name, weight in net.named_parameters() if weight.grad is None]
    assert without == []


@pytest.mark.parametrize("architecture", UNION)
def test_union_boxes_are_of_one_image(architecture: str) -> None:
    net = VrdNet(VrdNetConfig(("cat", "dog"), architecture, width=4))
    with pytest.raises(ConfigError, match=f"{architecture} looks at the box around both objects"):
        net(pairs(across=True))


def test_a_picture_of_another_pair_does_not_matter() -> None:
    net = VrdNet(VrdNetConfig(("cat", "dog"), "vtranse", width=4)).eval()
    given = pairs(across=False)
    changed = given.pictures.clone()
    changed[0] = 0.0
    with torch.no_grad():
        before, after = net(given), net(given._replace(pictures=changed))
    torch.testing.assert_close(before.depth[2:], after.depth[2:])
    assert not torch.allclose(before.depth[:2], after.depth[:2])


def test_backbone_strides() -> None:
    assert SmallBackbone(4)(torch.rand(1, 3, 64, 96)).shape == (1, 32, 2, 3)
    assert SmallBackbone(4, stages=3)(torch.rand(1, 3, 64, 96)).shape == (1, 16, 4, 6)


def test_hourglass_keeps_the_shape() -> None:
    assert Hourglass(8, 6)(torch.rand(2, 6, 8, 8)).shape == (2, 6, 8, 8)


def test_relative_places() -> None:
    a, b = torch.tensor([[0.2, 0.1, 0.4, 0.5]]), torch.tensor([[0.0, 0.3, 0.4, 0.5]])
    expected = torch.tensor([[-1.0, 0.5, torch.log(torch.tensor(2.0)), torch.log(torch.tensor(0.5))]])
    torch.testing.assert_close(relative_place(a, b), expected)


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ({"architecture": "resnet"}, "architecture must be one of"),
        ({"width": 2}, "width of a backbone"),
        ({"side": 8}, "side of its pictures"),
    ],
)
def test_shapes_that_cannot_be(shape: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        VrdNetConfig(("cat",), **shape)  # type: ignore[arg-type]
