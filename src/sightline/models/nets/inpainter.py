"""The in-painting network of the context paper, layer by layer, and the discriminator it is trained against.

Tables 5 and 6: a masked picture and its hole go through four 4×4 convolutions, six residual blocks, three
upsamplings with 3×3 convolutions and a last one of 7×7. Every convolution but the last is followed by instance
norm and a leaky ReLU of slope 0.1; the last one by tanh. A 4×4 convolution has no middle, so it is padded by hand:
one pixel before and two after at stride 1, one on either side at stride 2. The first residual block takes 512
channels and gives 256, so its skip is a 1×1 convolution. Padding repeats the border. Widths are those of the
tables at `width` 64.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

import torch
from torch import Tensor, nn
from torch.nn import functional

from sightline.errors import ConfigError

SLOPE: Final = 0.1
STRIDE: Final = 8
"""Sides of a picture are padded to a multiple of this."""

WIDTHS: Final = {"seed": 64, "narrow": 48, "small": 22}
"""``seed`` is the paper's network, 11.5 million weights (23 MB in half precision); ``narrow`` has three quarters of
its channels, 6.5 million (13 MB), ``small`` a third, 1.4 million (2.7 MB)."""


@dataclass(frozen=True, slots=True)
class InpainterConfig:
    """The shape of an in-painter.

    Attributes:
        width: Channels of the first convolution; 64 in the paper.
        blocks: Residual blocks; six in the paper.
    """

    width: int = WIDTHS["seed"]
    blocks: int = 6

    def __post_init__(self) -> None:
        for name in ("width", "blocks"):
            value = getattr(self, name)
            if not isinstance(value, int) or value < 1:
                raise ConfigError(f"the in-painter's {name} must be a whole number ≥ 1, not {value!r}")


class PaddedConvolution(nn.Module):
    """A convolution that repeats the border, then instance norm and leaky ReLU where `active`."""

    def __init__(self, taken: int, given: int, side: int, stride: int = 1, *, active: bool = True) -> None:
        super().__init__()
        before, after = (side - stride) // 2, (side - stride + 1) // 2
        self.padding = (before, after, before, after)
        # Instance norm takes a bias away again.
        self.convolution = nn.Conv2d(taken, given, side, stride, bias=not active)
        self.norm = nn.InstanceNorm2d(given, affine=True) if active else None

    def forward(self, x: Tensor) -> Tensor:
        """(B, C, H, W) → (B, C′, H / stride, W / stride)."""
        y = self.convolution(functional.pad(x, self.padding, mode="replicate"))
        return y if self.norm is None else functional.leaky_relu(self.norm(y), SLOPE)


class ResidualBlock(nn.Module):
    """Two 3×3 convolutions beside a skip; the skip is a 1×1 convolution where the number of channels changes."""

    def __init__(self, taken: int, given: int) -> None:
        super().__init__()
        self.first = PaddedConvolution(taken, given, 3)
        self.second = PaddedConvolution(given, given, 3)
        self.skip = nn.Identity() if taken == given else nn.Conv2d(taken, given, 1, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """(B, C, H, W) → (B, C′, H, W)."""
        y: Tensor = self.skip(x) + self.second(self.first(x))
        return y


class Inpainter(nn.Module):
    """Fills the hole of a picture."""

    kind: ClassVar[str] = "sightline-inpainter-1"

    def __init__(self, config: InpainterConfig | None = None) -> None:
        super().__init__()
        self.config = config or InpainterConfig()
        w = self.config.width
        self.encoder = nn.Sequential(
            PaddedConvolution(4, w, 4),
            PaddedConvolution(w, 2 * w, 4, 2),
            PaddedConvolution(2 * w, 4 * w, 4, 2),
            PaddedConvolution(4 * w, 8 * w, 4, 2),
        )
        self.blocks = nn.Sequential(
            *(ResidualBlock(8 * w if i == 0 else 4 * w, 4 * w) for i in range(self.config.blocks))
        )
        self.decoder = nn.ModuleList(
            [PaddedConvolution(4 * w, 4 * w, 3), PaddedConvolution(4 * w, 2 * w, 3), PaddedConvolution(2 * w, w, 3)]
        )
        self.last = PaddedConvolution(w, 3, 7, active=False)

    def forward(self, pictures: Tensor, holes: Tensor) -> Tensor:
        """Paint pictures anew, hole and all: (B, 3, H, W) in [−1, 1].

        Args:
            pictures: (B, 3, H, W) in [−1, 1]; what lies in the hole is not looked at.
            holes: (B, 1, H, W), 1 in the hole, 0 outside.
        """
        height, width = pictures.shape[-2:]
        x = torch.cat([pictures * (1 - holes), holes], dim=1)
        x = functional.pad(x, (0, -width % STRIDE, 0, -height % STRIDE), mode="replicate")
        x = self.blocks(self.encoder(x))
        for layer in self.decoder:
            x = layer(functional.interpolate(x, scale_factor=2.0, mode="nearest"))
        painted: Tensor = torch.tanh(self.last(x))[..., :height, :width]
        return painted


class Discriminator(nn.Module):
    """Judges patches of a picture: were they photographed or painted? Only used in training.

    The paper gives no table of it: four 4×4 convolutions of stride 2, then one logit for every patch of 94 pixels a
    side.

    Args:
        width: Channels of the first convolution.
    """

    def __init__(self, width: int = 64) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            PaddedConvolution(4, width, 4, 2),
            PaddedConvolution(width, 2 * width, 4, 2),
            PaddedConvolution(2 * width, 4 * width, 4, 2),
            PaddedConvolution(4 * width, 4 * width, 4, 2),
            PaddedConvolution(4 * width, 1, 4, active=False),
        )

    def forward(self, pictures: Tensor, holes: Tensor) -> Tensor:
        """Logits (B, 1, H / 16, W / 16), above 0 for what looks real; arguments as of `Inpainter`."""
        judged: Tensor = self.layers(torch.cat([pictures, holes], dim=1))
        return judged
