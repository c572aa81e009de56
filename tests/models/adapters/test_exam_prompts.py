"""Prompts of relations, predicates and viewpoints: their words, their pictures, and how replies are read."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.models.adapters.exam_prompts import (
    CHOICES,
    PREDICATE_MEANINGS,
    pair_prompt,
    predicates_prompt,
    read_choice,
    read_list,
    section_angle,
    viewpoint_prompt,
)
from sightline.scenes import View
from sightline.scenes.labels import PREDICATES
from sightline.skills import BoxedObjects, Pairs, Queries

GREY = np.full((50, 100, 3), 90, np.uint8)
OTHER = np.full((40, 60, 3), 200, np.uint8)
RED, BLUE = (230, 25, 25), (30, 80, 255)


def view(name: str = "s", pixels: Any = GREY) -> View:
    return View(name, size=pixels.shape[1::-1], load_image=lambda: pixels)


def pairs(setting: Any = "within_image") -> Pairs:
    within = setting == "within_image"
    return Pairs(
        cluster_id="s" if within else "s|t",
        setting=setting,
        view_a=view(),
        view_b=view() if within else view("t", OTHER),
        boxes_a=np.array([[0.1, 0.2, 0.3, 0.8]]),
        boxes_b=np.array([[0.5, 0.4, 0.9, 0.6]]),
        categories_a=("person",),
        categories_b=("Alpaca_hat",),
    )


DEPTH = """\
Which of the two objects is closer to the camera?
Answer with one word: first, second, same (both are equally far) or unsure."""
WHERE_A = "from 10 % to 30 % of the width (from the left) and from 20 % to 80 % of the height (from the top)"
WHERE_B = "from 50 % to 90 % of the width (from the left) and from 40 % to 60 % of the height (from the top)"


@pytest.mark.parametrize(
    ("region", "setting", "text", "size"),
    [
        (
            "draw",
            "within_image",
            "The first object is a person outlined in red.\nThe second object is an Alpaca hat outlined in blue.",
            (100, 50),
        ),  # on the picture
        (
            "words",
            "within_image",
            f"The first object is a person in the region {WHERE_A}.\n"
            f"The second object is an Alpaca hat in the region {WHERE_B}.",
            (100, 50),
        ),  # told
        (
            "crop",
            "within_image",
            "The first object is a person in the region from 0 % to 25 % of the width (from the left) "
            "and from 0 % to 100 % of the height (from the top).\n"
            "The second object is an Alpaca hat in the region from 50 % to 100 % of the width (from the left) "
            "and from 33 % to 67 % of the height (from the top).",
            (80, 30),
        ),  # what holds both
        (
            "draw",
            "across_images",
            "The left half of the picture shows one photo, the right half another.\n"
            "The first object is a person in the left half, outlined in red.\n"
            "The second object is an Alpaca hat in the right half, outlined in blue.",
            (168, 50),
        ),  # side by side
        (
            "crop",
            "across_images",
            "The left half of the picture shows one photo, the right half another.\n"
            "The first object is a person in the left half.\n"
            "The second object is an Alpaca hat in the right half.",
            (20 + 8 + 24, 30),
        ),  # two crops
    ],
)
def test_pairs(region: Any, setting: Any, text: str, size: tuple[int, int]) -> None:
    prompt = pair_prompt(pairs(setting), 0, "depth", region)
    assert prompt.text == f"{text}\n{DEPTH}"
    assert prompt.picture.size == size


def test_occlusion_has_words_of_its_own() -> None:
    text = pair_prompt(pairs(), 0, "occlusion", "draw").text
    assert text.endswith(
        "Does one of the two objects hide a part of the other in the picture?\n"
        "Answer with one word: first (the first hides a part of the second), second (the second hides a part of "
        "the first), both (each hides a part of the other) or none."
    )
    for aspect, words in CHOICES.items():
        asked = pair_prompt(pairs(), 0, aspect, "draw").text
        assert all(word in asked for word in words)  # what is read is what was offered


def test_boxes_are_drawn_in_two_colours_where_they_are() -> None:
    pixels = np.asarray(pair_prompt(pairs(), 0, "depth", "draw").picture)
    assert tuple(pixels[10, 20]) == RED
    assert tuple(pixels[20, 60]) == BLUE
    assert tuple(pixels[25, 20]) == (90, 90, 90)  # inside the first
    across = np.asarray(pair_prompt(pairs("across_images"), 0, "depth", "draw").picture)
    red, blue = ((across == colour).all(axis=2) for colour in (RED, BLUE))
    assert red[:, :100].any()
    assert not red[:, 108:].any()
    assert blue[:, 108:].any()
    assert not blue[:, :100].any()


SIDES = """\
Where does the front of the car point?
1: towards the camera
2: towards the camera and to the left of the picture
3: to the left of the picture
4: away from the camera and to the left of the picture
5: away from the camera
6: away from the camera and to the right of the picture
7: to the right of the picture
8: towards the camera and to the right of the picture
Answer with one number, 1 to 8."""


def test_viewpoints() -> None:
    boxed = BoxedObjects("s", view(), np.array([[0.1, 0.2, 0.3, 0.8]]), ("car",))
    assert viewpoint_prompt(boxed, 0, "draw", 8).text == f"The object is a car outlined in red.\n{SIDES}"
    cropped = viewpoint_prompt(boxed, 0, "crop", 4)
    assert cropped.text.startswith("The object is a car, and all that is shown.\nWhere does the front")
    assert cropped.text.endswith("4: to the right of the picture\nAnswer with one number, 1 to 4.")
    assert cropped.picture.size == (20, 30)
    assert [section_angle(n, 4) for n in (1, 2, 3, 4)] == [0, 90, 180, 270]


def queries(views: int = 1) -> Queries:
    patches = np.zeros((2, 32, 32, 3), np.uint8)
    patches[1] = 255
    looks = ({"shape": "mug", "size": "small", "color": "red", "material": "rubber"}, {"shape": "ice_cube"})
    return Queries("s", tuple(view(str(i)) for i in range(views)), patches, looks)


def test_predicates_of_a_pair() -> None:
    prompt = predicates_prompt(queries(), 1, 0, "draw")
    meanings = "\n".join(f"{name}: {meaning}" for name, meaning in PREDICATE_MEANINGS.items())
    assert prompt.text == (
        "The first object is an ice cube; it is shown alone below the scene, framed in red.\n"
        "The second object is a small red rubber mug; it is shown alone below the scene, framed in blue.\n"
        f"Which of these are true?\n{meanings}\n"
        "Answer with the words of those that are true, with commas between, or none."
    )
    pixels = np.asarray(prompt.picture)
    assert pixels.shape == (50 + 112, 224, 3)
    assert tuple(pixels[50 + 60, 60]) == (255, 255, 255)  # the first object's patch, on the left
    assert tuple(pixels[50 + 60, 112 + 60]) == (0, 0, 0)
    assert tuple(PREDICATE_MEANINGS) == PREDICATES


def test_one_predicate_and_several_views() -> None:
    prompt = predicates_prompt(queries(2), 0, 1, "words", {"can_contain": PREDICATE_MEANINGS["can_contain"]})
    assert prompt.text == (
        "The picture shows one scene from 2 cameras; directions are those of the first.\n"
        "The first object is a small red rubber mug.\nThe second object is an ice cube.\n"
        "Is it true that the first object is hollow and large enough for the second to fit inside?\n"
        "Answer with one word, yes or no."
    )
    assert prompt.picture.size == (208, 50)


WORDS = ("first", "second", "same", "unsure")


@pytest.mark.parametrize(
    ("reply", "word"),
    [
        ("first", "first"),  # the word
        ("  **Second**\n", "second"),  # decorated
        ("Answer: same.", "same"),  # announced
        ("The answer is unsure", None),  # a sentence that is not of that form
        ("the first object", "first"),  # with its noun
        ("<think>second? no, first…</think>\n\nSecond.", "second"),  # reasoned
        ("<think>first", None),  # never ended
        ("First. It is larger.", "first"),  # explained
        ("First. The second is farther.", None),  # names another
        ("First, let me look at the picture", None),  # no answer
        ("first or second", None),  # two
        ("firstly", None),  # another word
        ("1", None),  # nobody asked for a number
        ("", None),  # nothing
        ("I cannot help with that.", None),  # declined
    ],
)
def test_choices_are_read_strictly(reply: str, word: str | None) -> None:
    assert read_choice(reply, WORDS) == word


@pytest.mark.parametrize(
    ("reply", "number"),
    [("3", "3"), ("3.", "3"), ("**7**", "7"), ("Answer: 8", "8"), ("12", None), ("3 or 4", None)],
)
def test_numbers_are_read_strictly(reply: str, number: str | None) -> None:
    assert read_choice(reply, tuple("12345678")) == number


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        ("left, can_support", {"left", "can_support"}),  # a list
        ("- left\n- behind", {"left", "behind"}),  # lines
        ("Left and can contain.", {"left", "can_contain"}),  # in words
        ("none", set()),  # nothing holds
        ("<think>left?</think> none", set()),  # reasoned
        ("left, above", None),  # a word nobody offered
        ("none, left", None),  # both
        ("The first object is left of it", None),  # a sentence
        ("", None),  # nothing
    ],
)
def test_lists_are_read_strictly(reply: str, words: set[str] | None) -> None:
    assert read_list(reply, PREDICATES) == (None if words is None else frozenset(words))


@given(st.text(max_size=40))
def test_nothing_is_guessed(text: str) -> None:
    """What names no choice is never read as one."""
    if not any(word in text.casefold() for word in WORDS):
        assert read_choice(text, WORDS) is None
    if not any(word in text.casefold().replace(" ", "_") for word in (*PREDICATES, "none")):
        assert read_list(text, PREDICATES) is None
