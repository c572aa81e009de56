"""Prompts in other words and with options in another order: the same question, the same answers to choose from."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import numpy as np
import pytest

from sightline.models.adapters.exam_prompts import pair_prompt, predicates_prompt, viewpoint_prompt
from sightline.models.adapters.language import LanguageModel, Reply
from sightline.models.adapters.prompt_variants import reordered, reworded
from sightline.models.adapters.prompts import Prompt, PromptStyle
from sightline.scenes import View
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
    "one predicate": predicates_prompt(QUERIES, 0, 1, "words", "left"),
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
