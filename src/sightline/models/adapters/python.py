"""A model of one's own: an object, class or factory in a Python file, with the modules beside it."""

from __future__ import annotations

import builtins
import importlib.util
import inspect
import sys
import traceback
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from hashlib import blake2s
from importlib.machinery import (
    EXTENSION_SUFFIXES,
    SOURCE_SUFFIXES,
    ExtensionFileLoader,
    FileFinder,
    ModuleSpec,
    SourceFileLoader,
)
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from sightline.errors import ModelError
from sightline.hints import did_you_mean
from sightline.skills import SKILLS, skills_of


def load_object(file: Path, name: str) -> object:
    """The model called `name` in a Python file.

    The file is run as a module of its own, with its folder first on ``sys.path`` as if Python had been started with
    it; the modules of two folders are kept apart, also where they share a name (`Neighbours`). A class is called
    without arguments, and so is a function without a skill of its own (a factory).

    Raises:
        ModelError: If the file cannot be run, has no such name, or what it gives has no skill.
    """
    if not file.is_file():
        raise ModelError(f"{file}: no such file")
    neighbours = Neighbours(file.absolute().parent)
    with neighbours.importable():
        model = _lookup(_run(file, neighbours), name, file)
        if inspect.isclass(model) or (callable(model) and not skills_of(model)):
            try:
                model = model()
            except Exception as error:
                raise ModelError(f"{file}:{name}: calling it failed: {_cause(error, file)}") from error
    if not skills_of(model):
        wanted = " or ".join(f"{skill}()" for skill in SKILLS)
        raise ModelError(f"{file}:{name}: {type(model).__name__} has no skill (expected a method {wanted})")
    return model


class Neighbours:
    """The modules of one folder, imported by each other and by the model files in it, and by nobody else.

    Python keeps one module a name. So these stand in ``sys.modules`` only while one of the folder's files imports;
    ``import`` in them is a function of this object, so that also an import inside a method, much later, finds them.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._modules: dict[str, ModuleType] = {}
        self._builtins = {**vars(builtins), "__import__": self._import}
        self._loaders: list[Any] = [
            (partial(_Loader, self._builtins), SOURCE_SUFFIXES),
            (ExtensionFileLoader, EXTENSION_SUFFIXES),
        ]
        files = {path.stem for path in folder.glob("*.py")}
        packages = {path.parent.name for path in folder.glob("*/*.py") if _is_package(path.parent)}
        self._names = frozenset(files | packages) - sys.stdlib_module_names - {"sightline"}
        self._active = False

    @contextmanager
    def importable(self) -> Iterator[None]:
        """Put the folder first on ``sys.path`` and its modules in place of others of their names."""
        if self._active:
            yield
            return
        others = _taken(self._names)
        sys.modules.update(self._modules)
        sys.path.insert(0, str(self.folder))
        sys.meta_path.insert(0, self)
        self._active = True
        try:
            yield
        finally:
            self._active = False
            sys.meta_path.remove(self)
            if str(self.folder) in sys.path:
                sys.path.remove(str(self.folder))
            self._modules = _taken(self._names)
            sys.modules.update(others)

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: object = None) -> ModuleSpec | None:  # noqa: ARG002
        """The module of this name in the folder, or in a package in it; as ``sys.meta_path`` asks for it."""
        for place in [str(self.folder)] if path is None else path:
            if Path(place).is_relative_to(self.folder):
                found = FileFinder(place, *self._loaders).find_spec(name)
                if found is not None and found.loader is not None:
                    return found
        return None

    def run(self, name: str, file: Path) -> ModuleType:
        """Run one of the folder's files as a module."""
        spec = importlib.util.spec_from_file_location(name, file, loader=_Loader(self._builtins, name, str(file)))
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module  # it stays there: dataclasses and pickle look their module up
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[name]
            raise
        return module

    def _import(
        self,
        name: str,
        globals: Any = None,  # noqa: A002 - as Python calls it
        locals: Any = None,  # noqa: A002
        fromlist: Any = (),
        level: int = 0,
    ) -> Any:
        """``import``, as the files of the folder see it."""
        if level == 0 and name.partition(".")[0] not in self._names:
            return builtins.__import__(name, globals, locals, fromlist, level)
        with self.importable():
            return builtins.__import__(name, globals, locals, fromlist, level)


class _Loader(SourceFileLoader):
    """Loads a module whose ``import`` is another's."""

    def __init__(self, names: Mapping[str, object], name: str, path: str) -> None:
        super().__init__(name, path)
        self._names = names

    def exec_module(self, module: ModuleType) -> None:
        """Run the module's code."""
        vars(module)["__builtins__"] = self._names
        super().exec_module(module)

    def get_code(self, fullname: str) -> CodeType:
        """Compile the file as it is now: two edits within a second leave a cache that looks fresh."""
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)


def _is_package(folder: Path) -> bool:
    return (folder / "__init__.py").is_file() or folder.name not in sys.modules


def _taken(names: Collection[str]) -> dict[str, ModuleType]:
    """Take modules, and those in them, out of ``sys.modules``."""
    return {name: sys.modules.pop(name) for name in list(sys.modules) if name.partition(".")[0] in names}


def _run(file: Path, neighbours: Neighbours) -> ModuleType:
    name = f"sightline_model_{blake2s(str(file.resolve()).encode(), digest_size=8).hexdigest()}"
    try:
        return neighbours.run(name, file.absolute())
    except (Exception, SystemExit) as error:
        raise ModelError(f"{file}: running it failed: {_cause(error, file)}") from error


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
