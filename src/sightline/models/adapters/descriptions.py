"""What a network in a file is for: a small YAML file beside it, or options of its spec.

Of ``net.onnx`` the description is ``net.yaml``::

    task: detect            # classify, segment, detect or depth; by default what the outputs look like
    classes: [person, car]  # or the name of a text file, one class a line
    normalise: unit         # unit, signed, imagenet or bytes
    outputs: {boxes: boxes, scores: scores, labels: labels}   # names or places of a detector's outputs
    boxes: xyxy             # xyxy, yxyx or cxcywh
    units: fraction         # or pixels of the network's input

Whatever a file leaves out has its default; options given in the spec go before it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from sightline.documents import read_yaml
from sightline.errors import ConfigError, ModelError
from sightline.models.adapters.pictures import Output, PictureInput, Run
from sightline.models.composite import best_box_scores
from sightline.scenes import View
from sightline.skills import ClassScores, Detections
from sightline.typed import Value

BoxForm = Literal["xyxy", "yxyx", "cxcywh"]
Floats = NDArray[np.float64]

_CORNERS: Final[Mapping[BoxForm, Callable[[Floats], Floats]]] = {
    "xyxy": lambda b: b,
    "yxyx": lambda b: b[:, [1, 0, 3, 2]],
    "cxcywh": lambda b: np.concatenate([b[:, :2] - b[:, 2:] / 2, b[:, :2] + b[:, 2:] / 2], axis=1),
}


@dataclass(frozen=True)
class NetworkDescription:
    """What a network's file does not say itself.

    Attributes:
        task: What it is for; empty for what its outputs look like.
        classes: Names of its columns, or the name of a text file beside it.
        normalise: How its input is scaled; empty for the runtime's usual.
        output: Of a classifier: logits or probabilities.
        outputs: Of a detector: which output holds ``boxes``, ``scores`` and, where they are not columns of the
            scores, ``labels``; by name or place.
        boxes: Order of a box's numbers.
        units: Of a detector's boxes: fractions of the picture, or pixels of the network's input.
        threshold: Of a detector: least confidence of a box that is given.
        inverse: Of a depth network: larger is closer.
        margin: Of a depth network: difference of means below which two objects are at the same depth, or
            ``tuned`` on the training split.
    """

    task: Literal["", "classify", "segment", "detect", "depth"] = ""
    classes: tuple[str, ...] | str = ()
    normalise: str = ""
    output: Output = "logits"
    outputs: Mapping[str, Any] = field(default_factory=dict)
    boxes: BoxForm = "xyxy"
    units: Literal["fraction", "pixels"] = "fraction"
    threshold: float = 0.05
    inverse: bool = False
    margin: float | Literal["tuned"] = 0.02

    @classmethod
    def beside(cls, path: Path, given: Mapping[str, Any], file: Path | None = None) -> NetworkDescription:
        """The description of a network, and what was given in its place.

        Args:
            path: The network's file.
            given: Fields that go before the description's; None for those that do not.
            file: The description; by default the YAML file of the same name, where there is one.
        """
        found = file or path.with_suffix(".yaml")
        if file is not None and not file.is_file():
            raise ModelError(f"{file}: no such description of a network")
        said = cls()
        if found.is_file():
            said = Value(read_yaml(found), str(found)).read(cls)
        return replace(said, **{name: value for name, value in given.items() if value is not None})

    def class_file(self, path: Path, given: Path | None) -> tuple[Sequence[str], Path | None]:
        """Names of the classes, and the file that has them, where they are not in the description itself."""
        if given is not None:
            return (), given
        if isinstance(self.classes, str):
            return (), path.parent / self.classes
        return self.classes, None


class BoxDetector:
    """A network with outputs of boxes and scores: skills *detect*, and *classify* by the best box of each class.

    Args:
        name: How tables call it.
        run: Runs the network.
        entry: How it wants a picture.
        columns: Names of the classes by number.
        about: Which outputs are what.
        outputs: Names of all outputs, in order.
    """

    def __init__(
        self,
        name: str,
        run: Run,
        entry: PictureInput,
        columns: Sequence[str],
        about: NetworkDescription,
        outputs: Sequence[str],
    ) -> None:
        self.name, self._run, self._entry, self._columns, self._about = name, run, entry, tuple(columns), about
        self.classes = tuple(dict.fromkeys(column for column in columns if column and column != "background"))
        self._places = {part: _place(at, outputs, name) for part, at in about.outputs.items()}
        missing = [part for part in ("boxes", "scores") if part not in self._places]
        if missing:
            raise ConfigError(f"{name}: its description does not say which output has the {missing[0]}")

    def detect(self, view: View) -> Detections:
        """All boxes above the threshold, best first."""
        return self._boxes(view.image(), self._about.threshold)

    def classify(self, views: Sequence[View]) -> ClassScores:
        """The log-odds of the confidence of each class's best box, however low."""
        return best_box_scores(self.classes, [self._boxes(view.image(), 0.0) for view in views], self.name)

    def _boxes(self, pixels: NDArray[np.uint8], threshold: float) -> Detections:
        batch = self._entry.prepared(pixels)
        outputs = self._run(batch)
        parts = {part: np.asarray(outputs[place], np.float64) for part, place in self._places.items()}
        boxes = parts["boxes"].reshape(-1, 4)
        scores = parts["scores"].reshape(len(boxes), -1)
        if "labels" in parts:
            if scores.shape[1] != 1:
                raise ModelError(f"{self.name}: scores of shape {parts['scores'].shape} go without labels")
            labels = parts["labels"].reshape(-1).astype(np.int64)
        else:
            labels = scores.argmax(axis=1)
        best = scores.max(axis=1) if scores.size else np.zeros(len(boxes))
        if self._about.units == "pixels":
            high, wide = batch.shape[1:3] if self._entry.channels_last else batch.shape[2:4]
            boxes = boxes / np.array([wide, high, wide, high] if self._about.boxes != "yxyx" else [high, wide] * 2)
        corners = np.clip(_CORNERS[self._about.boxes](boxes), 0.0, 1.0)
        names = [self._columns[i] if 0 <= i < len(self._columns) else "" for i in labels.tolist()]
        order = np.argsort(-best, kind="stable").tolist()
        kept = [i for i in order if best[i] >= threshold and names[i] and names[i] != "background"]
        return Detections(corners[kept], best[kept], tuple(names[i] for i in kept))


def _place(at: str | int, outputs: Sequence[str], name: str) -> int:
    """Place of an output that is given by name or place."""
    if isinstance(at, int) and 0 <= at < len(outputs):
        return at
    if at in outputs:
        return list(outputs).index(str(at))
    raise ConfigError(f"{name}: it has no output {at!r}; those are {', '.join(outputs)}")
