"""Models by spec (`models.specs`): loaded, named, and known again by what their answers depend on."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from hashlib import blake2b, file_digest
from operator import attrgetter
from pathlib import Path
from typing import Any, Final

from sightline.errors import MissingExtraError, ModelError, SightlineError
from sightline.exams.base import Candidate
from sightline.exams.run import UNKNOWN_MODEL
from sightline.hints import did_you_mean
from sightline.models.composite import Composite, own_model, with_depth_rule
from sightline.models.identity import object_fingerprint
from sightline.models.manifest import MANIFEST, ModelEntry, entries
from sightline.models.options import bind, parse, spelling_of
from sightline.models.specs import (
    PYTHON,
    WEIGHTS,
    canonical,
    is_answers,
    is_there,
    parts_of,
    paths_of,
    shown_name,
    trained,
)
from sightline.skills import skills_of
from sightline.text import without_secrets

_REMOTE: Final = ("http", "openai")
"""Models that are known by what they say of themselves, whatever files happen to have their names."""


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
    parts = parts_of(spec)
    if len(parts) == 2:
        return Composite(load(parts[0], wanted or ("relate",)), load(parts[1], ("detect",)))
    model = with_depth_rule(_loader(spec, wanted)())
    if not getattr(model, "name", None):
        with suppress(AttributeError, TypeError):  # frozen or slotted: name_of still knows
            model.name = shown_name(without_secrets(spec))
    return model


def candidate(model: object, name: str = "", *, wanted: Sequence[str] = ()) -> Candidate:
    """Make a model ready for an exam: given by a spec, or as an object with a skill.

    Args:
        model: A spec (see the module's docstring), or the model itself.
        name: How tables and folders call it; by default its own `name`, else its spec or its type's.
        wanted: Skills that are looked for (see `load`).
    """
    if not isinstance(model, str):
        called = name or name_of(model)
        hashed = object_fingerprint(model)
        model = with_depth_rule(model)
        return Candidate(spec=called, name=called, model=model, fingerprint=hashed, loadable=False)
    spec = canonical(model)
    loaded = load(spec, wanted)
    hashed, shown = spec_fingerprint(spec, loaded), without_secrets(spec)
    called = name or name_of(loaded, shown)
    return Candidate(shown, called, loaded, fingerprint=hashed, called=name, private="" if shown == spec else spec)


def spec_fingerprint(spec: str, model: object) -> str:
    """Hash of all that a loaded spec's answers depend on beside its words; empty for a built-in rule.

    Args:
        spec: The spec.
        model: What it stands for.
    """
    parts = parts_of(spec)
    models = model.parts if isinstance(model, Composite) else [model]
    hashes = [_fingerprint_one(*pair) for pair in zip(parts, models, strict=True)]
    unknown = [hashed for hashed in hashes if hashed.startswith(UNKNOWN_MODEL)]
    if unknown or len(hashes) == 1:
        return (unknown or hashes)[0]
    return blake2b("+".join(hashes).encode(), digest_size=16).hexdigest() if any(hashes) else ""


def _fingerprint_one(spec: str, model: object) -> str:
    if python := PYTHON.fullmatch(spec):
        return object_fingerprint(own_model(model), Path(python[1]))
    if spec.partition(":")[0] in _REMOTE:
        return str(getattr(model, "fingerprint", ""))
    if spec.partition(":")[0] in MANIFEST or is_answers(spec) or WEIGHTS.fullmatch(spec):
        return fingerprint(spec) or str(getattr(model, "fingerprint", ""))  # shipped weights change with a release
    return object_fingerprint(model)  # of another package


def fingerprint(spec: str) -> str:
    """Hash of the files a spec names, empty where it names none.

    A file counts by its content, a folder by the names, sizes and times of the files in it.
    """
    files = [path for part in parts_of(spec) for path in paths_of(part)]
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


def name_of(model: object, spec: str = "") -> str:
    """Display name of a model: its own, else the spec without folders, else its type's.

    >>> name_of(object(), "models/mine.py:Net")
    'mine.py:Net'
    """
    own = getattr(model, "name", None)
    if isinstance(own, str) and own:
        return own
    return shown_name(spec) if spec else type(model).__name__


def check_spec(spec: str) -> None:
    """Refuse a spec that names no model, or a file that is not there, by a ModelError; nothing is loaded."""
    for part in parts_of(spec):
        _loader(part, ())


def _loader(spec: str, wanted: Sequence[str]) -> Callable[[], Any]:
    """What loads the model of one spec; a ModelError where there is no such model."""
    spec = trained(spec)
    head, _, rest = spec.partition(":")
    known = MANIFEST if head in MANIFEST else entries()
    if head in known:
        if rest and ("=" not in rest or rest.startswith("//")) and spelling_of(spec):
            raise _unknown(spec, known)
        return partial(_build, known[head], parse(head, rest, known[head].alone), wanted)
    if python := PYTHON.fullmatch(spec):
        file, name = _present(python[1]), python[2]
        return lambda: _resolve("sightline.models.adapters.python:load_object")(file, name)
    if re.search(r"\.py(:.*)?$", spec):
        raise ModelError(f"{spec}: say which object of the file is the model, as in file.py:name")
    if weights := WEIGHTS.fullmatch(spec):
        return partial(_checkpoint, _present(weights[1]), parse(weights[1], weights[2] or ""))
    if is_answers(spec):
        answers = _present(spec)
        return lambda: _resolve("sightline.models.adapters.answers:open_answers")(answers, wanted)
    raise _unknown(spec, known)


def _present(path: str) -> Path:
    if not is_there(Path(path)):
        raise ModelError(f"{path}: no such file")
    return Path(path)


def _checkpoint(path: Path, given: Mapping[str, str]) -> Any:
    target = _imported(str(path), "sightline.models.nets.checkpoints:model_loader")(path)
    return _called(str(path), partial(target, path, **bind(str(path), target, {}, given)))


def _unknown(spec: str, known: Mapping[str, ModelEntry]) -> ModelError:
    name = spec.partition(":")[0]
    if spelling := spelling_of(spec):
        return ModelError(f"unknown model {without_secrets(spec)!r}, did you mean {without_secrets(spelling)!r}?")
    near = did_you_mean(name, known) or ";"
    return ModelError(
        f"unknown model {name!r}{near} `sightline models` lists the names; others are file.py:object, "
        "hf:PATH-OR-ID, onnx:FILE, openai:MODEL, predictions.csv or a checkpoint, weights.safetensors"
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


def _build(entry: ModelEntry, given: Mapping[str, str], wanted: Sequence[str]) -> Any:
    """Call the entry's class or factory with its preset and the given options."""
    target = _imported(entry.name, entry.path)
    told = {"wanted": wanted} if entry.name == "answers" else {}
    return _called(entry.name, partial(target, **bind(entry.name, target, {**entry.options, **told}, given)))


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
