"""The R-CNN boxes over VOC 2012 val, as files of ``sightline score viewpoint``."""

from __future__ import annotations

from pathlib import Path

from scipy.io import loadmat

VOC = (
    *("aeroplane", "bicycle", "bird", "boat", "bottle", "bus", "car", "cat", "chair", "cow", "diningtable", "dog"),
    *("horse", "motorbike", "person", "pottedplant", "sheep", "sofa", "train", "tvmonitor"),
)
"""Class names in the order of their numbers."""

SOFT = ("bird", "cat", "cow", "dog", "horse", "person", "pottedplant", "sheep")
RIGID = [name for name in VOC if name not in SOFT]


def truth_of(folder: Path) -> list[dict]:
    """Boxes of all classes; the file has none that are difficult, and no azimuths."""
    rows = []
    for line in (folder / "voc2012_val_boxes.txt").read_text().splitlines():
        name, *boxes = line.split()
        for box in boxes:
            *corners, number = map(int, box.split(","))
            rows.append({"image": name, "class": VOC[number], "box": corners, "azimuth": None, "difficult": False})
    return rows


def detections_of(folder: Path, category: str) -> list[dict]:
    """Boxes of one class in the order of the list of images."""
    names = [line.split()[0] for line in (folder / "voc2012_val_boxes.txt").read_text().splitlines()]
    cells = loadmat(folder / "rcnn" / f"{category}_pruned_boxes_voc_2012_val_bbox_reg.mat")["boxes"].ravel()
    return [
        {"image": name, "class": category, "box": row[:4], "score": row[4], "azimuth": None}
        for name, cell in zip(names, cells, strict=True)
        for row in cell.astype(float).tolist()
    ]
