"""The 2.5D relations exam: depth order and occlusion, within an image and across two."""

from sightline.exams.relations.audit import Audit, audit
from sightline.exams.relations.description import Description, describe_dataset
from sightline.exams.relations.exam import RelationsExam, default_split
from sightline.exams.relations.files import FileScores, score_files
from sightline.exams.relations.marks import MarkedPairs, mark_pairs
from sightline.exams.relations.pairs import PairTable, pair_table
from sightline.exams.relations.protocols import Protocol
from sightline.exams.relations.simulation import simulate

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
    "mark_pairs",
    "pair_table",
    "score_files",
    "simulate",
]
