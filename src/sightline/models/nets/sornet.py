"""SORNet: a vision transformer that is shown a scene and, as further tokens, the objects it is asked about.

The picture of every view is cut into patches; each query object comes as one canonical patch. Image tokens attend
to all image tokens; a query token attends to all image tokens and to itself; nobody attends to a query token. So
the embedding of an object depends neither on which other objects are asked about nor on padding. One readout a
predicate, a perceptron with one hidden layer, judges the concatenated embeddings of an ordered pair.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final

import torch
from torch import Tensor, nn
from torch.nn import functional

from sightline.errors import ConfigError
from sightline.scenes.labels import PREDICATES

MEAN: Final = 0.5
SPREAD: Final = 0.25
"""Pixels of [0, 1] become (pixel − MEAN) / SPREAD."""

PUBLISHED_MEAN: Final = (0.48145466, 0.4578275, 0.40821073)
PUBLISHED_SPREAD: Final = (0.26862954, 0.26130258, 0.27577711)
"""The same by channel in the published network: the figures of CLIP's pictures."""

_FIFTHS: Final = ((0, 0), (2, 1), (-1, 2), (-2, -1), (1, -2))  # of a patch; repeated over patches, an even lattice

MOST_GLANCES: Final = len(_FIFTHS)
"""Glances at a scene, at most: further ones gain little."""


@dataclass(frozen=True, slots=True)
class SornetConfig:
    """The shape of a network.

    Attributes:
        width: Length of an embedding.
        depth: Number of blocks.
        heads: Attention heads of a block.
        hidden: Hidden units of a readout.
        views: Names of the views it can be shown; the first is the original camera's.
        image: (width, height) of a view, pixels.
        patch: Side of a patch, pixels; also of a query.
        most_objects: Queries it takes at once.
        predicates: What the readouts judge.
        published: Built as SORNet's authors built it, where ours differs: pixels by CLIP's mean and spread, patches
            embedded without a bias, a norm before the first block, GELU by a sigmoid, random positions to begin
            with.
    """

    width: int
    depth: int
    heads: int
    hidden: int
    views: tuple[str, ...] = ("original",)
    image: tuple[int, int] = (480, 320)
    patch: int = 32
    most_objects: int = 16
    predicates: tuple[str, ...] = PREDICATES
    published: bool = False

    def __post_init__(self) -> None:
        for name in ("width", "depth", "heads", "hidden", "patch", "most_objects"):
            value = getattr(self, name)
            if not isinstance(value, int) or value < 1:
                raise ConfigError(f"SORNet's {name} must be a whole number ≥ 1, not {value!r}")
        if self.width % self.heads:
            raise ConfigError(f"SORNet's width {self.width} is no multiple of its {self.heads} heads")
        if len(self.image) != 2 or any(side % self.patch or side < 1 for side in self.image):
            raise ConfigError(f"SORNet's image {self.image} is no multiple of its patch of {self.patch} pixels")
        if not self.views or len(set(self.views)) < len(self.views):
            raise ConfigError(f"SORNet needs one or more different views, not {', '.join(self.views) or 'none'}")
        if not self.predicates or sorted(set(self.predicates) & set(PREDICATES)) != sorted(self.predicates):
            named = ", ".join(map(str, self.predicates)) or "none"
            raise ConfigError(f"SORNet judges different ones of {', '.join(PREDICATES)}, not {named}")

    @property
    def grid(self) -> tuple[int, int]:
        """Rows and columns of patches of a view.

        >>> sornet_config("base").grid
        (10, 15)
        """
        return self.image[1] // self.patch, self.image[0] // self.patch


SIZES: Final[Mapping[str, SornetConfig]] = {
    "tiny": SornetConfig(width=256, depth=7, heads=4, hidden=192),
    "small": SornetConfig(width=384, depth=12, heads=6, hidden=512),
    "base": SornetConfig(width=768, depth=12, heads=12, hidden=512),
    "paper": SornetConfig(width=768, depth=12, heads=12, hidden=512, published=True),
    "paper-tiny": SornetConfig(width=256, depth=7, heads=4, hidden=192, published=True),
}
"""``paper`` is the published network, a ViT-B/32, layer by layer; ``base`` is as large, with our details; ``tiny``
fits 16 MB in half precision; ``paper-tiny`` is as small, with the published details."""


def sornet_config(size: str, **changes: Any) -> SornetConfig:
    """A size by name, with changes.

    >>> sornet_config("tiny", views=("original", "top")).views
    ('original', 'top')
    """
    if size not in SIZES:
        raise ConfigError(f"unknown size {size!r} of SORNet; there are {', '.join(SIZES)}")
    return replace(SIZES[size], **changes)


class Block(nn.Module):
    """One pre-norm transformer block.

    Image tokens and query tokens go through the same weights but stay two tensors: the image then is a plain
    transformer, for which the fast kernels are made, and the conditional mask is simply who is handed to whom.
    """

    def __init__(self, config: SornetConfig) -> None:
        super().__init__()
        width = config.width
        self.heads, self.published = config.heads, config.published
        self.before_attention = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.mix = nn.Linear(width, width)
        self.before_widening = nn.LayerNorm(width)
        self.widen = nn.Linear(width, 4 * width)
        self.narrow = nn.Linear(4 * width, width)

    def forward(self, image: Tensor, queries: Tensor, *, last: bool = False) -> tuple[Tensor, Tensor, Tensor]:
        """Image tokens (B, T, width) and query tokens (B, N, width) after the block; where the queries looked.

        After the last block nobody reads the image tokens: they come back as they were. Where a query looked is its
        attention over the image in every head, (B, heads, N, T).
        """
        ready = self.before_attention(image)
        attended, looked = self._ask(queries, ready)
        queries = self._feed(queries + self.mix(attended))
        if last:
            return image, queries, looked
        q, k, v = (part.transpose(1, 2) for part in self._parts(ready))
        seen = functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)
        return self._feed(image + self.mix(seen)), queries, looked

    def _parts(self, ready: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values of normalised tokens by head, (B, L, heads, width / heads) each."""
        batch, length, width = ready.shape
        q, k, v = self.qkv(ready).view(batch, length, 3, self.heads, width // self.heads).unbind(dim=2)
        return q, k, v

    def _ask(self, queries: Tensor, image: Tensor) -> tuple[Tensor, Tensor]:
        """What the queries take from the image and from themselves (B, N, width), and where they looked.

        The few queries are brought to the image, rather than all of the image to keys and values in a layout of
        their own: q · (W x) is (qᵀ W) · x, and a sum of W x is W times a sum of x.
        """
        q, own_key, own_value = self._parts(self.before_attention(queries))
        q = q / math.sqrt(q.shape[-1])
        batch, count, heads, size = q.shape
        weights, biases = self.qkv.weight.view(3, heads, size, -1), self.qkv.bias.view(3, heads, size)
        asked = torch.einsum("bnhd,hdw->bnhw", q, weights[1]).flatten(1, 2)
        to_image = (image @ asked.transpose(1, 2)).view(batch, image.shape[1], count, heads)
        to_image = to_image + (q * biases[1]).sum(dim=-1)[:, None]
        to_self = (q * own_key).sum(dim=-1)[:, None]
        shares = torch.cat((to_image, to_self), dim=1).float().softmax(dim=1).to(image.dtype)
        on_image, on_self = shares[:, :-1], shares[:, -1]
        taken = (on_image.flatten(2).transpose(1, 2) @ image).view(batch, count, heads, heads * size)
        values = torch.einsum("bnhw,hdw->bnhd", taken, weights[2]) + on_image.sum(dim=1)[..., None] * biases[2]
        return (values + on_self[..., None] * own_value).flatten(2), on_image.permute(0, 3, 2, 1)

    def _feed(self, tokens: Tensor) -> Tensor:
        """The second half of the block."""
        wide = self.widen(self.before_widening(tokens))
        active = wide * torch.sigmoid(1.702 * wide) if self.published else functional.gelu(wide)
        fed: Tensor = tokens + self.narrow(active)
        return fed


class Readout(nn.Module):
    """Per predicate a perceptron with one hidden layer on the concatenated embeddings of subject and object.

    The first layer on a concatenation is a sum of two layers: worked out once an object, not once a pair.
    """

    def __init__(self, config: SornetConfig) -> None:
        super().__init__()
        self.predicates, self.hidden = len(config.predicates), config.hidden
        self.subject = nn.Linear(config.width, self.predicates * self.hidden)
        self.object = nn.Linear(config.width, self.predicates * self.hidden, bias=False)
        self.weight = nn.Parameter(torch.empty(self.predicates, self.hidden))
        self.bias = nn.Parameter(torch.zeros(self.predicates))

    def forward(self, embeddings: Tensor) -> Tensor:
        """Logits (B, N, N, predicates), [subject, object], of embeddings (B, N, width)."""
        batch, queries, _ = embeddings.shape
        shape = (batch, queries, self.predicates, self.hidden)
        first, second = self.subject(embeddings).view(shape), self.object(embeddings).view(shape)
        hidden = functional.relu(first[:, :, None] + second[:, None, :])
        logits: Tensor = (hidden * self.weight.to(hidden.dtype)).sum(dim=-1, dtype=torch.float32) + self.bias
        return logits


class Sornet(nn.Module):
    """The network; `forward` gives logits, `embed` the embeddings of the queries."""

    kind: ClassVar[str] = "sightline-sornet-1"

    config: SornetConfig

    def __init__(self, config: SornetConfig) -> None:
        super().__init__()
        self.config = config
        rows, columns = config.grid
        pixels = 3 * config.patch**2
        bias = not config.published
        self.patches = nn.ModuleList(nn.Linear(pixels, config.width, bias=bias) for _ in config.views)
        self.positions = nn.Parameter(torch.empty(len(config.views), rows * columns, config.width))
        self.query = nn.Parameter(torch.empty(config.width))
        self.first: nn.Module = nn.LayerNorm(config.width) if config.published else nn.Identity()
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.depth))
        self.last = nn.LayerNorm(config.width)
        self.readout = Readout(config)
        if not self.positions.is_meta:  # there they wait for weights to be loaded
            self._begin_as_published() if config.published else self._begin()

    def forward(self, images: Tensor, queries: Tensor, views: Sequence[int] | None = None) -> Tensor:
        """Logits (B, N, N, predicates), [subject, object, predicate].

        Args:
            images: (B, V, H, W, 3), either uint8 or floats of [0, 1].
            queries: (B, N, patch, patch, 3), likewise.
            views: Which of the config's views the images are; by default the first V.
        """
        logits: Tensor = self.readout(self.embed(images, queries, views))
        return logits

    def embed(self, images: Tensor, queries: Tensor, views: Sequence[int] | None = None) -> Tensor:
        """Embeddings of the queries, (B, N, width)."""
        return self.trace(images, queries, views)[0]

    def trace(
        self, images: Tensor, queries: Tensor, views: Sequence[int] | None = None
    ) -> tuple[Tensor, list[Tensor]]:
        """Embeddings of the queries, and for every block where they looked, (B, heads, N, T)."""
        tokens, asked = self.tokens(images, queries, views)
        looked = []
        for i, block in enumerate(self.blocks, start=1):
            tokens, asked, weights = block(tokens, asked, last=i == len(self.blocks))
            looked.append(weights)
        return self.last(asked), looked

    def attention(self, images: Tensor, queries: Tensor, views: Sequence[int] | None = None) -> Tensor:
        """Where each query looks in every block, mean over heads: (depth, B, N, V, rows, columns)."""
        _, looked = self.trace(images, queries, views)
        where = torch.stack([weights.float().mean(dim=1) for weights in looked])
        return where.view(*where.shape[:-1], images.shape[1], *self.config.grid)

    def compile_parts(self) -> None:
        """Compile the steps of `embed` and the readout, each by itself: all blocks share one compiled graph."""
        for block in self.blocks:
            block.compile(dynamic=False)
        self.readout.compile(dynamic=False)
        self.tokens = torch.compile(self.tokens, dynamic=False)  # type: ignore[method-assign]

    def tokens(self, images: Tensor, queries: Tensor, views: Sequence[int] | None = None) -> tuple[Tensor, Tensor]:
        """What goes into the first block: image tokens (B, T, width), view by view, and queries (B, N, width)."""
        shown = range(images.shape[1]) if views is None else views
        if views is not None and len(views) != images.shape[1]:
            raise ConfigError(f"{images.shape[1]} views are shown to SORNet, {len(views)} are named")
        side, published = self.config.patch, self.config.published
        seen = [
            self.patches[v](_cut(_scaled(images[:, i], published), side)) + self.positions[v]
            for i, v in enumerate(shown)
        ]
        asked = self.patches[0](_scaled(queries, published).flatten(2)) + self.query
        kind = _stream_type(asked)
        return self.first(torch.cat(seen, dim=1)).to(kind), self.first(asked).to(kind)

    def _begin_as_published(self) -> None:
        """Random weights as the published network begins with: torch's own, of layers on whole concatenations."""
        for block in self.blocks:
            assert isinstance(block, Block)
            nn.init.xavier_uniform_(block.qkv.weight)
            nn.init.zeros_(block.qkv.bias)
            nn.init.zeros_(block.mix.bias)
        reach = (2 * self.config.width) ** -0.5
        for weight in self.readout.subject.weight, self.readout.subject.bias, self.readout.object.weight:
            nn.init.uniform_(weight, -reach, reach)
        for weight in self.readout.weight, self.readout.bias:
            nn.init.uniform_(weight, -(self.config.hidden**-0.5), self.config.hidden**-0.5)
        for weight in self.positions, self.query:
            nn.init.normal_(weight, std=self.config.width**-0.5)

    def _begin(self) -> None:
        """Random weights: small ones everywhere, smaller where a block adds to the stream.

        Positions begin as waves, as large as what is seen there: small ones would have to grow before a network
        can tell where an object is.
        """
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.trunc_normal_(module.weight, std=0.02)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
        for block in self.blocks:
            assert isinstance(block, Block)
            for layer in (block.mix, block.narrow):
                nn.init.trunc_normal_(layer.weight, std=0.02 / math.sqrt(2 * self.config.depth))
        for layer in (self.readout.subject, self.readout.object):
            nn.init.trunc_normal_(layer.weight, std=(2 * self.config.width) ** -0.5)
        for embedding in self.patches:
            assert isinstance(embedding, nn.Linear)
            nn.init.trunc_normal_(embedding.weight, std=0.5 * embedding.in_features**-0.5)
        nn.init.trunc_normal_(self.query, std=0.5)
        with torch.no_grad():
            apart = nn.init.trunc_normal_(torch.empty(len(self.config.views), 1, self.config.width), std=0.5)
            self.positions.copy_(_waves(self.config) + apart)
        nn.init.trunc_normal_(self.readout.weight, std=self.config.hidden**-0.5)


def _waves(config: SornetConfig) -> Tensor:
    """(rows · columns, width): sines and cosines of row and column, from half a wave a view to half a patch."""
    rows, columns = config.grid
    quarter = -(-config.width // 4)
    sides = []
    for places in (torch.arange(rows).repeat_interleave(columns), torch.arange(columns).repeat(rows)):
        widest = 2.0 * max(rows, columns)
        often = torch.exp(torch.linspace(0.0, 0.8 * math.log(widest), quarter)) / widest
        turns = 2.0 * math.pi * (places[:, None] + 0.5) * often
        sides += [torch.sin(turns), torch.cos(turns)]
    return torch.cat(sides, dim=1)[:, : config.width]


def consistent(logits: Tensor, predicates: Sequence[str] = PREDICATES) -> Tensor:
    """Logits in which the two ways to say one thing agree: "a is left of b" and "b is right of a".

    Both become their mean; other predicates stay as they are. That a is not left of b does not make it right of b:
    a thing that stands in the middle of another is neither.
    """
    agreed = logits.clone()
    for one, other in (("left", "right"), ("front", "behind")):
        if one in predicates and other in predicates:
            i, j = predicates.index(one), predicates.index(other)
            mean = (logits[..., i] + logits[..., j].transpose(-1, -2)) / 2
            agreed[..., i], agreed[..., j] = mean, mean.transpose(-1, -2)
    return agreed


def offsets(count: int, side: int) -> list[tuple[int, int]]:
    """Pixels (right, down) by which each glance is beside the first, for patches of so many pixels.

    >>> offsets(5, 32)
    [(0, 0), (13, 6), (-6, 13), (-13, -6), (6, -13)]
    """
    if not isinstance(count, int) or not 1 <= count <= MOST_GLANCES:
        raise ConfigError(f"glances at a scene must be 1 to {MOST_GLANCES}, not {count!r}")
    return [(round(side * right / 5), round(side * down / 5)) for right, down in _FIFTHS[:count]]


def moved(images: Tensor, right: int, down: int) -> Tensor:
    """Pictures (…, H, W, 3) as seen from a little beside; their edges are drawn out.

    >>> moved(torch.arange(4).view(1, 4, 1), 1, 0).flatten().tolist()
    [1, 2, 3, 3]
    """
    height, width = images.shape[-3:-1]
    rows = (torch.arange(height, device=images.device) + down).clamp(0, height - 1)
    columns = (torch.arange(width, device=images.device) + right).clamp(0, width - 1)
    return images.index_select(-3, rows).index_select(-2, columns)


def glances(
    net: Sornet, images: Tensor, queries: Tensor, views: Sequence[int] | None = None, *, count: int = MOST_GLANCES
) -> Tensor:
    """Logits of every glance at the same scenes, (count, B, N, N, predicates) float32: the judgement is their mean.

    A grid of patches cuts every object somewhere, another one cuts it elsewhere; and which is left of which does
    not change where a camera turns by half a patch.
    """
    seen = torch.cat([moved(images, *offset) for offset in offsets(count, net.config.patch)])
    asked = queries.repeat(count, *(1 for _ in queries.shape[1:]))
    logits: Tensor = net(seen, asked, views).float()
    return logits.view(count, len(images), *logits.shape[1:])


def _stream_type(like: Tensor) -> torch.dtype:
    """Type of the tokens between blocks: the one autocast works in, where it does."""
    device = like.device.type
    return torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else like.dtype


def _scaled(pixels: Tensor, published: bool) -> Tensor:
    if pixels.dtype == torch.uint8:
        pixels = pixels.float() / 255.0
    if published:
        return (pixels - pixels.new_tensor(PUBLISHED_MEAN)) / pixels.new_tensor(PUBLISHED_SPREAD)
    return (pixels - MEAN) / SPREAD


def _cut(images: Tensor, side: int) -> Tensor:
    """Patches row by row, (B, patches, side · side · 3)."""
    batch, height, width, _ = images.shape
    grid = images.view(batch, height // side, side, width // side, side, 3)
    return grid.permute(0, 1, 3, 2, 4, 5).reshape(batch, -1, side * side * 3)
