"""A classifier of what is in a picture: features, two convolutions, a global maximum, one linear layer a class.

The context exam's seed takes VGG-19's features of 256×256 pixels and does not say how wide the two convolutions
are: here 512 channels, 3×3, ReLU. Its features came trained on ImageNet; ours begin at random, with a batch norm
after every convolution, since sixteen layers do not learn from scratch without. The lighter one has MobileNetV2's
features under torchvision's names, so that its ImageNet weights can be loaded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Final, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from sightline.errors import ConfigError, ModelError

Backbone = Literal["vgg19", "mobilenet_v2"]

MEAN: Final = (0.485, 0.456, 0.406)
SPREAD: Final = (0.229, 0.224, 0.225)
"""Of ImageNet's pixels in [0, 1], by channel: what is taken off."""

_VGG19: Final = ((64, 2), (128, 2), (256, 4), (512, 4), (512, 4))
"""(channels, convolutions) between the poolings."""

_MOBILE: Final = (
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)
"""MobileNetV2's stages: expansion, channels, blocks, stride of the first."""
_MOBILE_LAST: Final = 1280


@dataclass(frozen=True, slots=True)
class ClassifierConfig:
    """The shape of a classifier.

    Attributes:
        classes: What it scores.
        backbone: ``vgg19`` or ``mobilenet_v2``.
        width: Channels of the two convolutions.
        size: Side of the square a picture is resized to, pixels.
        shrink: VGG-19's channels are divided by this: 1 the network, more for trials.
    """

    classes: tuple[str, ...]
    backbone: Backbone = "vgg19"
    width: int = 512
    size: int = 256
    shrink: int = 1

    def __post_init__(self) -> None:
        if not self.classes or len(set(self.classes)) < len(self.classes):
            raise ConfigError(f"classes of a classifier must be given, each once, not {list(self.classes)}")
        if self.backbone not in ("vgg19", "mobilenet_v2"):
            raise ConfigError(f"backbone of a classifier must be vgg19 or mobilenet_v2, not {self.backbone!r}")
        if min(self.width, self.shrink, self.size // 32) < 1:
            raise ConfigError("width and shrink of a classifier must be at least 1, its size at least 32")


class Classifier(nn.Module):
    """Pictures in, a logit for every class out.

    Args:
        config: Its shape.
    """

    kind: ClassVar[str] = "sightline-classifier-1"

    def __init__(self, config: ClassifierConfig) -> None:
        super().__init__()
        self.config = config
        if config.backbone == "vgg19":
            self.backbone: nn.Module = Vgg19Features(config.shrink)
            channels = _VGG19[-1][0] // config.shrink
        else:
            self.backbone, channels = MobileNetV2(), _MOBILE_LAST
        self.first = nn.Conv2d(channels, config.width, 3, padding=1)
        self.second = nn.Conv2d(config.width, config.width, 3, padding=1)
        self.readout = nn.Linear(config.width, len(config.classes))
        for layer in (self.first, self.second):
            nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
            nn.init.zeros_(_bias(layer))

    def forward(self, images: Tensor) -> Tensor:
        """(B, C) logits of pictures (B, H, W, 3) uint8 of the config's size."""
        features = self.backbone(standardised(images))
        features = functional.relu(self.second(functional.relu(self.first(features))))
        logits: Tensor = self.readout(features.amax(dim=(2, 3)))
        return logits

    def load_imagenet(self, path: str | Path) -> None:
        """Take the features' weights from torchvision's file; ModelError where they do not fit.

        Args:
            path: ``mobilenet_v2-b0353104.pth`` or another state dict with those names.
        """
        if not isinstance(self.backbone, MobileNetV2):
            raise ModelError(f"{path}: only mobilenet_v2 takes ImageNet's weights, not {self.config.backbone}")
        self.backbone.load_torchvision(path)


class Vgg19Features(nn.Module):
    """VGG-19's sixteen convolutions and five poolings, with a batch norm after each convolution.

    Args:
        shrink: Divides the channels.
    """

    def __init__(self, shrink: int = 1) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        before = 3
        for channels, count in _VGG19:
            for _ in range(count):
                layers += [conv_norm(before, channels // shrink, 3)]
                before = channels // shrink
            layers.append(nn.MaxPool2d(2))
        self.features = nn.Sequential(*layers)
        _initialise(self)

    def forward(self, images: Tensor) -> Tensor:
        """(B, 512, H / 32, W / 32) of (B, 3, H, W)."""
        features: Tensor = self.features(images)
        return features


class MobileNetV2(nn.Module):
    """MobileNetV2's features, its layers named as in torchvision.

    Args:
        classes: Classes of its own linear layer; 0 leaves that out, and the features are what comes out.
    """

    def __init__(self, classes: int = 0) -> None:
        super().__init__()
        layers: list[nn.Module] = [conv_norm(3, 32, 3, stride=2, six=True)]
        before = 32
        for expand, channels, count, stride in _MOBILE:
            for i in range(count):
                layers.append(_InvertedResidual(before, channels, stride if i == 0 else 1, expand))
                before = channels
        layers.append(conv_norm(before, _MOBILE_LAST, 1, six=True))
        self.features = nn.Sequential(*layers)
        _initialise(self)
        self.classifier = nn.Sequential(nn.Dropout(0.2), nn.Linear(_MOBILE_LAST, classes)) if classes else None

    def forward(self, images: Tensor) -> Tensor:
        """(B, 1280, H / 32, W / 32) of (B, 3, H, W); with a linear layer of its own (B, classes)."""
        features: Tensor = self.features(images)
        if self.classifier is None:
            return features
        logits: Tensor = self.classifier(features.mean(dim=(2, 3)))
        return logits

    def load_torchvision(self, path: str | Path) -> None:
        """Load a state dict of torchvision's; its linear layer only where this network has one."""
        try:
            given: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
        except FileNotFoundError:
            raise ModelError(f"{path}: no such file") from None
        except Exception as error:
            raise ModelError(f"{path}: not a torch state dict: {str(error).partition('. ')[0]}") from None
        kept = {
            name: value
            for name, value in (given if isinstance(given, dict) else {}).items()
            if self.classifier is not None or not str(name).startswith("classifier.")
        }
        expected = self.state_dict()
        odd = sorted(expected.keys() ^ kept.keys()) or [
            name for name, value in expected.items() if value.shape != kept[name].shape
        ]
        if odd:
            raise ModelError(f"{path}: not the weights of a MobileNetV2: {odd[0]} and {len(odd) - 1} more differ")
        self.load_state_dict(kept)


class _InvertedResidual(nn.Module):
    """Widen, convolve each channel, narrow; added to what came in where the shapes agree."""

    def __init__(self, before: int, after: int, stride: int, expand: int) -> None:
        super().__init__()
        inner = before * expand
        layers: list[nn.Module] = [conv_norm(before, inner, 1, six=True)] if expand > 1 else []
        layers.append(conv_norm(inner, inner, 3, stride=stride, groups=inner, six=True))
        layers += [nn.Conv2d(inner, after, 1, bias=False), nn.BatchNorm2d(after)]
        self.conv = nn.Sequential(*layers)
        self.added = stride == 1 and before == after

    def forward(self, x: Tensor) -> Tensor:
        """The block."""
        after: Tensor = self.conv(x)
        return x + after if self.added else after


def conv_norm(
    before: int, after: int, kernel: int, *, stride: int = 1, groups: int = 1, six: bool = False
) -> nn.Sequential:
    """Convolution without bias, batch norm, ReLU; with `six` cut off at 6."""
    convolution = nn.Conv2d(before, after, kernel, stride, kernel // 2, groups=groups, bias=False)
    return nn.Sequential(convolution, nn.BatchNorm2d(after), nn.ReLU6(True) if six else nn.ReLU(True))


def standardised(images: Tensor) -> Tensor:
    """(B, 3, H, W) float32 of pictures (B, H, W, 3) uint8: ImageNet's mean and spread taken off."""
    mean, spread = (torch.tensor(each, device=images.device) for each in (MEAN, SPREAD))
    return ((images.float() / 255.0 - mean) / spread).permute(0, 3, 1, 2)


def resized(images: Tensor, size: tuple[int, int]) -> Tensor:
    """Pictures (B, H, W, 3) uint8 resized to (height, width), bilinearly, averaged where they shrink; uint8."""
    if tuple(images.shape[1:3]) == size:
        return images
    planes = images.permute(0, 3, 1, 2).float()
    smaller = functional.interpolate(planes, size, mode="bilinear", align_corners=False, antialias=True)
    return smaller.round().clamp(0, 255).to(torch.uint8).permute(0, 2, 3, 1).contiguous()


def picture_batches(
    pictures: Sequence[Any], size: tuple[int, int], most: int, device: torch.device
) -> list[Tensor]:
    """Pictures, (H, W, 3) uint8 arrays of any size, as batches of (B, height, width, 3) uint8 on a device."""
    small = [resized(torch.from_numpy(pixels.copy())[None], size) for pixels in pictures]
    return [torch.cat(small[i : i + most]).to(device) for i in range(0, len(small), most)]


def _initialise(net: nn.Module) -> None:
    for layer in net.modules():
        if isinstance(layer, nn.Conv2d):
            nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")


def _bias(layer: nn.Conv2d) -> Tensor:
    assert layer.bias is not None
    return layer.bias
