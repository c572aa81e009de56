"""What a model may be able to do: the protocols an exam asks for, and the plain data they exchange.

A model is any object with one or more skills (`Relate`, `Predicates`, `Answer`, `Detect`, `SeeViewpoint`,
`Classify`, `Segment`, `EstimateDepth`); nothing to inherit. What is handed to a skill never contains truth: views
come without depth and id maps, pairs without labels.

A model may also have hooks, all of them optional. Where one is given for a single exam (``prepare_turing``), that
one is called, else the one for all (``prepare``):

- ``check_<exam>(spec)`` or ``check(spec)``: called before anything is written; raise a ModelError where the model
  could not answer. The spec is a `RelationsSpec`, `QuerySpec`, `TuringSpec`, `ViewpointSpec` or `ContextSpec`.
- ``prepare_<exam>(study)`` or ``prepare(study)``: called before the first question, with what the model may learn
  from: a `RelationsStudy`, `PredicatesStudy`, `StatementsStudy`, `TuringStudy`, `ViewpointStudy` or `ContextStudy`.
- ``facts()``: a dict of JSON values to be kept with the run (weights, chosen margins).
- ``usage()``: a dict of numbers since it was loaded (requests, tokens), kept with the run and summed up.
- ``concurrency`` (int): items it may be asked at once, each from a thread of its own.
- ``begin_sample(number)``: called before an item is asked for the first, second… time (``--samples``).
- ``budget``: where it can be set, what requests are taken from (`exams.budget.Budget`).
- ``name`` (str): how tables call the model. ``seed`` (int): kept with the run.

Hooks of single exams: ``views`` and ``any_views`` (predicates: ids of the views to be shown; whether those that the
data has will do), ``sees_truth`` (predicates, context: a baseline that is handed the truth as its study),
``cross_fits`` (relations, statements, viewpoint, context: its study has the labels of what is to come, and it
promises never to use a cluster's own labels to answer about it), ``stored_answers`` (its answers, or
what they rest on, are read from files, so that it is not asked about changed pictures), ``attention(queries)``
(predicates: where it looks, for the report), ``varied(kind)`` (of a model that makes its prompts itself: the same
model with other words, ``paraphrase``, or options in another order, ``circular``; None for any other kind; see
`exams.variants`), ``on_truth(asked, truth)`` (Turing: the true answer after each
question) and ``seek(scene_id, stream, step)`` (Turing: the place of the next question, for a model that reads its
answers from a file).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from sightline.errors import ModelError
from sightline.scenes import View
from sightline.scenes.labels import PREDICATES

if TYPE_CHECKING:
    from sightline.exams.relations.pairs import PairTable
    from sightline.exams.turing.annotations.columns import Columns
    from sightline.exams.turing.estimate.estimator import Estimator
    from sightline.exams.turing.vocabulary.vocabulary import Vocabulary

UNKNOWN = -1
"""Verdict of a model that cannot say whether a predicate holds; counted apart."""

Setting = Literal["within_image", "across_images"]

SILENT = -1
"""Code of "no answer": the model said nothing about this pair (not the same as *unsure*)."""


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
class ViewpointSpec:
    """What the questions of a viewpoint exam will be about.

    Attributes:
        scenes: Ids of all pictures to be asked about, as `BoxedObjects.view` has them.
        categories: All class names in them.
        objects: Picture → ids of its objects.
    """

    scenes: tuple[str, ...]
    categories: tuple[str, ...]
    objects: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class ViewpointStudy:
    """Objects with their viewpoints to learn from.

    Attributes:
        scenes: The scene of each object.
        categories: Their classes.
        angles: (n, 3) degrees, as in `ViewAngles`.
        own: These are the objects to come, for a baseline with ``cross_fits = True``, which promises never to use a
            scene's own objects to answer about it.
    """

    scenes: tuple[str, ...]
    categories: tuple[str, ...]
    angles: NDArray[np.float64]
    own: bool = False


@dataclass(frozen=True, slots=True)
class ContextSpec:
    """What the questions of a context exam will be about.

    Attributes:
        scenes: Ids of all pictures to be asked about; those of edits begin with one of them.
        classes: Classes of their objects.
        stuff: Classes of what is no object: ground, walls, sky.
    """

    scenes: tuple[str, ...]
    classes: tuple[str, ...]
    stuff: tuple[str, ...] = ()


@dataclass(frozen=True)
class ContextStudy:
    """Pictures with their classes to learn from.

    Attributes:
        scenes: The scene of each picture.
        present: The classes in each.
        classes: All classes of the pictures to come, sorted.
        own: These are the pictures to come, for a baseline with ``cross_fits = True``, which promises never to use
            a scene's own classes to learn from.
        shown: Id of a picture that will be shown, original or edit → class → pixels of it there; only for a
            baseline with ``sees_truth = True``, such as one whose score is known beforehand.
    """

    scenes: tuple[str, ...]
    present: tuple[frozenset[str], ...]
    classes: tuple[str, ...]
    own: bool = False
    shown: Callable[[str], Mapping[str, int]] | None = None


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
class QuerySpec:
    """What the queries of a predicates exam will be like.

    Attributes:
        views: Ids of the views that will be shown.
        most_objects: Objects of the fullest scene.
        patch: Side of the query patches, pixels.
        sizes: All (width, height) of the views to be shown; without those of views whose size is not known.
        objects: Scene id → number of objects, of every scene of the data.
    """

    views: tuple[str, ...]
    most_objects: int
    patch: int
    sizes: frozenset[tuple[int, int]] = frozenset()
    objects: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RelationsSpec:
    """What the questions of a relations exam will be about.

    Attributes:
        scenes: Ids of all scenes to be asked about.
        categories: All class names in them.
        pictures: Names of their pictures' files, without folder and suffix.
        pairs: The pairs to come by setting, without labels; empty where the boxes will be a model's own.
    """

    scenes: tuple[str, ...]
    categories: tuple[str, ...]
    pictures: tuple[str, ...] = ()
    pairs: Mapping[Setting, PairTable] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TuringSpec:
    """What the questions of a Turing exam will be about.

    Attributes:
        images: Ids of all images to be asked about.
    """

    images: tuple[str, ...]


@dataclass(frozen=True)
class RelationsStudy:
    """Labelled pairs for fitting and tuning.

    Attributes:
        train: The split to fit and tune on, by setting; may lack one or both.
        test: The pairs to come, without labels and votes; with them only for a model with ``cross_fits``.
        view: Gives the view of a training scene by its id, without truth: its photo, where the data has one.
    """

    train: Mapping[Setting, PairTable]
    test: Mapping[Setting, PairTable]
    view: Callable[[str], View] | None = None


@dataclass(frozen=True)
class PredicatesStudy:
    """The scenes to come with their truth, in the exam's order, for a baseline with ``sees_truth = True``.

    Either it says the same of every scene (majority), or it never uses a scene's own truth to answer about it.

    Attributes:
        scenes: Scene ids.
        appearance: For each scene the appearance of its objects (see `Queries`).
        truth: For each scene (n, n, 8) bool, [subject, object, predicate].
    """

    scenes: tuple[str, ...]
    appearance: tuple[tuple[Mapping[str, str], ...], ...]
    truth: tuple[NDArray[np.bool_], ...]


@dataclass(frozen=True)
class StatementsStudy:
    """The statements to come with their labels, for a baseline with ``cross_fits = True``.

    Attributes:
        scenes: The image of each statement.
        relations: The words of each that say how the two things lie.
        truth: Whether each is true.
    """

    scenes: tuple[str, ...]
    relations: tuple[str, ...]
    truth: tuple[bool, ...]


class TuringStudy(Protocol):
    """The annotated training images that the questions were learned from, and how questions are chosen."""

    @property
    def vocabulary(self) -> Vocabulary:
        """Words of the questions."""

    @property
    def columns(self) -> Columns:
        """The annotated training images."""

    def estimator(self) -> Estimator:
        """A fresh estimate of chances over them: the one the exam's questions are chosen by."""

    def practice(self, images: int) -> list[Any]:
        """Streams about so many training images at most, chosen by an estimate that has not seen those images."""


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


ABSTAIN = "abstain"
"""Reply of a model that does not want to answer; not right, and counted apart."""

UNPARSED = "unparsed"
"""What a reply becomes that is neither yes nor no nor an abstention."""


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


@runtime_checkable
class Answer(Protocol):
    """Skill *answer*: answer yes–no questions about an image, one at a time."""

    def answer(self, asked: Asked) -> str | bool:
        """``yes``, ``no`` or ``abstain``; a bool will do, as will a sentence that begins with one of the words.

        A `ScoredReply` also says how sure the model is.
        """


@runtime_checkable
class Predicates(Protocol):
    """Skill *predicates*: say which of the eight predicates hold between the objects of a scene."""

    def predicates(self, queries: Queries) -> Verdicts:
        """Every predicate of every ordered pair."""


@runtime_checkable
class Relate(Protocol):
    """Skill *relate*: judge ordered pairs of given boxes."""

    def relate(self, pairs: Pairs) -> Judgements:
        """Depth and occlusion of every pair."""


@runtime_checkable
class Detect(Protocol):
    """Skill *detect*: find objects in a view."""

    def detect(self, view: View) -> Detections:
        """All objects found."""


@runtime_checkable
class SeeViewpoint(Protocol):
    """Skill *viewpoint*: say from which side objects in given boxes are seen."""

    def viewpoint(self, objects: BoxedObjects) -> ViewAngles:
        """Azimuth, elevation and theta of every object."""


@runtime_checkable
class EstimateDepth(Protocol):
    """Skill *estimate_depth*: say how far everything in a picture is.

    An attribute ``inverse = True`` says that larger is closer, as in disparity. By itself the skill takes no exam:
    the Depth rule makes relations of it (`models.composite`).
    """

    def estimate_depth(self, view: View) -> NDArray[np.float64]:
        """(H, W) depth in the model's own unit and size, smaller is closer; NaN where unknown."""


@runtime_checkable
class Classify(Protocol):
    """Skill *classify*: say how sure each class is to be in a picture."""

    def classify(self, views: Sequence[View]) -> ClassScores:
        """A logit for every picture and class; the classes are the model's own, the same in every call."""


@runtime_checkable
class Segment(Protocol):
    """Skill *segment*: say which class every pixel of a picture shows."""

    def segment(self, views: Sequence[View]) -> LabelMaps:
        """A map of classes for every picture; the classes are the model's own, the same in every call."""


SKILLS: dict[str, type[Any]] = {
    "relate": Relate,
    "detect": Detect,
    "predicates": Predicates,
    "answer": Answer,
    "viewpoint": SeeViewpoint,
    "classify": Classify,
    "segment": Segment,
    "estimate_depth": EstimateDepth,
}


def skills_of(model: object) -> tuple[str, ...]:
    """Names of the skills an object has.

    >>> class Mute:
    ...     def relate(self, pairs): ...
    >>> skills_of(Mute())
    ('relate',)
    """
    return tuple(name for name, protocol in SKILLS.items() if isinstance(model, protocol))
