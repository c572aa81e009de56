"""Scenes kept in files by benchmarks/context.py are the scenes that were drawn."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest
import torch
from coloured_scenes import coloured_scenes

from sightline.training.context.scenes import EditedScenes

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"


@pytest.fixture(scope="module")
def banks() -> Iterator[ModuleType]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        yield import_module("_context_banks")


def without_edits(scenes: EditedScenes) -> EditedScenes:
    table = torch.full((len(scenes), 1), -1)
    return replace(scenes, edits=scenes.edits[:0], source=scenes.source[:0], gone=scenes.gone[:0], table=table)


@pytest.mark.parametrize(
    "scenes",
    [
        coloured_scenes(5, labelled=True),
        coloured_scenes(5),  # no maps, no holes
        without_edits(coloured_scenes(3)),
    ],
)
def test_a_bank_is_what_was_kept(banks: ModuleType, tmp_path: Path, scenes: EditedScenes) -> None:
    folder = tmp_path / "bank"
    banks.save_bank(scenes, folder)
    mapped = banks.load_bank(folder, "cpu")
    assert (mapped.classes, mapped.things, mapped.facts) == (scenes.classes, scenes.things, scenes.facts)
    for name in banks.array_names():
        kept, drawn = getattr(mapped, name), getattr(scenes, name)
        if drawn is None:
            assert kept is None
        else:
            assert kept.dtype == drawn.dtype
            assert torch.equal(kept, drawn)
    assert not list(tmp_path.glob("*.new")), "complete or not there"
