"""The plain data that a model's skills take and give; whatever a model returns is checked here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from sightline.errors import ModelError
from sightline.scenes import View
from sightline.scenes.labels import PREDICATES

UNKNOWN = -1
"""Verdict of a model that cannot say whether a predicate holds; counted apart."""

Setting = Literal["within_image", "across_images"]

SILENT = -1
"""Code of "no answer": the model said nothing about this pair (not the same as *unsure*)."""

ABSTAIN = "abstain"
"""Reply of a model that does not want to answer; not right, and counted apart."""

UNPARSED = "unparsed"
"""What a reply becomes that is neither yes nor no nor an abstention."""


@dataclass(frozen=True, slots=True)
class Pairs:
    """Ordered object pairs of one image, or of two, for a model to judge.

    Attributes:
        cluster_id: The image or image pair the question comes from.
        setting: Whether both objects stand in one image.
        view_a: The image of the first objects; `view_b` that of the second (the same one within an image).
        boxes_a: (n, 4) xyxy in fractions of the image; `boxes_b` likewise.
        categories_a: n class names; `categories_b` likewise.
    """

    cluster_id: str
    setting: Setting
    view_a: View
    view_b: View
    boxes_a: NDArray[np.float64]
    boxes_b: NDArray[np.float64]
    categories_a: tuple[str, ...]
    categories_b: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.boxes_a)


@dataclass(frozen=True, slots=True)
class Judgements:
    """A model's word on n ordered pairs: codes of `Depth` and `Occlusion`, or `SILENT`.

    Across images the occlusion codes are not looked at.

    Attributes:
        depth: (n,) codes.
        occlusion: (n,) codes.
        said: Aspect (``depth``, ``occlusion``) → n texts the codes were read from, for a model that answers in
            words; kept in the records.
        confidence: Aspect → (n,) the probability that the model gives its own label, in [0, 1], NaN where it cannot
            say; empty for a model that gives none.
    """

    depth: NDArray[np.int8]
    occlusion: NDArray[np.int8]
    said: Mapping[str, Sequence[str]] = field(default_factory=dict)
    confidence: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)

    @classmethod
    def checked(cls, given: object, n: int, model: str) -> Judgements:
        """The given answer if it keeps the protocol, else a ModelError that says how it does not."""
        if not isinstance(given, Judgements):
            raise ModelError(f"{model}: relate() must return Judgements, not {type(given).__name__}")
        depth, occlusion = np.asarray(given.depth), np.asarray(given.occlusion)
        for name, codes in (("depth", depth), ("occlusion", occlusion)):
            if codes.shape != (n,):
                raise ModelError(f"{model}: relate() returned {name} of shape {codes.shape}, expected ({n},)")
            if n and not (codes.dtype.kind in "iu" and codes.min() >= SILENT and codes.max() <= 3):
                raise ModelError(f"{model}: relate() returned a {name} code outside −1…3")
        for name, texts in given.said.items():
            _require_texts(texts, n, f"{model}: relate() returned {name} texts")
        sure = {
            name: _checked_chances(values, (n,), f"{model}: relate() returned {name} confidences")
            for name, values in given.confidence.items()
        }
        return cls(depth.astype(np.int8, copy=False), occlusion.astype(np.int8, copy=False), given.said, sure)


@dataclass(frozen=True, slots=True)
class Detections:
    """Objects a model found in one view, best first or not.

    Attributes:
        boxes: (n, 4) xyxy in fractions of the image.
        scores: (n,) confidence, higher is surer.
        categories: n class names.
        groups: (n,) True where a box covers a group rather than one object.
        angles: (n, 3) azimuth, elevation and theta each object is seen from, degrees (see `ViewAngles`); empty for
            a model that does not say.
    """

    boxes: NDArray[np.float64]
    scores: NDArray[np.float64]
    categories: tuple[str, ...]
    groups: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=bool))
    angles: NDArray[np.float64] = field(default_factory=lambda: np.zeros((0, 3)))

    @classmethod
    def checked(cls, given: object, model: str) -> Detections:
        """The given detections if they keep the protocol, else a ModelError that says how they do not."""
        if not isinstance(given, Detections):
            raise ModelError(f"{model}: detect() must return Detections, not {type(given).__name__}")
        n = len(given.categories)
        shapes = {"boxes": (n, 4), "scores": (n,), "groups": (n if len(given.groups) else 0,)}
        shapes["angles"] = (n if len(given.angles) else 0, 3)
        try:
            arrays = {name: np.asarray(getattr(given, name), dtype=np.float64) for name in shapes}
        except (TypeError, ValueError) as error:
            raise ModelError(f"{model}: detect() returned something else than numbers: {error}") from None
        if n == 0 and not arrays["boxes"].size:
            arrays["boxes"] = np.zeros((0, 4))
        for name, shape in shapes.items():
            if arrays[name].shape != shape:
                found = arrays[name].shape
                raise ModelError(f"{model}: detect() returned {name} of shape {found}, expected {shape}")
            if not np.isfinite(arrays[name]).all() and name != "angles":
                raise ModelError(f"{model}: detect() returned {name} that are not finite")
        groups = arrays["groups"].astype(bool)
        return cls(arrays["boxes"], arrays["scores"], tuple(given.categories), groups, arrays["angles"])


@dataclass(frozen=True, slots=True)
class BoxedObjects:
    """Objects of one view, each marked by a box, for a model to say from which side it is seen.

    Attributes:
        scene_id: The scene.
        view: The picture, without truth; its id is the scene's, followed by the view's where there are several.
        boxes: (n, 4) xyxy in fractions of the image; in pixels where nobody knows its size (`view.size` is None).
        categories: n class names.
        objects: n ids; empty where the boxes are a model's own.
    """

    scene_id: str
    view: View
    boxes: NDArray[np.float64]
    categories: tuple[str, ...]
    objects: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.boxes)


@dataclass(frozen=True, slots=True)
class ViewAngles:
    """A model's word on the viewpoints of n objects.

    Attributes:
        angles: (n, 3) azimuth (0 the front, 90 the object's +x side), elevation above it and theta, the turn of the
            picture, in degrees as in PASCAL3D+; NaN where the model cannot say.
        said: n texts the angles were read from, for a model that answers in words; else empty.
        confidence: (n,) the probability, by the model, that its answer is right (less than 30° of rotation from the
            truth), in [0, 1], NaN where it cannot say; empty for a model that gives none.
    """

    angles: NDArray[np.float64]
    said: Sequence[str] = ()
    confidence: NDArray[np.float64] | tuple[()] = ()

    @classmethod
    def checked(cls, given: object, n: int, model: str) -> ViewAngles:
        """The given answer if it keeps the protocol, else a ModelError that says how it does not."""
        if not isinstance(given, ViewAngles):
            raise ModelError(f"{model}: viewpoint() must return ViewAngles, not {type(given).__name__}")
        try:
            angles = np.asarray(given.angles, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ModelError(f"{model}: viewpoint() returned something else than numbers: {error}") from None
        if angles.shape != (n, 3):
            raise ModelError(f"{model}: viewpoint() returned angles of shape {angles.shape}, expected {(n, 3)}")
        if np.isinf(angles).any():
            raise ModelError(f"{model}: viewpoint() returned an infinite angle")
        _require_texts(given.said, n if len(given.said) else 0, f"{model}: viewpoint() returned texts")
        if not len(given.confidence):
            return cls(angles, given.said)
        what = f"{model}: viewpoint() returned confidences"
        return cls(angles, given.said, _checked_chances(given.confidence, (n,), what))


@dataclass(frozen=True, slots=True)
class ClassScores:
    """How sure a model is that each of its classes is in each of n pictures.

    Attributes:
        classes: C class names.
        scores: (n, C) logits, before any sigmoid; higher is surer.
    """

    classes: tuple[str, ...]
    scores: NDArray[np.float64]

    @classmethod
    def checked(cls, given: object, n: int, model: str) -> ClassScores:
        """The given answer if it keeps the protocol, else a ModelError that says how it does not."""
        if not isinstance(given, ClassScores):
            raise ModelError(f"{model}: classify() must return ClassScores, not {type(given).__name__}")
        classes = _class_list(given.classes, f"{model}: classify()")
        try:
            scores = np.asarray(given.scores, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ModelError(f"{model}: classify() returned something else than numbers: {error}") from None
        if scores.shape != (n, len(classes)):
            expected = (n, len(classes))
            raise ModelError(f"{model}: classify() returned scores of shape {scores.shape}, expected {expected}")
        if not np.isfinite(scores).all():
            raise ModelError(f"{model}: classify() returned a score that is not finite")
        return cls(classes, scores)


@dataclass(frozen=True, slots=True)
class LabelMaps:
    """The class a model sees at each pixel of each of n pictures.

    Attributes:
        classes: C class names.
        maps: n arrays (H, W) of places in `classes`, each as large as its picture; −1 where it sees none of them.
    """

    classes: tuple[str, ...]
    maps: tuple[NDArray[np.int32], ...]

    @classmethod
    def checked(cls, given: object, sizes: Sequence[tuple[int, int]], model: str) -> LabelMaps:
        """The given answer if it keeps the protocol, else a ModelError that says how it does not.

        Args:
            given: What the model returned.
            sizes: (width, height) of each picture, pixels.
            model: Its name.
        """
        if not isinstance(given, LabelMaps):
            raise ModelError(f"{model}: segment() must return LabelMaps, not {type(given).__name__}")
        classes = _class_list(given.classes, f"{model}: segment()")
        if len(given.maps) != len(sizes):
            raise ModelError(f"{model}: segment() returned {len(given.maps)} maps, expected {len(sizes)}")
        maps = []
        for one, (width, height) in zip(given.maps, sizes, strict=True):
            labels = np.asarray(one)
            if labels.shape != (height, width):
                expected = (height, width)
                raise ModelError(f"{model}: segment() returned a map of shape {labels.shape}, expected {expected}")
            if labels.dtype.kind not in "iu" or (
                labels.size and not -1 <= labels.min() <= labels.max() < len(classes)
            ):
                raise ModelError(f"{model}: segment() returned a class outside −1…{len(classes) - 1}")
            maps.append(labels.astype(np.int32, copy=False))
        return cls(classes, tuple(maps))


@dataclass(frozen=True, slots=True)
class Queries:
    """The objects of one scene, for a model to say which predicates hold between them.

    Attributes:
        scene_id: The scene the question comes from.
        views: Its views, the original camera's first; pixels only.
        patches: (n, side, side, 3) uint8 sRGB: a canonical view of each object, the object alone (`side` is 32).
        appearance: n mappings with ``shape``, ``size``, ``color`` and ``material`` of each object, for models that
            are asked in words and for blind ones; a source that does not know one leaves it out.
    """

    scene_id: str
    views: tuple[View, ...]
    patches: NDArray[np.uint8]
    appearance: tuple[Mapping[str, str], ...]

    def __len__(self) -> int:
        return len(self.patches)


@dataclass(frozen=True, slots=True)
class Verdicts:
    """A model's word on every ordered pair of n objects.

    Attributes:
        answers: (n, n, 8) int8, [subject, object, predicate] with the predicates in the order of
            `scenes.labels.PREDICATES`: 1 it holds, 0 it does not, `UNKNOWN` the model cannot say. The diagonal is
            not looked at.
        said: The texts the answers were read from by (subject, object, predicate), for a model that answers in
            words; else empty.
        probabilities: (n, n, 8) that each holds, in [0, 1], NaN where the model cannot say; None for a model
            that gives none.
        asked: Predicates that were asked about: all, but for a variation that has no question for the others.
    """

    answers: NDArray[np.int8]
    said: Mapping[tuple[int, int, int], str] = field(default_factory=dict)
    probabilities: NDArray[np.float64] | None = None
    asked: tuple[str, ...] = PREDICATES

    @classmethod
    def checked(cls, given: object, n: int, model: str) -> Verdicts:
        """The given answer if it keeps the protocol, else a ModelError that says how it does not."""
        if not isinstance(given, Verdicts):
            raise ModelError(f"{model}: predicates() must return Verdicts, not {type(given).__name__}")
        answers, shape = np.asarray(given.answers), (n, n, len(PREDICATES))
        if answers.shape != shape:
            raise ModelError(f"{model}: predicates() returned answers of shape {answers.shape}, expected {shape}")
        off = answers[~np.eye(n, dtype=bool)]
        whole = np.issubdtype(answers.dtype, np.integer) or answers.dtype == np.bool_
        if not whole or (off.size and not (off.min() >= UNKNOWN and off.max() <= 1)):
            raise ModelError(f"{model}: predicates() returned an answer other than −1, 0 and 1")
        if given.probabilities is None:
            return cls(answers.astype(np.int8), given.said, asked=given.asked)
        chances = _checked_chances(given.probabilities, shape, f"{model}: predicates() returned probabilities")
        return cls(answers.astype(np.int8), given.said, chances, given.asked)


@dataclass(frozen=True, slots=True)
class Asked:
    """One yes–no question about an image, and all that was asked about it before.

    Attributes:
        scene_id: The image.
        view: Its picture, without truth.
        question: The structured form, JSON values: ``type`` (exist, unique, attribute, relation) and so on.
        text: In English, as in "Is there a unique person in the designated region?".
        long_text: The same with everything that is implied said aloud.
        region: The designated region, xyxy in fractions of the image; None for the whole image or no region.
        labels: Regions that the labelled objects were found in, by label ("person 1"), in order.
        history: Questions before, with their true answers; None for an answer where those are withheld.
    """

    scene_id: str
    view: View
    question: Mapping[str, Any]
    text: str
    long_text: str
    region: tuple[float, float, float, float] | None
    labels: Mapping[str, tuple[float, float, float, float] | None]
    history: tuple[tuple[Mapping[str, Any], str, bool | None], ...]
    """(structured, English, true answer) each."""


class ScoredReply(str):
    """A reply with the probability that the model gave it, among all that it might have replied.

    Attributes:
        confidence: In [0, 1]; a ModelError where it is not.

    >>> said = ScoredReply("yes", 0.8)
    >>> said, said.confidence
    ('yes', 0.8)
    """

    confidence: float

    def __new__(cls, text: str, confidence: float) -> Self:
        """Keep the confidence beside the text."""
        if not 0 <= confidence <= 1:
            raise ModelError(f"the confidence of a reply lies between 0 and 1, found {confidence!r}")
        made = super().__new__(cls, text)
        made.confidence = float(confidence)
        return made


def _require_texts(texts: Sequence[str], n: int, what: str) -> None:
    """ModelError unless these are n texts."""
    if isinstance(texts, str) or len(texts) != n or not all(isinstance(text, str) for text in texts):
        raise ModelError(f"{what} that are no {n} texts")


def _checked_chances(given: object, shape: tuple[int, ...], what: str) -> NDArray[np.float64]:
    """Probabilities as an array of that shape; a ModelError where they are none. NaN is unknown."""
    try:
        chances = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ModelError(f"{what} that are no numbers: {error}") from None
    if chances.shape != shape:
        raise ModelError(f"{what} of shape {chances.shape}, expected {shape}")
    known = chances[~np.isnan(chances)]
    if known.size and not (known.min() >= 0 and known.max() <= 1):
        raise ModelError(f"{what} outside 0…1")
    return chances


def _class_list(classes: Sequence[str], who: str) -> tuple[str, ...]:
    """Class names, each once and a word; a ModelError says which is not."""
    names = tuple(classes)
    if isinstance(classes, str) or not all(isinstance(name, str) and name for name in names):
        raise ModelError(f"{who} returned classes that are no list of names: {classes!r}")
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ModelError(f"{who} returned a class twice: {', '.join(twice)}")
    return names
