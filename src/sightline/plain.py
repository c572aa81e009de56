"""Plain values: what may stand in a JSON document."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from enum import Enum
from typing import Any

import numpy as np


def plain(value: Any) -> Any:
    """Turn a result into JSON values: dataclasses by their fields, arrays as lists, None for what is no number.

    A class with a method ``to_dict`` says by itself what it becomes; fields that begin with an underscore are left
    out; sets become sorted lists.

    >>> plain({"a": (np.float64(1.5), float("nan")), "b": {2, 1}})
    {'a': [1.5, None], 'b': [1, 2]}
    """
    if value is None or (isinstance(value, str | bool | int) and not isinstance(value, Enum)):
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if hasattr(value, "to_dict"):
        return plain(value.to_dict())
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = [field.name for field in dataclasses.fields(value) if not field.name.startswith("_")]
        return {name: plain(getattr(value, name)) for name in fields}
    if isinstance(value, Mapping):
        return {str(plain(key)): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, set | frozenset):
        return sorted(plain(item) for item in value)
    return _other(value)


def _other(value: Any) -> Any:
    """The rarer kinds of value; a text for anything JSON has no word for."""
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    return plain(value.value) if isinstance(value, Enum) else str(value)
