"""Options in a model's spec, ``key=value,key=value``, as arguments of what makes it; other tools' spellings."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from types import UnionType
from typing import Any, Final, Literal, Union, get_args, get_origin, get_type_hints

from sightline.errors import ConfigError
from sightline.hints import did_you_mean

_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)

_SERVICES: Final = {
    "ollama": "{},url=http://localhost:11434/v1",
    **dict.fromkeys(("vllm", "llama", "llamacpp", "lmstudio"), "{},url=http://localhost:8000/v1"),
    **dict.fromkeys(("anthropic", "azure", "chat", "gemini", "gpt", "mistral"), "{},url=BASE_URL"),
}
"""What others call a server that speaks OpenAI's chat completions → what follows ``openai:``."""

_HUBS: Final = ("huggingface", "hub", "transformers", "vlm")
EXTRA: Final = "extra"
"""Option whose parts, ``extra.KEY=VALUE``, go to a server as they are."""


def parse(model: str, text: str, alone: str = "") -> dict[str, str]:
    """``key=value,key=value`` as a dict of texts; a value holds no comma.

    Args:
        model: Whose options.
        text: The options.
        alone: Option whose value may stand alone in front; empty for none.

    >>> parse("size", "margin=0.1,overlap=auto"), parse("onnx", "net.onnx,output=logits", "path")
    ({'margin': '0.1', 'overlap': 'auto'}, {'path': 'net.onnx', 'output': 'logits'})
    >>> parse("openai", "http://localhost:8000/v1#llava", "model")
    {'model': 'llava', 'url': 'http://localhost:8000/v1'}
    """
    options: dict[str, str] = {}
    for place, part in enumerate(text.split(",") if text else ()):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if alone and not place and (not equals or "://" in key):
            key, equals, value = alone, "=", part.strip()
            if "://" in value:
                options["url"], sharp, value = value.rpartition("#")
                if not sharp:
                    raise ConfigError(f"{model}: which model is it? Name it behind the address: BASE_URL#MODEL")
        if not (equals and key and value):
            found = "something else; in an address a comma is %2C" if "://" in text else repr(part)
            raise ConfigError(f"{model}: expected option=value, found {found}")
        if key in options:
            raise ConfigError(f"{model}: option {key!r} is given twice")
        options[key] = value
    return {key: options[key] for key in sorted(options, key=lambda key: key != alone)} if alone else options


def bind(
    model: str, target: Callable[..., Any], preset: Mapping[str, Any], given: Mapping[str, str]
) -> dict[str, Any]:
    """Arguments for `target`: the preset ones, overridden by the given texts turned into the annotated types.

    Raises:
        ConfigError: For an option `target` does not take, a value that does not fit, or one that is missing.
    """
    parameters = {n: p for n, p in inspect.signature(target).parameters.items() if p.kind in _NAMED}
    hints = _hints(target)
    values = dict(preset)
    for key, text in given.items():
        if key.startswith(f"{EXTRA}.") and EXTRA in parameters:
            _nest(values.setdefault(EXTRA, {}), key.split(".")[1:], _json_value(text))
            continue
        if key not in parameters or key == EXTRA:
            raise _unknown_option(model, key, list(parameters))
        try:
            values[key] = convert(text, hints.get(key, Any))
        except ValueError as error:
            raise ConfigError(f"{model}: option {key}: expected {error}, found {text!r}") from None
    missing = [name for name, p in parameters.items() if p.default is p.empty and name not in values]
    if missing:
        raise ConfigError(f"{model} needs the option {missing[0]}, as in {model}:{missing[0]}=…")
    return values


def _json_value(text: str) -> Any:
    """The JSON value a text is, else the text.

    >>> _json_value("false"), _json_value("0.5"), _json_value("low")
    (False, 0.5, 'low')
    """
    try:
        return json.loads(text)
    except ValueError:
        return text


def _nest(values: dict[str, Any], names: list[str], value: Any) -> None:
    """Put a value into an object of objects."""
    for name in names[:-1]:
        values = values.setdefault(name, {})
    values[names[-1]] = value


def convert(text: str, hint: Any) -> Any:
    """The text as the annotated type; ValueError with what was expected.

    >>> convert("0.5", float | Literal["tuned"]), convert("true", bool), convert("7", Any)
    (0.5, True, 7)
    """
    arms = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    if hint is Any:
        arms = (bool, int, float, str)
    for arm in arms:
        if get_origin(arm) is Literal and text in get_args(arm):
            return text
        if arm is bool and text.lower() in ("true", "false"):
            return text.lower() == "true"
        if arm in (int, float):
            with suppress(ValueError):
                return arm(text)
        if arm in (str, Path):
            return arm(text)
    raise ValueError(" or ".join(_expected(arm) for arm in arms if arm is not type(None)))


def _unknown_option(model: str, key: str, known: list[str]) -> ConfigError:
    near = did_you_mean(key, known) or f"; its options: {', '.join(known) or 'none'}"
    return ConfigError(f"{model} has no option {key!r}{near}")


def _hints(target: Callable[..., Any]) -> dict[str, Any]:
    try:
        return get_type_hints(target.__init__ if inspect.isclass(target) else target)
    except NameError:  # annotations of someone else's code that only exist for the type checker
        return {}


def _expected(arm: Any) -> str:
    if get_origin(arm) is Literal:
        return " or ".join(map(str, get_args(arm)))
    return {bool: "true or false", int: "a whole number", float: "a number"}.get(arm, str(arm))


def spelling_of(spec: str) -> str:
    """How a spec should be written that follows another tool's habits; empty where nothing comes to mind.

    >>> spelling_of("huggingface:org/name"), spelling_of("ollama:llava")
    ('hf:org/name', 'openai:llava,url=http://localhost:11434/v1')
    """
    head, _, rest = spec.partition(":")
    if head in ("http", "https") and rest.startswith("//"):
        return f"http:url={spec}"
    if head == "http" and rest:
        return f"http:url={rest if '//' in rest else f'http://{rest}'}"
    if head in _SERVICES:
        return f"openai:{_SERVICES[head].format(rest or 'NAME')}"
    place = rest if head in _HUBS else spec if not rest else ""
    if (Path(place) / "config.json").is_file() and place:
        return f"hf:{place}"
    if re.fullmatch(r"[\w.-]+/[\w.-]+", place) and not Path(place).exists() and Path(place).suffix != ".py":
        return f"hf:{place}"
    if head in _HUBS:
        return f"hf:{place or 'PATH-OR-ID'}"
    first = {"depth": "folder", "depth_tuned": "folder", "onnx_depth": "path"}
    first |= dict.fromkeys(("predictions", "detections", "predicate_answers"), "path")
    return f"{head}:{first[head]}={rest}" if head in first and rest else ""
