"""SORNet as a model that takes the predicates exam."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sightline.errors import ConfigError, DataError, ModelError
from sightline.models.nets.checkpoints import load_checkpoint
from sightline.models.nets.sornet import Sornet, SornetConfig, consistent, glances, offsets
from sightline.models.network import NetworkModel, named_by
from sightline.scenes.labels import PREDICATES
from sightline.skills import UNKNOWN, Queries, QuerySpec, Verdicts

SHIPPED: Final = Path(__file__).parent / "weights" / "sornet-tiny.safetensors"
"""The checkpoint that comes with Sightline; its card lies beside it."""


class SornetModel(NetworkModel[Sornet]):
    """A trained SORNet; skill *predicates*.

    It can be shown any of the views it was trained with, by their names. Several glances at a scene make it surer,
    and as many times slower.

    Attributes:
        name: How tables call it; another number of glances than usual stands behind it.
        about: What its checkpoint says of how it was made; JSON values.
        glances: How many times it looks; by default as often as its checkpoint says, else once.
        thresholds: Logit above which each predicate of its config is said to hold; those of its checkpoint, else 0.
        views: The views it knows, the original camera's first.
        any_views: It may be shown only some of them.
    """

    any_views = True

    def __init__(
        self,
        net: Sornet,
        *,
        name: str = "sornet",
        about: Mapping[str, Any] | None = None,
        device: str = "",
        glances: int | None = None,
    ) -> None:
        super().__init__(net, name=name, about=about, device=device)
        self.views = net.config.views
        self.thresholds = _thresholds(self.about.get("thresholds", {}), net.config, name)
        usual = self.about.get("glances", 1)
        self.glances = usual if glances is None else glances
        try:
            offsets(self.glances, net.config.patch)
        except ConfigError as error:
            raise ConfigError(f"{name}: {error}") from error
        if self.glances != usual:
            self.name = f"{name} ({self.glances} glance{'s' * (self.glances > 1)})"

    @property
    def config(self) -> SornetConfig:
        """The shape of the network."""
        return self._net.config

    def _settings(self) -> str:
        """Glances and thresholds."""
        return f"{self.glances} glances {self.thresholds}"

    def facts(self) -> dict[str, Any]:
        """Shape, and what the checkpoint says of its training."""
        shape = {name: getattr(self.config, name) for name in ("width", "depth", "heads", "views", "patch")}
        return {"parameters": self.parameters, **shape, **self.about, "glances": self.glances}

    def check(self, spec: QuerySpec) -> None:
        """ModelError if it could not answer about such scenes."""
        self._places(spec.views)
        config = self.config
        if spec.most_objects > config.most_objects:
            raise ModelError(
                f"{self.name}: takes at most {config.most_objects} objects, a scene has {spec.most_objects}"
            )
        if spec.patch != config.patch:
            raise ModelError(
                f"{self.name}: takes query patches of {config.patch}×{config.patch} pixels, "
                f"found {spec.patch}×{spec.patch}"
            )
        for width, height in sorted(spec.sizes - {config.image}):
            raise ModelError(
                f"{self.name}: takes views of {config.image[0]}×{config.image[1]} pixels, found {width}×{height}"
            )

    def predicates(self, queries: Queries) -> Verdicts:
        """Every predicate of every ordered pair; unknown where the network has no readout for one."""
        margins = self.logits(queries).cpu().numpy().astype(np.float64) - np.array(self.thresholds)
        places = [PREDICATES.index(predicate) for predicate in self.config.predicates]
        answers = np.full((*margins.shape[:2], len(PREDICATES)), UNKNOWN, dtype=np.int8)
        chances = np.full(answers.shape, np.nan)
        answers[:, :, places] = margins > 0
        chances[:, :, places] = 0.5 * (1 + np.tanh(margins / 2))  # the sigmoid, for any margin
        return Verdicts(answers, probabilities=chances)

    def logits(self, queries: Queries) -> Tensor:
        """(n, n, predicates of the config) before the thresholds, two ways to say one thing made to agree."""
        images, patches, places = self._ready(queries)
        with self._computing():
            judged = glances(self._net, images, patches, places, count=self.glances).mean(dim=0)
        return consistent(judged, self.config.predicates)[0]

    def attention(self, queries: Queries) -> NDArray[np.float32]:
        """Where each query looks, mean over heads and blocks: (n, views, rows, columns), the sum of a query ≤ 1."""
        images, patches, places = self._ready(queries)
        with self._computing():
            looked: NDArray[np.float32] = (
                self._net.attention(images, patches, places)[:, 0].mean(dim=0).cpu().numpy()
            )
        return looked

    def _ready(self, queries: Queries) -> tuple[Tensor, Tensor, list[int]]:
        names = tuple(view.id for view in queries.views)
        self.check(QuerySpec(names, len(queries), queries.patches.shape[1]))
        pixels = [view.image() for view in queries.views]
        for view, image in zip(queries.views, pixels, strict=True):
            if image.shape[1::-1] != self.config.image:
                raise DataError(
                    f"{self.name} takes views of another size",
                    row=f"{queries.scene_id}/{view.id}",
                    expected="×".join(map(str, self.config.image)),
                    found="×".join(map(str, image.shape[1::-1])),
                )
        images = torch.from_numpy(np.stack(pixels)).to(self.device)[None]
        patches = torch.from_numpy(np.array(queries.patches))  # a copy: theirs may be read-only
        return images, patches.to(self.device)[None], self._places(names)

    def _places(self, views: tuple[str, ...]) -> list[int]:
        unknown = [view for view in views if view not in self.views]
        if unknown or not views:
            strange = ", ".join(unknown) or "none"
            raise ModelError(f"{self.name}: was trained with the views {', '.join(self.views)}; shown {strange}")
        if len(set(views)) < len(views):
            raise ModelError(f"{self.name}: takes each view once; shown {', '.join(views)}")
        return [self.views.index(view) for view in views]


def _thresholds(stored: Any, config: SornetConfig, name: str) -> tuple[float, ...]:
    """One a predicate of the config, as a checkpoint's header stores them by name."""
    if not isinstance(stored, Mapping) or any(predicate not in config.predicates for predicate in stored):
        raise ModelError(
            f"{name}: thresholds must be by predicate, {', '.join(config.predicates)}; found {stored!r}"
        )
    for predicate, value in stored.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise ModelError(f"{name}: the threshold of {predicate} must be a number, not {value!r}")
    return tuple(float(stored.get(predicate, 0.0)) for predicate in config.predicates)


def load_file(path: str | Path, /, device: str = "", glances: int | None = None) -> SornetModel:
    """A checkpoint as a model."""
    # `path` goes by place alone: arguments that have a name are options of a spec.
    net, facts = load_checkpoint(path, Sornet)
    return SornetModel(net, name=named_by(path, "sornet"), about=facts, device=device, glances=glances)


def shipped(device: str = "", glances: int | None = None) -> SornetModel:
    """The checkpoint that comes with Sightline."""
    net, facts = load_checkpoint(SHIPPED, Sornet)
    return SornetModel(net, name="sornet", about=facts, device=device, glances=glances)
