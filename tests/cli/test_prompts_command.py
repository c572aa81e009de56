"""``sightline prompts`` and ``sightline models``: what a model would be asked, and what each can take."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

Cli = Callable[..., Any]


@pytest.mark.parametrize(
    ("exam", "asks"),
    [
        ("relations", "Which of the two objects is closer to the camera?"),
        ("predicates", "can_contain: the first object is hollow"),
        ("context", "Question: Is there a"),
    ],
)
def test_prompts_are_printed_and_pictures_kept(
    cli: Cli, generated: Path, tmp_path: Path, exam: str, asks: str
) -> None:
    done = cli("prompts", exam, "--data", generated, "--limit", 1, "--most", 2, "--out", tmp_path / "pictures")
    assert done.code == 0, done.err
    assert asks in done.out
    assert "--- 1 of " in done.out
    assert " for 1 item" in done.out
    assert " items: about " in done.out
    files = sorted((tmp_path / "pictures").iterdir())
    assert [file.name for file in files] == ["0001.png", "0002.png"]
    with Image.open(files[0]) as picture:
        assert f"picture {picture.width}×{picture.height}" in done.out
    told = cli("prompts", exam, "--data", generated, "--most", 1, "--json").json
    assert told["exam"] == exam
    assert told["prompts"] > 1
    assert len(told["shown"]) == 1
    assert told["about_all_items"]["requests"] == told["prompts"] * told["items"]
    assert told["about_all_items"]["tokens_in"] > 0
    assert told["shown"][0]["text"] in done.out


def test_prompts_follow_a_models_options(cli: Cli, generated: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")  # nobody is there, and nobody is asked
    words = ("prompts", "predicates", "--data", generated, "--most", 1, "--model")
    assert "Is it true that" in cli(*words, "openai:m,per=predicate").out
    assert "shown alone" not in cli(*words, "openai:m,region=words").out
    refused = cli(*words, "sornet")
    assert (refused.code, "only vision-language models have some" in refused.err) == (2, True)
    unknown = cli("prompts", "relatons", "--data", generated)
    assert (unknown.code, "did you mean 'relations'?" in unknown.err) == (2, True)


def test_models_say_what_they_take_and_need(cli: Cli) -> None:
    entries = {entry["name"]: entry for entry in cli("models", "--json").json}
    every = {"relations", "predicates", "turing", "statements", "viewpoint", "context"}
    assert set(entries["openai"]["exams"]) == set(entries["hf"]["exams"]) == every
    assert entries["hf"]["needs"] == ["torch", "transformers"]
    assert (entries["hf"]["extra"], entries["openai"]["needs"]) == ("vlm", [])
    assert entries["size"]["exams"] == ["relations"]
    assert entries["vdpm"]["exams"] == ["relations", "viewpoint"]  # with its own boxes
    assert all(isinstance(entry["installed"], bool) for entry in entries.values())
    shown = cli("models").out
    assert "[vlm]" in shown
    assert "turing, statements, context" in shown
    assert (entries["blind_mlp"]["needs"], entries["blind_mlp"]["blind"], entries["sornet"]["blind"]) == (
        [],
        True,
        False,
    )
    at = [shown.index(f"\n{name} ") for name in ("answers", "hf", "depth", "sornet", "random")]
    assert at == sorted(at)  # what one brings, then what comes along, then rules that never look


def test_a_package_that_is_missing_is_told(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    from sightline.models import manifest

    monkeypatch.setattr(manifest, "find_spec", lambda name: None)
    entries = {entry["name"]: entry for entry in cli("models", "--json").json}
    assert entries["hf"]["installed"] is False
    assert entries["size"]["installed"] is True
    assert "[vlm], not installed" in cli("models").out


def test_samples_and_budget_on_the_command_line(cli: Cli, generated: Path, tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text(
        "import numpy as np\nfrom sightline.skills import Judgements\n"
        "class M:\n    name = 'm'\n    fingerprint = 'm'\n    draws = 0\n"
        "    def begin_sample(self, number):\n        self.draws = number\n"
        "    def relate(self, pairs):\n        n = len(pairs)\n"
        "        return Judgements(np.full(n, 1 + self.draws % 2), np.zeros(n, int))\n"
    )
    words = ["exam", "relations", "--data", generated, "--model", f"{tmp_path / 'm.py'}:M", "--no-baselines"]
    done = cli(*words, "--out", tmp_path / "runs", "--samples", 3, "--limit", 1, "--json")
    assert done.code == 0, done.err
    from sightline.exams.run import Run

    run = Run.open(Path(done.json["run"]))
    assert run.folder.name.endswith("@samples-3")
    rows = run.records()
    assert {tuple(of) for of in rows.filter(rows["aspect"] == "depth")["samples"]} == {
        ("closer", "farther", "closer")
    }
    printed = cli(*words, "--out", tmp_path / "runs", "--samples", 3, "--limit", 1).out
    assert "answers drawn several times, 95 % interval by scene" in printed
    assert "two alike" in printed
    other = cli(*words, "--out", tmp_path / "runs", "--limit", 1, "--json").json
    assert Path(other["run"]) != run.folder  # one answer is another run than three
    assert cli(*words, "--out", tmp_path / "runs", "--budget", "5", "--limit", 1).code == 0  # it counts no requests
    refused = cli(*words, "--budget", "lots", "--out", tmp_path / "no")
    assert (refused.code, "a budget is a number of requests" in refused.err) == (2, True)
    apart = cli(*words, "--budget", "5", "--workers", 1, "--out", tmp_path / "no")
    assert (apart.code, "it goes without --workers" in apart.err) == (2, True)
