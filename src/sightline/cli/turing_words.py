"""``sightline turing vocabulary``: what questions may speak of, and how much of it a dataset tells."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sightline.cli.console import counted, out, table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sightline.exams.turing.annotations.columns import Columns
    from sightline.exams.turing.vocabulary.vocabulary import Vocabulary


def ready_words() -> list[dict[str, Any]]:
    """The vocabularies that come with Sightline, with their sizes."""
    from sightline.exams.turing.vocabulary.files import load_vocabulary, vocabularies

    return [sizes(load_vocabulary(name)) for name in vocabularies()]


def sizes(vocabulary: Vocabulary) -> dict[str, Any]:
    """How many words of each sort there are."""
    return {
        "name": vocabulary.name,
        "types": len(vocabulary.types),
        "attributes": sum(len(kind.attributes) for kind in vocabulary.types),
        "relations": len(vocabulary.links),
        "regions": len(vocabulary.regions),
    }


def print_ready(listed: list[dict[str, Any]]) -> None:
    """One line a vocabulary."""
    shown = table("ready vocabularies", *listed[0])
    for row in listed:
        shown.add_row(*map(str, row.values()))
    out.print(shown)


def counts(columns: Columns, vocabulary: Vocabulary) -> dict[str, Any]:
    """What annotated images tell: objects a type, and of each attribute and relation yes, no and unknown."""
    from sightline.exams.turing.annotations.columns import unpacked

    types = []
    yes, no = (unpacked(words, columns.n_attributes) for words in (columns.yes, columns.no))
    for t, kind in enumerate(vocabulary.types):
        own = columns.types == t
        told = {a.name: _told(yes[own, k], no[own, k]) for k, a in enumerate(kind.attributes)}
        types.append({"type": kind.name, "objects": int(own.sum()), "attributes": told})
    pairs = int((np.diff(columns.starts) * (np.diff(columns.starts) - 1)).sum())
    holds, fails = (unpacked(words, columns.n_links).sum(axis=0) for words in (columns.holds, columns.fails))
    links = {
        link.name: {"yes": int(holds[k]), "no": int(fails[k]), "unknown": pairs - int(holds[k]) - int(fails[k])}
        for k, link in enumerate(vocabulary.links)
    }
    return {**sizes(vocabulary), "images": len(columns), "pairs": pairs, "types": types, "relations": links}


def print_counts(found: dict[str, Any]) -> None:
    """Two tables: types with their attributes, then relations."""
    head = f"{found['name']}: {counted(found['images'], 'image')}"
    shown = table(head, "type", "attribute", "objects", "yes", "no", "unknown")
    shown.columns[1].justify = "left"
    for kind in found["types"]:
        shown.add_row(kind["type"], "", f"{kind['objects']:,}", "", "", "")
        for name, told in kind["attributes"].items():
            shown.add_row("", name, "", *(f"{told[key]:,}" for key in ("yes", "no", "unknown")))
    out.print(shown)
    if found["relations"]:
        links = table(f"\nrelations of {counted(found['pairs'], 'pair')}", "relation", "yes", "no", "unknown")
        for name, told in found["relations"].items():
            links.add_row(name, *(f"{told[key]:,}" for key in ("yes", "no", "unknown")))
        out.print(links)


def is_data(name: str) -> bool:
    """Whether the words mean a dataset rather than a vocabulary: something on disk that is no YAML file."""
    return Path(name).exists() and Path(name).suffix.lower() not in (".yaml", ".yml")


def _told(yes: NDArray[np.bool_], no: NDArray[np.bool_]) -> dict[str, int]:
    return {"yes": int(yes.sum()), "no": int(no.sum()), "unknown": int((~yes & ~no).sum())}
