"""The 2.5D relations exam: depth order and occlusion, within an image and across two."""

from sightline.exams.relations.audit import Audit, audit
from sightline.exams.relations.compare import RunComparison, compare_records, compare_runs
from sightline.exams.relations.describe import Description, describe_dataset
from sightline.exams.relations.exam import RelationsExam, default_split, nonempty_tables
from sightline.exams.relations.files import FileScores, score_files
from sightline.exams.relations.official import sheets_of_records
from sightline.exams.relations.pairs import PairTable, pair_table
from sightline.exams.relations.protocols import Protocol
from sightline.exams.relations.scores import Scores, score_sheets, scores
from sightline.exams.relations.sheets import sheets
from sightline.exams.relations.simulate import simulate

__all__ = [
    "Audit",
    "Description",
    "FileScores",
    "PairTable",
    "Protocol",
    "RelationsExam",
    "RunComparison",
    "Scores",
    "audit",
    "compare_records",
    "compare_runs",
    "default_split",
    "describe_dataset",
    "nonempty_tables",
    "pair_table",
    "score_files",
    "score_sheets",
    "scores",
    "sheets",
    "sheets_of_records",
    "simulate",
]
