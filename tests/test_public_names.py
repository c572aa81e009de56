"""The public names: few, all of them there, none of them costly to import."""

from __future__ import annotations

import subprocess
import sys

import sightline

PUBLIC = {
    "open",
    "write",
    "Dataset",
    "Scene",
    "View",
    "Object",
    "Sighting",
    "Relation",
    "Depth",
    "Occlusion",
    "Pairs",
    "Judgements",
    "Detections",
    "Queries",
    "Verdicts",
    "BoxedObjects",
    "ViewAngles",
    "ClassScores",
    "LabelMaps",
    "ScoredReply",
    "Exam",
    "RelationsExam",
    "PredicatesExam",
    "TuringExam",
    "StatementsExam",
    "ViewpointExam",
    "ContextExam",
    "candidate",
    "generate",
    "examine",
    "score",
    "compare",
    "plan",
    "report",
    "board",
    "ask",
    "SightlineError",
    "DataError",
    "ConfigError",
    "ModelError",
}


def test_the_public_names_are_these_and_no_others() -> None:
    assert set(sightline.__all__) == PUBLIC
    assert set(dir(sightline)) == PUBLIC


def test_every_public_name_is_there() -> None:
    for name in PUBLIC:
        assert getattr(sightline, name) is not None


def test_importing_sightline_imports_nothing_heavy() -> None:
    code = "import sys, sightline; print([m for m in ('polars', 'numba', 'pyarrow', 'typer') if m in sys.modules])"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.strip() == "[]"


def test_generate_can_be_called_whatever_was_imported_before() -> None:
    say = "print(callable(sl.generate))"
    code = f"import sightline as sl; {say}; import sightline.generation; {say}"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.strip() == "True\nTrue"
