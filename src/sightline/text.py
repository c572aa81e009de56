"""Words for messages and file names."""

from __future__ import annotations

import re
from hashlib import blake2b
from typing import Final

_LONGEST: Final = 80
"""Characters of a text in a file's name; file systems allow 255 bytes in all."""


_STEERS: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufeff]"
)
"""Characters that move the cursor, change colours, hide or turn round what follows."""


def counted(n: int, thing: str, things: str = "") -> str:
    """How many of something; `things` where more of them do not merely end with an s.

    >>> counted(1, "scene"), counted(1200, "scene"), counted(2, "class", "classes")
    ('1 scene', '1,200 scenes', '2 classes')
    """
    return f"{n:,} {thing}" if n == 1 else f"{n:,} {things or thing + 's'}"


def printable(text: str) -> str:
    r"""A text from a model, a server or a dataset as it may go to a terminal: what would steer it is spelled out.

    That are control characters but line breaks and tabs, overrides of the writing direction, and lone surrogates.

    >>> printable("a\x1b[2Jb"), printable("né\tq\n"), printable("\u202eexe.txt\r")
    ('a\\x1b[2Jb', 'né\tq\n', '\\u202eexe.txt\\x0d')
    """
    return _STEERS.sub(lambda match: _spelled(ord(match[0])), text)


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
