"""Runs on disk: resuming, refusing, surviving SIGKILL."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from sightline.errors import ConfigError, DataError, ModelError
from sightline.exams.base import Candidate, Exam
from sightline.exams.run import MANIFEST, RECORDS, ItemRecords, Run, RunIdentity, RunRecords
from sightline.exams.runner import run_exam
from sightline.exams.scoring import score_records

IDENTITY = RunIdentity(
    exam="toy", options={"split": "test"}, model="m", model_name="m", model_fingerprint="", data_fingerprint="f"
)


def write_items(folder: Path, names: list[str]) -> None:
    with Run.start(folder, IDENTITY) as run:
        for name in names:
            run.append(
                name,
                f"s{name}",
                f"c{name}",
                ItemRecords({"setting": "x"}, {"truth": ["a", "b"], "answer": ["a", None]}),
            )
        run.close(finished=True)


def test_the_manifest_says_running_before_any_item(tmp_path: Path) -> None:
    with Run.start(tmp_path / "r", IDENTITY):
        manifest = json.loads((tmp_path / "r" / MANIFEST).read_text())
        assert manifest["status"] == "running"
        assert manifest["identity"]["data_fingerprint"] == "f"
        assert set(manifest["versions"]) >= {"sightline", "python"}


def test_records_come_back_one_row_a_judgement(tmp_path: Path) -> None:
    write_items(tmp_path, ["1", "2"])
    records = Run.open(tmp_path).records()
    assert records.columns == ["item", "scene_id", "cluster_id", "setting", "truth", "answer"]
    assert records["cluster_id"].to_list() == ["c1", "c1", "c2", "c2"]
    assert records["answer"].to_list() == ["a", None, "a", None]


@pytest.mark.parametrize("cut", [1, 7, 40])  # bytes of the last line that reached the disk
def test_a_torn_line_is_cut_off_and_its_item_asked_again(tmp_path: Path, cut: int) -> None:
    write_items(tmp_path, ["1", "2"])
    path = tmp_path / RECORDS
    whole = path.read_bytes()
    first = whole.index(b"\n") + 1
    path.write_bytes(whole[: first + cut])
    assert Run.open(tmp_path).records().height == 2
    with Run.start(tmp_path, IDENTITY) as run:
        assert run.done == {"1"}
    assert path.read_bytes() == whole[:first]


@pytest.mark.parametrize(
    "change",
    [
        {"exam": "other"},  # another exam
        {"options": {"split": "validation"}},  # another split
        {"model": "n"},  # another model
        {"model_fingerprint": "x"},  # the model's file has changed
        {"data_fingerprint": "g"},  # the data has changed
    ],
)
def test_a_folder_of_another_run_is_refused(tmp_path: Path, change: dict[str, object]) -> None:
    write_items(tmp_path, ["1"])
    before = (tmp_path / RECORDS).read_bytes()
    with pytest.raises(ConfigError, match=next(iter(change))):
        Run.start(tmp_path, replace(IDENTITY, **change))  # type: ignore[arg-type]
    assert (tmp_path / RECORDS).read_bytes() == before


def test_two_writers_are_refused(tmp_path: Path) -> None:
    with Run.start(tmp_path, IDENTITY), pytest.raises(ConfigError, match="another process"):
        Run.start(tmp_path, IDENTITY)


def test_a_failure_is_written_down(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), Run.start(tmp_path, IDENTITY):
        _ = 1 / 0
    run = Run.open(tmp_path)
    assert run.status == "failed"
    assert "ZeroDivisionError" in run.manifest["error"]


@pytest.mark.parametrize(
    "text",
    [
        "",  # empty
        "{",  # cut off
        "[]",  # not an object
        '{"identity": {}}',  # no exam, no status
    ],
)
def test_a_damaged_manifest_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / MANIFEST).write_text(text)
    with pytest.raises(DataError, match=r"manifest\.json"):
        Run.open(tmp_path)


def test_damaged_records_are_named(tmp_path: Path) -> None:
    write_items(tmp_path, ["1"])
    (tmp_path / RECORDS).write_bytes(b"not json\n")
    with pytest.raises(DataError, match=r"records\.jsonl"):
        Run.open(tmp_path).records()
    with pytest.raises(DataError, match=r"records\.jsonl"):
        Run.start(tmp_path, IDENTITY)


def test_records_without_a_manifest_are_not_adopted(tmp_path: Path) -> None:
    write_items(tmp_path, ["1"])
    (tmp_path / MANIFEST).unlink()
    with pytest.raises(DataError, match="without a manifest"):
        Run.start(tmp_path, IDENTITY)


def test_an_old_error_does_not_outlive_a_good_resume(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), Run.start(tmp_path, IDENTITY):
        _ = 1 / 0
    write_items(tmp_path, ["1"])
    assert "error" not in Run.open(tmp_path).manifest


@dataclass(frozen=True)
class ToyItem:
    id: str
    scene_id: str = "s"
    cluster_id: str = "c"


@dataclass(frozen=True)
class ToyExam(Exam[ToyItem]):
    name, title, skills = "toy", "A toy", ((),)

    def items(self, data: object) -> list[ToyItem]:
        return [ToyItem(str(i)) for i in range(4)]

    def study(self, model: object, data: object) -> str:
        return "all there is to know"

    def ask(self, model: object, item: ToyItem) -> ItemRecords:
        return ItemRecords({}, {"answer": ["x"]})

    def measures(self, records: object, data: object) -> tuple[()]:
        return ()


class ToyModel:
    tuned, seed = False, 7

    def prepare(self, study: str) -> None:
        self.tuned = study == "all there is to know"

    def facts(self) -> dict[str, bool]:
        return {"tuned": self.tuned}


class ToyData:
    path, fingerprint = None, "f"

    def memo(self, key: object, make: Callable[[], Any]) -> Any:
        return make()


def test_visiting_a_finished_run_changes_nothing_but_the_time(tmp_path: Path) -> None:
    def visit(limit: int | None) -> dict[str, Any]:
        run = run_exam(ToyExam(), Candidate("m", "m", ToyModel()), ToyData(), tmp_path, limit=limit)  # type: ignore[arg-type]
        return {k: v for k, v in run.manifest.items() if k != "ended"}

    first = visit(None)
    assert first["status"] == "finished"
    assert first["model"] == {"tuned": True}
    assert first["seeds"] == {"model": 7}
    assert visit(None) == first
    assert visit(2) == first


def test_a_smaller_limit_leaves_the_other_records(tmp_path: Path) -> None:
    def visit(limit: int | None) -> Run:
        return run_exam(ToyExam(), Candidate("m", "m", ToyModel()), ToyData(), tmp_path / "r", limit=limit)  # type: ignore[arg-type]

    assert visit(3).asked == {"0", "1", "2"}
    fewer = visit(2)
    assert fewer.asked == {"0", "1"}
    assert fewer.records()["item"].to_list() == ["0", "1", "2"]
    assert fewer.records(fewer.asked)["item"].to_list() == ["0", "1"]
    assert visit(None).asked is None
    assert visit(2).manifest["items_done"] == 4


def test_a_negative_limit_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="must not be negative, found -1"):
        run_exam(ToyExam(), Candidate("m", "m", ToyModel()), ToyData(), tmp_path / "r", limit=-1)  # type: ignore[arg-type]
    assert not (tmp_path / "r").exists()


class OwnError(ModelError):
    """A kind of its own."""


def test_what_a_model_does_wrong_is_told_with_the_item(tmp_path: Path) -> None:
    class Failing(ToyExam):
        def ask(self, model: object, item: ToyItem) -> ItemRecords:
            if item.id == "2":
                raise OwnError("no answer")
            return super().ask(model, item)

    with pytest.raises(OwnError, match=r"^scene 2: no answer$"):
        run_exam(Failing(), Candidate("m", "m", ToyModel()), ToyData(), tmp_path)  # type: ignore[arg-type]
    assert Run.open(tmp_path).manifest["error"] == "OwnError: scene 2: no answer"


SLOW_SITTING = textwrap.dedent(
    """
    import os, sys, time
    from dataclasses import dataclass
    from pathlib import Path
    from sightline.exams.base import Candidate, Exam
    from sightline.exams.run import ItemRecords
    from sightline.exams.runner import run_exam

    @dataclass(frozen=True)
    class Item:
        id: str
        scene_id: str
        cluster_id: str

    class Data:
        path, fingerprint = None, "f"
        def memo(self, key, make): return make()

    @dataclass(frozen=True)
    class Toy(Exam):
        name, title, skills = "toy", "A toy", ((),)
        def measures(self, records, data): return ()
        def items(self, data): return [Item(str(i), f"s{i}", f"c{i}") for i in range(120)]
        def ask(self, model, item):
            with open(sys.argv[2], "a") as log:
                log.write(item.id + "\\n")
            time.sleep(0.003)
            return ItemRecords({}, {"truth": [item.id] * 50, "answer": ["x" * 200] * 50})

    run_exam(Toy(), Candidate("toy", "toy", object()), Data(), Path(sys.argv[1]))
    """
)


@pytest.mark.long
def test_sigkill_at_any_point_loses_at_most_the_item_in_flight(tmp_path: Path) -> None:
    script, log, folder = tmp_path / "sitting.py", tmp_path / "asked.log", tmp_path / "run"
    script.write_text(SLOW_SITTING)
    moments = random.Random(5)
    kills = 0
    while True:
        process = subprocess.Popen([sys.executable, str(script), str(folder), str(log)])
        if kills < 6:
            before = log.stat().st_size if log.exists() else 0
            while process.poll() is None and (log.stat().st_size if log.exists() else 0) <= before:
                time.sleep(0.002)
            time.sleep(moments.uniform(0.0, 0.06))
            if process.poll() is None:
                os.kill(process.pid, signal.SIGKILL)
                kills += 1
        if process.wait() == 0:
            break
        assert json.loads((folder / MANIFEST).read_text())["status"] == "running"
    assert kills >= 1
    run = Run.open(folder)
    assert run.status == "finished"
    items = run.records()["item"].unique(maintain_order=True).to_list()
    assert items == [str(i) for i in range(120)]
    assert run.records().height == 120 * 50
    assert len(log.read_text().split()) <= 120 + kills


def test_an_error_about_what_records_hold_names_their_file() -> None:
    """Found by `make fuzz`: an answer that is a list was refused without a word on where it stands."""

    class Refusing:
        def measures(self, records: RunRecords, data: Any) -> Any:
            raise DataError("not a label", field="answer", found=records.rows["answer"][0])

    rows = pl.DataFrame({"item": ["a"], "answer": ["[1]"]})
    file = Path("runs/records.jsonl")
    for records, place in ((RunRecords(rows, rows, file), f"{file}, answer"), (RunRecords(rows, rows), "answer")):
        with pytest.raises(DataError, match=rf"^{re.escape(place)}: not a label \(found '\[1\]'\)$"):
            score_records(Refusing(), records.of(["a"]), None)  # type: ignore[arg-type]
