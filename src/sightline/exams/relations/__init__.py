"""The 2.5D relations exam: depth order and occlusion, within an image and across two."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from sightline.exams.relations.audit import Audit, audit
from sightline.exams.relations.description import Description, describe_dataset
from sightline.exams.relations.exam import RelationsExam, default_split
from sightline.exams.relations.marks import MarkedPairs, mark_pairs
from sightline.exams.relations.pairs import PairTable, has_pairs, pair_table
from sightline.exams.relations.protocols import Protocol

if TYPE_CHECKING:
    from sightline.exams.relations.files import FileScores, score_files
    from sightline.exams.relations.simulation import simulate

_LAZY = {"FileScores": "files", "score_files": "files", "simulate": "simulation"}
"""Name → its module, imported on first use: these compile, which the exam on given boxes does not need."""

__all__ = [
    "Audit",
    "Description",
    "FileScores",
    "MarkedPairs",
    "PairTable",
    "Protocol",
    "RelationsExam",
    "audit",
    "default_split",
    "describe_dataset",
    "has_pairs",
    "mark_pairs",
    "pair_table",
    "score_files",
    "simulate",
]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)
