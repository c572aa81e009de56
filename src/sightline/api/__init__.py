"""What `sightline` offers in Python: let models take exams, score and compare runs, write the report card.

The command line parses, calls these functions and prints.
"""

from sightline.api.examination import exam_prompts, examine, run_models
from sightline.api.stored_runs import board, compare, data_path, plan, report, run_folders, score

__all__ = [
    "board",
    "compare",
    "data_path",
    "exam_prompts",
    "examine",
    "plan",
    "report",
    "run_folders",
    "run_models",
    "score",
]
