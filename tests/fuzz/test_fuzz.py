"""The fuzzer itself: the same seed spoils alike, every kind of finding is found, every format is an input."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest
from fuzz_inputs import AREAS, IMPORTS, SHAPES, Area
from mutations import NASTY, spoil

import fuzz
from sightline.errors import DataError
from sightline.store.formats import FORMATS
from sightline.worlds.shapes.sources import SOURCES

WHOLE = {"a.json": '{"x": [1, 2, {"y": "z"}]}', "b.csv": "p,q\n1,2\n3,4\n", "c.yaml": "k: [1, 2]\nm: {n: 0}\n"}


def lay(folder: Path) -> Path:
    folder.mkdir(parents=True)
    for name, text in WHOLE.items():
        (folder / name).write_text(text)
    return folder


def content(folder: Path) -> dict[str, Any]:
    return {p.name: p.readlink() if p.is_symlink() else p.is_file() and p.read_bytes() for p in folder.iterdir()}


def test_every_format_is_spoilt() -> None:
    assert set(IMPORTS) == set(FORMATS)
    assert set(SHAPES) == set(SOURCES)
    parts = {"importers", "shapes", "YAML", "answers", "datasets", "runs", "tests"}
    assert {area.part for area in AREAS.values()} == parts


def test_the_same_seed_spoils_alike_and_others_otherwise(tmp_path: Path) -> None:
    seen, kinds = [], set()
    for number in range(150):
        results = []
        for again in (0, 1):
            folder = lay(tmp_path / f"{number}-{again}")
            kinds |= {what.partition(": ")[2] for what in spoil(folder, Random(f"1/{number}"))}
            results.append(content(folder))
        assert results[0] == results[1]
        seen.append(results[0])
    assert sum(result == {name: text.encode() for name, text in WHOLE.items()} for result in seen) < 15
    assert len(kinds) > 20
    assert len(NASTY) > 50


@pytest.mark.parametrize(
    ("behaviour", "kind"),
    [
        (lambda d, o: None, "accepted"),
        (lambda d, o: _refuse("bad", d / "a.json"), "refused"),
        (lambda d, o: _refuse("bad", None), "error does not name the input"),
        (lambda d, o: 1 / 0, "traceback"),
        (lambda d, o: sys.exit(1), "exit code 1"),
        (lambda d, o: (o.write_text("half"), _refuse("bad", d)), "half-written: o"),
        (lambda d, o: o.with_name(".o.new").write_text(""), "left behind: .o.new"),
        (lambda d, o: o.with_suffix(".html").write_text("<b><script>alert(1)</script>"), "script in a page"),
        (lambda d, o: print("\x1b[2J"), "control character printed"),
    ],
)
def test_findings(behaviour: Any, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def main() -> None:
        folder, place = map(Path, sys.argv[2:])
        try:
            behaviour(folder, place)
        except DataError as error:
            print(f"error: {error}", file=sys.stderr)
            sys.exit(2)

    monkeypatch.setattr("sightline.cli.main", main)
    monkeypatch.setitem(AREAS, "made up", Area("runs", lambda folder, call: None, (("report", "{d}", "{o}"),)))
    lay(tmp_path / "whole")
    assert fuzz.attempt("made up", 1, 0, tmp_path / "whole", tmp_path / "work").kind == kind


def test_a_process_that_dies_is_a_finding(tmp_path: Path) -> None:
    (tmp_path / "whole").write_text("no folder")
    outcomes = list(fuzz.fuzz({"import vrd": 1}, 1, 60.0, 1, tmp_path))
    assert [(area, o.number, o.kind) for area, o in outcomes] == [("import vrd", 0, "the process died (1)")]


def test_spoilt_imports_end_well(tmp_path: Path) -> None:
    """A few of what `make fuzz` does by the thousand."""
    outcomes = [outcome for _, outcome in fuzz.fuzz({"import vrd": 12}, 3, 100.0, 1, tmp_path)]
    assert [outcome.number for outcome in outcomes] == list(range(12))
    assert {outcome.kind for outcome in outcomes} == {"accepted", "refused"}
    assert not list(tmp_path.glob("work-*"))


def _refuse(problem: str, file: Path | None) -> None:
    raise DataError(problem, file=file)


def test_the_table_adds_up() -> None:
    counts = {"importers": fuzz.Counter(accepted=3, refused=4, traceback=1), "runs": fuzz.Counter(refused=2)}
    assert fuzz.table(counts).splitlines()[-1] == "| all | 10 | 3 | 6 | 1 |"


def test_the_page_keeps_its_words(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("Before.\n<!-- mutations -->\nold\n<!-- /mutations -->\nAfter.\n")
    fuzz._write(page, "| new |", "--seed 7")
    text = page.read_text()
    assert (text[:7], text[-7:], "old" in text, "| new |" in text, "--seed 7" in text) == (
        "Before.",
        "After.\n",
        False,
        True,
        True,
    )
    shutil.rmtree(tmp_path)
