"""ONNX networks: how a file is opened, and those that classify or segment a picture.

The network takes one input, an RGB picture 1×3×H×W or 1×H×W×3, bytes or floats, and puts out 1×C (a classifier) or
1×C×H×W (a segmenter). Its metadata may say ``classes`` (one name a line, or a JSON list) and ``normalise``; else
the classes stand in a text file beside it, and ImageNet's mean and spread are taken off floats.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightline.errors import MissingExtraError, ModelError
from sightline.models.adapters.pictures import (
    Output,
    PictureClassifier,
    PictureInput,
    PictureSegmenter,
    checked_scale,
    class_names,
)


def open_session(path: Path) -> Any:
    """Open an ONNX file on the CPU, one session that tells errors alone.

    Raises:
        MissingExtraError: onnxruntime is not installed.
        ModelError: No such file, or not an ONNX model.
    """
    if not path.is_file():
        raise ModelError(f"{path}: no such ONNX file")
    try:
        runtime = importlib.import_module("onnxruntime")
    except ImportError:
        raise MissingExtraError("onnxruntime", extra="onnx") from None
    options = runtime.SessionOptions()
    options.log_severity_level = 3  # errors only
    try:
        return runtime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise ModelError(f"{path}: not an ONNX model: {error}") from error


class OnnxNetwork:
    """An ONNX file with one input; a session does not pickle, so each process opens its own."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[type[OnnxNetwork], tuple[Path]]:
        return OnnxNetwork, (self.path,)

    @cached_property
    def session(self) -> Any:
        """The open file; ModelError where it has not one input."""
        session = open_session(self.path)
        if len(session.get_inputs()) != 1:
            names = ", ".join(one.name for one in session.get_inputs())
            raise ModelError(f"{self.path}: expected one input, a picture, found {names}")
        return session

    @property
    def metadata(self) -> Mapping[str, str]:
        """What the file says of itself."""
        stored: Mapping[str, str] = self.session.get_modelmeta().custom_metadata_map
        return stored

    def run(self, batch: NDArray[Any]) -> Sequence[NDArray[Any]]:
        """All outputs, in order."""
        outputs: Sequence[NDArray[Any]] = self.session.run(None, {self.session.get_inputs()[0].name: batch})
        return outputs


def onnx(
    path: Path, classes: Path | None = None, normalise: str = "", output: Output = "logits"
) -> PictureClassifier | PictureSegmenter:
    """Open an ONNX file as a classifier or a segmenter.

    Args:
        path: The file.
        classes: Text file with a class name a line; by default what the metadata or the file beside says.
        normalise: Of an input of floats: ``unit`` [0, 1], ``signed`` [−1, 1], ``imagenet`` or ``bytes``; by default
            what the metadata says, else ``imagenet``.
        output: Of a classifier: ``logits`` or ``probabilities``.
    """
    net = OnnxNetwork(path)
    one, said = net.session.get_inputs()[0], net.metadata
    kinds = {"tensor(float)": "f4", "tensor(float16)": "f2", "tensor(double)": "f8", "tensor(uint8)": "u1"}
    if one.type not in kinds:
        raise ModelError(f"{path}: expected an input of bytes or floats, found {one.type}")
    scale = checked_scale(normalise or said.get("normalise", "imagenet"), str(path))
    entry = PictureInput.of(one.shape, np.dtype(kinds[one.type]), scale, str(path))
    columns = class_names(path, _listed(said.get("classes", "")), classes)
    shape = tuple(net.session.get_outputs()[0].shape)
    if len(shape) == 4:
        return PictureSegmenter(path.stem, net.run, entry, columns, channels_last=False)
    if len(shape) == 2:
        return PictureClassifier(path.stem, net.run, entry, columns, output)
    raise ModelError(f"{path}: expected an output 1×C or 1×C×H×W, found {shape}")


def _listed(text: str) -> list[str]:
    if not text.lstrip().startswith("["):
        return text.splitlines()
    try:
        return [str(name) for name in json.loads(text)]
    except ValueError:
        return text.splitlines()
