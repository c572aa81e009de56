"""Items of the context exam: one picture with its classes, and the edits of it that a model is shown beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from sightline.edits import Fill, FillRequest, Removal, RemovalError, empty_region, false_edit
from sightline.edits.cache import EditCache
from sightline.errors import DataError, SightlineError
from sightline.files import user_cache
from sightline.geometry.masks import decode
from sightline.scenes import PART, STUFF, Scene, Sighting, View
from sightline.store import Dataset

Flags = NDArray[np.bool_]
Loader = Callable[[], NDArray[Any]]
EditKind = Literal["original", "removal", "false", "empty"]

UNLABELLED: Final = -1
"""Class of a pixel of which the data says nothing."""


@dataclass(frozen=True, eq=False)
class ContextItem:
    """One picture and what is in it.

    Attributes:
        id: The scene's id, or where it has several views scene and view.
        scene: The scene, for fills that render it anew.
        view: The picture, without truth; its id is the item's.
        seen: Its view in the scene.
        classes: Classes of the objects that can be seen, sorted.
    """

    id: str
    scene: Scene = field(repr=False)
    view: View
    seen: View = field(repr=False)
    classes: tuple[str, ...]

    @property
    def scene_id(self) -> str:
        """The scene."""
        return self.scene.id

    @property
    def cluster_id(self) -> str:
        """The scene: its views show the same objects, and its edits are made of the same picture."""
        return self.scene.id

    @property
    def stuff(self) -> tuple[str, ...]:
        """Classes of what is no object."""
        return self.seen.stuff_classes

    def masks(self) -> dict[str, Flags | None]:
        """Class → (H, W) where it is seen, all its instances; None where one of them has no mask."""
        united: dict[str, Flags | None] = {}
        for category, seen in seen_things(self.scene, self.seen):
            if seen.visible_mask is None or united.get(category, False) is None:
                united[category] = None
                continue
            width, height = self.view.require_size()
            mask, before = decode(seen.visible_mask, height, width), united.get(category)
            united[category] = mask if before is None else before | mask
        return united

    def labels(self, classes: Sequence[str]) -> NDArray[np.int32]:
        """(H, W) true class of each pixel, a place in `classes`; `UNLABELLED` where the data says nothing."""
        width, height = self.view.require_size()
        place = {name: i for i, name in enumerate(classes)}
        labels = np.full((height, width), UNLABELLED, dtype=np.int32)
        if self.seen.load_stuff is not None:
            codes = [UNLABELLED, *(place.get(name, UNLABELLED) for name in self.stuff)]
            labels = np.array(codes, dtype=np.int32)[self.seen.stuff()]
        for name, mask in self.masks().items():
            if mask is not None:
                labels[mask] = place.get(name, UNLABELLED)
        return labels


def context_items(data: Dataset, split: str | None) -> tuple[ContextItem, ...]:
    """Pictures of all scenes, in stored order, also those without an object; DataError without any mask."""
    made = [item for scene in data.scenes(split) for item in _items(scene)]
    if not any(s.visible_mask is not None for item in made for _, s in seen_things(item.scene, item.seen)):
        expected = "objects with masks, as imports of COCO and ADE20K and generated scenes have them"
        raise DataError("no object has a mask, so none can be removed", file=data.path, expected=expected)
    return tuple(made)


def seen_things(scene: Scene, view: View) -> list[tuple[str, Sighting]]:
    """Class and sighting of whatever can be seen in a view and is a thing: no stuff, no part of another."""
    things = {thing.id: thing.category for thing in scene.objects}
    seen = [(things[s.object_id], s) for s in scene.seen_in(view.id) if not {"hidden", STUFF, PART} & s.flags]
    return [(category, s) for category, s in seen if category not in view.stuff_classes]


def _items(scene: Scene) -> Iterator[ContextItem]:
    for view in scene.views:
        name = scene.id if len(scene.views) == 1 else f"{scene.id}/{view.id}"
        classes = {category for category, _ in seen_things(scene, view)}
        if None in classes:
            raise DataError("an object has no class", row=scene.id, field="category", expected="text")
        yield ContextItem(name, scene, replace(view.without_truth(), id=name), view, tuple(sorted(classes)))


@dataclass(frozen=True)
class Edit:
    """One picture of those a model is shown in one call.

    Attributes:
        kind: The original; one without a class; or a control: filled where the hole is mirrored (``false``), or in
            a region without an object (``empty``).
        gone: The class that is removed, or whose hole a control has; empty for the original.
        hole: (H, W) pixels that were filled; None for the original.
        view: What the model is shown; its id says kind and class.
    """

    kind: EditKind
    gone: str
    hole: Flags | None = field(repr=False)
    view: View


class EditLoader:
    """Loads an edited picture when somebody looks at it, once.

    Args:
        item: The picture.
        original: Loads it.
        hole: Pixels to be filled.
        gone: Ids of the objects that are removed; empty for a control.
        fill: What fills them.
    """

    def __init__(self, item: ContextItem, original: Loader, hole: Flags, gone: tuple[str, ...], fill: Fill) -> None:
        self._item, self._original, self._hole, self._gone, self._fill = item, original, hole, gone, fill
        self.used = False

    def __call__(self) -> NDArray[np.uint8]:
        """(H, W, 3) uint8 RGB."""
        self.used = True
        return self._pixels

    @cached_property
    def _pixels(self) -> NDArray[np.uint8]:
        item = self._item
        request = FillRequest(self._original(), self._hole, item.scene, item.seen.id, self._gone)
        return _cache(user_cache() / "edits").remove(request, self._fill)

    def prepare(self) -> None:
        """Make the picture ready; what goes wrong is told to whoever looks at it."""
        with suppress(SightlineError):
            _ = self._pixels


@cache
def _cache(folder: Path) -> EditCache:
    """Edits of all exams of this process: every further model of a run finds those of the first."""
    return EditCache(folder)


@dataclass(frozen=True)
class Edits:
    """A picture and its edits, in the order they are shown.

    Attributes:
        item: The picture.
        shown: The original first, then one without each removable class, then the controls.
        kept: Class → why it cannot be removed.
        whole_others: Objects that stay are whole in every edit, also where the hole lies: so of exact fills.
    """

    item: ContextItem
    shown: tuple[Edit, ...]
    kept: Mapping[str, str]
    whole_others: bool = False

    @property
    def views(self) -> list[View]:
        """What the model is shown in one call."""
        return [edit.view for edit in self.shown]

    @property
    def removable(self) -> tuple[str, ...]:
        """Classes that one edit each is without."""
        return tuple(edit.gone for edit in self.shown if edit.kind == "removal")

    def left(self, edit: Edit, masks: Mapping[str, Flags | None]) -> dict[str, float]:
        """Class that stays in an edit → share of its pixels that the hole does not cover.

        Args:
            edit: One of `shown`.
            masks: Those of the item.
        """
        stay = {name: mask for name, mask in masks.items() if mask is not None and name != edit.gone and mask.any()}
        if edit.hole is None or self.whole_others:
            return dict.fromkeys(stay, 1.0)
        return {name: float((mask & ~edit.hole).sum() / mask.sum()) for name, mask in stay.items()}

    def pixels(self, view_id: str) -> dict[str, int]:
        """Class that is in one of these pictures → pixels of it; 0 for one that is there, but under the hole."""
        edit = next(edit for edit in self.shown if edit.view.id == view_id)
        masks = {name: mask for name, mask in self.item.masks().items() if mask is not None}
        covered = None if self.whole_others else edit.hole
        left = {name: mask if covered is None else mask & ~covered for name, mask in masks.items()}
        gone = {edit.gone} if edit.kind == "removal" else set()
        return {name: int(mask.sum()) for name, mask in left.items() if name not in gone}


def edits_of(item: ContextItem, removal: Removal, fill: Fill, *, controls: bool) -> Edits:
    """Make the edits of a picture: I − c for every class c that can be removed, and controls of one of them.

    Args:
        item: The picture.
        removal: How masks grow, and how large they may be.
        fill: What fills the holes; nothing is filled before somebody looks.
        controls: Also make a false edit and an empty region, of a class that follows from the item's id.
    """
    masks = item.masks()
    whole = [mask for mask in masks.values() if mask is not None]
    holes: dict[str, Flags] = {}
    kept = {}
    for name, mask in masks.items():
        if mask is None:
            kept[name] = "an object has no mask"
            continue
        try:
            holes[name] = removal.hole([mask], row=item.id)
        except RemovalError as reason:
            kept[name] = reason.problem
    things = {thing.id: thing.category for thing in item.scene.objects}
    original = cache(item.view.image)
    shown = [Edit("original", "", None, replace(item.view, load_image=original))]

    def edit(kind: EditKind, word: str, name: str, hole: Flags, gone: tuple[str, ...] = ()) -> Edit:
        loader = EditLoader(item, original, hole, gone, fill)
        return Edit(kind, name, hole, View(f"{item.id}/{word}/{name}", size=item.view.size, load_image=loader))

    for name in sorted(holes):
        gone = tuple(id_ for id_, category in things.items() if category == name)
        shown.append(edit("removal", "without", name, holes[name], gone))
    if controls and holes:
        chosen = sorted(holes)[blake2b(item.id.encode(), digest_size=2).digest()[0] % len(holes)]
        flipped = false_edit(holes[chosen], [mask for mask in [masks[chosen]] if mask is not None])
        empty = empty_region(holes[chosen], whole)
        if flipped is not None:
            shown.append(edit("false", "flipped", chosen, flipped))
        if empty is not None:
            shown.append(edit("empty", "empty", chosen, empty))
    return Edits(item, tuple(shown), kept, bool(getattr(fill, "keeps_others", False)))


class Ahead:
    """Makes the edits of one picture after another; while a model looks at them, those of the next.

    Nothing is made ahead for a model that did not look at the edits of the picture before.

    Args:
        make: Makes the edits of an item.
        items: All items, in the order they will be asked for.
    """

    def __init__(self, make: Callable[[ContextItem], Edits], items: Sequence[ContextItem]) -> None:
        self._make, self._items = make, items
        self._place = {item.id: i for i, item in enumerate(items)}
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="edits")
        self._last: Edits | None = None
        self._next: tuple[str, Future[Edits]] | None = None

    def edits(self, item: ContextItem) -> Edits:
        """The edits of an item; those of the one that follows are begun."""
        waiting, self._next = self._next, None
        made = waiting[1].result() if waiting is not None else None
        looks = self._last is not None and any(loader.used for loader in _loaders(self._last))
        if made is None or made.item.id != item.id:
            made = self._prepared(item) if looks else self._make(item)
        self._last, place = made, self._place[item.id] + 1
        if looks and place < len(self._items):
            following = self._items[place]
            self._next = following.id, self._pool.submit(self._prepared, following)
        return made

    def _prepared(self, item: ContextItem) -> Edits:
        made = self._make(item)
        for loader in _loaders(made):
            loader.prepare()
        return made


def _loaders(edits: Edits) -> list[EditLoader]:
    return [view.load_image for view in edits.views if isinstance(view.load_image, EditLoader)]
