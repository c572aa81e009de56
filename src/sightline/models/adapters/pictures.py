"""Networks of other runtimes that classify or segment a picture: how they want it, and what they say of it.

A runtime (`models.adapters.onnx`, `models.adapters.tflite`) opens a file; its outputs decide the skill. Classes are
named by a list, one a column, in the file itself or in a text file beside it (of ``net.onnx`` ``net.classes.txt``),
one name a line; a line that is empty or ``???`` leaves its column out, ``background`` is no class.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from sightline.errors import ConfigError, MissingExtraError, ModelError
from sightline.scenes import View
from sightline.skills import ClassScores, LabelMaps

Floats = NDArray[np.float64]
Normalise = Literal["unit", "signed", "imagenet", "bytes"]
Output = Literal["logits", "probabilities"]

_LEAST: Final = 1e-7
"""Probabilities are kept this far from 0 and 1 before they become logits."""

_IMAGENET: Final = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
_SCALES: Final[dict[str, tuple[Any, Any]]] = {
    "unit": (0.0, 1.0),
    "signed": (0.5, 0.5),
    "imagenet": _IMAGENET,
    "bytes": (0.0, 1.0 / 255.0),
}
"""Mean and spread that are taken off pixels of [0, 1]."""


def checked_scale(name: str, where: str) -> Normalise:
    """The name of a normalisation, else a ConfigError."""
    for known in get_args(Normalise):
        if name == known:
            return name  # type: ignore[return-value]
    raise ConfigError(f"{where}: normalise must be one of {', '.join(get_args(Normalise))}, not {name!r}")


@dataclass(frozen=True, slots=True)
class PictureInput:
    """How a network wants a picture.

    Attributes:
        size: (height, width) it takes, pixels; None for a side of any length.
        channels_last: (1, H, W, 3), else (1, 3, H, W).
        dtype: Of the numbers; uint8 takes the bytes as they are.
        normalise: ``unit`` [0, 1], ``signed`` [−1, 1], ``imagenet`` by ImageNet's mean and spread, ``bytes``
            [0, 255].
    """

    size: tuple[int | None, int | None]
    channels_last: bool
    dtype: np.dtype[Any]
    normalise: Normalise

    @classmethod
    def of(cls, shape: Sequence[Any], dtype: np.dtype[Any], normalise: Normalise, where: str) -> PictureInput:
        """The input of that shape; ModelError where it takes no RGB picture. What is no number is open."""
        last = len(shape) == 4 and shape[3] == 3
        if len(shape) != 4 or (not last and shape[1] != 3) or (isinstance(shape[0], int) and shape[0] > 1):
            raise ModelError(f"{where}: expected one input 1×3×H×W or 1×H×W×3, found {tuple(shape)}")
        height, width = shape[1:3] if last else shape[2:4]
        sides = [int(side) if isinstance(side, int | np.integer) and side > 0 else None for side in (height, width)]
        if dtype.kind != "f":
            if dtype != np.uint8:
                raise ModelError(f"{where}: expected an input of bytes or floats, found {dtype}")
            normalise = "bytes"
        return cls((sides[0], sides[1]), last, dtype, normalise)

    def prepared(self, pixels: NDArray[np.uint8]) -> NDArray[Any]:
        """A picture (H, W, 3) uint8 as a batch of one; shrunk and enlarged bilinearly to the size that is taken."""
        height, width = (side or own for side, own in zip(self.size, pixels.shape[:2], strict=True))
        if pixels.shape[:2] != (height, width):
            resized = Image.fromarray(pixels).resize((width, height), Image.Resampling.BILINEAR)
            pixels = np.asarray(resized)
        values: NDArray[Any] = pixels
        if self.dtype.kind == "f":
            mean, spread = _SCALES[self.normalise]
            values = (pixels.astype(np.float32) / 255.0 - np.float32(mean)) / np.asarray(spread, np.float32)
        values = values if self.channels_last else values.transpose(2, 0, 1)
        return np.ascontiguousarray(values[None], dtype=self.dtype)


Run = Callable[[NDArray[Any]], Sequence[NDArray[Any]]]
"""Runs a network on a batch of one: its outputs."""


class PictureClassifier:
    """A network with one output (1, C): skill *classify*.

    Args:
        name: How tables call it.
        run: Runs the network.
        entry: How it wants a picture.
        columns: Names of the output's columns; an empty one is left out.
        output: What it says: ``logits``, or ``probabilities``, which become their log-odds.
    """

    def __init__(
        self, name: str, run: Run, entry: PictureInput, columns: Sequence[str], output: Output = "logits"
    ) -> None:
        self.name, self._run, self._entry, self._output = name, run, entry, output
        self._kept = [place for place, column in enumerate(columns) if column]
        self._columns = len(columns)
        self.classes = tuple(columns[place] for place in self._kept)

    def classify(self, views: Sequence[View]) -> ClassScores:
        """A logit for every picture and class."""
        rows = [self._logits(self._run(self._entry.prepared(view.image()))) for view in views]
        return ClassScores(self.classes, np.array(rows, np.float64).reshape(len(rows), -1)[:, self._kept])

    def _logits(self, outputs: Sequence[NDArray[Any]]) -> Floats:
        row = np.asarray(outputs[0], np.float64).reshape(-1)
        if len(row) != self._columns:
            raise ModelError(f"{self.name}: {self._columns} class names for {len(row)} scores")
        return row if self._output == "logits" else log_odds(row, self.name)


class PictureSegmenter:
    """A network with one output (1, C, H, W) or (1, H, W, C), a score for every pixel: skill *segment*.

    Args:
        name: How tables call it.
        run: Runs the network.
        entry: How it wants a picture.
        columns: Names of the channels; what a pixel shows whose channel has none is no class.
        channels_last: Where the output's channels are.
    """

    def __init__(
        self, name: str, run: Run, entry: PictureInput, columns: Sequence[str], *, channels_last: bool
    ) -> None:
        self.name, self._run, self._entry, self._last = name, run, entry, channels_last
        self.classes = tuple(column for column in columns if column and column != "background")
        places = {column: place for place, column in enumerate(self.classes)}
        self._places = np.array([places.get(column, -1) for column in columns], np.int32)

    def segment(self, views: Sequence[View]) -> LabelMaps:
        """The class with the highest score at every pixel, scores being enlarged bilinearly to the picture."""
        return self.segment_among(views, self.classes)

    def segment_among(self, views: Sequence[View], classes: Sequence[str]) -> LabelMaps:
        """The same of some classes alone, and of the channels that are no class."""
        kept = {place for place, code in enumerate(self._places) if code < 0 or self.classes[code] in classes}
        return LabelMaps(self.classes, tuple(self._map(view.image(), kept) for view in views))

    def _map(self, pixels: NDArray[np.uint8], kept: set[int]) -> NDArray[np.int32]:
        scores = np.asarray(self._run(self._entry.prepared(pixels))[0], np.float32)[0]
        scores = scores.transpose(2, 0, 1) if self._last else scores
        if len(scores) != len(self._places):
            raise ModelError(f"{self.name}: {len(self._places)} class names for {len(scores)} channels")
        size = pixels.shape[1::-1]
        best, label = None, np.zeros(size[::-1], np.int32)
        for place, channel in enumerate(scores):
            if place not in kept:
                continue
            whole = np.asarray(Image.fromarray(channel).resize(size, Image.Resampling.BILINEAR))
            if best is None:
                best, label[:] = whole, place
                continue
            higher = whole > best
            label[higher], best = place, np.maximum(best, whole)
        return self._places[label]


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

    def entry(self, normalise: Normalise) -> PictureInput:
        """How it wants a picture; floats are scaled so."""
        one = self.session.get_inputs()[0]
        kinds = {"tensor(float)": "f4", "tensor(float16)": "f2", "tensor(double)": "f8", "tensor(uint8)": "u1"}
        if one.type not in kinds:
            raise ModelError(f"{self.path}: expected an input of bytes or floats, found {one.type}")
        return PictureInput.of(one.shape, np.dtype(kinds[one.type]), normalise, str(self.path))

    @property
    def metadata(self) -> Mapping[str, str]:
        """What the file says of itself."""
        stored: Mapping[str, str] = self.session.get_modelmeta().custom_metadata_map
        return stored

    def run(self, batch: NDArray[Any]) -> Sequence[NDArray[Any]]:
        """All outputs, in order."""
        outputs: Sequence[NDArray[Any]] = self.session.run(None, {self.session.get_inputs()[0].name: batch})
        return outputs


def log_odds(probabilities: Floats, who: str) -> Floats:
    """Probabilities as logits; ModelError for what lies outside [0, 1].

    >>> log_odds(np.array([0.5, 0.0]), "net").round(3).tolist()
    [0.0, -16.118]
    """
    if not ((probabilities >= 0) & (probabilities <= 1)).all():
        raise ModelError(
            f"{who}: expected probabilities, found {float(probabilities.max()):.3g}; try output=logits"
        )
    inside = np.clip(probabilities, _LEAST, 1.0 - _LEAST)
    return np.asarray(np.log(inside) - np.log1p(-inside))


def class_names(path: Path, inside: Sequence[str], given: Path | None) -> list[str]:
    """Names of a network's columns: of the file given, else those in its own file, else those in the file beside.

    Args:
        path: The network.
        inside: What its own file says; empty where it does not.
        given: A text file, one name a line.

    Raises:
        ModelError: There is no list, or a name stands there twice.
    """
    beside = path.with_suffix(".classes.txt")
    if given is not None or not inside:
        file = given or beside
        try:
            inside = file.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            problem = "no such file" if isinstance(error, FileNotFoundError) else str(error)
            raise ModelError(
                f"{path}: its classes are not known: {file}: {problem}; one name a line, or classes=FILE"
            ) from None
    names = ["" if (name := line.strip()) == "???" else name for line in inside]
    while names and not names[-1]:
        names.pop()
    twice = sorted({name for name in names if name and names.count(name) > 1})
    if twice or not any(names):
        raise ModelError(f"{path}: its list of classes {'has ' + twice[0] + ' twice' if twice else 'is empty'}")
    return names
