"""What formats share that hold one photo after the other: views with names of their own, and what has no place."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import polars as pl

from sightline.errors import DataError
from sightline.files import read_bytes
from sightline.scenes import Relation, Scene, Sighting, View
from sightline.scenes.types import Box
from sightline.store.blobs import Blobs
from sightline.store.convert import scenes_from_tables
from sightline.store.tables import Tables
from sightline.text import counted, file_name

SCENES_A_PART: Final = 1000


@dataclass(frozen=True, slots=True)
class ExportedView:
    """One view of a scene as a photo of its own.

    Attributes:
        name: Of its files, without suffix; no two in a dataset have the same.
        scene: The scene.
        view: The view.
        photo: The file of its picture; None where the dataset keeps none.
    """

    name: str
    scene: Scene
    view: View
    photo: Path | None

    @property
    def sightings(self) -> tuple[Sighting, ...]:
        """What is seen in it."""
        return self.scene.seen_in(self.view.id)

    @property
    def relations(self) -> tuple[Relation, ...]:
        """Relations that can be told of this photo alone: both ends are seen in it, and it holds in this view."""
        seen = {one.object_id for one in self.sightings}
        return tuple(
            r
            for r in self.scene.relations
            if r.object_scene is None and r.view in (None, self.view.id) and {r.subject, r.object} <= seen
        )

    @property
    def split(self) -> str:
        """Name of the split as files call it; empty where there is none."""
        return "val" if self.scene.split == "validation" else file_name(self.scene.split)

    def box(self, seen: Sighting, *, normalised: bool) -> Box:
        """A box xyxy in fractions of the image, or in pixels; a DataError where that needs a size nobody told."""
        if (self.view.units == "normalised") == normalised:
            return seen.box
        if self.view.size is None:
            problem = "the format needs the image size, which the source never told"
            raise DataError(problem, row=self.scene.id, field="size")
        (across, down), (x0, y0, x1, y1) = self.view.size, seen.box
        if normalised:
            return x0 / across, y0 / down, x1 / across, y1 / down
        return x0 * across, y0 * down, x1 * across, y1 * down

    def copy_photo(self, folder: Path) -> str | None:
        """Copy the photo into a folder under its new name, which is returned; None where there is none."""
        if self.photo is None:
            return None
        folder.mkdir(parents=True, exist_ok=True)
        name = self.name + self.photo.suffix.lower()
        try:
            shutil.copyfile(self.photo, folder / name)
        except OSError as error:
            raise DataError(
                f"photo cannot be copied: {error.strerror}", file=self.photo, row=self.scene.id
            ) from None
        return name

    def photo_bytes(self) -> bytes | None:
        """The file of the photo as it is; None where there is none."""
        if self.photo is None:
            return None
        try:
            return self.photo.read_bytes()
        except OSError as error:
            raise DataError(f"photo cannot be read: {error.strerror}", file=self.photo, row=self.scene.id) from None


def text_lines(file: Path) -> list[str]:
    """Lines of a text file in UTF-8."""
    try:
        return read_bytes(file).decode().splitlines()
    except UnicodeDecodeError as error:
        raise DataError(f"not UTF-8 at byte {error.start}", file=file) from None


def left_out(tables: Tables) -> list[str]:
    """What scenes hold that boxes with a class name cannot tell."""
    boxes = tables.sightings
    boxless = tables.objects.join(boxes, on=["scene_id", "object_id"], how="anti").height
    masks = sum(boxes[name].count() for name in ("visible_mask", "amodal_mask"))
    lost = {"boxless object": boxless, "mask": masks, "relation": tables.relations.height}
    lost |= {"viewpoint": boxes["viewpoint"].count(), "object with landmark": boxes["landmarks"].count()}
    return [counted(n, thing) for thing, n in lost.items() if n]


def unshown_relations(tables: Tables) -> int:
    """Count relations that no single view shows: across two scenes, or of objects that are not seen together."""
    ends = tables.sightings.select("scene_id", pl.col("view_id").alias("shown_in"), "object_id").unique()
    listed = tables.relations.with_row_index("number").filter(pl.col("object_scene").is_null())
    subject, other = ends.rename({"object_id": "subject"}), ends.rename({"object_id": "object"})
    shown = listed.join(subject, on=["scene_id", "subject"]).join(other, on=["scene_id", "object", "shown_in"])
    shown = shown.filter(pl.col("view_id").is_null() | (pl.col("view_id") == pl.col("shown_in")))
    return tables.relations.height - shown["number"].n_unique()


def exported_views(
    tables: Tables | Iterable[Tables], blobs: Blobs | None, *, boxes: bool = True
) -> Iterator[ExportedView]:
    """All views of all scenes, by scene id, each with a name of its own and the file of its picture.

    Args:
        tables: Scenes.
        blobs: Where the pictures are.
        boxes: The format tells objects by boxes alone: a DataError where there are objects and no box at all.
    """
    whole = tables if isinstance(tables, Tables) else Tables.concat(tables)
    if boxes and whole.objects.height and not whole.sightings.height:
        problem = "no boxes: all photos would be labelled as empty"
        raise DataError(problem, expected="objects with boxes", found=counted(whole.objects.height, "object"))
    taken: Counter[str] = Counter()
    for scene in scenes_from_tables(whole, blobs=blobs):
        tail = scene.id.removeprefix(f"{scene.split}/") if scene.split else scene.id
        for view in scene.views:
            name = file_name(tail if len(scene.views) == 1 else f"{tail}-{view.id}") or "image"
            taken[name.lower()] += 1
            if taken[name.lower()] > 1:
                name = f"{name}-{taken[name.lower()]}"
                taken[name.lower()] += 1
            ref = view.image_ref
            yield ExportedView(name, scene, view, None if ref is None or blobs is None else blobs.locate(ref))
