"""Calls of a model's methods: whatever goes wrong in there becomes an error that names the model and the line."""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sightline.errors import ModelError, SightlineError
from sightline.plain import plain


@contextmanager
def model_call(model: object, method: str) -> Iterator[None]:
    """Around a call of a model's method: turn whatever it raises into a ModelError that says where."""
    try:
        yield
    except SightlineError:
        raise
    except (Exception, SystemExit) as error:
        frames = traceback.extract_tb(error.__traceback__)[2:]  # above: this function, and its caller
        in_model = [frame for frame in frames if frame.filename == frames[0].filename]
        place = f" ({Path(in_model[-1].filename).name}, line {in_model[-1].lineno})" if in_model else ""
        raise ModelError(
            f"{type(model).__name__}: {method}() failed: {type(error).__name__}: {error}{place}"
        ) from error


def call_hook(model: object, hook: str, exam: str, argument: Callable[[], object | None]) -> None:
    """Call ``<hook>_<exam>`` where a model has it, else ``<hook>``, unless there is nothing to tell it.

    Args:
        model: The model; one without either method is left alone.
        hook: ``prepare`` or ``check``.
        exam: Name of the exam.
        argument: Makes what the method is given; only called where there is such a method.
    """
    for name in (f"{hook}_{exam}", hook):
        method = getattr(model, name, None)
        if callable(method):
            value = argument()
            if value is not None:
                with model_call(model, name):
                    method(value)
            return


def facts_of_model(model: object) -> dict[str, Any]:
    """What a model says of itself (chosen margins, weights…) as JSON values, or nothing."""
    facts = getattr(model, "facts", None)
    if not callable(facts):
        return {}
    with model_call(model, "facts"):
        values: dict[str, Any] = json.loads(json.dumps(dict(facts()), default=plain, allow_nan=False))
    return values
