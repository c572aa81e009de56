"""Prompts of the exams that ask no yes–no question: relations, predicates and viewpoints.

Each is one picture and a few lines of English that end with the words an answer may have. The same three ways to
point at boxes as for regions (`adapters.prompts`): drawn on the picture, cropped to, or told in per cent. Words an
answer is read by stand in `CHOICES` and `PREDICATE_MEANINGS`; `read_choice` and `read_list` guess nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from sightline.exams.turing.vocabulary.english import with_article
from sightline.models.adapters.prompts import Box, Prompt, RegionStyle, crop_box, outlined, places_of
from sightline.scenes.labels import CONVERSE, SPATIAL, Depth, Occlusion
from sightline.skills import BoxedObjects, Pairs, Queries
from sightline.text import without_reasoning

CHOICES: Final[Mapping[str, Mapping[str, int]]] = {
    "depth": {
        "first": int(Depth.CLOSER),
        "second": int(Depth.FARTHER),
        "same": int(Depth.SAME),
        "unsure": int(Depth.UNSURE),
    },
    "occlusion": {
        "first": int(Occlusion.OCCLUDES),
        "second": int(Occlusion.OCCLUDED),
        "both": int(Occlusion.MUTUAL),
        "none": int(Occlusion.NONE),
    },
}
"""What is asked of a pair → word of an answer → code."""

_QUESTIONS: Final = {
    "depth": (
        "Which of the two objects is closer to the camera?\n"
        "Answer with one word: first, second, same (both are equally far) or unsure."
    ),
    "occlusion": (
        "Does one of the two objects hide a part of the other in the picture?\n"
        "Answer with one word: first (the first hides a part of the second), second (the second hides a part of "
        "the first), both (each hides a part of the other) or none."
    ),
}

PREDICATE_MEANINGS: Final[Mapping[str, str]] = {
    "left": "the first object is to the left of the second, seen from the camera",
    "right": "the first object is to the right of the second, seen from the camera",
    "front": "the first object is in front of the second, closer to the camera",
    "behind": "the first object is behind the second, farther from the camera",
    "contains": "the second object is inside the first",
    "supports": "the second object rests on the first",
    "can_contain": "the first object is hollow and large enough for the second to fit inside",
    "can_support": "the second object could rest on the first",
}
"""What each predicate says of the ordered pair, in words."""

SWAPPED_MEANINGS: Final[Mapping[str, tuple[str, str]]] = {
    **{word: (CONVERSE[word], PREDICATE_MEANINGS[word]) for word in SPATIAL},
    "inside": ("contains", "the first object is inside the second"),
    "rests_on": ("supports", "the first object rests on the second"),
    "fits_inside": ("can_contain", "the second object is hollow and large enough for the first to fit inside"),
    "can_rest_on": ("can_support", "the first object could rest on the second"),
}
"""Words to ask of (b, a) for → the predicate of (a, b) that means the same, and the word's meaning."""

NONE_OF_THEM: Final = "none"

_DIRECTIONS: Final = (
    "towards the camera",
    "towards the camera and to the left of the picture",
    "to the left of the picture",
    "away from the camera and to the left of the picture",
    "away from the camera",
    "away from the camera and to the right of the picture",
    "to the right of the picture",
    "towards the camera and to the right of the picture",
)
"""Where the front of an object points that is seen at azimuth 0, 45, … 315 degrees."""

_PATCH: Final = 96
"""Pixels of the side of a query patch as it is shown below a scene."""
_GAP: Final = 8
_FRAMES: Final = ((230, 25, 25), (30, 80, 255))
_ORDER: Final = ("first", "second")


def pair_prompt(pairs: Pairs, row: int, aspect: str, region: RegionStyle) -> Prompt:
    """Make the prompt about one pair: two objects of a picture, or of two pictures side by side.

    Args:
        pairs: The pairs.
        row: Which of them.
        aspect: ``depth`` or ``occlusion``.
        region: How the boxes are pointed at.
    """
    ends = list(zip((pairs.boxes_a, pairs.boxes_b), (pairs.categories_a, pairs.categories_b), strict=True))
    boxes = {name: _box(of[row]) for name, (of, _) in zip(_ORDER, ends, strict=True)}
    named = {name: with_article(_words(of[row])) for name, (_, of) in zip(_ORDER, ends, strict=True)}
    lines = []
    if pairs.setting == "within_image":
        picture, places = _pointed(pairs.view_a.image(), boxes, region)
    else:
        lines.append("The left half of the picture shows one photo, the right half another.")
        halves = []
        places = {}
        for i, (name, view) in enumerate(zip(_ORDER, (pairs.view_a, pairs.view_b), strict=True)):
            half, pointed = _pointed(view.image(), {name: boxes[name]}, region, colour=i)
            halves.append(half)
            where = f", {pointed[name]}" if pointed[name] else ""
            places[name] = f"in the {('left', 'right')[i]} half{where}"
        picture = _side_by_side(halves)
    for name, place in places.items():
        lines.append(f"The {name} object is {named[name]}{_at(place)}.")
    return Prompt(picture, "\n".join([*lines, _QUESTIONS[aspect]]))


def viewpoint_prompt(objects: BoxedObjects, row: int, region: RegionStyle, sections: int) -> Prompt:
    """Make the prompt about the direction one object faces; an answer is a number from 1 (`section_angle`)."""
    name = _words(objects.categories[row])
    picture, places = _pointed(objects.view.image(), {"": _box(objects.boxes[row])}, region)
    step = len(_DIRECTIONS) // sections
    numbered = [f"{i}: {words}" for i, words in enumerate(_DIRECTIONS[::step], start=1)]
    asked = [
        f"The object is {with_article(name)}{_at(places[''])}.",
        f"Where does the front of the {name} point?",
        *numbered,
        f"Answer with one number, 1 to {len(numbered)}.",
    ]
    return Prompt(picture, "\n".join(asked))


def section_angle(number: int, sections: int) -> float:
    """Azimuth in the middle of a section that is counted from 1, degrees.

    >>> section_angle(1, 8), section_angle(3, 8), section_angle(4, 4)
    (0.0, 90.0, 270.0)
    """
    return 360.0 / sections * (number - 1)


def predicates_prompt(
    queries: Queries, first: int, second: int, region: RegionStyle, meanings: Mapping[str, str] = PREDICATE_MEANINGS
) -> Prompt:
    """Make the prompt about two objects of a scene: is one thing true, or which of several are?

    Objects are shown as their patches below the scene, framed in red and blue; with regions in words they are told
    apart by their looks alone.

    Args:
        queries: The objects.
        first: Place of the subject.
        second: Place of the object.
        region: ``words`` leaves the patches out.
        meanings: Words to choose from, with what each means; of a single one it is asked yes or no.
    """
    views = [Image.fromarray(view.image()) for view in queries.views]
    looks = [_appearance(queries.appearance[i]) for i in (first, second)]
    lines = []
    if len(views) > 1:
        lines.append(f"The picture shows one scene from {len(views)} cameras; directions are those of the first.")
    patches = [queries.patches[i] for i in (first, second)] if region != "words" else []
    for i, look in enumerate(looks):
        framed = f"; it is shown alone below the scene, framed in {('red', 'blue')[i]}" if patches else ""
        lines.append(f"The {_ORDER[i]} object is {look}{framed}.")
    if len(meanings) == 1:
        lines += [f"Is it true that {next(iter(meanings.values()))}?", "Answer with one word, yes or no."]
    else:
        lines += [
            "Which of these are true?",
            *(f"{name}: {meaning}" for name, meaning in meanings.items()),
            f"Answer with the words of those that are true, with commas between, or {NONE_OF_THEM}.",
        ]
    return Prompt(_with_patches(_side_by_side(views), patches), "\n".join(lines))


_EDGES: Final = " \t\r\n\"'`*_“”‘’.,;:!()[]{}"
_LEADING: Final = r"(?:final\s+)?(?:answer(?:\s+is)?\s*:?\s*)?(?:the\s+)?"


def read_choice(text: str, choices: Sequence[str]) -> str | None:
    """The one of the words that a reply is, None where it is not clear which: nothing is guessed.

    It may be decorated, follow "Answer:" or "the", be followed by "one" or "object", and by a full stop and an
    explanation that names none of the other words. Reasoning is no part of a reply.

    >>> words = ("first", "second", "same")
    >>> [read_choice(r, words) for r in ("**First**", "Answer: second.", "Same. Both stand there.")]
    ['first', 'second', 'same']
    >>> [read_choice(r, words) for r in ("First, let me look", "first or second", "First. No, second.", "", "1")]
    [None, None, None, None, None]
    """
    body = without_reasoning(text).strip(_EDGES).casefold()
    words = "|".join(re.escape(word.casefold()) for word in choices)
    match = re.match(rf"{_LEADING}[*_`\"'(]*({words})(?![\w-])[*_`\"')]*(?:\s+(?:one|object))?", body)
    if match is None:
        return None
    rest = body[match.end() :]
    if rest.strip(_EDGES) and not re.match(r"\s*(?:[.;:(–—\n]|-\s)", rest):
        return None
    others = re.findall(rf"(?<![\w-])({words})(?![\w-])", rest)
    if any(word != match[1] for word in others):
        return None
    return next(word for word in choices if word.casefold() == match[1])


def read_list(text: str, words: Sequence[str], none: str = NONE_OF_THEM) -> frozenset[str] | None:
    """The words that a reply lists, and nothing else; None where it holds anything more.

    >>> [read_list(reply, ("left", "right")) for reply in ("left", "None.", "left, I think")]
    [frozenset({'left'}), frozenset(), None]
    """
    body = without_reasoning(text).strip(_EDGES).casefold()
    named = [part.strip(_EDGES + "-•").replace(" ", "_") for part in re.split(r"[,\n;]|\band\b", body)]
    named = [part for part in named if part]
    if named == [none]:
        return frozenset()
    return frozenset(named) if named and set(named) <= set(words) else None


def _pointed(
    pixels: NDArray[np.uint8], boxes: dict[str, Box], region: RegionStyle, colour: int = 0
) -> tuple[Image.Image, dict[str, str]]:
    """The picture with its boxes pointed at, and where each is in words; empty for one that fills the picture."""
    picture = Image.fromarray(pixels)
    shown = crop_box(boxes, picture.size) if region == "crop" else None
    places = places_of(boxes, region, shown, picture.size)
    if region == "draw":
        drawn = outlined(picture, list(boxes.values()), first=colour)
        return drawn, {name: f"outlined in {('red', 'blue')[colour + i]}" for i, name in enumerate(boxes)}
    return (picture if shown is None else picture.crop(shown)), places


def _at(place: str) -> str:
    """How a place follows the name of what is there."""
    if not place:
        return ", and all that is shown"
    return f" {place}" if place.startswith(("outlined", "in the")) else f" in the region {place}"


def _box(row: NDArray[np.float64]) -> Box:
    x0, y0, x1, y1 = (float(np.clip(value, 0.0, 1.0)) for value in row)
    return x0, y0, x1, y1


def _words(category: str) -> str:
    return category.replace("_", " ").strip() or "thing"


def _appearance(look: Mapping[str, str]) -> str:
    words = [_words(look[key]) for key in ("size", "color", "material", "shape") if look.get(key)]
    return with_article(" ".join(words)) if words else "an object"


def _side_by_side(pictures: Sequence[Image.Image]) -> Image.Image:
    """Pictures in a row, a gap between, the lower ones centred."""
    if len(pictures) == 1:
        return pictures[0]
    high = max(picture.height for picture in pictures)
    row = Image.new("RGB", (sum(p.width for p in pictures) + _GAP * (len(pictures) - 1), high), "white")
    x = 0
    for picture in pictures:
        row.paste(picture, (x, (high - picture.height) // 2))
        x += picture.width + _GAP
    return row


def _with_patches(scene: Image.Image, patches: Sequence[NDArray[np.uint8]]) -> Image.Image:
    """The scene with patches of objects below it, framed in red and blue."""
    if not patches:
        return scene
    side = _PATCH + 2 * _GAP
    wide = max(scene.width, side * len(patches))
    sheet = Image.new("RGB", (wide, scene.height + side), "white")
    sheet.paste(scene, ((wide - scene.width) // 2, 0))
    for i, patch in enumerate(patches):
        frame = Image.new("RGB", (_PATCH + _GAP, _PATCH + _GAP), _FRAMES[i])
        frame.paste(Image.fromarray(patch).resize((_PATCH, _PATCH), Image.Resampling.NEAREST), (_GAP // 2,) * 2)
        sheet.paste(frame, (i * side + _GAP // 2, scene.height + _GAP // 2))
    return sheet
