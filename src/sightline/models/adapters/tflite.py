"""TensorFlow Lite networks: detectors with class scores, classifiers and segmenters, by what they put out."""

from __future__ import annotations

import importlib
import warnings
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from sightline.errors import MissingExtraError, ModelError
from sightline.models.adapters.depth_maps import FileDepth
from sightline.models.adapters.descriptions import BoxDetector, NetworkDescription
from sightline.models.adapters.pictures import (
    Normalise,
    Output,
    PictureClassifier,
    PictureInput,
    PictureSegmenter,
    checked_scale,
    class_names,
)
from sightline.models.baselines.depth import DepthRule
from sightline.models.baselines.rules import Margin
from sightline.scenes import View
from sightline.skills import ClassScores, Detections

_POST: Final = "TFLite_Detection_PostProcess"
_BEFORE_SCORES: Final = ("DEQUANTIZE", "LOGISTIC")
"""What stands between a detector's logits and the scores its post-processing gets."""


class TfliteNetwork:
    """A file that is open: its input, its outputs, and the logits of a detector.

    Raises:
        MissingExtraError: ai-edge-litert is not installed.
        ModelError: No such file, or not a TensorFlow Lite network with one input.
    """

    def __init__(self, path: Path) -> None:
        if not path.is_file():
            raise ModelError(f"{path}: no such TensorFlow Lite file")
        try:
            runtime = importlib.import_module("ai_edge_litert.interpreter")
        except ImportError:
            raise MissingExtraError("ai-edge-litert", extra="tflite") from None
        self.path = path
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # that all tensors are kept is what we ask for
                # A detector's inner tensors are read; keeping them makes any network twice as slow.
                self._net = runtime.Interpreter(
                    str(path), num_threads=1, experimental_preserve_all_tensors=_is_detector(path)
                )
            self._net.allocate_tensors()
        except (ValueError, RuntimeError) as error:
            raise ModelError(f"{path}: not a TensorFlow Lite network: {error}") from None
        self.inputs, self.outputs = self._net.get_input_details(), self._net.get_output_details()
        if len(self.inputs) != 1:
            raise ModelError(f"{path}: expected one input, a picture, found {len(self.inputs)}")
        self._made = {int(one): op for op in self._operations() for one in op["outputs"]}
        self._scales = {one["index"]: one["quantization"] for one in self._net.get_tensor_details()}

    def __reduce__(self) -> tuple[type[TfliteNetwork], tuple[Path]]:
        return TfliteNetwork, (self.path,)  # each process opens its own

    def run(self, batch: NDArray[Any]) -> Sequence[NDArray[Any]]:
        """All outputs, in order."""
        return self.read(batch, [int(one["index"]) for one in self.outputs])

    def read(self, batch: NDArray[Any], tensors: Sequence[int]) -> list[NDArray[Any]]:
        """Tensors by their numbers, after a run, as the numbers that quantised ones stand for."""
        self._net.set_tensor(self.inputs[0]["index"], batch)
        self._net.invoke()
        return [self._number(index) for index in tensors]

    def best_logits(self, batch: NDArray[Any], tensor: int) -> NDArray[np.float64]:
        """The maximum over anchors of a detector's logits (1, anchors, C): taken first, then dequantised."""
        self._net.set_tensor(self.inputs[0]["index"], batch)
        self._net.invoke()
        return self._scaled(np.asarray(self._net.get_tensor(tensor))[0].max(axis=0), tensor)

    def detector(self) -> tuple[list[int], int] | None:
        """Numbers of a detector's boxes, classes, scores and count, and of its logits; None for other networks."""
        post = next((op for op in self._operations() if op["op_name"] == _POST), None)
        if post is None:
            return None
        tensor = int(post["inputs"][1])
        while (op := self._made.get(tensor)) is not None and op["op_name"] in _BEFORE_SCORES:
            tensor = int(op["inputs"][0])
        return [int(one) for one in post["outputs"]], tensor

    def columns(self) -> list[str]:
        """Class names packed into the file (``labelmap.txt``), none where there are none."""
        try:
            with zipfile.ZipFile(self.path) as packed:
                name = next(name for name in packed.namelist() if name.endswith(".txt"))
                return packed.read(name).decode().splitlines()
        except (zipfile.BadZipFile, StopIteration, UnicodeDecodeError):
            return []

    def _operations(self) -> list[dict[str, Any]]:
        """What the file computes; operations that a delegate took over stand there again at the end, nameless."""
        return [op for op in self._net._get_ops_details() if op["op_name"] != "DELEGATE"]

    def _number(self, tensor: int) -> NDArray[Any]:
        return self._scaled(np.asarray(self._net.get_tensor(tensor)), tensor)

    def _scaled(self, values: NDArray[Any], tensor: int) -> NDArray[np.float64]:
        if values.dtype.kind == "f":
            return values.astype(np.float64)
        scale, zero = self._scales[tensor]
        return np.asarray((values.astype(np.float64) - zero) * (scale or 1.0))


def _is_detector(path: Path) -> bool:
    return _POST.encode() in path.read_bytes()


class TfliteDetector:
    """A detector with post-processing inside: skills *detect*, and *classify* by its logits before that.

    Its few boxes are no class scores: most classes have none. The score of a class is the maximum over all anchors
    of its logit.

    Args:
        name: How tables call it.
        net: The open file.
        entry: How it wants a picture.
        columns: Names of the classes by column, an empty one being left out.
    """

    def __init__(self, name: str, net: TfliteNetwork, entry: PictureInput, columns: Sequence[str]) -> None:
        found = net.detector()
        assert found is not None
        self.name, self._net, self._entry, self._columns = name, net, entry, tuple(columns)
        self._boxes, self._logits = found
        self._kept = [place for place, column in enumerate(columns) if column]
        self.classes = tuple(columns[place] for place in self._kept)

    def detect(self, view: View) -> Detections:
        """The boxes that its post-processing keeps, best first."""
        boxes, classes, scores, count = self._net.read(self._entry.prepared(view.image()), self._boxes)
        kept = int(count.reshape(-1)[0])
        labels = [self._column(int(one)) for one in classes[0, :kept]]
        named = [i for i, label in enumerate(labels) if label]
        corners = np.clip(boxes[0, :kept][named][:, [1, 0, 3, 2]], 0.0, 1.0)
        return Detections(
            corners.astype(np.float64), scores[0, :kept][named].astype(np.float64), tuple(labels[i] for i in named)
        )

    def classify(self, views: Sequence[View]) -> ClassScores:
        """A logit for every picture and class."""
        rows = [self._net.best_logits(self._entry.prepared(view.image()), self._logits) for view in views]
        if rows and len(rows[0]) < len(self._columns):
            raise ModelError(f"{self.name}: {len(self._columns)} class names for {len(rows[0])} columns")
        return ClassScores(self.classes, np.array(rows).reshape(len(rows), -1)[:, self._kept])

    def _column(self, place: int) -> str:
        return self._columns[place] if 0 <= place < len(self._columns) else ""


def tflite(
    path: Path,
    task: Literal["classify", "segment", "detect", "depth"] | None = None,
    about: Path | None = None,
    classes: Path | None = None,
    normalise: str | None = None,
    output: Output | None = None,
    threshold: float | None = None,
    inverse: bool | None = None,
    margin: Margin | None = None,
) -> TfliteDetector | BoxDetector | PictureClassifier | PictureSegmenter | DepthRule:
    """Open a TensorFlow Lite file: a detector, a segmenter (1, H, W, C), a classifier (1, C) or depth (1, H, W, 1).

    Args:
        path: The file.
        task: What it is for; by default what its description or its outputs say.
        about: Its description; by default the YAML file of the same name (see `adapters.descriptions`).
        classes: Text file with a class name a line; by default what the description says, the list packed into the
            file, or the one beside it.
        normalise: Of an input of floats: ``signed`` [−1, 1], ``unit``, ``imagenet`` or ``bytes``; by default what
            the description says, else ``signed``.
        output: Of a classifier: ``logits`` or ``probabilities``.
        threshold: Of a detector that is described: least confidence of a box.
        inverse: Of a depth estimator: larger is closer.
        margin: Of a depth estimator: difference of means below which depths are the same, or ``tuned``.
    """
    net = TfliteNetwork(path)
    one = net.inputs[0]
    given = {"task": task, "normalise": normalise, "output": output, "threshold": threshold, "inverse": inverse}
    described = NetworkDescription.beside(path, given | {"margin": margin}, about)
    scale: Normalise = checked_scale(described.normalise or "signed", str(path))
    entry = PictureInput.of([int(side) for side in one["shape"]], np.dtype(one["dtype"]), scale, str(path))
    shape = tuple(int(side) for side in net.outputs[0]["shape"])
    kind: str = described.task or {2: "classify", 4: "depth" if shape[3:] == (1,) else "segment"}.get(
        len(shape), ""
    )
    packed = net.detector() is not None and described.task in ("", "detect") and not described.outputs
    if kind == "depth" and not packed:
        network = FileDepth(path.stem, net.run, entry, described.inverse)
        return DepthRule(network, inverse=described.inverse, margin=described.margin, name=path.stem)
    if not (kind or packed):
        raise ModelError(f"{path}: expected an output 1×C or 1×H×W×C, or a detector's, found {shape}")
    inside, file = described.class_file(path, classes)
    columns = class_names(path, inside or net.columns(), file)
    if packed:
        return TfliteDetector(path.stem, net, entry, columns)
    if kind == "detect":
        return BoxDetector(path.stem, net.run, entry, columns, described, [str(o["name"]) for o in net.outputs])
    if kind == "segment":
        return PictureSegmenter(path.stem, net.run, entry, columns, channels_last=True)
    return PictureClassifier(path.stem, net.run, entry, columns, described.output)
