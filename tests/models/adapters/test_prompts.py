"""What a model that reads English is shown and told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sightline.errors import ConfigError, DataError
from sightline.models.adapters.prompts import TEMPLATE, PromptStyle, corners, read_template
from sightline.scenes import View

LEFT, RIGHT, TOP = (0.0, 0.0, 0.5, 1.0), (0.5, 0.0, 1.0, 1.0), (0.0, 0.0, 1.0, 0.5)
FOUND = {"type": "unique", "object_type": "cube", "attributes": ["red"], "box": list(LEFT)}
TEXT = "Is there a unique cube in the designated region that is red?"
HISTORY = ((FOUND, TEXT, True),)
ASIDE = {**FOUND, "box": list(RIGHT)}
TWICE = (*HISTORY, (ASIDE, TEXT, False), (ASIDE, TEXT, True))
NAMED = {"cube 1": LEFT, "cube 2": RIGHT}
ANY_BALL = {"type": "exist", "object_type": "ball", "attributes": [], "region": "left", "box": list(LEFT)}
ANY_CUBE = ANY_BALL | {"object_type": "cube"}
IS_SMALL = {"type": "attribute", "subject": "cube 1", "attributes": ["small"]}
CLOSER = {"type": "relation", "subject": "cube 1", "relation": "closer", "object": "cube 2"}


def colours(picture: Any) -> list[str]:
    """Outlines found on a grey picture, by colour."""
    pixels = {tuple(pixel) for row in np.asarray(picture) for pixel in row}
    return [name for name, rgb in {"red": (230, 25, 25), "blue": (30, 80, 255)}.items() if rgb in pixels]


@pytest.mark.parametrize(
    ("how", "changes", "size", "drawn", "first"),
    [
        # searches
        (
            "draw",
            {"question": ANY_BALL, "region": LEFT},
            (40, 20),
            ["red"],
            "The designated region is outlined in red.",
        ),
        (
            "crop",
            {"question": ANY_BALL, "region": LEFT},
            (20, 20),
            [],
            "The picture shows the designated region and nothing else.",
        ),
        (
            "words",
            {"question": ANY_BALL, "region": LEFT},
            (40, 20),
            [],
            f"The designated region is that {corners(LEFT)}.",
        ),
        ("draw", {}, (40, 20), [], "Question: Is there a ball?"),  # in the whole image
        ("crop", {}, (40, 20), [], "Question: Is there a ball?"),  # likewise
        # about one object
        (
            "draw",
            {"question": IS_SMALL},
            (40, 20),
            ["red"],
            "Cube 1 is the only cube that is red in the region outlined in red.",
        ),
        ("crop", {"question": IS_SMALL}, (20, 20), [], "Cube 1 is the only cube that is red in the picture."),
        (
            "words",
            {"question": IS_SMALL},
            (40, 20),
            [],
            f"Cube 1 is the only cube that is red in the region {corners(LEFT)}.",
        ),
        (
            "draw",
            {"question": IS_SMALL, "labels": {"cube 1": None}},
            (40, 20),
            [],
            "Cube 1 is the only cube that is red in the picture.",
        ),  # found in the whole image
        (
            "draw",
            {
                "question": IS_SMALL,
                "history": ((FOUND, "Is there a unique cube in the designated region made of metal?", True),),
            },
            (40, 20),
            ["red"],
            "Cube 1 is the only cube made of metal in the region outlined in red.",
        ),  # found by a participle
        (
            "draw",
            {
                "question": IS_SMALL,
                "history": ((FOUND, "Is there a unique cube that is red in the designated region?", True),),
            },
            (40, 20),
            ["red"],
            "Cube 1 is the only cube that is red in the region outlined in red.",
        ),  # in the paper's style
        (
            "draw",
            {
                "question": IS_SMALL,
                "labels": {"cube 1": None},
                "history": (
                    (FOUND | {"box": None}, "Is there a unique cube that something could be put into?", True),
                ),
            },
            (40, 20),
            [],
            "Cube 1 is the only cube that something could be put into in the picture.",
        ),  # in the whole image, by a question of its own
        (
            "words",
            {"question": IS_SMALL, "history": ((FOUND, TEXT, None),)},
            (40, 20),
            [],
            f"Cube 1 is a cube in the region {corners(LEFT)}.",
        ),  # answers are withheld
        # about two
        (
            "draw",
            {"question": CLOSER, "labels": NAMED, "history": TWICE},
            (40, 20),
            ["red", "blue"],
            "Cube 1 is the only cube that is red in the region outlined in red.\n"
            "Cube 2 is the only cube that is red, apart from those called cube before, "
            "in the region outlined in blue.",
        ),
        (
            "draw",
            {"question": CLOSER, "labels": {"cube 1": LEFT, "cube 2": LEFT}},
            (40, 20),
            ["red", "blue"],
            "Cube 1 is",
        ),  # of one region both outlines are seen
        (
            "crop",
            {"question": CLOSER, "labels": {"cube 1": LEFT, "cube 2": TOP}, "history": ()},
            (40, 20),
            [],
            f"Cube 1 is a cube in the region {corners(LEFT)}.\nCube 2 is a cube in the region {corners(TOP)}.",
        ),
        # objects that have a name already
        (
            "words",
            {"question": ANY_CUBE | {"box": None}},
            (40, 20),
            [],
            f"Do not count cube 1: the only cube that is red in the region {corners(LEFT)}.",
        ),
        (
            "draw",
            {"question": ANY_CUBE, "region": LEFT},
            (40, 20),
            ["red"],
            "The designated region is outlined in red.\n"
            "Do not count cube 1: the only cube that is red in the designated region.",
        ),
        (
            "crop",
            {"question": ANY_CUBE, "region": RIGHT},
            (20, 20),
            [],
            "The picture shows the designated region and nothing else.\n"
            "Do not count cube 1: the only cube that is red in another region.",
        ),
        (
            "draw",
            {"question": ANY_CUBE, "region": RIGHT, "labels": {"cube 1": None}},
            (40, 20),
            ["red"],
            "The designated region is outlined in red.\n"
            "Do not count cube 1: the only cube that is red in the whole picture.",
        ),
    ],
)
def test_pointing(how: Any, changes: dict[str, Any], size: Any, drawn: list[str], first: str, asked: Any) -> None:
    grey = np.full((20, 40, 3), 128, dtype=np.uint8)
    put = PromptStyle(how).prompt(asked(view=View("0", load_image=lambda: grey), **changes))
    assert put.text.startswith(first)
    assert put.text.endswith("Answer with one word, yes or no.")
    assert (put.picture.size, colours(put.picture)) == (size, drawn)
    assert (grey == 128).all()


def test_a_crop_has_the_pixels_of_its_region(asked: Any) -> None:
    question = asked(question=ANY_BALL, region=(0.25, 0.5, 0.75, 1.0))
    shown = np.asarray(PromptStyle("crop").prompt(question).picture)
    assert np.array_equal(shown, question.view.image()[10:20, 10:30])


def test_corners_are_those_of_the_crop(asked: Any) -> None:
    """The picture shows 0.2–0.8 of the width; the second object is in the right half of that."""
    labels = {"cube 1": (0.2, 0.0, 0.5, 1.0), "cube 2": (0.5, 0.5, 0.8, 1.0)}
    put = PromptStyle("crop").prompt(asked(question=CLOSER, labels=labels, history=()))
    assert put.picture.size == (24, 20)
    assert f"Cube 1 is a cube in the region {corners((0, 0, 0.5, 1))}." in put.text
    assert f"Cube 2 is a cube in the region {corners((0.5, 0.5, 1, 1))}." in put.text


@pytest.mark.parametrize(
    ("how", "count", "said"),
    [
        ("words", 0, []),  # nothing
        ("words", 1, [f"Is there a unique cube in the region {corners(RIGHT)} that is red? Yes."]),  # the last one
        (
            "crop",
            2,
            [
                "Is there a unique cube in another region that is red? No.",
                "Is there a unique cube in another region that is red? Yes.",
            ],
        ),  # of pictures not shown
        (
            "draw",
            "all",
            [
                f"Is there a unique cube in the region {corners(LEFT)} that is red? Yes.",
                f"Is there a unique cube in the region {corners(RIGHT)} that is red? No.",
                f"Is there a unique cube in the region {corners(RIGHT)} that is red? Yes.",
            ],
        ),  # all
        ("words", 9, 3),  # more than there are
    ],
)
def test_history(how: Any, count: Any, said: list[str] | int, asked: Any) -> None:
    text = PromptStyle(how, count).prompt(asked(question=ANY_BALL, region=LEFT, history=TWICE)).text
    told = [line.removeprefix("Earlier question: ") for line in text.splitlines() if line.startswith("Earlier")]
    assert (len(told) if isinstance(said, int) else told) == said


def test_withheld_answers_are_not_told(asked: Any) -> None:
    text = PromptStyle("words", "all").prompt(asked(history=((IS_SMALL, "Is cube 1 small?", None),))).text
    assert "Earlier question: Is cube 1 small?\n" in text


def test_a_prompt_of_ones_own(tmp_path: Path, asked: Any) -> None:
    file = tmp_path / "prompt.txt"
    file.write_text('{"q": "{question}"}\n\n\n{region}\n{long_question}', encoding="utf-8")
    put = PromptStyle.with_template("draw", 0, file).prompt(asked(text="Is {region} odd?"))
    assert put.text == '{"q": "Is {region} odd?"}\nIs there an instance of a ball?'


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{qestion}?", "unknown placeholder 'qestion', did you mean 'question'?"),  # misspelt
        ("{question} {zzz}", "unknown placeholder 'zzz'; there are region, labels"),  # unlike any
        ("Well?", "no place for the question"),  # no question
        (None, "cannot be read as a prompt"),  # no file
    ],
)
def test_bad_prompts(text: str | None, says: str, tmp_path: Path) -> None:
    file = tmp_path / "prompt.txt"
    if text is not None:
        file.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as raised:
        read_template(file)
    assert says in str(raised.value)


def test_the_default_prompt_is_a_prompt(tmp_path: Path) -> None:
    (tmp_path / "p").write_text(TEMPLATE, encoding="utf-8")
    assert read_template(tmp_path / "p") == TEMPLATE


def test_bad_manners(asked: Any) -> None:
    with pytest.raises(ConfigError, match="history must not be negative, found -1"):
        PromptStyle(history=-1)
    with pytest.raises(DataError, match="view has no image"):
        PromptStyle().prompt(asked(view=View("0")))
