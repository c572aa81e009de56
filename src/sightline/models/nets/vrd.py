"""The four published networks for visual relationships, on a common small backbone, with two heads of four labels.

ViP-CNN and PPR-FCN look at the box around both objects and so at one image; DRNet and VTransE also at two. The
published ones each have a large ResNet; here all have a `SmallBackbone`, which is trained with them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final, Literal, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from sightline.errors import ConfigError
from sightline.models.nets.classifier import conv_norm
from sightline.models.nets.pairs import PairLogits
from sightline.models.nets.regions import box_masks, position_sensitive, roi_align, roi_max, union_boxes

Architecture = Literal["vipcnn", "pprfcn", "drnet", "vtranse"]
ARCHITECTURES: Final[tuple[Architecture, ...]] = ("vipcnn", "pprfcn", "drnet", "vtranse")
UNION: Final = ("vipcnn", "pprfcn")
"""Those that need the box around both objects, which only one image has."""
LABELS: Final = 8
"""Four of depth, four of occlusion."""
_MASK: Final = 32  # side of the location masks
_WORDS: Final = 300  # numbers of a class


class SeenPairs(NamedTuple):
    """Ordered pairs of objects with their pictures.

    Attributes:
        pictures: (B, 3, H, W) of [0, 1].
        image_a: (n,) the picture of each first object; `image_b` that of the second.
        boxes_a: (n, 4) xyxy, fractions of the picture; `boxes_b` likewise.
        classes_a: (n,) places of the classes, 0 for one that is not known; `classes_b` likewise.
    """

    pictures: Tensor
    image_a: Tensor
    image_b: Tensor
    boxes_a: Tensor
    boxes_b: Tensor
    classes_a: Tensor
    classes_b: Tensor


@dataclass(frozen=True, slots=True)
class VrdNetConfig:
    """Shape of one of the four networks.

    Attributes:
        classes: Class names it knows.
        architecture: ``vipcnn``, ``pprfcn``, ``drnet`` or ``vtranse``.
        width: Channels of the backbone's first stage; the last has eight times as many.
        side: Longer side of the pictures, pixels.
    """

    classes: tuple[str, ...]
    architecture: str = "drnet"
    width: int = 32
    side: int = 224

    def __post_init__(self) -> None:
        if self.architecture not in ARCHITECTURES:
            raise ConfigError(f"architecture must be one of {', '.join(ARCHITECTURES)}, not {self.architecture!r}")
        if self.width < 4 or self.side < 32:
            raise ConfigError("width of a backbone must be at least 4, side of its pictures at least 32")


class VrdNet(nn.Module):
    """One of the four networks: pictures, boxes and classes in, logits of depth and occlusion out."""

    kind: ClassVar[str] = "sightline-vrd-1"

    def __init__(self, config: VrdNetConfig) -> None:
        super().__init__()
        self.config = config
        heads = {"vipcnn": VipCnn, "pprfcn": PprFcn, "drnet": DrNet, "vtranse": VTransE}
        self.head: nn.Module = heads[config.architecture](config)

    @property
    def within_only(self) -> bool:
        """Whether it needs both objects in one picture."""
        return self.config.architecture in UNION

    def forward(self, pairs: SeenPairs) -> PairLogits:
        """(n, 4) logits of each head; ConfigError for pairs across pictures where it needs a box around both."""
        if self.within_only and bool((pairs.image_a != pairs.image_b).any()):
            raise ConfigError(
                f"{self.config.architecture} looks at the box around both objects: it has no answer across images"
            )
        depth, occlusion = self.head(pairs).split(4, dim=-1)
        return PairLogits(depth, occlusion)


class SmallBackbone(nn.Module):
    """Four stages of residual blocks at strides 4, 8, 16 and 32: (B, 8 · width, H / 32, W / 32), or H / 16.

    Args:
        width: Channels of the first stage; each stage doubles them.
        stages: How many; three end at stride 16.
    """

    def __init__(self, width: int, stages: int = 4) -> None:
        super().__init__()
        layers: list[nn.Module] = [conv_norm(3, width, 7, stride=2), nn.MaxPool2d(3, 2, 1)]
        before = width
        for stage in range(stages):
            after = width * 2**stage
            layers += [_Residual(before, after, 1 if stage == 0 else 2), _Residual(after, after, 1)]
            before = after
        self.layers, self.channels = nn.Sequential(*layers), before

    def forward(self, pictures: Tensor) -> Tensor:
        """Features of pictures (B, 3, H, W) of [0, 1]."""
        features: Tensor = self.layers(pictures * 4.0 - 2.0)
        return features


class _Residual(nn.Module):
    """Two convolutions of 3×3 beside a way around them."""

    def __init__(self, before: int, after: int, stride: int) -> None:
        super().__init__()
        self.first = conv_norm(before, after, 3, stride=stride)
        self.second = nn.Sequential(nn.Conv2d(after, after, 3, padding=1, bias=False), nn.BatchNorm2d(after))
        alike = before == after and stride == 1
        self.around = nn.Identity() if alike else nn.Conv2d(before, after, 1, stride, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return functional.relu(self.second(self.first(x)) + self.around(x))


class VipCnn(nn.Module):
    """ViP-CNN: objects and predicate pass messages to each other, on the maps and after pooling."""

    CELLS: Final = 6

    def __init__(self, config: VrdNetConfig) -> None:
        super().__init__()
        self.backbone = SmallBackbone(config.width, stages=3)
        channels = self.backbone.channels
        self.things, self.predicate = (_Residual(channels, 2 * channels, 1) for _ in range(2))
        self.to_things, self.to_predicate = (nn.Conv2d(2 * channels, 128, 3, padding=1) for _ in range(2))
        self.gather, self.spread = (nn.Conv2d(128, 128, 3, padding=1) for _ in range(2))
        self.gather_norm, self.spread_norm = (nn.BatchNorm2d(128) for _ in range(2))
        parts = self.CELLS**2
        self.thing_line, self.predicate_line = (nn.Linear(256 * parts, 32 * parts) for _ in range(2))
        self.from_subject, self.from_object = (nn.Linear(32 * parts, 32 * parts) for _ in range(2))
        self.line_norm, self.last_norm = nn.BatchNorm1d(32 * parts), nn.BatchNorm1d(4 * parts)
        self.last_line, self.readout = nn.Linear(32 * parts, 4 * parts), nn.Linear(4 * parts, LABELS)

    def forward(self, pairs: SeenPairs) -> Tensor:
        """(n, 8) logits."""
        shared = self.backbone(pairs.pictures)
        things, predicate = self.to_things(self.things(shared)), self.to_predicate(self.predicate(shared))
        gathered = functional.relu(self.gather_norm(predicate + self.gather(things)))
        spread = functional.relu(self.spread_norm(things + self.spread(predicate)))
        maps_p = torch.cat((functional.relu(predicate), gathered), 1)
        maps_so = torch.cat((functional.relu(things), spread), 1)
        union = union_boxes(pairs.boxes_a, pairs.boxes_b)
        s, o, p = (
            roi_max(maps, boxes, pairs.image_a, self.CELLS).flatten(1)
            for maps, boxes in ((maps_so, pairs.boxes_a), (maps_so, pairs.boxes_b), (maps_p, union))
        )
        subject, other = (functional.relu(self.thing_line(thing)) for thing in (s, o))
        line = self.predicate_line(p) + self.from_subject(subject) + self.from_object(other)
        line = functional.relu(self.line_norm(line))
        logits: Tensor = self.readout(functional.relu(self.last_norm(self.last_line(line))))
        return logits


class PprFcn(nn.Module):
    """PPR-FCN: position-sensitive maps of subject, object and of both within the box around them."""

    CELLS: Final = 3

    def __init__(self, config: VrdNetConfig) -> None:
        super().__init__()
        self.backbone = SmallBackbone(config.width)
        self.narrow = conv_norm(self.backbone.channels, 256, 1)
        maps = 4 * self.CELLS**2 * LABELS
        self.maps = nn.Sequential(nn.Conv2d(256, maps, 1), nn.BatchNorm2d(maps))
        flat = LABELS * self.CELLS**2
        self.readout = nn.Sequential(nn.Linear(flat, 40), nn.BatchNorm1d(40), nn.ReLU(), nn.Linear(40, LABELS))

    def forward(self, pairs: SeenPairs) -> Tensor:
        """(n, 8) logits."""
        subject, other, joint_a, joint_b = self.maps(self.narrow(self.backbone(pairs.pictures))).chunk(4, 1)
        union, image = union_boxes(pairs.boxes_a, pairs.boxes_b), pairs.image_a
        pooled = position_sensitive(subject, pairs.boxes_a, image, self.CELLS)
        pooled = pooled + position_sensitive(other, pairs.boxes_b, image, self.CELLS)
        pooled = pooled + position_sensitive(joint_a, union, image, self.CELLS, pairs.boxes_a)
        pooled = pooled + position_sensitive(joint_b, union, image, self.CELLS, pairs.boxes_b)
        logits: Tensor = self.readout(pooled.flatten(1))
        return logits


class DrNet(nn.Module):
    """DRNet: appearance, location masks and class embeddings refine one another three times, with shared weights.

    Appearance is the box around both objects, a quarter larger; across images the two boxes' features instead.
    """

    ROUNDS: Final = 3
    CELLS: Final = 7

    def __init__(self, config: VrdNetConfig) -> None:
        super().__init__()
        self.backbone = SmallBackbone(config.width)
        channels = self.backbone.channels
        self.together, self.apart = nn.Linear(channels, 256), nn.Linear(2 * channels, 256)
        self.location = nn.Sequential(
            nn.Conv2d(2, 32, 5, stride=2, padding=2),
            nn.ReLU(),
            nn.Conv2d(32, 64, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            Hourglass(8, 64),
            nn.MaxPool2d(2),
            nn.Conv2d(64, 256, 4),
        )
        self.words = nn.Embedding(len(config.classes) + 1, _WORDS)
        self.begin, self.begin_norm = nn.Linear(512, 512), nn.BatchNorm1d(512)
        self.again = nn.Linear(512, 512)
        self.from_a, self.from_b = (nn.Linear(_WORDS, 512, bias=False) for _ in range(2))
        self.readout = nn.Linear(512, LABELS)

    def forward(self, pairs: SeenPairs) -> Tensor:
        """(n, 8) logits."""
        maps = self.backbone(pairs.pictures)
        crop_a, crop_b = (
            roi_align(maps, boxes, image, self.CELLS).mean(dim=(2, 3))
            for boxes, image in ((pairs.boxes_a, pairs.image_a), (pairs.boxes_b, pairs.image_b))
        )
        around = _larger(union_boxes(pairs.boxes_a, pairs.boxes_b), 1.25)
        whole = roi_align(maps, around, pairs.image_a, self.CELLS).mean(dim=(2, 3))
        one = (pairs.image_a == pairs.image_b)[:, None]
        seen = torch.where(one, self.together(whole), self.apart(torch.cat((crop_a, crop_b), 1)))
        masks = torch.stack([box_masks(boxes, _MASK) for boxes in (pairs.boxes_a, pairs.boxes_b)], 1)
        placed = self.location(masks).flatten(1)
        state = functional.relu(self.begin_norm(self.begin(torch.cat((functional.relu(seen), placed), 1))))
        known = self.from_a(self.words(pairs.classes_a)) + self.from_b(self.words(pairs.classes_b))
        for _ in range(self.ROUNDS):
            state = functional.relu(known + self.again(state))
        logits: Tensor = self.readout(state)
        return logits


class Hourglass(nn.Module):
    """Residual blocks on ever smaller maps and back: (n, channels, side, side) in and out.

    Args:
        side: Of the maps; halved until one cell is left.
        channels: Of the maps.
    """

    def __init__(self, side: int, channels: int) -> None:
        super().__init__()
        self.down, self.up = (_NormedBlock(side, channels) for _ in range(2))
        self.aside = _NormedBlock(side, channels) if side > 1 else None
        self.inside = Hourglass(side // 2, channels) if side > 1 else None

    def forward(self, x: Tensor) -> Tensor:
        """The same shape."""
        if self.inside is None or self.aside is None:
            last: Tensor = self.up(self.down(x))
            return last
        small = self.inside(functional.max_pool2d(self.down(x), 2))
        whole: Tensor = self.aside(x) + self.up(functional.interpolate(small, scale_factor=2.0))
        return whole


class _NormedBlock(nn.Module):
    """A residual block with layer norm over the whole map."""

    def __init__(self, side: int, channels: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm((channels, side, side))
        self.first, self.second = (nn.Conv2d(channels, channels, 3, padding=1) for _ in range(2))

    def forward(self, x: Tensor) -> Tensor:
        changed: Tensor = self.second(functional.relu(self.first(functional.relu(self.norm(x)))))
        return x + changed


class VTransE(nn.Module):
    """VTransE: a predicate is the way from the subject's vector to the object's."""

    CELLS: Final = 3

    def __init__(self, config: VrdNetConfig) -> None:
        super().__init__()
        self.backbone = SmallBackbone(config.width)
        visual = 64 * self.CELLS**2
        self.visual = nn.Linear(self.backbone.channels * self.CELLS**2, visual)
        self.visual_norm = nn.BatchNorm1d(visual)
        self.words = nn.Embedding(len(config.classes) + 1, _WORDS)
        self.scales = nn.Parameter(torch.ones(3))
        width = _WORDS + 4 + visual
        self.subject, self.other = nn.Linear(width, 512), nn.Linear(width, 512)
        self.readout = nn.Linear(512, LABELS)

    def forward(self, pairs: SeenPairs) -> Tensor:
        """(n, 8) logits."""
        maps = self.backbone(pairs.pictures)
        s = self._thing(maps, pairs.boxes_a, pairs.boxes_b, pairs.image_a, pairs.classes_a)
        o = self._thing(maps, pairs.boxes_b, pairs.boxes_a, pairs.image_b, pairs.classes_b)
        logits: Tensor = self.readout(functional.relu(self.other(o)) - functional.relu(self.subject(s)))
        return logits

    def _thing(self, maps: Tensor, boxes: Tensor, partner: Tensor, image: Tensor, classes: Tensor) -> Tensor:
        seen = functional.relu(self.visual_norm(self.visual(roi_align(maps, boxes, image, self.CELLS).flatten(1))))
        parts = (self.words(classes), relative_place(boxes, partner), seen)
        return torch.cat([scale * part for scale, part in zip(self.scales, parts, strict=True)], 1)


def relative_place(boxes: Tensor, partner: Tensor) -> Tensor:
    """(n, 4) where boxes lie to their partners: (y − y') / h', (x − x') / w', log h / h', log w / w'."""
    size, other = ((b[:, 2:] - b[:, :2]).clamp(min=1e-3) for b in (boxes, partner))
    offset = (boxes[:, :2] - partner[:, :2]) / other
    ratio = torch.log(size) - torch.log(other)
    return torch.cat((offset.flip(1), ratio.flip(1)), 1)


def _larger(boxes: Tensor, times: float) -> Tensor:
    middle, half = (boxes[:, :2] + boxes[:, 2:]) / 2, (boxes[:, 2:] - boxes[:, :2]) * (times / 2)
    return torch.cat((middle - half, middle + half), 1).clamp(0.0, 1.0)
