"""The demo's exam of the shipped network, over two scenes a split."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="networks need torch")
pytest.importorskip("safetensors", reason="checkpoints need safetensors")

import sightline
from sightline.api import report
from sightline.cli import demo_command, demo_worlds
from sightline.cli.demo_command import SPLITS, show_predicates
from sightline.exams.predicates.exam import BASELINES


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Path], str]:
    """The folder of the demo's exams, their runs, and what was printed."""
    out, printed = tmp_path_factory.mktemp("demo") / "demo-out", StringIO()
    with redirect_stdout(printed):
        runs = show_predicates(out / "predicates", out / "runs", scenes=2)
    return out, runs, printed.getvalue()


@pytest.mark.long
def test_the_shipped_network_and_all_baselines_take_it(demo: tuple[Path, list[Path], str], tmp_path: Path) -> None:
    out, runs, printed = demo
    assert len(set(runs)) == len(SPLITS)
    page = report(runs, tmp_path / "card.html", attention=True, model="sornet", resamples=100)
    assert len(page.parts) == len(SPLITS)
    for split, part in zip(SPLITS, page.parts, strict=True):
        assert split in part.title
        made = part.to_dict()["document"]
        assert {run["name"] for run in made["runs"]} == {"sornet", *BASELINES.values()}
        assert made["focus"] == "sornet"
        assert all(run["status"] == "finished" and run["items"] == 2 for run in made["runs"])
    assert "data:image" in (tmp_path / "card.html").read_text()
    for words in ("generate geospa/val_op", "exam predicates", "--model sornet"):
        assert words in printed
    assert len([*out.glob("runs/*/predicates/*/manifest.json")]) == len(SPLITS) * (1 + len(BASELINES))


@pytest.mark.long
def test_the_demo_ends_in_one_card(
    demo: tuple[Path, list[Path], str],
    simulated: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    out, small, _ = demo
    sightline.examine("size", simulated, "relations", out=out / "runs" / "labels", baselines=False)
    monkeypatch.setattr(demo_command, "show_labels", lambda *_: out / "runs" / "labels")
    monkeypatch.setattr(demo_command, "show_predicates", lambda *_: small[:1])
    monkeypatch.setattr(demo_command, "show_turing", lambda *_: (small[1], out / "story.png"))
    monkeypatch.setattr(demo_worlds, "show_worlds", lambda *_: (small[1], []))
    capsys.readouterr()
    demo_command.command(out, simulated, 0)
    printed = capsys.readouterr().out
    for words in ("headline", "best without looking", "2.5D relations", "sornet", str(out / "card.html")):
        assert words in printed
    assert (out / "card.html").stat().st_size > 10_000
    assert 'href="card.html"' in (out / "index.html").read_text()


def test_the_demo_without_torch_runs_the_rest_and_says_what_it_left_out(
    simulated: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "demo-out"
    sightline.examine("size", simulated, "relations", out=out / "runs" / "labels", baselines=False)
    monkeypatch.setattr(demo_command, "show_labels", lambda *_: out / "runs" / "labels")
    monkeypatch.setattr(demo_command, "show_turing", lambda *_: (out / "runs" / "labels", out / "story.png"))
    monkeypatch.setattr(demo_worlds, "show_worlds", lambda *_: (out / "runs" / "labels", []))
    monkeypatch.setitem(sys.modules, "torch", None)  # as if it were not installed
    capsys.readouterr()
    demo_command.command(out, simulated, 0)
    printed = capsys.readouterr().out
    assert "Left out: the networks that come along" in printed
    assert 'pip install "sightline-exams[torch]"' in printed
    assert (out / "card.html").stat().st_size > 10_000
    assert "sornet" not in (out / "card.html").read_text()
