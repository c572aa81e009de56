"""Ask a model a changed question and turn its answer back: mirrored, swapped, grey, noisy, compressed, reworded.

A variation is made where an exam calls a skill, so one serves every exam, those of other packages too: what goes to
the model is changed, what comes back is expressed in the frame of the unchanged question. Items, truth and records
stay as they are; two runs can be held against each other judgement by judgement (`exams.checks`).

A *kind* is what a user asks for (``noise``); each of its *variants* (``noise-5``, ``noise-15``, ``noise-40``) is a
run of its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from sightline.errors import ConfigError
from sightline.exams.base import Exam
from sightline.hints import hint
from sightline.scenes import View
from sightline.scenes.labels import CONVERSE, PREDICATES, REVERSE
from sightline.skills import (
    Asked,
    BoxedObjects,
    Detections,
    Judgements,
    LabelMaps,
    Pairs,
    Queries,
    Verdicts,
    ViewAngles,
    skills_of,
)
from sightline.store import Dataset
from sightline.variations import Grey, Jpeg, Mirror, Noise, Variation

Box = tuple[float, float, float, float]

NOISE: Final = (5, 15, 40)
"""Standard deviations of the three strengths of noise, of 255."""
JPEG: Final = (50, 20, 5)
"""Qualities of the three strengths of JPEG compression."""

_SIDE = re.compile(r"(?<![A-Za-z])(left|right)(?![A-Za-z])", re.IGNORECASE)
_WINDOW = re.compile(r"window (\d+)\.(\d+) of (\d+)×(\d+)")
_REVERSED: Final = np.array(REVERSE, dtype=np.int8)
_OTHER_WORDS: Final = (
    (re.compile(r"^Is there (an? .+)\?$", re.DOTALL), r"Can \1 be seen?"),
    (
        re.compile(r"^Is this statement about the image true\? (.+)$", re.DOTALL),
        r"Does this sentence fit the picture? \1",
    ),
    (re.compile(r"^(Is|Are|Does|Do|Can|Has|Have) (.+)\?$", re.DOTALL), r"Look at the picture. \1 \2, yes or no?"),
)
"""Questions, and how each is put in other words; the first that fits is taken."""


_MIRROR: Final = Mirror()


class Variant:
    """One change of questions, with the change of answers that undoes it; by itself it changes nothing.

    Attributes:
        name: What its run is called.
        skills: Names of the skills whose questions it changes.
        why: What to say of an exam or a model that it cannot change.
    """

    name: str
    skills: ClassVar[tuple[str, ...]] = ()
    why: ClassVar[str] = ""

    def view(self, view: View) -> View:
        """Change a picture."""
        return view

    def pairs(self, pairs: Pairs) -> Pairs:
        """Change the question of *relate*."""
        return pairs

    def judgements(self, said: Judgements) -> Judgements:
        """Turn the answer of *relate* back."""
        return said

    def queries(self, queries: Queries) -> Queries:
        """Change the question of *predicates*."""
        return queries

    def verdicts(self, said: Verdicts) -> Verdicts:
        """Turn the answer of *predicates* back."""
        return said

    def objects(self, objects: BoxedObjects) -> BoxedObjects:
        """Change the question of *viewpoint*."""
        return objects

    def angles(self, said: ViewAngles) -> ViewAngles:
        """Turn the answer of *viewpoint* back."""
        return said

    def detections(self, found: Detections, view: View) -> Detections:  # noqa: ARG002 - most need no view
        """Turn the answer of *detect*, about a view, back."""
        return found

    def maps(self, said: LabelMaps) -> LabelMaps:
        """Turn the answer of *segment* back."""
        return said

    def asked(self, asked: Asked) -> Asked:
        """Change the question of *answer*."""
        return asked


@dataclass(frozen=True)
class ChangedPicture(Variant):
    """Pictures changed where they are seen; what was said stays as it is."""

    change: Variation
    name: str

    skills: ClassVar[tuple[str, ...]] = (
        "relate",
        "predicates",
        "viewpoint",
        "detect",
        "classify",
        "segment",
        "answer",
    )
    why: ClassVar[str] = "no skill that it needs is shown a picture"

    def view(self, view: View) -> View:
        """The changed picture, under an id of its own; a view without a picture has nothing to change."""
        return view if view.load_image is None else replace(self.change.view(view), id=f"{view.id}@{self.name}")

    def pairs(self, pairs: Pairs) -> Pairs:
        """Both pictures changed, the boxes with them."""
        view_a, view_b = self.view(pairs.view_a), self.view(pairs.view_b)
        view_b = view_a if pairs.view_b is pairs.view_a else view_b
        return replace(pairs, view_a=view_a, view_b=view_b)

    def queries(self, queries: Queries) -> Queries:
        """All views changed, the patches that name the objects stay; a view's id says where it was taken from."""
        views = tuple(replace(self.view(view), id=view.id) for view in queries.views)
        return replace(queries, scene_id=f"{queries.scene_id}@{self.name}", views=views)

    def objects(self, objects: BoxedObjects) -> BoxedObjects:
        """The picture changed."""
        return replace(objects, view=self.view(objects.view))

    def asked(self, asked: Asked) -> Asked:
        """The picture changed."""
        return replace(asked, view=self.view(asked.view))


@dataclass(frozen=True)
class Mirrored(ChangedPicture):
    """Left and right exchanged in pictures, boxes, words and predicates; azimuth and theta change their sign."""

    change: Variation = _MIRROR
    name: str = "mirror"

    def pairs(self, pairs: Pairs) -> Pairs:
        """Boxes mirrored too; who is closer or hides whom stays."""
        boxes = [self.change.boxes(of, (1, 1)) for of in (pairs.boxes_a, pairs.boxes_b)]
        return replace(super().pairs(pairs), boxes_a=boxes[0], boxes_b=boxes[1])

    def queries(self, queries: Queries) -> Queries:
        """Views and patches mirrored: in the mirror the objects are mirrored too."""
        return replace(super().queries(queries), patches=np.ascontiguousarray(queries.patches[:, :, ::-1]))

    def verdicts(self, said: Verdicts) -> Verdicts:
        """*left* and *right* exchanged."""
        order = [PREDICATES.index({"left": "right", "right": "left"}.get(name, name)) for name in PREDICATES]
        chances = None if said.probabilities is None else said.probabilities[..., order]
        texts = {(i, j, order.index(k)): text for (i, j, k), text in said.said.items()}
        return replace(said, answers=said.answers[..., order], said=texts, probabilities=chances)

    def objects(self, objects: BoxedObjects) -> BoxedObjects:
        """Boxes mirrored; in pixels where nobody knows the picture's size, by its own width."""
        fractions = objects.view.units == "normalised" or objects.view.size is not None
        width = 1.0 if fractions else float(objects.view.image().shape[1])
        x0, y0, x1, y1 = objects.boxes.reshape(-1, 4).T
        return replace(super().objects(objects), boxes=np.column_stack([width - x1, y0, width - x0, y1]))

    def angles(self, said: ViewAngles) -> ViewAngles:
        """Azimuth and theta with the other sign."""
        return replace(said, angles=mirrored_angles(said.angles))

    def detections(self, found: Detections, view: View) -> Detections:  # noqa: ARG002
        """Boxes and viewpoints mirrored back."""
        boxes = self.change.boxes(found.boxes, (1, 1))
        return replace(found, boxes=boxes, angles=mirrored_angles(found.angles))

    def maps(self, said: LabelMaps) -> LabelMaps:
        """Maps mirrored back."""
        return replace(said, maps=tuple(np.ascontiguousarray(np.asarray(one)[:, ::-1]) for one in said.maps))

    def asked(self, asked: Asked) -> Asked:
        """Regions mirrored; *left* and *right* exchanged in words and in the structured form."""
        return replace(
            super().asked(asked),
            question=_mirrored_form(asked.question),
            text=mirrored_words(asked.text),
            long_text=mirrored_words(asked.long_text),
            region=_mirrored_box(asked.region),
            labels={label: _mirrored_box(box) for label, box in asked.labels.items()},
            history=tuple(
                (_mirrored_form(form), mirrored_words(text), truth) for form, text, truth in asked.history
            ),
        )


@dataclass(frozen=True)
class Swapped(Variant):
    """Objects in the other order: (a, b) is asked as (b, a); of many objects the last is named first.

    Of predicates, *left* of (a, b) is what the model says of *right* of (b, a), likewise *front* and *behind*. What
    has no converse among the predicates cannot be asked of (b, a), so that there is no record of it; a model that
    makes its prompts itself may have words for it (`varied`).
    """

    name: str = "swap"

    skills: ClassVar[tuple[str, ...]] = ("relate", "predicates")
    why: ClassVar[str] = "it asks about no ordered pairs of objects"

    def pairs(self, pairs: Pairs) -> Pairs:
        """(b, a) for (a, b)."""
        return replace(
            pairs,
            view_a=pairs.view_b,
            view_b=pairs.view_a,
            boxes_a=pairs.boxes_b,
            boxes_b=pairs.boxes_a,
            categories_a=pairs.categories_b,
            categories_b=pairs.categories_a,
        )

    def judgements(self, said: Judgements) -> Judgements:
        """The same told of (a, b)."""
        return replace(said, depth=_REVERSED[said.depth], occlusion=_REVERSED[said.occlusion])

    def queries(self, queries: Queries) -> Queries:
        """The last object first."""
        return replace(queries, patches=queries.patches[::-1].copy(), appearance=queries.appearance[::-1])

    def verdicts(self, said: Verdicts) -> Verdicts:
        """In the order of the question, and what was said of (b, a) told of (a, b)."""
        last = len(said.answers) - 1
        order = [PREDICATES.index(CONVERSE.get(name, name)) for name in PREDICATES]

        def turned(values: NDArray[Any]) -> NDArray[Any]:
            return values[::-1, ::-1].transpose(1, 0, 2)[..., order]

        chances = None if said.probabilities is None else turned(said.probabilities)
        texts = {(last - j, last - i, order[k]): text for (i, j, k), text in said.said.items()}
        return replace(said, answers=turned(said.answers), said=texts, probabilities=chances, asked=tuple(CONVERSE))


@dataclass(frozen=True)
class Paraphrased(Variant):
    """Yes–no questions in other words that mean the same."""

    name: str = "paraphrase"

    skills: ClassVar[tuple[str, ...]] = ("answer",)
    why: ClassVar[str] = "the model is not asked in words: it needs the skill answer, or a method varied()"

    def asked(self, asked: Asked) -> Asked:
        """Both forms of the question in other words; the structured form stays."""
        return replace(asked, text=paraphrase(asked.text), long_text=paraphrase(asked.long_text))


@dataclass(frozen=True)
class Reordered(Variant):
    """The options of a question named in another order: no before yes."""

    name: str = "circular"

    skills: ClassVar[tuple[str, ...]] = ("answer",)
    why: ClassVar[str] = "the model is given no options: it needs the skill answer, or a method varied()"

    def asked(self, asked: Asked) -> Asked:
        """*no or yes* said after the question."""
        return replace(asked, text=f"{asked.text} No or yes?", long_text=f"{asked.long_text} No or yes?")


KINDS: Final[Mapping[str, tuple[Variant, ...]]] = {
    "swap": (Swapped(),),
    "mirror": (Mirrored(),),
    "blind": (ChangedPicture(Grey(), "blind"),),
    "noise": tuple(ChangedPicture(Noise(sigma), f"noise-{sigma}") for sigma in NOISE),
    "jpeg": tuple(ChangedPicture(Jpeg(quality), f"jpeg-{quality}") for quality in JPEG),
    "paraphrase": (Paraphrased(),),
    "circular": (Reordered(),),
}
"""What can be asked for → its variants, the weakest first."""

WORDED: Final = frozenset({"paraphrase", "circular"})
"""Kinds that change words: a model that makes its prompts itself can have them with any skill."""

ALL: Final = "all"


def named_kinds(given: Sequence[str]) -> tuple[str, ...]:
    """The kinds that were asked for, each once; ``all`` stands for every one. ConfigError for an unknown word.

    >>> named_kinds(["mirror", "swap", "mirror"])
    ('mirror', 'swap')
    """
    for word in given:
        if word not in KINDS and word != ALL:
            raise ConfigError(f"--vary: unknown {word!r}{hint(word, [*KINDS, ALL])}")
    return tuple(KINDS) if ALL in given else tuple(dict.fromkeys(given))


def mirrored_angles(angles: Any) -> Any:
    """(n, 3) azimuth, elevation and theta of objects in a mirrored picture, degrees; azimuth in [0, 360).

    >>> mirrored_angles(np.array([[30.0, 10.0, 5.0]])).tolist()
    [[330.0, 10.0, -5.0]]
    """
    azimuth, elevation, theta = np.asarray(angles, dtype=np.float64).reshape(-1, 3).T
    return np.column_stack([np.mod(-azimuth, 360.0), elevation, -theta])


def mirrored_words(text: str) -> str:
    """A text with left and right exchanged, and the windows of a grid counted from the other side.

    >>> mirrored_words("Left of the cat, not right_of it; bright")
    'Right of the cat, not left_of it; bright'
    >>> mirrored_words("window 1.1 of 3×3, 0.5×0.5")
    'window 1.3 of 3×3, 0.5×0.5'
    """

    def other(match: re.Match[str]) -> str:
        word = "right" if match[0].lower() == "left" else "left"
        return word.upper() if match[0].isupper() else word.capitalize() if match[0][0].isupper() else word

    def window(match: re.Match[str]) -> str:
        row, column, rows, columns = match.groups()
        return f"window {row}.{int(columns) + 1 - int(column)} of {rows}×{columns}"

    return _WINDOW.sub(window, _SIDE.sub(other, text))


def paraphrase(text: str) -> str:
    """A yes–no question in other words.

    >>> paraphrase("Is there a unique person in the designated region?")
    'Can a unique person in the designated region be seen?'
    >>> paraphrase("Is vehicle 1 parked?")
    'Look at the picture. Is vehicle 1 parked, yes or no?'
    """
    for known, words in _OTHER_WORDS:
        if known.match(text):
            return known.sub(words, text)
    return f"Here is a question about the picture. {text}"


def _mirrored_box(box: Box | None) -> Box | None:
    return None if box is None else (1.0 - box[2], box[1], 1.0 - box[0], box[3])


def _mirrored_form(form: Mapping[str, Any]) -> dict[str, Any]:
    """A structured question with its words and its box mirrored."""

    def other(key: str, value: Any) -> Any:
        if key == "box" and value is not None:
            return [round(edge, 12) for edge in (1.0 - value[2], value[1], 1.0 - value[0], value[3])]
        if isinstance(value, str):
            return mirrored_words(value)
        return [other("", one) for one in value] if isinstance(value, list | tuple) else value

    return {key: other(key, value) for key, value in form.items()}


class VariedModel:
    """A model behind a variation: it has the model's skills and hooks, and is asked the changed questions."""

    _model: Any
    _variant: Variant

    def __init__(self, model: Any, variant: Variant) -> None:
        self.__dict__.update(_model=model, _variant=variant)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._model, name, value)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in ("_model", "_variant"):
            raise AttributeError(name)
        return getattr(self._model, name)

    def _relate(self, pairs: Pairs) -> Judgements:
        said = self._model.relate(self._variant.pairs(pairs))
        return self._variant.judgements(Judgements.checked(said, len(pairs), type(self).__name__))

    def _predicates(self, queries: Queries) -> Verdicts:
        said = self._model.predicates(self._variant.queries(queries))
        return self._variant.verdicts(Verdicts.checked(said, len(queries), type(self).__name__))

    def _viewpoint(self, objects: BoxedObjects) -> ViewAngles:
        said = self._model.viewpoint(self._variant.objects(objects))
        return self._variant.angles(ViewAngles.checked(said, len(objects), type(self).__name__))

    def _detect(self, view: View) -> Detections:
        found = Detections.checked(self._model.detect(self._variant.view(view)), type(self).__name__)
        return self._variant.detections(found, view)

    def _classify(self, views: Sequence[View]) -> Any:
        return self._model.classify([self._variant.view(view) for view in views])

    def _segment(self, views: Sequence[View]) -> Any:
        said = self._model.segment([self._variant.view(view) for view in views])
        return self._variant.maps(said) if isinstance(said, LabelMaps) else said

    def _segment_among(self, views: Sequence[View], classes: Sequence[str]) -> Any:
        said = self._model.segment_among([self._variant.view(view) for view in views], classes)
        return self._variant.maps(said) if isinstance(said, LabelMaps) else said

    def _answer(self, asked: Asked) -> Any:
        return self._model.answer(self._variant.asked(asked))

    def _on_truth(self, asked: Asked, truth: bool) -> None:
        self._model.on_truth(self._variant.asked(asked), truth)


def varied_model(model: Any, kind: str, variant: Variant) -> Any:
    """The model asked otherwise: by what its own ``varied(kind)`` gives, else from outside."""
    own = _own(model, kind)
    if own is not None:
        return own
    methods: dict[str, Callable[..., Any]] = {
        name: getattr(VariedModel, f"_{name}")
        for name in (*skills_of(model), "on_truth", "segment_among")
        if callable(getattr(model, name, None)) and hasattr(VariedModel, f"_{name}")  # no exam asks for depth maps
    }
    made: Any = type(type(model).__name__, (VariedModel,), methods)
    return made(model, variant)


def _own(model: Any, kind: str) -> Any:
    """What a model's method ``varied`` gives for a kind; None where it has none, or nothing to give."""
    method = getattr(model, "varied", None)
    return method(kind) if callable(method) else None


def why_unvaried(exam: Exam[Any], model: Any, kind: str, data: Dataset) -> str:
    """Why a model cannot be asked otherwise in an exam over this data; empty where it can."""
    if getattr(model, "stored_answers", False):
        return "the model's answers are stored, of the questions as they are"
    if getattr(model, "sees_truth", False):
        return "the model is a baseline that is given the truth of the pictures as they are"
    reason = exam.unvaried(kind)
    if reason:
        return reason
    variant, bare = KINDS[kind][0], data.pictureless
    used = {skill for group in exam.skills for skill in group} & set(skills_of(model))
    if not used & set(variant.skills):
        return "" if kind in WORDED and _own(model, kind) is not None else variant.why
    if isinstance(variant, ChangedPicture) and bare[0] == bare[1]:
        return "the data has no pictures to change"
    return ""
