"""Where a model of transformers is, a folder or the hub, and how its parts are loaded from there."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Self

from sightline.errors import ConfigError, MissingExtraError, ModelError

_DTYPES: Final = ("auto", "float32", "bfloat16", "float16")
_PROCESSORS: Final = ("preprocessor_config.json", "processor_config.json")
"""Files that say how a network wants a picture."""


@dataclass
class HubFiles:
    """Config, processor and weights of one model.

    Attributes:
        where: Folder or hub id.
        is_local: A folder: nothing is fetched.
        source: Arguments of ``from_pretrained`` that say so, or which revision.
        device: Where the network computes.
        dtype: Of its weights.
    """

    where: str
    is_local: bool
    source: dict[str, Any]
    device: str
    dtype: str
    library: Any = field(repr=False)
    torch: Any = field(repr=False)

    @classmethod
    def of(cls, where: str, revision: str | None, device: str, dtype: str) -> Self:
        """Find a model; a path that exists is a folder, and so is what looks like one."""
        folder = Path(where)
        is_local = folder.exists() or where.startswith((".", "/", "~")) or where.count("/") > 1
        if is_local and not (folder / "config.json").is_file():
            raise ModelError(f"{where}: not a folder with a model (it has no config.json)")
        if is_local and revision is not None:
            raise ConfigError("hf: a revision is one of the hub's: a folder has none")
        if dtype not in _DTYPES:
            raise ConfigError(f"hf: dtype must be one of {', '.join(_DTYPES)}, found {dtype!r}")
        torch, library = package("torch"), package("transformers")
        chosen = device_named(torch, device)
        # CPUs are slow at half precision, and virtual ones may claim instructions for it that they do not have.
        weights = "float32" if (dtype, chosen) == ("auto", "cpu") else dtype
        source: dict[str, Any] = {"local_files_only": True} if is_local else {"revision": revision}
        return cls(where, is_local, source, chosen, weights, library, torch)

    @cached_property
    def config(self) -> Any:
        """What the model is."""
        config = self.loaded("AutoConfig")
        commit = "" if self.is_local else str(getattr(config, "_commit_hash", None) or "")
        if commit:  # the weights are to be of the same state
            self.source["revision"] = commit
        return config

    @property
    def commit(self) -> str:
        """Commit on the hub; empty for a folder, whose files are hashed."""
        _ = self.config
        return "" if self.is_local else str(self.source.get("revision") or "")

    def facts(self) -> dict[str, Any]:
        """For a run's manifest."""
        versions = {"transformers": self.library.__version__}
        return {"device": self.device, "dtype": self.dtype, "commit": self.commit or None, **versions}

    def check_processor(self) -> None:
        """ModelError where a folder does not say how its network wants a picture; of the hub, loading tells."""
        folder = Path(self.where)
        named = getattr(self.config, "image_processor_type", None)
        if self.is_local and not named and not any((folder / file).is_file() for file in _PROCESSORS):
            raise ModelError(
                f"{self.where}: it has no {_PROCESSORS[0]}, which says how the network wants a picture: save its "
                "image processor there; a semantic segmenter with ImageNet's mean and spread is segmenter:FOLDER"
            )

    def loaded(self, kind: str, **options: Any) -> Any:
        """One part, by the class of transformers that loads it; ModelError where that fails."""
        try:
            with self._quiet():
                return getattr(self.library, kind).from_pretrained(
                    self.where, trust_remote_code=False, **self.source, **options
                )
        except Exception as error:  # as many kinds as there are models
            raise ModelError(f"{self.where}: {kind} cannot load it: {error}") from error

    @contextmanager
    def _quiet(self) -> Iterator[None]:
        """Around loading: no progress bars among those of an exam."""
        logging = self.library.utils.logging
        shows = logging.is_progress_bar_enabled()
        logging.disable_progress_bar()
        try:
            yield
        finally:
            if shows:
                logging.enable_progress_bar()

    def network(self, kind: str) -> Any:
        """The network, on its device."""
        net = self.loaded(kind, dtype=self.dtype)
        try:
            return net.to(self.device).eval()
        except RuntimeError as error:
            raise ModelError(f"{self.where}: cannot be put on {self.device}: {error}") from error

    @contextmanager
    def computing(self, net: Any) -> Iterator[None]:
        """Around a network: no gradients, and threads that suit its size."""
        from sightline.threads import computing, suitable_threads

        with self.torch.inference_mode(), computing(suitable_threads(sum(w.numel() for w in net.parameters()))):
            yield


def package(name: str) -> Any:
    """A package of the extra ``vlm``; MissingExtraError where it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise MissingExtraError(name, extra="vlm") from None


def device_named(torch: Any, name: str) -> str:
    """The device's name; ConfigError where it is none, or this machine has no such."""
    if name == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        torch.empty(0, device=name)
    except (RuntimeError, AssertionError) as error:
        raise ConfigError(f"vlm: no device {name!r} here: {str(error).splitlines()[0]}") from None
    return name
