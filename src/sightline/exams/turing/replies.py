"""What a model said, as one of five words: yes, no, abstain, unparsed or late."""

from __future__ import annotations

import re
from typing import Final

import numpy as np

from sightline.skills import ABSTAIN, UNPARSED

YES: Final = "yes"
NO: Final = "no"
LATE: Final = "late"
"""What a reply becomes that did not come before the deadline."""

REPLIES: Final = (YES, NO, ABSTAIN, UNPARSED, LATE)
"""All words of replies in records; only the first two can be right."""

_WORDS: Final = {"yes": YES, "true": YES, "no": NO, "false": NO, "abstain": ABSTAIN}
_DECORATION: Final = " \t\r\n\"'`*_“”‘’.,;:!()[]"
_LONGEST: Final = 200
_BOTH = re.compile(r"(yes|no|true|false|y|n)\s*(/|or\b|and\b)\s*(yes|no|true|false|y|n)\b")
_ABSTENTION = re.compile(
    r"(i\s+|i['’]?m\s+|i am\s+)?(abstain|pass|skip|unknown|unsure|undecided|uncertain|n/a|"
    r"don['’]?t know|do not know|cannot (say|tell)|can['’]?t (say|tell)|"
    r"not (sure|certain)|no (idea|answer|comment|opinion))\b"
)


def read_reply(given: object) -> str:
    """One of `REPLIES` (never ``late``) for whatever a model returned.

    A bool will do, as will a text that is or begins with yes, no, true or false, the single letters y and n, and
    the usual ways to decline. A reply that names both sides, and anything else, is ``unparsed``.
    Nothing is guessed.

    >>> [read_reply(r) for r in (True, "No.", "Yes, there is one.", "n", "I don't know", "yes or no", "maybe", 1)]
    ['yes', 'no', 'yes', 'no', 'abstain', 'unparsed', 'unparsed', 'unparsed']
    """
    if isinstance(given, bool | np.bool_):
        return YES if given else NO
    if not isinstance(given, str):
        return UNPARSED
    text = given.strip(_DECORATION).casefold()
    if text in ("y", "n"):
        return YES if text == "y" else NO
    if _BOTH.match(text):
        return UNPARSED
    if _ABSTENTION.match(text):
        return ABSTAIN
    first = re.match(r"[a-z]+(?![\w-])", text)
    return _WORDS.get(first[0], UNPARSED) if first else UNPARSED


def quoted(given: object) -> str:
    """An unreadable reply as a record keeps it: its beginning, and of what is not a text its type too.

    >>> quoted("maybe"), quoted(7)
    ('maybe', 'int: 7')
    """
    text = given if isinstance(given, str) else f"{type(given).__name__}: {given!r}"
    # Lone surrogates cannot be written as UTF-8.
    return text[:_LONGEST].encode("utf-8", "replace").decode()
