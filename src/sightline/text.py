"""Words for messages and file names."""

from __future__ import annotations

import re
from hashlib import blake2b
from typing import Final

_LONGEST: Final = 80
"""Characters of a text in a file's name; file systems allow 255 bytes in all."""


def counted(n: int, thing: str) -> str:
    """How many of something.

    >>> counted(1, "scene"), counted(1200, "scene")
    ('1 scene', '1,200 scenes')
    """
    return f"{n:,} {thing}" if n == 1 else f"{n:,} {thing}s"


def file_name(text: str) -> str:
    """A text that can be part of a file's name; of a long one the end, made unique by a hash.

    >>> file_name("models/mine.py:Net")
    'models-mine.py-Net'
    """
    plain = re.sub(r"[^A-Za-z0-9_.=-]+", "-", text).strip("-.")
    if len(plain) <= _LONGEST:
        return plain
    return f"{plain[-_LONGEST:]}-{blake2b(text.encode(), digest_size=4).hexdigest()}"
