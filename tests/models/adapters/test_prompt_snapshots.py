"""Every exam's prompts, word for word, as they were last agreed on: another word makes another question.

Where a change is wanted, ``SIGHTLINE_SNAPSHOTS=write pytest tests/models/adapters/test_prompt_snapshots.py`` writes
them anew, to be read in the diff.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from sightline.api import exam_prompts
from sightline.exams.registry import exam_names
from sightline.generation import generate, open_any
from sightline.store.formats import named
from sightline.store.writer import write

SNAPSHOTS = Path(__file__).with_name("prompt_snapshots.json")
WAYS = {
    "draw": "openai:m",
    "crop": "openai:m,region=crop",
    "words": "openai:m,region=words",
    "one by one": "openai:m,per=predicate,sections=4",
}
MOST = 3


@pytest.fixture(scope="module")
def asked(
    generated: Path, pictured_exam: Any, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, tuple[Any, Any]]:
    """Exam → the exam, and data it has questions about."""
    folder = tmp_path_factory.mktemp("prompts")
    generate("cad/train", folder / "cars", scenes=1, seed=5, size=(48, 32), depth=None)
    line = {"image": "0.png", "caption": "The cat is left of the bed.", "relation": "left of", "label": 1}
    (folder / "all.jsonl").write_text(json.dumps(line) + "\n")
    Image.new("RGB", (4, 3)).save(folder / "0.png")
    write(named("vsr").read(folder / "all.jsonl", images=folder), folder / "told", copy=True)
    scenes = open_any(generated)
    return {
        "relations": ("relations", scenes),
        "predicates": ("predicates", scenes),
        "context": ("context", scenes),
        "turing": pictured_exam,
        "viewpoint": ("viewpoint", open_any(folder / "cars")),
        "statements": ("statements", open_any(folder / "told")),
    }


@pytest.mark.parametrize("exam", exam_names())
def test_prompts_are_those_that_were_agreed_on(
    exam: str, asked: dict[str, tuple[Any, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")  # nobody is there, and nobody is asked
    made = {}
    for way, spec in WAYS.items():
        prompts, _, _ = exam_prompts(*asked[exam], spec)
        made[way] = [{"text": one.text, "size": list(one.picture.size)} for one in prompts[:MOST]]
    told: dict[str, Any] = json.loads(SNAPSHOTS.read_text(encoding="utf-8")) if SNAPSHOTS.is_file() else {}
    if os.environ.get("SIGHTLINE_SNAPSHOTS") == "write":
        told = dict(sorted((told | {exam: made}).items()))
        SNAPSHOTS.write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    assert made == told.get(exam)
