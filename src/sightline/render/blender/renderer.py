"""The photoreal back end: pictures by Cycles, geometry by the fast back end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sightline.errors import ConfigError
from sightline.hints import hint
from sightline.render.blender.jobs import BlenderSettings
from sightline.render.blender.process import Arrays, render
from sightline.render.frames import Frame
from sightline.render.tones import encoded
from sightline.worlds.layout import Layout, Shot
from sightline.worlds.shapes import solid as built_in
from sightline.worlds.solids import Solid

Work = list[tuple[Layout, list[Shot]]]

CLEVR_SAMPLES = 512


@dataclass(frozen=True, slots=True, eq=False)
class Passes:
    """What Blender itself says of a view's geometry; fields as in `Frame`. `amodal` only if it was asked for."""

    view: str
    ids: NDArray[np.int32] = field(repr=False)
    depth: NDArray[np.float32] = field(repr=False)
    normals: NDArray[np.float32] = field(repr=False)
    amodal: NDArray[np.bool_] | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class BlenderRenderer:
    """Renders layouts with Cycles on the CPU, in a process of its own.

    Attributes:
        samples: Paths a pixel.
        denoise: Let OpenImageDenoise finish the picture; 16 samples then look like 512.
        threads: 0 takes every core.
        seed: Of Cycles' noise.
        environment: Blender's folder; by default SIGHTLINE_BLENDER, else that of ``sightline blender install``.
        timeout: Seconds a single view may take.
        solid: Knows the shapes that layouts name.
    """

    samples: int = 16
    denoise: bool = True
    threads: int = 0
    seed: int = 0
    environment: Path | None = None
    timeout: float = 3600.0
    solid: Callable[[str], Solid] = built_in

    @classmethod
    def clevr(cls, *, threads: int = 0) -> BlenderRenderer:
        """CLEVR's way: 512 samples, no denoiser; about twenty times slower."""
        return cls(samples=CLEVR_SAMPLES, denoise=False, threads=threads)

    def frame(self, layout: Layout, shot: Shot, *, shade: bool = True) -> Frame:
        """One view: ids, depth, normals and masks from the fast back end, the picture from Cycles.

        Both see the same pixel centres, so the picture fits the masks.
        """
        [[frame]] = self._take([(layout, [shot])], shade=shade)
        return frame

    def frames(self, layout: Layout, views: Sequence[str] | None = None, *, shade: bool = True) -> list[Frame]:
        """The views of those names, or all, out of one Blender process; each as `frame` gives it."""
        [frames] = self._take([(layout, chosen(layout, views))], shade=shade)
        return frames

    def stream(
        self,
        layouts: Iterable[Layout],
        views: Sequence[str] | None = None,
        *,
        progress: Callable[[int, int], None] | None = None,
    ) -> Iterator[list[Frame]]:
        """The frames of many layouts out of one Blender process, one list a layout, each as soon as it is ready.

        `progress(done, total)` counts views.
        """
        return self._take([(layout, chosen(layout, views)) for layout in layouts], progress=progress)

    def counterfactual(self, layout: Layout, shot: Shot, *gone: int) -> Frame:
        """The view with those objects taken away."""
        layout.check_indices(gone)
        return self.frame(layout.without(*gone), shot)

    def passes(self, layout: Layout, views: Sequence[str] | None = None, *, amodal: bool = False) -> list[Passes]:
        """Blender's own ids, depth and normals at pixel centres, to check the fast back end against.

        Args:
            layout: What to see.
            views: Names of the views; all by default.
            amodal: Also every object alone, one render each.
        """
        shots = chosen(layout, views)
        settings = replace(self._settings(), image=False, passes=True, amodal=amodal)
        rendered = self._render([(layout, shots)], settings)
        return [Passes(shot.name, **arrays) for shot, arrays in zip(shots, rendered, strict=True)]

    def _take(
        self, work: Work, *, shade: bool = True, progress: Callable[[int, int], None] | None = None
    ) -> Iterator[list[Frame]]:
        from sightline.render.fast import FastRenderer

        fast = FastRenderer(solid=self.solid)
        pictures = self._render(work, self._settings()) if shade else None
        done, total = 0, sum(len(shots) for _, shots in work)
        for layout, shots in work:
            frames = []
            for shot in shots:
                drawn = fast.frame(layout, shot, shade=False)
                frames.append(replace(drawn, image=encoded(next(pictures)["light"])) if pictures else drawn)
                done += 1
                if progress is not None:
                    progress(done, total)
            yield frames

    def _render(self, work: Work, settings: BlenderSettings) -> Iterator[Arrays]:
        return render(work, settings, folder=self.environment, timeout=self.timeout, solid=self.solid)

    def _settings(self) -> BlenderSettings:
        return BlenderSettings(self.samples, self.denoise, self.threads, self.seed)


def chosen(layout: Layout, views: Sequence[str] | None) -> list[Shot]:
    """The layout's shots of those names, in that order; all of them for None."""
    if views is None:
        return list(layout.shots)
    shots = {shot.name: shot for shot in layout.shots}
    for name in views:
        if name not in shots:
            raise ConfigError(f"unknown view {name!r}{hint(name, shots)}")
    return [shots[name] for name in views]
