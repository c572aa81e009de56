"""Prompts in other words and with options in another order: the same question, the same answers to choose from."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import numpy as np
import pytest

from sightline.models.adapters.exam_prompts import (
    PREDICATE_MEANINGS,
    pair_prompt,
    predicates_prompt,
    viewpoint_prompt,
)
from sightline.models.adapters.language import LanguageModel, Reply
from sightline.models.adapters.prompt_variants import reordered, reworded
from sightline.models.adapters.prompts import Prompt, PromptStyle
from sightline.scenes import Depth, View
from sightline.scenes.labels import PREDICATES
from sightline.skills import Asked, BoxedObjects, Pairs, Queries

VIEW = View("v", size=(8, 6), load_image=lambda: np.zeros((6, 8, 3), np.uint8))
BOXES = np.array([[0.1, 0.1, 0.5, 0.5], [0.2, 0.2, 0.9, 0.9]])
PAIRS = Pairs("v", "within_image", VIEW, VIEW, BOXES[:1], BOXES[1:], ("cat",), ("dog",))
OBJECTS = BoxedObjects("s", VIEW, BOXES, ("car", "bus"))
QUERIES = Queries("s", (VIEW,), np.zeros((2, 4, 4, 3), np.uint8), ({"shape": "mug"}, {"shape": "can"}))
ASKED = Asked("s", VIEW, {"type": "exist"}, "Is there a cat?", "Is there a cat?", None, {}, ())

PROMPTS = {
    "depth": pair_prompt(PAIRS, 0, "depth", "words"),
    "occlusion": pair_prompt(PAIRS, 0, "occlusion", "words"),
    "viewpoint": viewpoint_prompt(OBJECTS, 0, "words", 8),
    "one predicate": predicates_prompt(QUERIES, 0, 1, "words", {"left": PREDICATE_MEANINGS["left"]}),
    "all predicates": predicates_prompt(QUERIES, 0, 1, "words"),
    "yes or no": PromptStyle().prompt(ASKED),
}


@pytest.mark.parametrize("name", PROMPTS)
def test_options_are_named_from_the_last_to_the_first(name: str) -> None:
    text = PROMPTS[name].text
    other = reordered(text)
    assert other != text
    assert reordered(other) == text
    assert Counter(re.findall(r"\w+", other)) == Counter(re.findall(r"\w+", text))


@pytest.mark.parametrize("name", PROMPTS)
def test_other_words_leave_the_options_as_they_are(name: str) -> None:
    text = PROMPTS[name].text
    other = reworded(text)
    assert other != text
    kept = [line for line in text.splitlines() if re.match(r"(\d+|[a-z_]+): |The (first|second) object", line)]
    assert [line for line in other.splitlines() if line in kept] == kept
    assert other.splitlines()[-1].replace("Reply with", "Answer with") == text.splitlines()[-1]


class Listening(LanguageModel):
    """Keeps the prompts it hears."""

    def __init__(self, **how: Any) -> None:
        super().__init__(PromptStyle(region="words"), **how)
        self.heard: list[str] = []

    def complete(self, prompt: Prompt, choices: tuple[str, ...], draw: int) -> Reply:
        self.heard.append(prompt.text)
        return Reply(choices[0] if choices else "none")

    @property
    def reply_identity(self) -> str:
        return "listening"


def test_a_varied_model_hears_other_prompts_and_counts_with_the_first() -> None:
    model = Listening()
    circular = model.varied("circular")
    assert circular is not None
    assert model.varied("mirror") is None
    for one in (model, circular):
        one.relate(PAIRS)
    depth, _, turned, _ = model.heard
    assert (turned, depth) == (reordered(depth), PROMPTS["depth"].text)
    assert model.usage()["requests"] == 4


class Seeing(Listening):
    """Knows that the can (thing 1) stands in the mug (thing 0), on its left half, and reads what it is asked."""

    TRUE = frozenset({"right", "contains", "can_contain", "supports"})  # of (mug, can)

    def complete(self, prompt: Prompt, choices: tuple[str, ...], draw: int) -> Reply:
        super().complete(prompt, choices, draw)
        mug_first = "first object is a mug" in prompt.text
        if "is closer to the camera?" in prompt.text or "hide a part" in prompt.text:
            return Reply("first" if "first object is a cat" in prompt.text else "second", confidence=0.75)
        means = dict(re.findall(r"^([a-z_]+): (.+)$", prompt.text, re.MULTILINE))
        asked = re.search(r"Is it true that (.+)\?", prompt.text)
        if asked:
            return Reply("yes" if self.holds(asked[1], mug_first) else "no", confidence=0.75)
        return Reply(", ".join(word for word, text in means.items() if self.holds(text, mug_first)) or "none")

    def holds(self, meaning: str, mug_first: bool) -> bool:
        first, second = ("mug", "can") if mug_first else ("can", "mug")
        said = meaning.partition(",")[0].replace("the first object", first).replace("the second object", second)
        said = said.replace("the first", first).replace("the second", second)
        return said in {
            "mug is to the right of can",
            "can is to the left of mug",
            "can is inside mug",
            "can rests on mug",
            "mug is hollow and large enough for can to fit inside",
        }


@pytest.mark.parametrize("per", ["pair", "predicate"])
def test_a_swapped_pair_is_asked_in_words_that_mean_the_same(per: Any) -> None:
    model = Seeing(per=per)
    swapped = model.varied("swap")
    assert swapped is not None
    plain, other = model.predicates(QUERIES), swapped.predicates(QUERIES)
    assert (plain.answers[0, 1] == [name in Seeing.TRUE for name in PREDICATES]).all()
    assert (plain.answers == other.answers).all()
    assert other.asked == PREDICATES  # in words every predicate has a converse
    half = len(model.heard) // 2
    assert set(model.heard[:half]) != set(model.heard[half:])
    if per == "pair":
        words = "fits_inside: the second object is hollow and large enough for the first to fit inside"
        assert words in model.heard[-1]
    else:
        assert plain.probabilities is not None
        assert set(plain.probabilities[0, 1]) == {0.75, 0.25}


def test_a_swapped_pair_of_boxes_is_told_as_it_was_asked() -> None:
    model = Seeing()
    swapped = model.varied("swap")
    assert swapped is not None
    plain, other = model.relate(PAIRS), swapped.relate(PAIRS)
    assert plain.depth.tolist() == other.depth.tolist() == [Depth.CLOSER]
    assert plain.occlusion.tolist() == other.occlusion.tolist()
    assert [of.tolist() for of in other.confidence.values()] == [[0.75], [0.75]]
    assert model.heard[0] != model.heard[2]
    assert model.viewpoint(OBJECTS).confidence == ()
