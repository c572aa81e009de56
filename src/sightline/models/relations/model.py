"""Trained networks that relate two objects without looking at them, or by numbers made from what they look like."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from sightline.models.relations.classes import LearnedClasses
from sightline.models.relations.cues import checked_fractions
from sightline.models.relations.network import Chances, ObjectPairs, PairNetwork, read_network
from sightline.models.relations.objects import ObjectCues, object_cues
from sightline.models.relations.order import DepthOrder, merged_levels, order_within
from sightline.scenes import Depth
from sightline.scenes.types import View
from sightline.skills import SILENT, Judgements, Pairs, RelationsSpec

SHIPPED: Final = Path(__file__).parents[1] / "weights" / "blind-mlp.safetensors"
"""The checkpoint that comes with Sightline; its card lies beside it."""
_TURNED: Final = [0, 2, 1, 3]


class PairModel:
    """A trained PairNet; skill *relate*. Each pair is judged by itself; (b, a) is always the reverse of (a, b).

    Args:
        network: The network.
        name: How tables call it.
        cues: Where the further numbers of objects come from; None for a network that has boxes and classes alone.
    """

    def __init__(self, network: PairNetwork, *, name: str, cues: ObjectCues | None = None) -> None:
        self.name, self.network, self._cues = name, network, cues
        self._classes = LearnedClasses(network.classes if "c" in network.cues else ())

    @cached_property
    def fingerprint(self) -> str:
        """Hash of weights and settings."""
        return f"{type(self).__name__}:{self.network.fingerprint}"

    def check_relations(self, spec: RelationsSpec) -> None:
        """Count the classes to come that it does not know; they share one embedding."""
        self._classes.count(spec.categories)

    def facts(self) -> dict[str, Any]:
        """Shape, what the checkpoint says of its training, and how many classes were new to it."""
        shape = {"cues": self.network.cues, "members": self.network.members, "ordered": self.network.ordered}
        return {**shape, **self.network.about, **self._classes.facts()}

    def relate(self, pairs: Pairs) -> Judgements:
        """The likeliest labels; *unsure* where none is likely enough."""
        chances = self.chances(pairs)
        across = pairs.setting == "across_images"
        return _judged(chances, likeliest_depth(chances.depth, self._limit(pairs), across=across), across=across)

    def chances(self, pairs: Pairs) -> Chances:
        """Chances of every label of every pair."""
        return self.network.chances(self._inputs(pairs), across=pairs.setting == "across_images")

    def _limit(self, pairs: Pairs) -> float:
        return self.network.unsure_across if pairs.setting == "across_images" else self.network.unsure

    def _inputs(self, pairs: Pairs) -> ObjectPairs:
        ends = (
            (pairs.view_a, pairs.boxes_a, pairs.categories_a),
            (pairs.view_b, pairs.boxes_b, pairs.categories_b),
        )
        (boxes_a, classes_a, more_a), (boxes_b, classes_b, more_b) = (self._objects(*end) for end in ends)
        return ObjectPairs(boxes_a, boxes_b, classes_a, classes_b, more_a, more_b)

    def _objects(
        self, view: View, boxes: NDArray[np.float64], categories: Sequence[str]
    ) -> tuple[NDArray[np.float64], NDArray[np.intp], NDArray[np.float32]]:
        """Boxes, places of the classes and further numbers of n objects of a view."""
        boxes, classes = checked_fractions(boxes, self.name), self._classes.places(categories)
        if self._cues is None:
            return boxes, classes, np.zeros((len(boxes), 0), dtype=np.float32)
        return boxes, classes, self._cues.numbers(view, boxes)


class OrderedModel(PairModel):
    """A PairNet whose answers follow a total preorder of the objects of an image, or of two.

    All objects that a call names stand in the order, also those whose pair is not asked. The order of two images
    keeps that of each, so answers across them contradict none within where a call names the same objects. *Unsure*
    is decided apart, alike for both directions of a pair.
    """

    def relate(self, pairs: Pairs) -> Judgements:
        """Depth read off the order, but for pairs of which no label is likely enough; occlusion by pair."""
        ends = self._inputs(pairs)
        across = pairs.setting == "across_images"
        objects, a, b = distinct_objects(ends, across=across)
        chances = self.network.chances(ends, across=across)
        depth = self._across(objects, a, b) if across else self._order_within(objects).between(a, b)
        limit = self._limit(pairs)
        likely = chances.depth[:, 1:3] if across else chances.depth[:, 1:]
        depth[likely.max(axis=1, initial=0.0) < limit] = Depth.UNSURE
        return _judged(chances, depth, across=across)

    def depth_order(self, view: View, boxes: NDArray[np.float64], categories: Sequence[str]) -> DepthOrder:
        """Order the objects of a photo by depth.

        Args:
            view: The photo.
            boxes: (n, 4) xyxy in fractions of the image.
            categories: n class names.
        """
        return self._order_within(self._objects(view, np.asarray(boxes, dtype=np.float64), categories))

    def _order_within(self, objects: tuple[NDArray[Any], ...]) -> DepthOrder:
        n = len(objects[0])
        i, j = np.triu_indices(n, k=1)
        table = np.zeros((n, n, 4))
        if len(i):
            table[i, j] = self.network.chances(_paired(objects, i, j), across=False).depth
            table[j, i] = table[i, j][:, _TURNED]
        return order_within(table)

    def _across(
        self, objects: tuple[NDArray[Any], ...], a: NDArray[np.intp], b: NDArray[np.intp]
    ) -> NDArray[np.int8]:
        """Depth codes across two images; a tie is *unsure*, since *same* is no answer there."""
        if not len(a):
            return np.zeros(0, dtype=np.int8)
        first, second = np.unique(a), np.unique(b)
        images = [tuple(column[rows] for column in objects) for rows in (first, second)]
        keys = [b"".join(column.tobytes() for column in image) for image in images]
        if keys[0] > keys[1]:  # whichever image is named first, the order is worked out in one way
            return np.array([0, 2, 1], dtype=np.int8)[self._across(objects, b, a)]
        level_a = level_b = self._order_within(images[0]).level
        if keys[0] != keys[1]:  # not twice the same objects
            i, j = (axis.ravel() for axis in np.meshgrid(first, second, indexing="ij"))
            likely = self.network.chances(_paired(objects, i, j), across=True).depth.astype(np.float64)
            closer, farther = (likely[:, code].reshape(len(first), len(second)) for code in (1, 2))
            level_b = self._order_within(images[1]).level
            level_a, level_b = merged_levels(level_a, level_b, closer, farther)
        ahead = level_b[np.searchsorted(second, b)] - level_a[np.searchsorted(first, a)]
        codes = np.where(ahead > 0, Depth.CLOSER, np.where(ahead < 0, Depth.FARTHER, Depth.UNSURE))
        return codes.astype(np.int8)


def _judged(chances: Chances, depth: NDArray[np.int8], *, across: bool) -> Judgements:
    """Depth labels with the likeliest occlusion within an image, and how likely each label is."""
    sure = {"depth": _chances_of(chances.depth, depth)}
    if across:
        return Judgements(depth, np.full(len(depth), SILENT, dtype=np.int8), confidence=sure)
    occlusion = likeliest_occlusion(chances.occlusion)
    return Judgements(depth, occlusion, confidence=sure | {"occlusion": _chances_of(chances.occlusion, occlusion)})


def _chances_of(chances: NDArray[Any], codes: NDArray[np.int8]) -> NDArray[np.float64]:
    """(n,) chance of the code that was given, of (n, 4)."""
    rows = np.arange(len(codes))
    return np.clip(chances[rows, codes.astype(np.intp)].astype(np.float64), 0.0, 1.0)


def _paired(objects: tuple[NDArray[Any], ...], i: NDArray[np.intp], j: NDArray[np.intp]) -> ObjectPairs:
    boxes, classes, more = objects
    return ObjectPairs(boxes[i], boxes[j], classes[i], classes[j], more[i], more[j])


def distinct_objects(
    pairs: ObjectPairs, *, across: bool
) -> tuple[tuple[NDArray[Any], ...], NDArray[np.intp], NDArray[np.intp]]:
    """Find the objects that stand in pairs, each once: boxes, classes and numbers; and which are whose ends.

    Across images an object of the first image is never one of the second. Which of the two images comes first does
    not change the order of the objects of either.
    """
    n = len(pairs.boxes_a)
    image = np.repeat([0.0, float(across)], n)[:, None]
    ends: list[Any] = list(pairs)
    numbers = [np.concatenate((ends[i], ends[i + 1])) for i in (0, 2, 4)]
    keys = np.concatenate((image, numbers[0], numbers[1][:, None], numbers[2]), axis=1)
    _, rows, place = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    place = place.reshape(-1)
    return tuple(column[rows] for column in numbers), place[:n], place[n:]


def likeliest_depth(chances: NDArray[Any], limit: float, *, across: bool) -> NDArray[np.int8]:
    """The likeliest of closer, farther and, within an image, same; *unsure* below the limit or across a tie.

    >>> likeliest_depth(np.array([[0.5, 0.4, 0.1, 0.0], [0.1, 0.3, 0.3, 0.3]]), 0.35, across=False).tolist()
    [1, 0]
    """
    ordered = np.maximum(chances[:, 1], chances[:, 2])
    code = np.where(
        chances[:, 1] > chances[:, 2], 1, np.where(chances[:, 1] < chances[:, 2], 2, 0 if across else 3)
    )
    best = ordered
    if not across:
        code = np.where(chances[:, 3] > ordered, 3, code)
        best = np.maximum(ordered, chances[:, 3])
    return np.where(best < limit, 0, code).astype(np.int8)


def likeliest_occlusion(chances: NDArray[Any]) -> NDArray[np.int8]:
    """The likeliest occlusion; where both directions tie, and are likeliest, *mutual*."""
    ordered = np.maximum(chances[:, 1], chances[:, 2])
    code = np.where(chances[:, 1] > chances[:, 2], 1, np.where(chances[:, 1] < chances[:, 2], 2, 3))
    code = np.where(chances[:, 3] > ordered, 3, code)
    return np.where(chances[:, 0] >= np.maximum(ordered, chances[:, 3]), 0, code).astype(np.int8)


def load_file(path: str | Path, /, depth: Path | None = None, backbone: Path | None = None) -> PairModel:
    """A checkpoint as a model.

    Args:
        path: The checkpoint.
        depth: Folder of depth maps, or an ONNX depth network, for a network with cue d.
        backbone: Checkpoint of a classifier whose features it was trained on, for a network with cue a.
    """
    from sightline.models.network import named_by  # needs torch, as whoever found the kind of this file did

    network = read_network(path)
    cues = object_cues(network.cues, depth, backbone, str(path), size=network.objects)
    return model_of(network, named_by(path, "relations"), cues)


def model_of(network: PairNetwork, name: str, cues: ObjectCues | None = None) -> PairModel:
    """A network as a model: one that keeps to an order where it says so."""
    return (OrderedModel if network.ordered else PairModel)(network, name=name, cues=cues)


def blind_mlp() -> PairModel:
    """The blind network that comes with Sightline: boxes and classes, trained on 2.5VRD's validation labels."""
    return PairModel(read_network(SHIPPED), name="blind_mlp")


def consistent() -> OrderedModel:
    """The same network, its answers read off a total preorder of the objects."""
    return OrderedModel(read_network(SHIPPED), name="consistent")
