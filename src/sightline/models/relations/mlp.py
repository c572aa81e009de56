"""The paper's MLP as a model that takes the relations exam: skill *relate*."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sightline.models.nets.checkpoints import load_checkpoint
from sightline.models.nets.pairs import PairInputs, PaperMlp
from sightline.models.network import NetworkModel, named_by
from sightline.models.relations.classes import LearnedClasses
from sightline.models.relations.cues import checked_fractions
from sightline.models.relations.objects import ObjectCues, object_cues
from sightline.scenes.types import View
from sightline.skills import SILENT, Judgements, Pairs, RelationsSpec


class PaperMlpModel(NetworkModel[PaperMlp]):
    """A trained MLP of the paper; it says its likeliest labels, and (b, a) may contradict (a, b)."""

    cues: ObjectCues | None = None

    @cached_property
    def _classes(self) -> LearnedClasses:
        return LearnedClasses(self._net.config.classes if "c" in self._net.config.cues else ())

    def check_relations(self, spec: RelationsSpec) -> None:
        """Count the classes to come that it does not know; they share one place."""
        self._classes.count(spec.categories)

    def facts(self) -> dict[str, Any]:
        """Shape, what the checkpoint says of its training, and how many classes were new to it."""
        shape = {"cues": self._net.config.cues, "hidden": self._net.config.hidden}
        return {"parameters": self.parameters, **shape, **self.about, **self._classes.facts()}

    def relate(self, pairs: Pairs) -> Judgements:
        """The likeliest labels of every pair."""
        a = self._objects(pairs.view_a, pairs.boxes_a, pairs.categories_a)
        b = self._objects(pairs.view_b, pairs.boxes_b, pairs.categories_b)
        across = torch.full((len(pairs),), float(pairs.setting == "across_images"), device=self.device)
        with self._computing():
            logits = self._net(PairInputs(a[0], b[0], a[1], b[1], across, a[2], b[2]))
        depth, occlusion = (head.argmax(-1).to("cpu", torch.int8).numpy() for head in logits)
        if pairs.setting == "across_images":
            occlusion = np.full(len(pairs), SILENT, dtype=np.int8)
        return Judgements(depth, occlusion)

    def _objects(self, view: View, boxes: Any, categories: tuple[str, ...]) -> tuple[Tensor, Tensor, Tensor]:
        boxes = checked_fractions(boxes, self.name)
        classes = torch.from_numpy(self._classes.places(categories))
        empty = np.zeros((len(boxes), 0), dtype=np.float32)
        numbers = torch.from_numpy(empty if self.cues is None else self.cues.numbers(view, boxes))
        fractions = torch.from_numpy(np.ascontiguousarray(boxes)).float()
        return fractions.to(self.device), classes.to(self.device), numbers.to(self.device)


def load_file(
    path: str | Path, /, device: str = "", depth: Path | None = None, backbone: Path | None = None
) -> PaperMlpModel:
    """A checkpoint as a model; `depth` and `backbone` as for `models.relations.model.load_file`."""
    net, facts = load_checkpoint(path, PaperMlp)
    model = PaperMlpModel(net, name=named_by(path, "relations"), about=facts, device=device)
    model.cues = object_cues(net.config.cues, depth, backbone, str(path), size=net.config.objects)
    return model
