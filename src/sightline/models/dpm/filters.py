"""Filters of deformable part models: roots, parts with what it costs to move them, mixtures of components."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Final

import torch
from torch import Tensor, nn

from sightline.errors import ConfigError
from sightline.models.dpm.hog import FEATURES, mirrored

PART: Final = 6
"""Cells of a part's side; they are half as wide as a root's."""
BIAS: Final = 10.0
"""The feature that stands for the bias: the larger, the less a bias is held back."""
LEAST_BEND: Final = 0.01
"""Smallest cost of a squared cell: a part that could go anywhere for nothing would say nothing."""


@dataclass(frozen=True, slots=True)
class FilterShape:
    """Shape of one component's filters.

    Attributes:
        rows: Of the root, cells; `columns` likewise.
        anchors: (row, column) of each part's first cell where it costs nothing, in cells of parts from the root's
            first one.
    """

    rows: int
    columns: int
    anchors: tuple[tuple[int, int], ...] = ()

    @property
    def size(self) -> int:
        """How many weights these filters have as one vector."""
        return FEATURES * (self.rows * self.columns + len(self.anchors) * PART * PART) + 4 * len(self.anchors) + 1


@dataclass(frozen=True, slots=True)
class MixtureComponent:
    """One component of a mixture.

    Attributes:
        category: The class it finds.
        filters: Number of its filters; two components that are mirror images have the same.
        mirrored: It is the mirror image of them.
        angles: Azimuth, elevation and theta of what it finds, degrees; None of each where it does not say.
    """

    category: str
    filters: int
    mirrored: bool = False
    angles: tuple[float | None, float | None, float | None] = (None, None, None)


@dataclass(frozen=True, slots=True)
class DpmConfig:
    """Shape of the mixtures of one or more classes.

    Attributes:
        form: How it was learned: ``dpm``, ``vdpm`` or ``dpm-voc-vp``.
        views: Sections of the azimuth, 0 for ``dpm``.
        filters: Shapes of all filters.
        components: Those of all classes.
        interval: Scales of the pyramid an octave.
    """

    form: str
    views: int
    filters: tuple[FilterShape, ...]
    components: tuple[MixtureComponent, ...]
    interval: int = 5

    def __post_init__(self) -> None:
        """Take what JSON makes of it; ConfigError where a component has no filters."""
        shapes = [_made(FilterShape, shape) for shape in self.filters]
        shapes = [FilterShape(s.rows, s.columns, tuple((int(y), int(x)) for y, x in s.anchors)) for s in shapes]
        components = [_made(MixtureComponent, one) for one in self.components]
        components = [MixtureComponent(c.category, c.filters, c.mirrored, _angles(c.angles)) for c in components]
        object.__setattr__(self, "filters", tuple(shapes))
        object.__setattr__(self, "components", tuple(components))
        if any(not 0 <= c.filters < len(shapes) for c in components) or not components:
            raise ConfigError(f"components must name one of {len(shapes)} filters each")

    @property
    def categories(self) -> tuple[str, ...]:
        """Its classes, in the order of their components."""
        return tuple(dict.fromkeys(c.category for c in self.components))


def _made(kind: Any, value: Any) -> Any:
    return value if isinstance(value, kind) else kind(**value)


def _angles(given: Sequence[float | None]) -> tuple[float | None, float | None, float | None]:
    azimuth, elevation, theta = (None if angle is None else float(angle) for angle in given)
    return azimuth, elevation, theta


class ComponentFilters(nn.Module):
    """The weights of one component: root, parts, what it costs to move them, bias, and how its box follows them.

    Attributes:
        root: (31, rows, columns).
        parts: (P, 31, 6, 6).
        deformations: (P, 4): cost of dx, dy, dx² and dy², in cells of parts.
        bias: (1,), before it is multiplied with `BIAS`.
        edges: (4, 2 P + 1): by how much left, top, right and bottom of the box leave the root's window, in its
            widths and heights: a constant, then a part's dx each, then a part's dy each.
    """

    def __init__(self, shape: FilterShape) -> None:
        super().__init__()
        parts = len(shape.anchors)
        self.shape = shape
        self.root = nn.Parameter(torch.zeros(FEATURES, shape.rows, shape.columns), requires_grad=False)
        self.parts = nn.Parameter(torch.zeros(parts, FEATURES, PART, PART), requires_grad=False)
        self.deformations = nn.Parameter(torch.zeros(parts, 4), requires_grad=False)
        self.bias = nn.Parameter(torch.zeros(1), requires_grad=False)
        self.edges = nn.Parameter(torch.zeros(4, 2 * parts + 1), requires_grad=False)

    def vector(self) -> Tensor:
        """All weights that a score is linear in, one after the other: (shape.size,)."""
        return torch.cat([part.reshape(-1) for part in (self.root, self.parts, self.deformations, self.bias)])

    def fill(self, vector: Tensor) -> None:
        """Take the weights from such a vector."""
        start = 0
        for part in (self.root, self.parts, self.deformations, self.bias):
            part.copy_(vector[start : start + part.numel()].reshape(part.shape))
            start += part.numel()

    def mirrored(self) -> ComponentFilters:
        """Filters that find the mirror image."""
        shape = self.shape
        anchors = tuple((y, 2 * shape.columns - PART - x) for y, x in shape.anchors)
        made = ComponentFilters(FilterShape(shape.rows, shape.columns, anchors)).to(self.root.device)
        made.root.copy_(mirrored(self.root))
        made.parts.copy_(mirrored(self.parts))
        made.deformations.copy_(self.deformations * self.deformations.new_tensor([-1.0, 1.0, 1.0, 1.0]))
        made.bias.copy_(self.bias)
        parts = len(anchors)
        across = torch.cat([torch.ones(1), -torch.ones(parts), torch.ones(parts)]).to(self.edges.device)
        left, top, right, bottom = self.edges * across
        made.edges.copy_(torch.stack([-right, top, -left, bottom]))
        return made


class Dpm(nn.Module):
    """Mixtures of deformable part models of one or more classes, as weights that can be kept."""

    kind: ClassVar[str] = "sightline-dpm-1"

    def __init__(self, config: DpmConfig) -> None:
        super().__init__()
        self.config = config
        self.filters = nn.ModuleList(ComponentFilters(shape) for shape in config.filters)

    def of(self, component: MixtureComponent) -> ComponentFilters:
        """The filters of a component as it is, mirrored where it is a mirror image."""
        filters = self.filters[component.filters]
        assert isinstance(filters, ComponentFilters)
        return filters.mirrored() if component.mirrored else filters


def joined(models: Sequence[Dpm]) -> Dpm:
    """Put the mixtures of several models, one class each or more, into one.

    Raises:
        ConfigError: They were not learned in the same way.
    """
    ways = {(m.config.form, m.config.views, m.config.interval) for m in models}
    if len(ways) != 1:
        raise ConfigError(f"models of different kinds cannot be joined: {', '.join(map(str, sorted(ways)))}")
    form, views, interval = ways.pop()
    shapes = [shape for m in models for shape in m.config.filters]
    first = 0
    components: list[MixtureComponent] = []
    for m in models:
        components += [MixtureComponent(**{**asdict(c), "filters": c.filters + first}) for c in m.config.components]
        first += len(m.config.filters)
    made = Dpm(DpmConfig(form, views, tuple(shapes), tuple(components), interval))
    every = (filters for m in models for filters in m.filters)
    for mine, theirs in zip(made.filters, every, strict=True):
        mine.load_state_dict(theirs.state_dict())
    return made
