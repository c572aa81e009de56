"""UperNet on a ResNet, as transformers builds it: a logit for every class and pixel. Without its auxiliary head."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Final

from torch import Tensor, nn

from sightline.errors import ConfigError, MissingExtraError
from sightline.models.nets.classifier import standardised


@dataclass(frozen=True, slots=True)
class SegmenterConfig:
    """The shape of a segmenter.

    Attributes:
        classes: What a pixel may show.
        image: (width, height) a picture is resized to, pixels.
        depths: Blocks of the four stages of its ResNet; `widths` their channels.
        stem: Channels before the first stage.
        bottleneck: ResNet-50's kind of block, else ResNet-18's.
        hidden: Channels of UperNet's own layers.
        pools: Sides of the grids of its pyramid pooling.
    """

    classes: tuple[str, ...]
    image: tuple[int, int] = (480, 320)
    depths: tuple[int, ...] = (3, 4, 6, 3)
    widths: tuple[int, ...] = (256, 512, 1024, 2048)
    stem: int = 64
    bottleneck: bool = True
    hidden: int = 512
    pools: tuple[int, ...] = (1, 2, 3, 6)

    def __post_init__(self) -> None:
        if not self.classes or len(set(self.classes)) < len(self.classes):
            raise ConfigError(f"classes of a segmenter must be given, each once, not {list(self.classes)}")
        if min(*self.image, *self.depths, *self.widths, self.stem, self.hidden, *self.pools) < 1:
            raise ConfigError("sizes of a segmenter must be at least 1")


SIZES: Final[Mapping[str, Mapping[str, Any]]] = MappingProxyType(
    {
        "r50": {},
        "r18": {"depths": (2, 2, 2, 2), "widths": (64, 128, 256, 512), "bottleneck": False, "hidden": 128},
        "tiny": {
            "depths": (1, 1, 1, 1),
            "widths": (16, 16, 24, 32),
            "stem": 16,
            "bottleneck": False,
            "hidden": 16,
            "pools": (1, 2),
        },
    }
)
"""Settings of a `SegmenterConfig` by name; ``tiny`` is for trials.

No stage begins with fewer than 16 channels: below that oneDNN writes outside its memory where a 1×1 convolution of
stride 2 learns on a CPU (uxlfoundation/oneDNN issue 6035; torch 2.13 ends with a segmentation fault).
"""


class Upernet(nn.Module):
    """Pictures in, a logit for every class and pixel out.

    Args:
        config: Its shape.

    Raises:
        MissingExtraError: transformers is not installed.
    """

    kind: ClassVar[str] = "sightline-upernet-1"

    def __init__(self, config: SegmenterConfig) -> None:
        super().__init__()
        try:
            transformers = importlib.import_module("transformers")
        except ImportError:
            raise MissingExtraError("transformers", extra="vlm") from None
        self.config = config
        backbone = transformers.ResNetConfig(
            embedding_size=config.stem,
            hidden_sizes=list(config.widths),
            depths=list(config.depths),
            layer_type="bottleneck" if config.bottleneck else "basic",
            out_features=["stage1", "stage2", "stage3", "stage4"],
        )
        self.net = transformers.UperNetForSemanticSegmentation(
            transformers.UperNetConfig(
                backbone_config=backbone,
                hidden_size=config.hidden,
                pool_scales=list(config.pools),
                use_auxiliary_head=False,
                num_labels=len(config.classes),
            )
        )

    def forward(self, images: Tensor) -> Tensor:
        """(B, C, H, W) logits of pictures (B, H, W, 3) uint8."""
        logits: Tensor = self.net(standardised(images)).logits
        return logits
