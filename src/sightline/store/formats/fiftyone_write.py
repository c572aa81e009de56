"""Views as a dataset of FiftyOne, in the folder that its own export writes; FiftyOne itself is not needed.

``metadata.json`` describes the fields, ``samples.json`` holds a sample a view, ``data`` the photos. Boxes are
``ground_truth``: fractions x, y, width, height, with the visible mask inside the box, the object's id, attributes,
flags and hidden share. Relations that a photo shows are ``relations``, landmarks ``keypoints``. Open it in Python::

    fiftyone.Dataset.from_dir("FOLDER", dataset_type=fiftyone.types.FiftyOneDataset)
"""

from __future__ import annotations

import base64
import hashlib
import io
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from sightline.errors import DataError
from sightline.files import staged_folder
from sightline.geometry import masks
from sightline.scenes import Sighting
from sightline.store.blobs import Blobs
from sightline.store.formats.jsonio import write_json
from sightline.store.formats.labelled import ExportedView, exported_views, unshown_relations
from sightline.store.tables import Tables
from sightline.text import counted

_SAMPLES: Final = "samples.json"
_VERSION: Final = "1.0.0"
"""Of FiftyOne, whose form this is; later ones bring it up to date when they open it."""

_FIELDS: Final = "fiftyone.core.fields."
_TEXT, _LIST, _EMBEDDED = f"{_FIELDS}StringField", f"{_FIELDS}ListField", f"{_FIELDS}EmbeddedDocumentField"

Entry = dict[str, Any]


def write(tables: Tables | Iterable[Tables], path: str | Path, *, blobs: Blobs | None = None) -> None:
    """Write a folder with ``metadata.json``, ``samples.json`` and ``data``.

    Args:
        tables: Scenes; boxes in pixels need the image's size, and every view a photo that the dataset keeps.
        path: The folder, which must not exist or be empty; it appears whole or not at all.
        blobs: Where the pictures are.

    Raises:
        DataError: Where a view has no photo: FiftyOne's samples are files.
    """
    with staged_folder(path, owned=(), marker=_SAMPLES, overwrite=False) as stage:
        samples = []
        for shown in exported_views(tables, blobs):
            photo = shown.copy_photo(stage / "data")
            if photo is None:
                raise DataError(
                    "FiftyOne needs every view's photo", row=shown.scene.id, field="image", found="none"
                )
            samples.append(_sample(shown, f"data/{photo}"))
        write_json(stage / _SAMPLES, {"samples": samples})
        write_json(stage / "metadata.json", _metadata())


def left_out(tables: Tables) -> list[str]:
    """What scenes hold that samples of FiftyOne do not; relations are those that no single photo shows."""
    boxes, views = tables.sightings, tables.views
    boxless = tables.objects.join(boxes, on=["scene_id", "object_id"], how="anti").height
    lost = {"boxless object": boxless, "amodal mask": boxes["amodal_mask"].count()}
    lost |= {"relation": unshown_relations(tables), "viewpoint": boxes["viewpoint"].count()}
    lost |= {"pose": tables.objects["pose"].count(), "camera": views["camera"].count()}
    lost |= {f"{kind} map": views[column].count() for kind, column in _MAPS.items()}
    return [counted(n, thing) for thing, n in lost.items() if n]


_MAPS: Final = {"depth": "depth", "id": "ids", "stuff": "stuff"}


def _sample(shown: ExportedView, photo: str) -> Entry:
    scene = shown.scene
    size = shown.view.size
    metadata = {"_cls": "ImageMetadata", "width": size[0], "height": size[1]} if size else None
    marks = [entry for seen in shown.sightings for entry in _keypoints(shown, seen)]
    return {
        "_id": _number(shown.name),
        "filepath": photo,
        "tags": [scene.split] if scene.split else [],
        "_media_type": "image",
        "_rand": int(hashlib.sha256(shown.name.encode()).hexdigest()[:8], 16) / 0x1_0000_0000,
        "metadata": metadata,
        "scene_id": scene.id,
        "view_id": shown.view.id,
        "ground_truth": {"_cls": "Detections", "detections": [_detection(shown, seen) for seen in shown.sightings]},
        "keypoints": {"_cls": "Keypoints", "keypoints": marks},
        "relations": [
            {"subject": r.subject, "object": r.object, "aspect": r.aspect, "predicate": r.predicate}
            | {"votes": list(r.votes)}
            for r in shown.relations
        ],
    }


def _detection(shown: ExportedView, seen: Sighting) -> Entry:
    thing = shown.scene.object(seen.object_id)
    x0, y0, x1, y1 = shown.box(seen, normalised=True)
    entry: Entry = {
        "_id": _number(shown.name, seen.object_id),
        "_cls": "Detection",
        "attributes": {},
        "tags": [],
        "label": thing.category,
        "bounding_box": [x0, y0, x1 - x0, y1 - y0],
        "object_id": thing.id,
        "facts": dict(thing.attributes),
        "flags": sorted(seen.flags),
    }
    entry |= {} if seen.occluded_fraction is None else {"occluded_fraction": seen.occluded_fraction}
    if seen.visible_mask is not None and shown.view.size is not None:
        width, height = shown.view.size
        left, top, right, bottom = (round(side) for side in shown.box(seen, normalised=False))
        inside = masks.decode(seen.visible_mask, height, width)[max(top, 0) : bottom, max(left, 0) : right]
        entry |= {"mask": _binary(inside)} if inside.size else {}
    return entry


def _keypoints(shown: ExportedView, seen: Sighting) -> list[Entry]:
    """Landmarks that have a place, in fractions of the image."""
    width, height = shown.view.size or (1, 1)
    return [
        {
            "_id": _number(shown.name, seen.object_id, mark.name),
            "_cls": "Keypoint",
            "attributes": {},
            "tags": [mark.state],
            "label": mark.name,
            "points": [[mark.x / width, mark.y / height]],
            "object_id": seen.object_id,
        }
        for mark in seen.landmarks
        if mark.x is not None and mark.y is not None
    ]


def _binary(mask: NDArray[np.bool_]) -> Entry:
    """A mask as FiftyOne keeps arrays: NumPy's own file, compressed."""
    buffer = io.BytesIO()
    np.save(buffer, mask, allow_pickle=False)
    packed = base64.b64encode(zlib.compress(buffer.getvalue())).decode("ascii")
    return {"$binary": {"base64": packed, "subType": "00"}}


def _number(*names: str) -> dict[str, str]:
    """An id of MongoDB's, the same for the same names."""
    return {"$oid": hashlib.sha256("\0".join(names).encode()).hexdigest()[:24]}


def _metadata() -> Entry:
    return {
        "name": "sightline",
        "version": _VERSION,
        "media_type": "image",
        "persistent": False,
        "tags": [],
        "info": {},
        "sample_fields": [
            _field("id", f"{_FIELDS}ObjectIdField", stored="_id"),
            _field("filepath", _TEXT),
            _field("tags", _LIST, inner=_TEXT),
            _field("_media_type", _TEXT),
            _field("_rand", f"{_FIELDS}FloatField"),
            _field("metadata", _EMBEDDED, document="fiftyone.core.metadata.ImageMetadata"),
            _field("scene_id", _TEXT),
            _field("view_id", _TEXT),
            _labels("ground_truth", "Detection", _DETECTION),
            _labels("keypoints", "Keypoint", _KEYPOINT),
            _field("relations", _LIST, inner=f"{_FIELDS}DictField"),
        ],
        "frame_fields": [],
    }


def _labels(name: str, kind: str, fields: Sequence[Entry]) -> Entry:
    """A field that holds labels of one kind in a list."""
    inner = _field(
        f"{kind.lower()}s", _LIST, inner=_EMBEDDED, document=f"fiftyone.core.labels.{kind}", fields=fields
    )
    return _field(name, _EMBEDDED, document=f"fiftyone.core.labels.{kind}s", fields=[inner])


def _field(
    name: str,
    kind: str,
    *,
    inner: str | None = None,
    document: str | None = None,
    fields: Sequence[Entry] = (),
    stored: str = "",
) -> Entry:
    return {
        "name": name,
        "ftype": kind,
        "subfield": inner,
        "embedded_doc_type": document,
        "db_field": stored or name,
        "fields": list(fields),
    }


_LABEL: Final = (
    _field("id", f"{_FIELDS}ObjectIdField", stored="_id"),
    _field("tags", _LIST, inner=_TEXT),
    _field("attributes", f"{_FIELDS}DictField", inner=_EMBEDDED, document="fiftyone.core.labels.Attribute"),
    _field("label", _TEXT),
    _field("object_id", _TEXT),
)
_DETECTION: Final = (
    *_LABEL,
    _field("bounding_box", _LIST, inner=f"{_FIELDS}FloatField"),
    _field("mask", f"{_FIELDS}ArrayField"),
    _field("facts", f"{_FIELDS}DictField"),
    _field("flags", _LIST, inner=_TEXT),
    _field("occluded_fraction", f"{_FIELDS}FloatField"),
)
_KEYPOINT: Final = (*_LABEL, _field("points", f"{_FIELDS}KeypointsField"))
