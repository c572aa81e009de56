"""ONNX networks that classify or segment a picture, detect objects in it or estimate its depth.

The network takes one input, an RGB picture 1×3×H×W or 1×H×W×3, bytes or floats. What its outputs are, how the input
is scaled and which classes it knows is said by a description (`adapters.descriptions`), by its metadata
(``classes``, one name a line or a JSON list, and ``normalise``), or by a list of classes beside it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

from sightline.errors import ModelError
from sightline.models.adapters.depth_maps import FileDepth
from sightline.models.adapters.descriptions import BoxDetector, NetworkDescription
from sightline.models.adapters.pictures import (
    OnnxNetwork,
    Output,
    PictureClassifier,
    PictureSegmenter,
    checked_scale,
    class_names,
)
from sightline.models.baselines.depth import DepthRule
from sightline.models.baselines.rules import Margin


def onnx(
    path: Path,
    task: Literal["classify", "segment", "detect", "depth"] | None = None,
    about: Path | None = None,
    classes: Path | None = None,
    normalise: str | None = None,
    output: Output | None = None,
    threshold: float | None = None,
    inverse: bool | None = None,
    margin: Margin | None = None,
) -> PictureClassifier | PictureSegmenter | BoxDetector | DepthRule:
    """Open an ONNX file as a classifier, a segmenter, a detector or a depth estimator.

    Args:
        path: The file.
        task: What it is for; by default what its description or its first output says: 1×C classifies, 1×C×H×W
            segments, 1×1×H×W is depth.
        about: Its description; by default the YAML file of the same name (see `adapters.descriptions`).
        classes: Text file with a class name a line; by default what the description, the metadata or the file
            beside says.
        normalise: Of an input of floats: ``unit`` [0, 1], ``signed`` [−1, 1], ``imagenet`` or ``bytes``; by default
            what description or metadata say, else ``unit`` for depth and ``imagenet`` for all others.
        output: Of a classifier: ``logits`` or ``probabilities``.
        threshold: Of a detector: least confidence of a box.
        inverse: Of a depth estimator: larger is closer.
        margin: Of a depth estimator: difference of means below which depths are the same, or ``tuned``.
    """
    net = OnnxNetwork(path)
    said = net.metadata
    given = {"task": task, "normalise": normalise, "output": output, "threshold": threshold, "inverse": inverse}
    described = NetworkDescription.beside(path, given | {"margin": margin}, about)
    shape = tuple(net.session.get_outputs()[0].shape)
    kind: str = described.task or {2: "classify", 4: "depth" if shape[1:2] == (1,) else "segment"}.get(
        len(shape), ""
    )
    usual = "unit" if kind == "depth" else "imagenet"
    scale = checked_scale(described.normalise or said.get("normalise", usual), str(path))
    entry = net.entry(scale)
    if kind == "depth":
        network = FileDepth(path.stem, net.run, entry, described.inverse)
        return DepthRule(network, inverse=described.inverse, margin=described.margin, name=path.stem)
    if not kind:
        raise ModelError(f"{path}: expected an output 1×C or 1×C×H×W, found {shape}")
    inside, file = described.class_file(path, classes)
    columns = class_names(path, inside or _listed(said.get("classes", "")), file)
    if kind == "detect":
        names = [output.name for output in net.session.get_outputs()]
        return BoxDetector(path.stem, net.run, entry, columns, described, names)
    if kind == "segment":
        return PictureSegmenter(path.stem, net.run, entry, columns, channels_last=False)
    return PictureClassifier(path.stem, net.run, entry, columns, described.output)


def _listed(text: str) -> list[str]:
    if not text.lstrip().startswith("["):
        return text.splitlines()
    try:
        return [str(name) for name in json.loads(text)]
    except ValueError:
        return text.splitlines()
