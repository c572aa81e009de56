"""``sightline models``: what can take an exam by name, which exams, and what must be installed for it?"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from sightline.cli.console import Json, out, print_json, table

if TYPE_CHECKING:
    from sightline.models.manifest import ModelEntry


def listing() -> str:
    """What the help ends with: the models there are, by what they can do."""
    from sightline.models import available

    known = available()
    groups = dict.fromkeys(skills for m in known if (skills := ", ".join(m.skills)))
    names = {g: ", ".join(m.name for m in known if ", ".join(m.skills) == g) for g in groups}
    return "Known by name: " + "; ".join(f"{listed} ({skill})" for skill, listed in names.items()) + "."


def command(json: Json = False) -> None:
    """List the models known by name, the exams each can take and what it needs; any file.py:object will do too."""
    from sightline.exams.registry import EXAMS
    from sightline.models import available, exams_of

    known = [(m, exams_of(m.skills)) for m in available()]
    if json:
        print_json([_entry(m, exams) for m, exams in known])
        return
    for title, belongs in _GROUPS.items():
        shown = sorted(((m, e) for m, e in known if belongs(m)), key=lambda one: not one[0].alone)
        if not shown:
            continue
        listing = table(title, "name", "skills", "exams", "needs", "what it does")
        for column in listing.columns:
            column.justify = "left"
        for m, exams in shown:
            taken = "all" if len(exams) == len(EXAMS) else ", ".join(exams)
            listing.add_row(m.name, ", ".join(m.skills), taken, _needs(m), m.description)
        out.print(listing)
        out.print()
    out.print("And file.py:object, a file of answers, a checkpoint, or two of these joined by a plus.")


_YOURS: Final = frozenset({"http", "vlm", "depth", "depth_tuned", "onnx_depth", "best_box", "pixel_share", "human"})
"""Built-in models that run what the user brings, beside those whose name a file or a model follows."""


def _is_yours(m: ModelEntry) -> bool:
    return bool(m.alone) or m.name in _YOURS or "path=PATH" in m.description


_GROUPS: Final[dict[str, Callable[[ModelEntry], bool]]] = {
    "Yours: a network, a server, a file of answers, a person": _is_yours,
    "Come along, or from other packages": lambda m: not m.blind and not _is_yours(m),
    "Blind rules and priors: they never look at a picture": lambda m: m.blind,
}
"""Heading of a table → whether a model stands in it."""


def _entry(m: ModelEntry, exams: tuple[str, ...]) -> dict[str, Any]:
    return {
        "name": m.name,
        "skills": list(m.skills),
        "exams": list(exams),
        "blind": m.blind,
        "description": m.description,
        "needs": list(m.needs),
        "extra": m.extra or None,
        "installed": m.installed,
    }


def _needs(m: ModelEntry) -> str:
    """The extra that brings what a model needs, and whether it is there."""
    return f"[{m.extra}]" + ("" if m.installed else ", not installed") if m.needs else ""
