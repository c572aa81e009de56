"""The back ends by name, with their settings as plain values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, Protocol, get_args

from sightline.errors import ConfigError
from sightline.render.blender import BlenderRenderer
from sightline.render.fast import FastRenderer, Settings
from sightline.render.frames import Frame
from sightline.worlds.layout import Layout, Shot

BackendName = Literal["fast", "blender"]


class Backend(Protocol):
    """What makes frames of layouts."""

    def frame(self, layout: Layout, shot: Shot, *, shade: bool = True) -> Frame:
        """One view."""

    def counterfactual(self, layout: Layout, shot: Shot, index: int) -> Frame:
        """One view of the layout with one object taken away."""

    def stream(self, layouts: Iterable[Layout], views: Sequence[str]) -> Iterator[list[Frame]]:
        """Those views of many layouts, in order."""


@dataclass(frozen=True)
class _Fast:
    renderer: FastRenderer

    def frame(self, layout: Layout, shot: Shot, *, shade: bool = True) -> Frame:
        return self.renderer.frame(layout, shot, shade=shade)

    def counterfactual(self, layout: Layout, shot: Shot, index: int) -> Frame:
        return self.renderer.counterfactual(layout, shot, index)

    def stream(self, layouts: Iterable[Layout], views: Sequence[str]) -> Iterator[list[Frame]]:
        for layout in layouts:
            yield self.renderer.frames(layout, views)


def all_settings(name: str, given: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The settings of a back end, those given over the defaults; a ConfigError for one that it has not.

    >>> all_settings("blender", {"samples": 512})
    {'samples': 512, 'denoise': True, 'seed': 0}
    """
    known = _DEFAULTS.get(name)
    if known is None:
        raise ConfigError(f"unknown renderer {name!r}: choose one of {', '.join(get_args(BackendName))}")
    told = dict(given or {})
    strange = [key for key in told if key not in known]
    if strange:
        raise ConfigError(f"renderer {name!r} has no setting {strange[0]!r}: it has {', '.join(known)}")
    return known | told


def backend(name: BackendName, settings: Mapping[str, Any]) -> Backend:
    """A back end with settings as `all_settings` gives them."""
    if name == "blender":
        return BlenderRenderer(**settings)
    return _Fast(FastRenderer(Settings(**settings)))


_DEFAULTS: dict[str, dict[str, Any]] = {
    "fast": asdict(Settings()),
    "blender": {"samples": 16, "denoise": True, "seed": 0},  # threads and timeout change no pixel
}
