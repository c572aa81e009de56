"""Whether a model is still the one that answered: a hash of its code, of the files beside it and of its state.

A hash is only given where everything can be seen. Where something cannot (a class typed into a console, an open
connection), the fingerprint says so instead, and no run is taken up again by itself (`exams.run`).
"""

from __future__ import annotations

import ast
import inspect
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from threading import Lock, RLock
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, Final

import numpy as np

from sightline.exams.hooks import model_call
from sightline.exams.run import UNKNOWN_MODEL

_ATOMS: Final = (type(None), bool, int, float, complex, str, bytes, range, type(...), np.generic, np.dtype)
_STATELESS: Final = (type(Lock()), type(RLock()))

_BECAME: dict[str, str] = {}
"""Fingerprint of an object after it was asked → before: a counter or a cache makes no other model of it."""


class _HiddenError(Exception):
    """Something that decides what a model answers and cannot be hashed; the text says what."""


def object_fingerprint(model: object, file: Path | None = None) -> str:
    """Hash a model's code and state; `UNKNOWN_MODEL` with a reason where they cannot be told.

    A model's own attribute `fingerprint`, a text that is not empty, is taken at its word. The state is every
    attribute but the `name`: numbers, texts, collections, arrays, tensors and objects of these. The code is the
    file its class is in and the modules of the same folder that it imports; of an installed package the version.

    Args:
        model: The model.
        file: The Python file that made it.
    """
    with model_call(model, "fingerprint"):
        own = getattr(model, "fingerprint", None)
    if isinstance(own, str) and own:
        return own
    try:
        parts = [_Walk().of_object(model, without=("name",))]
    except _HiddenError as reason:
        return f"{UNKNOWN_MODEL}: {reason}"
    except RecursionError:
        return f"{UNKNOWN_MODEL}: it is nested too deeply to be hashed"
    if file is not None:
        parts.append(_files(source_files(file), file.parent))
    hashed = _digest("model", *parts).hex()
    return _BECAME.get(hashed, hashed)


def note_asked(model: object, before: str) -> None:
    """Remember, for this process, that a model became what it is now by being asked."""
    after = object_fingerprint(model)
    if not after.startswith(UNKNOWN_MODEL) and after != before:
        _BECAME[after] = before


def source_files(file: Path, root: Path | None = None) -> list[Path]:
    """Find a Python file and the modules it imports, directly or not, that lie under a folder.

    Args:
        file: The file.
        root: The folder; by default the file's own.
    """
    root, found, left = root or file.parent, {file: None}, [file]
    while left:
        path = left.pop()
        for module in _imports(path, root):
            if module not in found:
                found[module] = None
                left.append(module)
    return sorted(found)


def _imports(path: Path, root: Path) -> Iterator[Path]:
    """Files under a folder that a Python file imports anywhere in it."""
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _module_files(root, alias.name.split("."))
        elif isinstance(node, ast.ImportFrom):
            start = path.parents[node.level - 1] if 0 < node.level <= len(path.parents) else root
            base = node.module.split(".") if node.module else []
            for alias in node.names:
                yield from _module_files(start, [*base, alias.name])


def _module_files(start: Path, names: list[str]) -> Iterator[Path]:
    """Files of a module and of the packages around it, as far as they exist."""
    for depth in range(1, len(names) + 1):
        place = start.joinpath(*names[:depth])
        yield from (file for file in (place / "__init__.py", place.with_name(f"{place.name}.py")) if file.is_file())


def _digest(*parts: str | bytes | memoryview) -> bytes:
    made = blake2b(digest_size=16)
    for part in parts:
        data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        made.update(len(data).to_bytes(8, "little"))  # so that no two lists of parts run together alike
        made.update(data)
    return made.digest()


def _files(files: Iterable[Path], root: Path) -> bytes:
    """Hash files by their places below a folder and their content."""
    named = [(str(file.relative_to(root)) if file.is_relative_to(root) else file.name, file) for file in files]
    return _digest("files", *(part for name, file in named for part in (name, file.read_bytes())))


class _Walk:
    """One walk through everything a model holds; what is met again is not hashed again."""

    def __init__(self) -> None:
        self._met: dict[int, tuple[object, bytes]] = {}  # objects are kept, so that no id is used twice

    def of(self, value: Any) -> bytes:
        """Hash of any value."""
        if isinstance(value, _ATOMS):
            return _digest(type(value).__name__, repr(value))
        if id(value) in self._met:
            return self._met[id(value)][1]
        self._met[id(value)] = value, _digest("again", str(len(self._met)))  # for what contains itself
        try:
            hashed = self._of_kind(value)
        except RecursionError:
            raise
        except (TypeError, ValueError, RuntimeError) as error:  # a tensor without storage, a buffer of its own kind
            raise _HiddenError(f"a {type(value).__qualname__} in it cannot be hashed ({error})") from None
        self._met[id(value)] = value, hashed
        return hashed

    def _of_kind(self, value: Any) -> bytes:
        kind = type(value)
        if kind in (list, tuple):
            return _digest(kind.__name__, *map(self.of, value))
        if kind in (set, frozenset):
            return _digest(kind.__name__, *sorted(map(self.of, value)))
        if isinstance(value, Mapping) and (kind is dict or kind.__module__ in ("builtins", "collections")):
            return _digest(kind.__name__, *sorted(self.of(key) + self.of(item) for key, item in value.items()))
        if isinstance(value, np.ndarray):
            content = self.of(value.tolist()) if value.dtype.hasobject else _array_bytes(value)
            return _digest("array", str(value.dtype), str(value.shape), content)
        if (torch := sys.modules.get("torch")) is not None and isinstance(value, torch.Tensor):
            content = _array_bytes(value.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy())
            return _digest("tensor", str(value.dtype), str(tuple(value.shape)), content)
        if isinstance(value, type):
            return self._of_class(value)
        if isinstance(value, ModuleType):
            return _digest("module", value.__name__, *_place(value))
        if isinstance(value, FunctionType):
            return self._of_function(value)
        if isinstance(value, MethodType):
            return _digest("method", self.of(value.__func__), self.of(value.__self__))
        if isinstance(value, BuiltinFunctionType) and isinstance(value.__self__, ModuleType | type(None)):
            return _digest("builtin", f"{value.__module__}.{value.__qualname__}")
        if isinstance(value, _STATELESS):
            return _digest("lock")
        return self.of_object(value)

    def of_object(self, value: Any, without: tuple[str, ...] = ()) -> bytes:
        """Hash of an object: its class, and what it would be pickled by."""
        try:
            reduced = value.__reduce_ex__(4)
        except Exception as error:
            raise _HiddenError(f"a {type(value).__qualname__} in it cannot be hashed ({error})") from None
        if isinstance(reduced, str):
            return _digest("named", f"{type(value).__module__}.{type(value).__qualname__}", reduced)
        made, arguments, state, *items = (*reduced, None)[: max(len(reduced), 3)]
        if without and isinstance(state, dict):
            state = {key: item for key, item in state.items() if key not in without}
        rest = [self.of(list(part)) for part in items[:2] if part is not None]
        return _digest("object", self.of(type(value)), self.of(made), self.of(arguments), self.of(state), *rest)

    def _of_class(self, kind: type) -> bytes:
        """Hash of a class: where it is defined, what its methods do now, and the values it holds."""
        place = _place(kind)
        if place[0] == "package":
            return _digest("class", kind.__qualname__, *place)
        members = []
        for name, member in sorted(vars(kind).items()):
            functions = _functions(member)
            members += [_digest(name, self._code(function)) for function in functions]
            if not functions and not name.startswith(("__", "_abc_")) and not hasattr(type(member), "__get__"):
                members.append(_digest(name, self.of(member)))
        bases = [self.of(base) for base in kind.__bases__ if base is not object]
        return _digest("class", kind.__qualname__, *place, *members, *bases)

    def _of_function(self, function: FunctionType) -> bytes:
        place = _place(function)
        if place[0] == "package":
            return _digest("function", function.__qualname__, *place)
        return _digest("function", function.__qualname__, *place, self._code(function))

    def _code(self, function: FunctionType) -> bytes:
        """Hash of what a function does: its instructions, its defaults, and what it takes from around it."""
        cells = [self.of(cell.cell_contents) for cell in function.__closure__ or () if _is_filled(cell)]
        names = sorted(set(_global_names(function.__code__)) & set(function.__globals__))
        # A file's other definitions count with the file; a notebook's are found by name.
        around = [] if _file_of(function) else [self.of(function.__globals__[name]) for name in names]
        given = [self.of(function.__defaults__), self.of(function.__kwdefaults__)]
        return _digest(_instructions(function.__code__), *given, *cells, *around)


def _array_bytes(array: Any) -> memoryview:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data


def _place(thing: Any) -> tuple[str | bytes, ...]:
    """Where a class, function or module is defined: a package's version, files' content, or a notebook's text."""
    file = _file_of(thing)
    module = thing.__name__ if isinstance(thing, ModuleType) else thing.__module__ or ""
    top = module.partition(".")[0]
    if top == "sightline" or (top in sys.stdlib_module_names) or (file is not None and _is_installed(file)):
        return "package", module, str(getattr(sys.modules.get(top), "__version__", ""))
    if file is None:
        return "typed", _typed_text(thing)
    depth = 0 if module == "__main__" else module.count(".") + (file.name == "__init__.py")
    root = file.parents[min(depth, len(file.parents) - 1)]
    return "files", _files(source_files(file, root), root)


def _file_of(thing: Any) -> Path | None:
    """The file something is defined in; None where it was typed into a console or a notebook."""
    # Not by the module's name alone: neighbours of two model files may share it (`adapters.python`).
    functions = [] if isinstance(thing, ModuleType) else _functions_of(thing)
    named = {f.__code__.co_filename for f in functions if f.__module__ == thing.__module__}
    files = sorted(Path(name).absolute() for name in named if Path(name).is_file())
    if files or named - {"<string>"}:  # a dataclass makes methods in a <string>
        return files[0] if files else None
    module = thing if isinstance(thing, ModuleType) else sys.modules.get(thing.__module__ or "")
    file = getattr(module, "__file__", None)
    return Path(file).absolute() if file and Path(file).is_file() else None


def _is_installed(file: Path) -> bool:
    if {"site-packages", "dist-packages"} & set(file.parts):
        return True
    return any(file.is_relative_to(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib"))


def _functions_of(thing: object) -> list[FunctionType]:
    """The Python functions of a class; a function itself."""
    members = vars(thing).values() if isinstance(thing, type) else [thing]
    return [function for member in members for function in _functions(member)]


def _functions(member: object) -> list[FunctionType]:
    """The Python functions behind an attribute of a class."""
    if isinstance(member, property):
        return [f for f in (member.fget, member.fset, member.fdel) if isinstance(f, FunctionType)]
    inner = member if callable(member) else getattr(member, "__func__", getattr(member, "func", None))
    inner = inspect.unwrap(inner) if callable(inner) else None
    return [inner] if isinstance(inner, FunctionType) else []


def _instructions(code: CodeType) -> bytes:
    """Hash of compiled code, without where its lines stand."""
    inner = [_instructions(c) if isinstance(c, CodeType) else _constant(c) for c in code.co_consts]
    return _digest(code.co_code, repr((code.co_names, code.co_varnames, code.co_freevars)), *inner)


def _constant(value: object) -> str:
    return repr(sorted(map(repr, value))) if isinstance(value, frozenset) else repr(value)  # sets have no order


def _global_names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _global_names(inner)


def _is_filled(cell: Any) -> bool:
    try:
        _ = cell.cell_contents
    except ValueError:
        return False
    return True


def _typed_text(thing: Any) -> str:
    """Source of what was defined without a file, where a notebook keeps it; else _HiddenError."""
    functions, texts = _functions_of(thing), []
    for function in functions:
        with suppress(OSError, TypeError):  # a dataclass makes methods that have none
            texts.append(inspect.getsource(function))
    if functions and not texts:
        raise _HiddenError(f"the source of {thing.__qualname__} cannot be seen, it is in no file")
    return "\n".join(texts)
