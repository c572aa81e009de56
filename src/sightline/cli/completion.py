"""What the shell offers on Tab beside files: names of worlds, models, exams and formats."""

from __future__ import annotations

from collections.abc import Iterable


def worlds(incomplete: str) -> list[str]:
    """Presets whose name begins so; each function here is of this form."""
    from sightline.worlds import presets

    return _beginning(presets(), incomplete)


def models(incomplete: str) -> list[str]:
    """Models known by name."""
    from sightline.models.manifest import entries

    return _beginning(entries(), incomplete)


def exams(incomplete: str) -> list[str]:
    """Exams, those of other packages too."""
    from sightline.exams.registry import exam_names

    return _beginning(exam_names(), incomplete)


def readable(incomplete: str) -> list[str]:
    """Formats that can be imported, and sources of shapes."""
    from sightline.store.formats import FORMATS
    from sightline.worlds.shapes.sources import SOURCES

    return _beginning([*sorted(FORMATS), *SOURCES], incomplete)


def writable(incomplete: str) -> list[str]:
    """Formats that can be exported."""
    from sightline.store.formats import EXPORTS, FORMATS

    both = sorted([*EXPORTS, *(name for name, one in FORMATS.items() if one.write is not None)])
    return _beginning(both, incomplete)


def _beginning(names: Iterable[str], incomplete: str) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]
