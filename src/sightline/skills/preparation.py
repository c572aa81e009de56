"""What a model's hooks are given before the first question: what is to come, and what it may learn from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sightline.scenes import View
from sightline.skills.exchange import Setting

if TYPE_CHECKING:
    from sightline.exams.relations.pairs import PairTable
    from sightline.exams.turing.annotations.columns import Columns
    from sightline.exams.turing.estimate.estimator import Estimator
    from sightline.exams.turing.vocabulary.vocabulary import Vocabulary


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
