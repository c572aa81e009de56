"""Draw the scenes a model gets most wrong where the raters agree most, beside right answers that were as hard."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from sightline.exams.relations.marks import SUBTASKS, MarkedPairs, Marks
from sightline.exams.relations.pairs import PairTable
from sightline.scenes import NO_MAJORITY, Depth, words
from sightline.show.drawing import WHITE, box_shape, chip, chip_size, free_corner, picture, rimmed, take_corner
from sightline.show.frame import Box, DrawnObject, ImageFrame, frame_of, frame_of_boxes
from sightline.show.svg import (
    FIRST,
    INK,
    MUTED,
    PAPER,
    SECOND,
    document,
    element,
    escape,
    line,
    shorten,
    text_line,
    text_width,
)
from sightline.skills import SILENT
from sightline.store import Dataset
from sightline.text import counted

Floats = NDArray[np.float64]

HELD_BACK: Final = 10
"""Right answers added to every scene before its share of mistakes is taken."""

_GUTTER: Final = 12.0
_TALLEST: Final = 300.0
_COLOURS: Final = {"A": FIRST, "B": SECOND}
_SHADE: Final = "rgba(0,0,0,0.6)"
_SPOKEN: Final = {
    "closer": "A closer",
    "farther": "B closer",
    "same": "same depth",
    "unsure": "unsure",
    "none": "no occlusion",
    "occludes": "A hides B",
    "occluded": "B hides A",
    "mutual": "each hides the other",
}


@dataclass(frozen=True)
class PairExample:
    """One scene or image pair, with the mistake in it that the raters would find plainest.

    Attributes:
        subtask: ``<setting>/<aspect>``.
        cluster: Id of the scene or image pair.
        images: The one image, or the two.
        pair: Index of the two objects asked about, among those of the first and of the last image.
        truth: Word of the label, None without a majority; `answer` of the model's, None for silence.
        votes: Word → raters who said so, commonest first.
        wrong: Wrong answers in the scene, of `asked` ordered pairs with a definite label.
        weight: Sum of the raters' unanimity over the wrong answers.
        beside: A right answer that was as hard; None where there is none, or where the scene was asked for.
    """

    subtask: str
    cluster: str
    images: tuple[ImageFrame, ...]
    pair: tuple[int, int]
    truth: str | None
    answer: str | None
    votes: Mapping[str, int]
    wrong: int
    asked: int
    weight: float
    beside: PairExample | None = None

    @property
    def svg(self) -> str:
        """The drawing, as SVG markup."""
        counts = [*self.votes.values()]
        votes = "–".join(str(n) for n in (counts if len(counts) > 1 else [*counts, 0])) if counts else ""
        truth, answer = spoken(self.truth), spoken(self.answer, silent=True)
        return pair_drawing(*self.images, pair=self.pair, truth=truth, answer=answer, votes=votes)

    @property
    def note(self) -> str:
        """How many answers are wrong beside the one drawn."""
        where = "here" if len(self.images) == 1 else "on this pair of images"
        words = (
            f"{self.wrong:,} of {counted(self.asked, 'answer')} {where} {'is' if self.wrong == 1 else 'are'} wrong."
        )
        return words if self.beside is None else f"{words} Right beside it: {self.beside.cluster}."

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, without pictures and bystanders."""
        names = ("subtask", "cluster", "truth", "answer", "wrong", "asked", "weight")
        plain = {key: getattr(self, key) for key in names}
        ends = zip((self.images[0], self.images[-1]), self.pair, strict=True)
        plain |= {"classes": [image.objects[i].category for image, i in ends], "votes": dict(self.votes)}
        return plain if self.beside is None else plain | {"beside": self.beside.to_dict()}


def spoken(word: str | None, *, silent: bool = False) -> str:
    """A label of the pair (A, B) as a reader would say it.

    >>> spoken("farther"), spoken(None), spoken(None, silent=True)
    ('B closer', 'no majority', 'no answer')
    """
    if word is None:
        return "no answer" if silent else "no majority"
    return _SPOKEN.get(word, word)


def worst_examples(
    marks: Marks, data: Dataset, *, each: int = 4, clusters: Collection[str] = ()
) -> tuple[PairExample, ...]:
    """Choose the `each` worst scenes of every sub-task; the same ones every time.

    A scene counts by the raters' unanimity summed over the wrong answers in it, divided by all its answers and
    `HELD_BACK` more: the sum alone would show crowded scenes only, the mean those with a single pair. Silence is
    no mistake here, and pairs that the raters could not label, or found unsure, are left out. Ties go to the lower
    cluster id.

    Args:
        marks: Judgements by sub-task, with their pairs.
        data: Where the pictures are.
        each: How many of each sub-task at most.
        clusters: Only these scenes or image pairs, whether the answers are wrong or not.
    """
    return tuple(
        example for task in SUBTASKS if task in marks for example in _worst(marks[task], data, each, clusters)
    )


def unanimity(votes: NDArray[np.int16]) -> Floats:
    """(n,) lead of the commonest label over all others together, as a share of the votes; 1 without a vote.

    >>> unanimity(np.array([[0, 5, 0, 0], [0, 4, 1, 0], [1, 1, 1, 2]], dtype=np.int16)).round(1).tolist()
    [1.0, 0.6, 0.0]
    """
    total = votes.sum(axis=1)
    lead = 2 * votes.max(axis=1, initial=0) / np.maximum(total, 1) - 1
    return np.where(total > 0, np.maximum(lead, 0.0), 1.0)


def _worst(marked: MarkedPairs, data: Dataset, each: int, clusters: Collection[str]) -> list[PairExample]:
    definite = marked.truth != NO_MAJORITY
    if marked.aspect == "depth":
        definite &= marked.truth != Depth.UNSURE
    wrong = definite & (marked.answer != SILENT) & (marked.answer != marked.truth)
    weight = np.where(wrong, unanimity(getattr(marked.pairs, f"{marked.aspect}_votes")), 0.0)
    c = len(marked.clusters)
    mistakes = np.bincount(marked.cluster, weights=weight, minlength=c)
    share = mistakes / (np.bincount(marked.cluster, weights=definite, minlength=c) + HELD_BACK)
    order = np.lexsort((marked.clusters.astype(str), -share))
    if clusters:
        shown = [_plainest(marked, k, weight) for k in order if marked.clusters[k] in clusters]
        return [_example(marked, row, wrong, definite, weight, data) for row in shown]
    shown = [_plainest(marked, k, weight) for k in order[:each] if mistakes[k] > 0]
    free = definite & (marked.answer == marked.truth)
    examples = []
    for row in shown:
        example, right = _example(marked, row, wrong, definite, weight, data), _as_hard(marked, row, free)
        if right is not None:
            free &= marked.cluster != marked.cluster[right]
            example = replace(example, beside=_example(marked, right, wrong, definite, weight, data))
        examples.append(example)
    return examples


def _plainest(marked: MarkedPairs, cluster: int, weight: Floats) -> int:
    """Row of the gravest mistake in a cluster, or of its first judgement."""
    rows = np.flatnonzero(marked.cluster == cluster)
    return int(rows[np.argmax(weight[rows])])


def _as_hard(marked: MarkedPairs, row: int, free: NDArray[np.bool_]) -> int | None:
    """Row of a right answer in another cluster on which the raters were as unanimous as on this one.

    One with the same label goes first, then the cluster nearest in judgements; ties go to the first row.
    """
    agreed = unanimity(getattr(marked.pairs, f"{marked.aspect}_votes"))
    rows = np.flatnonzero(free & (agreed == agreed[row]) & (marked.cluster != marked.cluster[row]))
    if not len(rows):
        return None
    size = np.bincount(marked.cluster)[marked.cluster]
    other = marked.truth[rows] != marked.truth[row]
    return int(rows[np.lexsort((rows, np.abs(size[rows] - size[row]), other))[0]])


def _example(
    marked: MarkedPairs, row: int, wrong: NDArray[Any], definite: NDArray[Any], weight: Floats, data: Dataset
) -> PairExample:
    """Gather what is drawn of one judgement, and how its cluster was answered."""
    table, vocabulary = marked.pairs, words(marked.aspect)
    cluster = int(marked.cluster[row])
    rows = np.flatnonzero(marked.cluster == cluster)
    counted = getattr(table, f"{marked.aspect}_votes")[row].tolist()
    votes = sorted(((n, word) for n, word in zip(counted, vocabulary, strict=True) if n), key=lambda v: -v[0])
    ends = [int(table.first[row]), int(table.second[row])]
    scenes = list(dict.fromkeys(int(table.object_scene[end]) for end in ends))
    shown = [np.flatnonzero(table.object_scene == scene) for scene in scenes]
    truth, answer = int(marked.truth[row]), int(marked.answer[row])
    return PairExample(
        subtask=f"{marked.setting}/{marked.aspect}",
        cluster=str(marked.clusters[cluster]),
        images=tuple(image_of(table, scene, objects, data) for scene, objects in zip(scenes, shown, strict=True)),
        pair=(int(np.searchsorted(shown[0], ends[0])), int(np.searchsorted(shown[-1], ends[1]))),
        truth=None if truth == NO_MAJORITY else vocabulary[truth],
        answer=None if answer == SILENT else vocabulary[answer],
        votes={word: int(n) for n, word in votes},
        wrong=int(wrong[rows].sum()),
        asked=int(definite[rows].sum()),
        weight=float(weight[rows].sum()),
    )


def image_of(table: PairTable, scene: int, objects: NDArray[np.int64], data: Dataset) -> ImageFrame:
    """The picture of a scene, by its number, with some of its objects' boxes."""
    scene_id = str(table.scenes[scene])
    stored = data.scene(scene_id)
    boxes = [(float(x0), float(y0), float(x1), float(y1)) for x0, y0, x1, y1 in table.boxes[objects].tolist()]
    names = [table.categories[code] for code in table.category[objects]]
    photo = frame_of(stored).image
    return frame_of_boxes(boxes, names, stored.views[0].size, photo, scene=scene_id.rsplit("/", 1)[-1])


def pair_drawing(
    first: ImageFrame,
    second: ImageFrame | None = None,
    *,
    pair: tuple[int, int],
    truth: str,
    answer: str,
    votes: str = "",
    names: tuple[str, str] = ("truth", "model"),
    title: str = "",
    width: float = 440.0,
) -> str:
    """Draw one image, or two side by side, with the pair in question as A and B: SVG markup.

    Args:
        first: The image of A; of B too where there is no second.
        second: The image of B across images.
        pair: Index of A in `first`, of B in `second` (or `first`).
        truth: The label as said by `spoken`.
        answer: The model's label, said likewise.
        votes: How the raters split, e.g. ``4–1``.
        names: What the caption calls `truth` and `answer`, where two answers are drawn.
        title: What is shown; by default the line beneath the drawing.
        width: Width of the drawing.
    """
    images = [first] if second is None else [first, second]
    tags = [{pair[0]: "A", pair[1]: "B"}] if second is None else [{pair[0]: "A"}, {pair[1]: "B"}]
    room = (width - _GUTTER * (len(images) - 1)) / len(images)
    scales = [min(room / image.size[0], _TALLEST / image.size[1]) for image in images]
    tallest = max(image.size[1] * scale for image, scale in zip(images, scales, strict=True))
    body, below = [], 0
    for i, (image, scale) in enumerate(zip(images, scales, strict=True)):
        left, top = i * (room + _GUTTER), tallest - image.size[1] * scale
        body.append(_tagged(image.scaled(scale, left, top), (left, top), tags[i]))
        notes = [n for n in (image.scene, "" if image.sized else "aspect ratio unknown: drawn square") if n]
        below = max(below, len(notes))
        for k, note in enumerate(notes):
            body.append(text_line(left, tallest + 14 + 12 * k, shorten(note, room, 9.5), size=9.5, fill=MUTED))
    facts = [(f"{names[0]}: ", truth), (f"{names[1]}: ", answer)] + ([("votes ", votes)] if votes else [])
    verdict, bottom = _verdict(facts, tallest + 22 + 12 * below, width)
    said = " · ".join(name + value for name, value in facts)
    seen = "; ".join(_described(image, tag) for image, tag in zip(images, tags, strict=True))
    return document(width, bottom + 8, title or said, f"{said}. {seen}", *body, verdict)


def _tagged(frame: ImageFrame, corner: tuple[float, float], tags: Mapping[int, str]) -> str:
    """The picture, or a blank with a grid, with its bystanders dashed and the tagged objects on top."""
    bounds = (*corner, corner[0] + frame.size[0], corner[1] + frame.size[1])
    on_photo = frame.image is not None
    parts = [picture(frame, bounds), "" if on_photo else "".join(_grid(bounds))]
    bystanders = [o for i, o in enumerate(frame.objects) if i not in tags]
    for o in bystanders:
        ink = WHITE if on_photo else MUTED
        parts.append(rimmed("rect", box_shape(_box(o)), ink, 1.0, None, dash="3 3", title=o.words))
    for i, tag in tags.items():
        o, rim = frame.objects[i], WHITE if on_photo else None
        shape, words = box_shape(_box(o)), f"{tag}: {o.words}"
        parts.append(rimmed("rect", shape, _COLOURS[tag], 2.5, rim, 4.5, fill_opacity=0.08, title=words))
    taken: list[Box] = []
    parts += [_flag(tag, frame.objects[i], bounds, taken) for i, tag in tags.items()]
    parts += [_name(o, taken, on_photo=on_photo) for o in bystanders]
    return element("g", *parts)


def _box(o: DrawnObject) -> Box:
    assert o.box is not None  # frames of boxes have one for each
    return o.box


def _grid(bounds: Box) -> Iterator[str]:
    x0, y0, x1, y1 = bounds
    for k in range(1, 10):
        x, y = x0 + (x1 - x0) * k / 10, y0 + (y1 - y0) * k / 10
        yield line(x, y0, x, y1, width=0.5) + line(x0, y, x1, y, width=0.5)


def _flag(tag: str, o: DrawnObject, bounds: Box, taken: list[Box]) -> str:
    """The letter of an object in question on its colour, and its name, at a free corner."""
    name = shorten(o.words, 110, 12)
    (letter, high), (wide, _) = chip_size(tag, bold=True), chip_size(name)
    x, y = take_corner(_box(o), (letter + wide - 4, high), bounds, taken)
    under = chip((x + letter - 4, y), name, PAPER, ink=INK)
    return under + chip((x, y), tag, _COLOURS[tag], ink=PAPER, bold=True)


def _name(o: DrawnObject, taken: list[Box], *, on_photo: bool) -> str:
    """A bystander's name where there is room for it, else nothing: its outline still tells on hovering."""
    box = _box(o)
    name = shorten(o.words, min(90.0, box[2] - box[0] - 9), 9)
    size = chip_size(name, 9)
    if len(name) < 3 or free_corner(box, size, box, taken) is None:
        return ""
    x, y = take_corner(box, size, box, taken)
    if on_photo:
        return chip((x, y), name, _SHADE, ink=WHITE, size=9)
    return text_line(x + 4, y + 10, name, size=9, fill=MUTED)


def _verdict(facts: Sequence[tuple[str, str]], y: float, width: float) -> tuple[str, float]:
    """The caption, one line if it fits, else one a fact; A and B in their colours. And its last baseline."""
    fits = text_width(" · ".join(name + value for name, value in facts), 12.5) <= width
    lines = [list(facts)] if fits else [[fact] for fact in facts]
    out = []
    for i, part in enumerate(lines):
        spans = []
        for k, (name, value) in enumerate(part):
            spans.append(element("tspan", escape((" · " if k else "") + name), fill=MUTED))
            said = shorten(value, width - text_width(name, 12.5), 12.5)
            spans += [
                element("tspan", escape(piece), fill=_COLOURS.get(piece, INK), font_weight="600")
                for piece in re.split(r"\b([AB])\b", said)
                if piece
            ]
        out.append(element("text", *spans, x=0.0, y=y + 17 * i, font_size=12.5, style="white-space:pre"))
    return "".join(out), y + 17 * (len(lines) - 1)


def _described(image: ImageFrame, tags: Mapping[int, str]) -> str:
    names = [f"{tag} is {image.objects[i].words}" for i, tag in tags.items()]
    rest = len(image.objects) - len(tags)
    return ", ".join(names) + (f", {counted(rest, 'other object')}" if rest else "")
