"""What becomes of a model's reply."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.exams.turing.conversation import LATE, REPLIES, quoted, read_reply


@pytest.mark.parametrize(
    ("given", "word"),
    [
        (True, "yes"),  # a bool
        (False, "no"),
        (np.bool_(True), "yes"),  # of NumPy
        ("yes", "yes"),
        ("NO", "no"),  # case
        (" True\n", "yes"),  # space
        ("false.", "no"),
        ("y", "yes"),  # a letter
        ("N.", "no"),
        ("**Yes**", "yes"),  # marked up
        ('"no"', "no"),  # quoted
        ("Yes, there is a person.", "yes"),  # a sentence
        ("No person is there.", "no"),
        ("yes!!!", "yes"),
        ("no-one is there", "unparsed"),  # a longer word that begins so
        ("none", "unparsed"),
        ("yesterday", "unparsed"),
        ("nothing", "unparsed"),
        ("n/a", "abstain"),  # not a no
        ("abstain", "abstain"),
        ("I don't know.", "abstain"),
        ("I don’t know", "abstain"),  # a curly apostrophe
        ("not sure", "abstain"),
        ("I'm not sure", "abstain"),
        ("No idea", "abstain"),  # begins with no
        ("Cannot tell from here", "abstain"),
        ("unknown", "abstain"),
        ("yes or no", "unparsed"),  # both sides
        ("Yes/No", "unparsed"),
        ("true and false", "unparsed"),
        ("the answer is yes", "unparsed"),  # does not begin with it
        ("maybe", "unparsed"),
        ("", "unparsed"),  # nothing
        ("…", "unparsed"),
        (1, "unparsed"),  # a number is no answer
        (0.9, "unparsed"),
        (None, "unparsed"),
        (["yes"], "unparsed"),
        (b"yes", "unparsed"),
    ],
)
def test_replies(given: object, word: str) -> None:
    assert read_reply(given) == word


@given(st.one_of(st.text(), st.integers(), st.none(), st.lists(st.text())))
def test_every_reply_is_one_of_the_words_and_can_be_written_down(said: object) -> None:
    assert read_reply(said) in set(REPLIES) - {LATE}
    assert len(quoted(said).encode()) <= 4 * 600


def test_a_lone_surrogate_is_quoted() -> None:
    assert quoted("a\ud800b") == "a?b"
