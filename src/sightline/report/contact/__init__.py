"""Contact sheets: many views at a glance, with what is known of them laid over, as PNG or as HTML.

>>> from sightline.report.contact import panels
>>> panels("boxes+ids,depth")
(('boxes', 'ids'), ('depth',))
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from sightline.errors import ConfigError, DataError
from sightline.hints import hint
from sightline.report.contact import page, sheet
from sightline.report.contact.exhibit import Exhibit, exhibit
from sightline.report.contact.panel import LAYERS
from sightline.scenes import Scene, View
from sightline.store import Dataset, atomic_write

__all__ = ["LAYERS", "Look", "contact_sheet", "panels"]

_USUAL = (("boxes",), ("masks", "amodal"), ("depth",), ("relations",))
_SAMPLE = 8


@dataclass(frozen=True, slots=True)
class Look:
    """What a contact sheet shows and where it was written."""

    files: tuple[Path, ...]
    scenes: int
    views: int
    panels: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "written": [str(file) for file in self.files],
            "scenes": self.scenes,
            "views": self.views,
            "overlays": ["+".join(layers) for layers in self.panels],
            "notes": list(self.notes),
        }


def panels(text: str) -> tuple[tuple[str, ...], ...]:
    """Panels from words: a comma begins another panel, a plus lays another layer over the same one.

    >>> panels("box")
    Traceback (most recent call last):
    sightline.errors.ConfigError: unknown overlay 'box', did you mean 'boxes'?
    """
    made = []
    for part in text.split(","):
        layers = tuple(name.strip() for name in part.split("+"))
        for name in layers:
            if name not in LAYERS:
                raise ConfigError(f"unknown overlay {name!r}{hint(name, LAYERS)}")
        made.append(layers)
    return tuple(made)


def contact_sheet(
    data: Dataset,
    out: str | Path,
    *,
    overlay: str = "",
    scenes: int = 24,
    ids: Sequence[str] = (),
    split: str = "",
    views: Sequence[str] = (),
    columns: int | None = None,
    width: int = 480,
) -> Look:
    """Draw scenes of a dataset onto a sheet.

    Memory is bounded: pixels are loaded view by view, and a sheet too tall for one file goes on in
    ``<name>-2.png``, ``<name>-3.png`` and so on. All files appear together when the last is done.

    Args:
        data: Any dataset; views without a picture are drawn on a blank.
        out: ``*.png``, or ``*.html`` for a page on which layers can be turned on and off.
        overlay: See `panels`; by default whatever there is among boxes, masks, depth and relations.
        scenes: How many, from the first.
        ids: Show these scenes instead.
        split: Of one split only.
        views: Names of the views to show; by default all.
        columns: Views side by side; by default as many as fit.
        width: Width of a panel of a PNG, pixels.

    Raises:
        ConfigError: For an overlay, view or file type that does not exist.
        DataError: For a scene that does not exist, or where there is nothing to show.
    """
    path = Path(out)
    kind = path.suffix.lower()
    if kind not in (".png", ".html", ".htm"):
        raise ConfigError(f"a contact sheet is a .png or .html file, not {path.name!r}")
    wanted = panels(overlay) if overlay else None
    chosen = _Choice(data, scenes, tuple(ids), split, tuple(views))
    plan = wanted or _usual(chosen)
    depth = any("depth" in layers for layers in plan) or kind != ".png"
    tally = _Tally()
    shown = tally.counting(exhibit(scene, view, depth=depth) for scene, view in chosen)
    title = data.source or data.path.name
    subtitle = _subtitle(chosen, data)
    if kind == ".png":
        made = sheet.pages(shown, sheet.Plan(plan, width, columns), title, subtitle)
    else:
        on = {name for layers in wanted or (("boxes",),) for name in layers}
        made = page.pages(shown, on, columns, title, subtitle, lambda number: _numbered(path, number).name)
    files = _publish(made, path)
    return Look(files, len(tally.scenes), tally.views, plan, tuple(tally.notes))


@dataclass(frozen=True)
class _Choice:
    """The views to show, again and again."""

    data: Dataset
    scenes: int
    ids: tuple[str, ...]
    split: str
    views: tuple[str, ...]

    def __iter__(self) -> Iterator[tuple[Scene, View]]:
        seen: dict[str, None] = {}
        nothing = True
        for scene in self._scenes():
            seen.update(dict.fromkeys(view.id for view in scene.views))
            for view in scene.views:
                if not self.views or view.id in self.views:
                    nothing = False
                    yield scene, view
        if nothing and seen:
            raise ConfigError(f"no scene has a view {', '.join(self.views)} (there are {', '.join(seen)})")
        if nothing:
            raise DataError("there is no scene to show", file=self.data.path)

    def _scenes(self) -> Iterable[Scene]:
        if self.ids:
            return map(self.data.scene, self.ids)
        return islice(self.data.scenes(self.split or None), self.scenes)


@dataclass
class _Tally:
    """Counts what passes by."""

    scenes: set[str] = field(default_factory=set)
    views: int = 0
    notes: list[str] = field(default_factory=list)

    def counting(self, shown: Iterable[Exhibit]) -> Iterator[Exhibit]:
        for one in shown:
            self.scenes.add(one.scene)
            self.views += 1
            self.notes += one.notes
            yield one


def _usual(chosen: _Choice) -> tuple[tuple[str, ...], ...]:
    """The usual panels less the layers for which the first views have nothing."""
    first = [exhibit(scene, view) for scene, view in islice(chosen, _SAMPLE)]
    kept = (tuple(name for name in layers if any(one.has(name) for one in first)) for layers in _USUAL)
    return tuple(layers for layers in kept if layers) or (("none",),)


def _subtitle(chosen: _Choice, data: Dataset) -> str:
    number = len(chosen.ids) or min(chosen.scenes, len(data))
    split = f" of {chosen.split}" if chosen.split else ""
    return f"{number:,} of {len(data):,} scenes" if not split else f"up to {number:,} scenes{split}"


def _numbered(path: Path, number: int) -> Path:
    return path if number == 0 else path.with_stem(f"{path.stem}-{number + 1}")


def _publish(made: Iterable[bytes], path: Path) -> tuple[Path, ...]:
    """Write the files under hidden names, then give all of them their own."""
    path.parent.mkdir(parents=True, exist_ok=True)
    staged: list[Path] = []
    token = secrets.token_hex(6)
    try:
        for number, content in enumerate(made):
            final = _numbered(path, number)
            staged.append(final.with_name(f".{final.name}.{token}.tmp"))
            atomic_write(staged[-1], content)
        files = tuple(_numbered(path, number) for number in range(len(staged)))
        for temporary, final in zip(staged, files, strict=True):
            temporary.replace(final)
    finally:
        for temporary in staged:
            temporary.unlink(missing_ok=True)
    return files
