"""Files of PASCAL3D+ and of its successors, made for tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.io

from sightline.geometry.viewpoints import rotations

NOTHING = np.zeros((0, 0))
HEADER = (
    "imgPath,bboxTLX,bboxTLY,bboxBRX,bboxBRY,imgKeyptX,imgKeyptY,keyptClass,objClass,azimuthClass,elevationClass,"
    "rotationClass\n"
)


def viewpoint(**changes: Any) -> dict[str, Any]:
    whole: dict[str, Any] = {
        "azimuth_coarse": 30.0,
        "elevation_coarse": 5.0,
        "azimuth": 33.5,
        "elevation": 7.25,
        "distance": 8.0,
        "focal": 1.0,
        "px": 250.5,
        "py": 160.5,
        "theta": -2.0,
        "error": 4.5,
        "interval_azimuth": 0.2,
        "interval_elevation": 0.1,
        "num_anchor": 3.0,
        "viewport": 3000.0,
    }
    return {key: value for key, value in {**whole, **changes}.items() if value is not None}


def thing(**changes: Any) -> dict[str, Any]:
    """A car with five landmarks, one of each state."""
    spots = {
        "left_front_wheel": {"location": np.array([[101.5, 51.5]]), "status": 1.0},
        "right_front_wheel": {"location": NOTHING, "status": 2.0},
        "left_back_wheel": {"location": np.array([[120.0, 60.0]]), "status": 3.0},
        "right_back_wheel": {"location": NOTHING, "status": 4.0},
        "left_front_light": {"location": NOTHING, "status": 5.0},
    }
    whole: dict[str, Any] = {
        "class": "car",
        "view": "Rear",
        "truncated": 1.0,
        "occluded": 0.0,
        "difficult": 1.0,
        "bbox": np.array([[11.0, 21.0, 200.0, 150.0]]),
        "anchors": spots,
        "viewpoint": viewpoint(),
        "cad_index": 2.0,
        "subtype": "sedan",
    }
    return {key: value for key, value in {**whole, **changes}.items() if value is not None}


def structs(rows: Sequence[Mapping[str, Any]]) -> Any:
    """Dicts as an array of structs; what one has not is empty, as MATLAB has it."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    made = np.empty((1, len(rows)), dtype=[(name, object) for name in names])
    for i, row in enumerate(rows):
        made[0, i] = tuple(row.get(name, NOTHING) for name in names)
    return made


def save(path: Path, *things: dict[str, Any], **changes: Any) -> Path:
    """One photo's record, 500 × 375."""
    record = {
        "folder": "VOC2012",
        "filename": f"{path.stem}.jpg",
        "size": {"width": 500.0, "height": 375.0, "depth": 3.0},
        "objects": structs(things) if things else NOTHING,
        **changes,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    kept = {key: value for key, value in record.items() if value is not None}
    scipy.io.savemat(path, {"record": kept}, do_compression=True)
    return path


def lay(folder: Path) -> Path:
    """PASCAL3D+ in small: a photo in two classes' folders, one of ImageNet, lists of splits."""
    folder.mkdir(exist_ok=True)
    places = folder / "Annotations"
    person = {"class": "person", "bbox": np.array([[1.0, 1.0, 30.0, 40.0]])}
    bus = thing(**{"class": "bus", "bbox": np.array([[300.0, 100.0, 400.0, 200.0]])})
    save(places / "car_pascal" / "2008_1.mat", thing(), {**bus, "viewpoint": NOTHING}, person)
    save(places / "bus_pascal" / "2008_1.mat", {**thing(), "viewpoint": NOTHING}, bus, person)
    save(places / "car_imagenet" / "n01_7.mat", thing(truncated=0.0, difficult=0.0))
    (folder / "Image_sets").mkdir(parents=True)
    (folder / "Image_sets" / "car_imagenet_val.txt").write_text("n01_7\n")
    (folder / "ImageSets" / "Main").mkdir(parents=True)
    (folder / "ImageSets" / "Main" / "train.txt").write_text("2008_1\n")
    return folder


def lay_poses(folder: Path) -> Path:
    """CSV files of poses, one box with a negative coordinate."""
    folder.mkdir(exist_ok=True)
    rows = (
        "Images\\car_pascal\\a.jpg,3,80,447,219,0,54,355,356\nImages\\bus_imagenet\\b.JPEG,-4,2,10,20,0,360,0,10\n"
    )
    (folder / "train.csv").write_text(HEADER + rows)
    (folder / "val.csv").write_text(HEADER + "Images\\car_imagenet\\c.JPEG,0,0,9,9,0,180,10,0\n")
    return folder


def turn(**changes: Any) -> dict[str, Any]:
    """An aeroplane of rotationData."""
    theta, elevation, azimuth = 0.1, -0.2, 3.0
    rot = (np.diag((1.0, -1.0, -1.0)) @ rotations(*np.degrees((azimuth, elevation, theta)))).T
    whole = {
        "voc_image_id": "2008_1",
        "imsize": np.array([[500.0, 375.0]]),
        "bbox": np.array([[14.0, 148.0, 475.0, 288.0]]),
        "class": "aeroplane",
        "rot": rot,
        "euler": np.array([[theta], [elevation], [azimuth]]),
        "occluded": 1.0,
        "truncated": 0.0,
        "objectInd": 1.0,
        "dataset": "pascal",
        "subtype": 7.0,
    }
    return {**whole, **changes}


def annotation(**changes: Any) -> dict[str, Any]:
    """An object of ImageNet3D."""
    whole: dict[str, Any] = {
        "class": "car",
        "azimuth": np.pi / 2,
        "elevation": 2 * np.pi - 0.1,
        "theta": 0.2,
        "distance": np.float64(6.0),
        "viewport": 3000,
        "width": np.uint16(640),
        "height": np.uint16(480),
        "bbox": np.array([10.0, 20.0, 300.0, 400.0]),
        "px": 150.0,
        "py": 200.0,
        "cad_index": 3,
        "object_status": "status_partially",
        "dense": "dense_no",
    }
    return {key: value for key, value in {**whole, **changes}.items() if value is not None}


def save_npz(path: Path, *things: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    listed = np.empty(len(things), object)
    listed[:] = things
    np.savez(path, annotations=listed)
    return path


def lay_imagenet3d(folder: Path) -> Path:
    save_npz(folder / "n01_1.npz", annotation(), annotation(distance=0.0))
    return folder
