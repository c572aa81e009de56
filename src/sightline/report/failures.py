"""The scenes a model gets most wrong where the raters agree most."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from sightline.exams.relations.answers import Answers
from sightline.exams.relations.pairs import PairTable
from sightline.exams.relations.protocols import Aspect
from sightline.exams.relations.sheets import SUBTASKS
from sightline.report.pictures import photo
from sightline.report.sketch import SketchImage
from sightline.scenes import NO_MAJORITY, Depth, words
from sightline.skills import SILENT, Setting
from sightline.store import Dataset

Floats = NDArray[np.float64]

HELD_BACK: Final = 10
"""Right answers added to every scene before its share of mistakes is taken."""


@dataclass(frozen=True)
class Failure:
    """One scene or image pair, with the mistake in it that the raters would find plainest.

    Attributes:
        subtask: ``<setting>/<aspect>``.
        cluster: Id of the scene or image pair.
        images: What is drawn of the one image, or of the two.
        pair: Index of the two objects asked about, among the boxes of the first and of the last image.
        truth: Word of the label; `answer` of the model's.
        votes: Word → raters who said so, commonest first.
        wrong: Wrong answers in the scene, of `asked` ordered pairs with a definite label.
        weight: Sum of the raters' unanimity over the wrong answers.
    """

    subtask: str
    cluster: str
    images: tuple[SketchImage, ...]
    pair: tuple[int, int]
    truth: str
    answer: str
    votes: Mapping[str, int]
    wrong: int
    asked: int
    weight: float

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, without pictures and bystanders."""
        names = ("subtask", "cluster", "truth", "answer", "wrong", "asked", "weight")
        plain = {key: getattr(self, key) for key in names}
        ends = zip((self.images[0], self.images[-1]), self.pair, strict=True)
        return plain | {"classes": [image.labels[i] for image, i in ends], "votes": dict(self.votes)}


def worst(answers: Mapping[Setting, Answers], data: Dataset, *, each: int = 4) -> tuple[Failure, ...]:
    """The `each` worst scenes of every sub-task; the same ones every time.

    A scene counts by the raters' unanimity summed over the wrong answers in it, divided by all its answers and
    `HELD_BACK` more: the sum alone would show crowded scenes only, the mean those with a single pair. Silence is
    no mistake here, and pairs that the raters could not label, or found unsure, are left out. Ties go to the lower
    cluster id.
    """
    return tuple(
        failure
        for setting, aspect in SUBTASKS
        if setting in answers
        for failure in _worst(answers[setting], aspect, data, each)
    )


def unanimity(votes: NDArray[np.int16]) -> Floats:
    """(n,) lead of the commonest label over all others together, as a share of the votes; 1 without a vote.

    >>> unanimity(np.array([[0, 5, 0, 0], [0, 4, 1, 0], [1, 1, 1, 2]], dtype=np.int16)).round(1).tolist()
    [1.0, 0.6, 0.0]
    """
    total = votes.sum(axis=1)
    lead = 2 * votes.max(axis=1, initial=0) / np.maximum(total, 1) - 1
    return np.where(total > 0, np.maximum(lead, 0.0), 1.0)


def _worst(answers: Answers, aspect: Aspect, data: Dataset, each: int) -> list[Failure]:
    table, answer = answers.table, getattr(answers, aspect)
    truth = getattr(table, aspect)
    definite = truth != NO_MAJORITY
    if aspect == "depth":
        definite &= truth != Depth.UNSURE
    wrong = definite & (answer != SILENT) & (answer != truth)
    weight = np.where(wrong, unanimity(getattr(table, f"{aspect}_votes")), 0.0)
    c = len(table.clusters)
    mistakes = np.bincount(table.cluster, weights=weight, minlength=c)
    share = mistakes / (np.bincount(table.cluster, weights=definite, minlength=c) + HELD_BACK)
    order = np.lexsort((table.clusters.astype(str), -share))[:each]
    return [
        _failure(answers, aspect, int(cluster), wrong, definite, weight, data)
        for cluster in order
        if mistakes[cluster] > 0
    ]


def _failure(
    answers: Answers,
    aspect: Aspect,
    cluster: int,
    wrong: NDArray[np.bool_],
    definite: NDArray[np.bool_],
    weight: Floats,
    data: Dataset,
) -> Failure:
    table = answers.table
    rows = np.flatnonzero(table.cluster == cluster)
    row = int(rows[np.argmax(weight[rows])])
    vocabulary = words(aspect)
    counted = getattr(table, f"{aspect}_votes")[row].tolist()
    votes = sorted(((n, word) for n, word in zip(counted, vocabulary, strict=True) if n), key=lambda v: -v[0])
    ends = [int(table.first[row]), int(table.second[row])]
    scenes = list(dict.fromkeys(int(table.object_scene[end]) for end in ends))
    shown = [np.flatnonzero(table.object_scene == scene) for scene in scenes]
    return Failure(
        subtask=f"{table.setting}/{aspect}",
        cluster=str(table.clusters[cluster]),
        images=tuple(_image(table, scene, objects, data) for scene, objects in zip(scenes, shown, strict=True)),
        pair=(int(np.searchsorted(shown[0], ends[0])), int(np.searchsorted(shown[-1], ends[1]))),
        truth=vocabulary[getattr(table, aspect)[row]],
        answer=vocabulary[getattr(answers, aspect)[row]],
        votes={word: int(n) for n, word in votes},
        wrong=int(wrong[rows].sum()),
        asked=int(definite[rows].sum()),
        weight=float(weight[rows].sum()),
    )


def _image(table: PairTable, scene: int, objects: NDArray[np.int64], data: Dataset) -> SketchImage:
    scene_id = str(table.scenes[scene])
    view = data.scene(scene_id).views[0]
    boxes = [(float(x0), float(y0), float(x1), float(y1)) for x0, y0, x1, y1 in table.boxes[objects].tolist()]
    return SketchImage(
        boxes=boxes,
        labels=[table.categories[code] for code in table.category[objects]],
        size=view.size,
        photo=photo(view),
        caption=scene_id.rsplit("/", 1)[-1],
    )
