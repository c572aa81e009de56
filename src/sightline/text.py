"""Words for messages and file names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from hashlib import blake2b
from typing import Final
from urllib.parse import unquote_plus

_LONGEST: Final = 80
"""Characters of a text in a file's name; file systems allow 255 bytes in all."""


_STEERS: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufeff]"
)
"""Characters that move the cursor, change colours, hide or turn round what follows."""


_ADDRESS: Final = re.compile(r"(https?://)([^\s/?#]*@)?([^\s?#,]*)(\?[^\s#,]*)?(?:#[^\s,]*)?", re.IGNORECASE)
_SECRET_NAME: Final = re.compile(r"key|token|secret|sig|auth|pass|pwd|cred|session|jwt|code|access", re.IGNORECASE)
_REASONING: Final = re.compile(r"^.*</think(?:ing)?\s*>|<think(?:ing)?\b.*$", re.IGNORECASE | re.DOTALL)
"""Everything up to the last end of reasoning; what was begun after that, and never ended."""
_LONGEST_OPEN: Final = 12
"""Characters of a value of a query that is not taken for a secret: versions, names."""


def counted(n: int, thing: str, things: str = "") -> str:
    """How many of something; `things` where more of them do not merely end with an s.

    >>> counted(1, "scene"), counted(1200, "scene"), counted(2, "class", "classes")
    ('1 scene', '1,200 scenes', '2 classes')
    """
    return f"{n:,} {thing}" if n == 1 else f"{n:,} {things or thing + 's'}"


def one_of(words: Sequence[str]) -> str:
    """Words of which one will do.

    >>> one_of(["a"]), one_of(["a", "b", "c"])
    ('a', 'a, b or c')
    """
    return " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def without_reasoning(text: str) -> str:
    """What a model wrote after its reasoning (``<think>…</think>``); nothing where the reasoning never ended.

    >>> [without_reasoning(text) for text in ("<think>Is it? No…</think> **Yes**", "<think>Well", "No")]
    [' **Yes**', '', 'No']
    """
    return _REASONING.sub("", text) if "<think" in text.lower() or "</think" in text.lower() else text


def printable(text: str) -> str:
    r"""A text from a model, a server or a dataset as it may go to a terminal: what would steer it is spelled out.

    That are control characters but line breaks and tabs, overrides of the writing direction, and lone surrogates.

    >>> printable("a\x1b[2Jb"), printable("né\tq\n"), printable("\u202eexe.txt\r")
    ('a\\x1b[2Jb', 'né\tq\n', '\\u202eexe.txt\\x0d')
    """
    return _STEERS.sub(lambda match: _spelled(ord(match[0])), text)


def without_secrets(text: str) -> str:
    """A text whose web addresses have lost name and password, and the values of their query that may be secret.

    A value stays where it is short and its name is not that of a key, token, password or signature.

    >>> without_secrets("http:url=https://me:pw@host/v1?version=2&api_key=abc,kind=chat")
    'http:url=https://…@host/v1?version=2&api_key=…,kind=chat'
    """
    return _ADDRESS.sub(lambda found: _shown_address(*found.groups("")), text)


def secrets_of(address: str) -> list[str]:
    """What `without_secrets` takes out of a web address, as written and as a server reads it; longest first."""
    found = _ADDRESS.search(address)
    if found is None:
        return []
    _, person, _, query = found.groups("")
    hidden = [*person.rstrip("@").split(":", 1), *(v for n, _, v in _pairs(query) if not _is_open(n, v))]
    return sorted({word for value in hidden for word in (value, unquote_plus(value)) if word}, key=len)[::-1]


def _shown_address(scheme: str, person: str, place: str, query: str) -> str:
    values = "&".join(f"{n}{eq}{v if _is_open(n, v) else '…'}" for n, eq, v in _pairs(query))
    return f"{scheme}{'…@' if person else ''}{place}{'?' if query else ''}{values}"


def _pairs(query: str) -> list[tuple[str, str, str]]:
    """(name, equals sign, value) of a query; of a part without the sign all is value."""
    parts = [part.partition("=") for part in query.removeprefix("?").split("&")]
    return [(name, sign, value) if sign else ("", "", name) for name, sign, value in parts]


def _is_open(name: str, value: str) -> bool:
    return len(value) <= _LONGEST_OPEN and not _SECRET_NAME.search(name)


def _spelled(code: int) -> str:
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def file_name(text: str) -> str:
    """A text that can be part of a file's name; of a long one the end, made unique by a hash.

    >>> file_name("models/mine.py:Net")
    'models-mine.py-Net'
    """
    plain = re.sub(r"[^A-Za-z0-9_.=-]+", "-", text).strip("-.")
    if len(plain) <= _LONGEST:
        return plain
    return f"{plain[-_LONGEST:]}-{blake2b(text.encode(), digest_size=4).hexdigest()}"
