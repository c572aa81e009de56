"""Depth maps for views: from a folder of files, or from a network in a file.

Both have the skill *estimate_depth*; maps may have any size and unit, and may be inverse depth
(larger is closer), since the rule that reads them is told which.
"""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError

from sightline.errors import ModelError
from sightline.models.adapters.image_names import names_of
from sightline.models.adapters.pictures import OnnxNetwork, PictureInput, Run
from sightline.scenes import View

Floats = NDArray[np.float64]


class MissingMapError(ModelError):
    """There is no depth map of an image; the message names it."""


class DepthFolder:
    """Depth maps in a folder, one file an image, named by scene id or image id.

    ``.npy`` and ``.npz`` (one array, or one called ``depth``) are taken as they are; in a 16-bit ``.png`` the
    value 0 means unknown, as in KITTI and NYU.

    Args:
        folder: The folder; a scene id with slashes is looked for in subfolders too.
        zero_is_unknown: Whether 0 in a PNG is a hole; not so for inverse depth, where it is infinitely far.
    """

    def __init__(self, folder: Path, *, zero_is_unknown: bool = True) -> None:
        if not folder.is_dir():
            raise ModelError(f"{folder}: no such folder of depth maps")
        self.folder = folder
        self.zero_is_unknown = zero_is_unknown

    def estimate_depth(self, view: View) -> Floats:
        """The map of a view; MissingMapError naming the image where there is none."""
        for name in filter(_is_inside, names_of(view)):
            for suffix in (".npy", ".npz", ".png"):
                path = self.folder / f"{name}{suffix}"
                if path.is_file():
                    return plane(self._read(path), str(path))
        raise MissingMapError(f"no depth map for image {view.id} in {self.folder} (.npy, .npz or 16-bit .png)")

    def _read(self, path: Path) -> Floats:
        try:
            if path.suffix == ".png":
                with Image.open(path) as picture:
                    values = np.asarray(picture, dtype=np.float64)
                return np.where(values == 0, np.nan, values) if self.zero_is_unknown else values
            loaded: Any = np.load(path, allow_pickle=False)
            if path.suffix == ".npz":
                with loaded:
                    loaded = loaded["depth" if "depth" in loaded.files else loaded.files[0]]
            return np.asarray(loaded, dtype=np.float64)
        except (OSError, ValueError, EOFError, IndexError, TypeError, UnidentifiedImageError) as error:
            raise ModelError(f"{path}: not a depth map: {error}") from error


class FileDepth:
    """A network in a file with one output, a map of depth: skill *estimate_depth*.

    Args:
        name: How tables call it.
        run: Runs the network.
        entry: How it wants a picture.
        inverse: Larger is closer.
    """

    def __init__(self, name: str, run: Run, entry: PictureInput, inverse: bool = False) -> None:
        self.name, self._run, self._entry, self.inverse = name, run, entry, inverse

    def estimate_depth(self, view: View) -> Floats:
        """(H, W) of the network's own size and unit; MissingMapError where there is no photo."""
        if view.load_image is None:
            raise MissingMapError(f"no photo of image {view.id} to make a depth map of")
        return plane(self._run(self._entry.prepared(view.image()))[0], self.name)


def onnx_depth_network(path: Path) -> FileDepth:
    """A monocular depth network in ONNX: one RGB input in [0, 1], one map out."""
    net = OnnxNetwork(path)
    return FileDepth(str(path), net.run, net.entry("unit"))


def mean_in_boxes(depth: Floats, boxes: NDArray[np.float64]) -> Floats:
    """(n,) mean of the known depths inside each box; NaN where all are unknown.

    Args:
        depth: (H, W), NaN where unknown.
        boxes: (n, 4) xyxy in fractions of the image; a box counts every pixel it touches, at least one.

    >>> mean_in_boxes(np.array([[1.0, 2.0], [3.0, np.nan]]), np.array([[0, 0, 1, 0.5], [0, 0, 1, 1]]))
    array([1.5, 2. ])
    """
    height, width = depth.shape
    size = np.array([width, height])
    low = np.clip(np.floor(boxes[:, :2] * size), 0, size - 1).astype(np.int64)
    high = np.maximum(np.clip(np.ceil(boxes[:, 2:] * size), 0, size).astype(np.int64), low + 1)
    means = np.full(len(boxes), np.nan)
    for i, ((x0, y0), (x1, y1)) in enumerate(zip(low, high, strict=True)):
        inside = depth[y0:y1, x0:x1]
        known = inside[np.isfinite(inside)]
        if known.size:
            means[i] = known.mean()
    return means


def plane(values: Any, where: str) -> Floats:
    """The map as (H, W): axes of length 1 around it are dropped."""
    depth: Floats = np.asarray(values, dtype=np.float64)
    while depth.ndim > 2 and 1 in depth.shape:
        depth = depth.squeeze(depth.shape.index(1))
    if depth.ndim != 2 or not depth.size:
        raise ModelError(f"{where}: a depth map must be H×W, not of shape {depth.shape}")
    return depth


def _is_inside(name: str) -> bool:
    """Whether a name stays inside the folder it is looked for in: ids come from data and may be anything."""
    path = PurePosixPath(name)
    return bool(name) and not path.is_absolute() and ".." not in path.parts and not set("\0\\") & set(name)
