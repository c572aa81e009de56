"""A model of one's own: an object, class or factory in a Python file."""

from __future__ import annotations

import importlib.util
import inspect
import sys
import traceback
from hashlib import blake2s
from pathlib import Path
from types import ModuleType

from sightline.errors import ModelError
from sightline.hints import did_you_mean
from sightline.skills import SKILLS, skills_of


def load_object(file: Path, name: str) -> object:
    """The model called `name` in a Python file.

    The file is run as a module of its own; neither the working directory nor its folder is put on ``sys.path``.
    A class is called without arguments, and so is a function without a skill of its own (a factory).

    Raises:
        ModelError: If the file cannot be run, has no such name, or what it gives has no skill.
    """
    model = _lookup(_run(file), name, file)
    if inspect.isclass(model) or (callable(model) and not skills_of(model)):
        try:
            model = model()
        except Exception as error:
            raise ModelError(f"{file}:{name}: calling it failed: {_cause(error, file)}") from error
    if not skills_of(model):
        wanted = " or ".join(f"{skill}()" for skill in SKILLS)
        raise ModelError(f"{file}:{name}: {type(model).__name__} has no skill (expected a method {wanted})")
    return model


def _run(file: Path) -> ModuleType:
    if not file.is_file():
        raise ModelError(f"{file}: no such file")
    # The module stays in sys.modules: dataclasses and pickle look their module up there.
    module_name = f"sightline_model_{blake2s(str(file.resolve()).encode(), digest_size=8).hexdigest()}"
    spec = importlib.util.spec_from_file_location(module_name, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[module_name]
        raise ModelError(f"{file}: running it failed: {_cause(error, file)}") from error
    return module


def _lookup(module: ModuleType, name: str, file: Path) -> object:
    if hasattr(module, name):
        value: object = getattr(module, name)
        return value
    public = [n for n in vars(module) if not n.startswith("_")]
    raise ModelError(f"{file}: no object {name!r}{did_you_mean(name, public)}")


def _cause(error: BaseException, file: Path) -> str:
    """Kind and text of an error, with the last line of the user's own file it passed through."""
    if isinstance(error, SyntaxError) and error.lineno is not None:
        return f"SyntaxError: {error.msg} (line {error.lineno})"
    frames = traceback.extract_tb(error.__traceback__)
    lines = [f.lineno for f in frames if Path(f.filename).resolve() == file.resolve()]
    place = f" (line {lines[-1]})" if lines else ""
    return f"{type(error).__name__}: {error}{place}"
