"""Models by name: a frozen manifest, entry points of other packages, Python files and prediction files.

Nothing is imported until it is asked for. A spec is one of::

    bottom_edge                          a name
    size:margin=0.05,overlap=0.01        a name with options
    path/to/file.py:object               an object, class or factory in a Python file
    path/to/predictions.csv              answers made elsewhere (2.5VRD prediction CSV; predicate answers and those
                                         to the Turing exam may also be .jsonl), or a detections CSV
    path/to/weights.safetensors          a SORNet checkpoint
    weights.safetensors:glances=5        a SORNet checkpoint with options
    bottom_edge+path/to/detections.csv   the first one relates, the second one detects
    vlm:path=folder                      a vision-language model of transformers
    http:url=http://localhost:8000/answer  a model behind a server
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b, file_digest
from importlib.metadata import entry_points
from operator import attrgetter
from pathlib import Path
from types import MappingProxyType, UnionType
from typing import Any, Final, Literal, Union, get_args, get_origin, get_type_hints

from sightline.errors import ConfigError, MissingExtraError, ModelError, SightlineError
from sightline.exams.base import Candidate
from sightline.hints import did_you_mean
from sightline.models.composite import Composite
from sightline.skills import skills_of

_PYTHON = re.compile(r"(.+\.py):([^\W\d]\w*)")
_WEIGHTS = re.compile(r"(.+?\.safetensors)(?::(.*))?", re.IGNORECASE)

_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)

GROUP: Final = "sightline.models"
"""Entry point group in which other packages announce their models."""


@dataclass(frozen=True, slots=True)
class ModelEntry:
    """One model that can be asked for by name.

    Attributes:
        name: What the user types.
        path: ``module:attribute`` of a class or factory.
        description: One line.
        skills: Skills it will have; empty where only importing it would tell.
        options: Constructor arguments set in advance.
        blind: It never looks at a picture, or at anything made from one.
        learns: It cannot answer without a training split.
    """

    name: str
    path: str
    description: str
    skills: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    blind: bool = False
    learns: bool = False


_TUNED: Final = {"margin": "tuned"}
_PRIOR: Final = "commoner answer given the {} of both, cross-fitted by scene"
# (skill, module below sightline.models) → name, class or factory, description, flags, preset options
_BUILT_IN: Final[dict[tuple[str, str], list[tuple[str, str, str, str, dict[str, Any]]]]] = {
    ("relate", "baselines.labels"): [
        ("random", "Random", "a fair die, seeded by cluster", "blind", {}),
        ("majority", "Majority", "always the training split's commonest label", "blind learns", {}),
        ("object_class", "ObjectClass", "the class pair's commonest label in training", "blind learns", {}),
        ("class_prior", "BlindClassPrior", "class-pair prior cross-fitted by cluster", "blind", {}),
    ],
    ("relate", "baselines.rules"): [
        ("size", "Size", "the larger box is closer, Δ = 0", "blind", {}),
        ("size_tuned", "Size", "size, Δ tuned on training", "blind learns", _TUNED),
        ("location", "Location", "the lower box centre is closer, Δ = 0.02", "blind", {}),
        ("location_tuned", "Location", "location, Δ tuned on training", "blind learns", _TUNED),
        ("bottom_edge", "BottomEdge", "the lower bottom edge is closer, Δ = 0", "blind", {}),
        ("bottom_edge_tuned", "BottomEdge", "bottom edge, Δ tuned", "blind learns", _TUNED),
    ],
    ("relate", "baselines.depth"): [
        ("depth", "depth", "the smaller mean depth is closer; folder=PATH or onnx=PATH", "", {}),
        ("depth_tuned", "depth", "depth, Δ tuned; folder=PATH", "learns", _TUNED),
        ("onnx_depth", "onnx_depth", "depth rule on an ONNX depth network; path=PATH", "", {}),
    ],
    ("relate", "adapters.answers"): [
        ("predictions", "Predictions", "answers from a 2.5VRD prediction CSV; path=PATH", "", {})
    ],
    ("detect", "adapters.answers"): [
        ("detections", "DetectionsFile", "boxes from a detections CSV; path=PATH", "", {})
    ],
    ("predicates", "baselines.predicates"): [
        ("predicates_majority", "PredicatesMajority", "always the data's commoner answer", "blind", {}),
        ("shape_prior", "LookPrior", _PRIOR.format("shape"), "blind", {"looks": "shape"}),
        ("size_prior", "LookPrior", _PRIOR.format("size"), "blind", {"looks": "size"}),
        ("shape_size_prior", "LookPrior", _PRIOR.format("shape and size"), "blind", {"looks": "shape+size"}),
    ],
    ("predicates", "adapters.answers"): [
        ("predicate_answers", "PredicateAnswers", "predicate answers from a CSV or JSONL; path=PATH", "", {})
    ],
    ("predicates", "sornet"): [("sornet", "shipped", "the trained SORNet that comes with Sightline", "", {})],
    ("answer", "baselines.turing"): [
        ("always_yes", "Always", "yes to every question", "blind", {"word": "yes"}),
        ("always_no", "Always", "no to every question", "blind", {"word": "no"}),
        ("coin", "Coin", "a fair coin, seeded by question and history", "blind", {}),
        ("turing_engine", "TuringEngine", "yes where the engine's own estimate says so", "blind learns", {}),
        ("turing_history", "TuringHistory", "learned from questions and true answers", "blind learns", {}),
    ],
    ("answer", "adapters.answers"): [
        ("answers", "TuringAnswers", "Turing answers from a CSV or JSONL; path=PATH", "", {})
    ],
    ("answer", "adapters.vlm"): [
        ("vlm", "VisionLanguage", "a vision-language model; path=FOLDER or hub=ORG/NAME", "", {})
    ],
    ("answer", "adapters.http"): [
        ("http", "http", "a model behind a server; url=URL, or with kind=chat,model=NAME", "", {})
    ],
}

MANIFEST: Final[Mapping[str, ModelEntry]] = MappingProxyType(
    {
        name: ModelEntry(
            name, f"{__package__}.{module}:{maker}", text, (skill,), options, "blind" in flags, "learns" in flags
        )
        for (skill, module), rows in _BUILT_IN.items()
        for name, maker, text, flags, options in rows
    }
)
"""Models that come with Sightline, by name."""


def available() -> list[ModelEntry]:
    """Every model that has a name, built in first."""
    return list(_entries().values())


def load(spec: str, wanted: Sequence[str] = ()) -> object:
    """Load the model a spec stands for (see the module's docstring), with a display `name` where it can take one.

    Args:
        spec: The spec.
        wanted: Skills that are looked for. They choose nothing; an error about a file of answers names the columns
            that such a file has.

    Raises:
        ModelError: No such model, or it cannot be loaded.
        ConfigError: An option it does not have, or a value that does not fit.

    >>> load("location:margin=0.1").facts()["margin"]
    0.1
    """
    parts = _parts(spec)
    if len(parts) == 2:
        relater: Any = load(parts[0], ("relate",))
        detector: Any = load(parts[1], ("detect",))
        return Composite(relater, detector)
    model = _load_one(spec, wanted)
    if not getattr(model, "name", None):
        with suppress(AttributeError, TypeError):  # frozen or slotted: name_of still knows
            model.name = _display(spec)
    return model


def candidate(model: object, name: str = "", *, wanted: Sequence[str] = ()) -> Candidate:
    """Make a model ready for an exam: given by a spec, or as an object with a skill.

    Args:
        model: A spec (see the module's docstring), or the model itself.
        name: How tables call an object; by default its own `name`, else its type's.
        wanted: Skills that are looked for (see `load`).
    """
    if not isinstance(model, str):
        called = name or name_of(model)
        return Candidate(spec=called, name=called, model=model, loadable=False)
    spec, model = model, load(model, wanted)
    hashed = fingerprint(spec) or str(getattr(model, "fingerprint", ""))  # shipped weights change with a release
    return Candidate(spec=spec, name=name_of(model, spec), model=model, fingerprint=hashed)


def fingerprint(spec: str) -> str:
    """Hash of the files a spec names, empty where it names none.

    A file counts by its content, a folder by the names, sizes and times of the files in it.
    """
    files = [path for part in _parts(spec) for path in _paths(part)]
    if not files:
        return ""
    digest = blake2b(digest_size=16)
    for path in files:
        if path.is_dir():
            for child in sorted(path.rglob("*")):
                status = child.stat()
                digest.update(f"{child.relative_to(path)}|{status.st_size}|{status.st_mtime_ns}\n".encode())
        else:
            with path.open("rb") as file:
                digest.update(file_digest(file, "blake2b").digest())
    return digest.hexdigest()


def is_blind(spec: str) -> bool:
    """Whether a spec relates by one of the built-in rules and priors that never look at a picture.

    >>> is_blind("size:margin=0.1"), is_blind("mine.py:Net")
    (True, False)
    """
    entry = _built_in(spec)
    return entry is not None and entry.blind


def needs_training(spec: str) -> bool:
    """Whether a spec is a built-in model that cannot answer without a training split.

    >>> needs_training("size_tuned"), needs_training("size")
    (True, False)
    """
    entry = _built_in(spec)
    return entry is not None and entry.learns


def name_of(model: object, spec: str = "") -> str:
    """Display name of a model: its own, else the spec without folders, else its type's.

    >>> name_of(object(), "models/mine.py:Net")
    'mine.py:Net'
    """
    own = getattr(model, "name", None)
    if isinstance(own, str) and own:
        return own
    return _display(spec) if spec else type(model).__name__


def _display(spec: str) -> str:
    return re.sub(r"[^=,:]*[/\\]", "", spec)


def _load_one(spec: str, wanted: Sequence[str]) -> Any:
    head, _, rest = spec.partition(":")
    entries = _entries()
    if head in entries:
        return _build(entries[head], parse(head, rest))
    if python := _PYTHON.fullmatch(spec):
        return _resolve("sightline.models.adapters.python:load_object")(Path(python[1]), python[2])
    if re.search(r"\.py(:.*)?$", spec):
        raise ModelError(f"{spec}: say which object of the file is the model, as in file.py:name")
    if weights := _WEIGHTS.fullmatch(spec):
        return _checkpoint(Path(weights[1]), parse(weights[1], weights[2] or ""))
    if Path(spec).suffix.lower() in (".csv", ".jsonl"):
        return _resolve("sightline.models.adapters.answers:open_answers")(Path(spec), wanted)
    raise _unknown(head, entries)


def _checkpoint(path: Path, given: Mapping[str, str]) -> Any:
    if not path.is_file():
        raise ModelError(f"{path}: no such file")
    target = _imported(str(path), "sightline.models.nets.checkpoints:model_loader")(path)
    return _called(str(path), partial(target, path, **bind(str(path), target, {}, given)))


def _parts(spec: str) -> list[str]:
    """The spec, or its two halves where a plus joins two specs; a plus may also stand in a file's name."""
    for plus in re.finditer(r"\+", spec):
        halves = [spec[: plus.start()], spec[plus.end() :]]
        if all(map(_stands_alone, halves)):
            return halves
    return [spec]


def _paths(spec: str) -> list[Path]:
    """Existing files and folders that one spec names."""
    head, _, rest = spec.partition(":")
    if head in _entries():
        named = [Path(value) for value in parse(head, rest).values()]
    else:
        file = _PYTHON.fullmatch(spec) or _WEIGHTS.fullmatch(spec)
        named = [Path(file[1] if file else spec)]
    return [path for path in named if path.exists()]


def _stands_alone(spec: str) -> bool:
    """Whether this is a spec that a plus may join to another."""
    named = spec.partition(":")[0] in _entries() or _PYTHON.fullmatch(spec)
    return bool(named) or spec.lower().endswith(".csv")


def _entries() -> dict[str, ModelEntry]:
    """Built-in models, then those of other packages; a built-in name cannot be taken over."""
    others = {
        point.name: ModelEntry(point.name, point.value, f"from {point.dist.name if point.dist else point.value}")
        for point in entry_points(group=GROUP)
        if point.name not in MANIFEST
    }
    return {**MANIFEST, **others}


def _built_in(spec: str) -> ModelEntry | None:
    """The entry of a spec's first part, unless it is not one of the built-in models."""
    return MANIFEST.get(_parts(spec)[0].partition(":")[0])


def _unknown(name: str, known: Mapping[str, ModelEntry]) -> ModelError:
    near = did_you_mean(name, known) or ";"
    return ModelError(
        f"unknown model {name!r}{near} known are {', '.join(known)}, or give file.py:object, predictions.csv or "
        "a checkpoint, weights.safetensors"
    )


def _resolve(path: str) -> Callable[..., Any]:
    module, _, attribute = path.partition(":")
    target: Callable[..., Any] = attrgetter(attribute)(importlib.import_module(module))
    return target


def _imported(name: str, path: str) -> Callable[..., Any]:
    """Like `_resolve`, for what may need a package that is not there."""
    try:
        return _resolve(path)
    except (ImportError, AttributeError) as error:
        missing = getattr(error, "name", "") or ""
        if missing in ("torch", "safetensors") and isinstance(error, ModuleNotFoundError):
            raise MissingExtraError(missing, extra="torch") from None
        raise ModelError(f"{name}: cannot import {path}: {error}") from error


def _build(entry: ModelEntry, given: Mapping[str, str]) -> Any:
    """Call the entry's class or factory with its preset and the given options."""
    target = _imported(entry.name, entry.path)
    return _called(entry.name, partial(target, **bind(entry.name, target, entry.options, given)))


def _called(name: str, make: Callable[[], Any]) -> Any:
    """What `make` gives, if it has a skill; whatever goes wrong in there becomes a ModelError."""
    try:
        model = make()
    except SightlineError:
        raise
    except Exception as error:
        raise ModelError(f"{name}: {type(error).__name__}: {error}") from error
    if not skills_of(model):
        raise ModelError(f"{name}: {type(model).__name__} has no skill")
    return model


def parse(model: str, text: str) -> dict[str, str]:
    """``key=value,key=value`` as a dict of texts; a value holds no comma.

    >>> parse("size", "margin=0.1,overlap=auto")
    {'margin': '0.1', 'overlap': 'auto'}
    """
    options: dict[str, str] = {}
    for part in text.split(",") if text else ():
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not (equals and key and value):
            raise ConfigError(f"{model}: expected option=value, found {part!r}")
        if key in options:
            raise ConfigError(f"{model}: option {key!r} is given twice")
        options[key] = value
    return options


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
        if key not in parameters:
            raise _unknown_option(model, key, list(parameters))
        try:
            values[key] = convert(text, hints.get(key, Any))
        except ValueError as error:
            raise ConfigError(f"{model}: option {key}: expected {error}, found {text!r}") from None
    missing = [name for name, p in parameters.items() if p.default is p.empty and name not in values]
    if missing:
        raise ConfigError(f"{model} needs the option {missing[0]}, as in {model}:{missing[0]}=…")
    return values


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
