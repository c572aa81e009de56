"""Prompts in other words, or with options in another order: for the variations *paraphrase* and *circular*."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from sightline.exams.variants import paraphrase

_WORDS: Final = (
    ("Which of the two objects is closer to the camera?", "Which of the two things is nearer to the camera?"),
    (
        "Does one of the two objects hide a part of the other in the picture?",
        "In the picture, is a part of one of the two objects covered by the other?",
    ),
    ("Which of these are true?", "Which of these statements hold?"),
    ("Answer with", "Reply with"),
)
"""Sentences of prompts, and the same in other words."""
_FRONT = re.compile(r"^Where does the front of the (.+) point\?$", re.MULTILINE)
_TRUE = re.compile(r"^Is it true that (.+)\?$", re.MULTILINE)
_QUESTION = re.compile(r"^Question: (.+)$", re.MULTILINE)
_OPTIONS = re.compile(r"^(.*one word: )(.+) or (\w+(?: \([^)]*\))?)\.$", re.MULTILINE)
_APART = re.compile(r", (?![^(]*\))")
_LISTED = re.compile(r"(?:^(?:\d+|[a-z_]+): .+\n)+", re.MULTILINE)


def reworded(text: str) -> str:
    """A prompt in other words that mean the same; what may be answered stays.

    >>> reworded("Is it true that it is red?")
    'Does this hold: it is red?'
    """
    for sentence, other in _WORDS:
        text = text.replace(sentence, other)
    text = _FRONT.sub(r"In which direction does the \1 face?", text)
    text = _TRUE.sub(lambda match: f"Does this hold: {match[1]}?", text)
    return _QUESTION.sub(lambda match: f"Question: {paraphrase(match[1])}", text)


def reordered(text: str) -> str:
    """A prompt whose options are named from the last to the first.

    >>> reordered("Answer with one word: first, second, same (both, say) or unsure.")
    'Answer with one word: unsure, same (both, say), second or first.'
    >>> reordered("Answer with one word, yes or no.")
    'Answer with one word, no or yes.'
    """

    def turned(match: re.Match[str]) -> str:
        *most, first = [match[3], *reversed(_APART.split(match[2]))]
        return f"{match[1]}{', '.join(most)} or {first}."

    def upside_down(match: re.Match[str]) -> str:
        return "".join(reversed(match[0].splitlines(keepends=True)))

    text = _OPTIONS.sub(turned, text)
    text = re.sub(r"\b(yes|no) or (yes|no)\b", r"\2 or \1", text)
    return _LISTED.sub(upside_down, text)


PROMPT_VARIANTS: Final[Mapping[str, Callable[[str], str]]] = {"paraphrase": reworded, "circular": reordered}
"""Kind of variation → changes the text of a prompt."""
