"""What is read of a run's folder: every field and column is checked, and what is wrong is told with its place."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from relations_runs import dataset, runs

from sightline.api import compare, report, score
from sightline.errors import DataError
from sightline.exams.run import MANIFEST, RECORDS

Change = Callable[[dict[str, Any]], object]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The files of a small run."""
    folder = tmp_path_factory.mktemp("made")
    runs(dataset(folder, images=8), folder, ("majority",))
    return {name: (folder / "0" / name).read_bytes() for name in (MANIFEST, RECORDS)}


@pytest.fixture
def folder(made: dict[str, bytes], tmp_path: Path) -> Path:
    for name, data in made.items():
        (tmp_path / name).write_bytes(data)
    return tmp_path


def identity(**values: object) -> Change:
    return lambda manifest: manifest["identity"].update(values)


def options(**values: object) -> Change:
    return lambda manifest: manifest["identity"]["options"].update(values)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda m: m.pop("identity"), "identity: not a mapping"),
        (lambda m: m["identity"].pop("exam"), r"identity\.exam: field is missing \(expected a text"),
        (lambda m: m.pop("status"), "status: field is missing"),
        (lambda m: m.pop("data"), "data: field is missing"),
        (lambda m: m.update(status="done"), "status: unknown choice 'done'"),
        (lambda m: m.update(data=7), r"data: not a text \(expected a text, found 7\)"),
        (lambda m: m.update(items="many"), "items: not a fitting whole number"),
        (lambda m: m.update(items=True), "items: not a fitting whole number"),
        (lambda m: m.update(versions={"python": [3]}), r"versions\.python: not a text"),
        (lambda m: m.update(given=[1]), "given: not a mapping"),
        (lambda m: m.update(model="big"), "model: not a mapping"),
        (lambda m: m.update(broken={"a": None}), r"broken\.a: not a text"),
        (lambda m: m.update(checked={"a": 1}), "checked: not a list"),
        (identity(exam=5), r"identity\.exam: not a text"),
        (identity(model=None), r"identity\.model: not a text"),
        (identity(data_fingerprint={}), r"identity\.data_fingerprint: not a text"),
        (identity(options=[]), r"identity\.options: not a mapping"),
        (identity(secret="x"), r"identity\.secret: unknown field"),
        (options(split=3), r"identity\.options\.split: not a text"),
        (options(settings="both"), r"identity\.options\.settings: not a list"),
        (options(settings=["both"]), r"identity\.options\.settings\[0\]: unknown choice 'both'"),
        (options(boxes="guessed"), r"identity\.options\.boxes: unknown choice 'guessed'"),
    ],
)
def test_a_damaged_manifest_is_told_by_file_and_field(folder: Path, change: Change, says: str) -> None:
    file = folder / MANIFEST
    manifest = json.loads(file.read_text())
    change(manifest)
    file.write_text(json.dumps(manifest))
    with pytest.raises(DataError, match=rf"manifest\.json, {says}"):
        score(folder, resamples=100)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "not JSON"),  # empty
        ("[]", "not an object"),  # another form
        ('{"status": ' * 200, "nested more than 64 levels"),  # deep
        ('{"status": "running", "status": "finished"}', "'status' stands twice"),  # which one?
        ('{"items": 1e999}', "too large"),  # no number
    ],
)
def test_a_manifest_that_is_no_document(folder: Path, text: str, says: str) -> None:
    (folder / MANIFEST).write_text(text)
    with pytest.raises(DataError, match=says):
        score(folder)


def column(name: str, value: object, place: int | None = 0) -> Change:
    """Another value in a column, at one place or in place of all of it."""

    def change(line: dict[str, Any]) -> None:
        if place is None:
            line["records"][name] = value
        else:
            line["records"][name][place] = value

    return change


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda line: line.pop("records"), "records"),
        (lambda line: line.update(records=[]), "records"),
        (lambda line: line.update(records=None), "records"),
        (lambda line: line.pop("item"), "row 1, item: damaged records: value is missing"),
        (lambda line: line.update(item=None), "row 1, item: damaged records: value is missing"),
        (lambda line: line.update(setting="near"), "setting: not a known setting"),
        (lambda line: line.pop("other_scene"), "other_scene: damaged records: value is missing"),
        (lambda line: line["records"].pop("truth"), "row 1, truth: damaged records: a column is missing"),
        (lambda line: line["records"]["truth"].pop(), "damaged records"),  # shorter than the others
        (column("reverse", None), "reverse: damaged records: value is missing"),
        (column("reverse", "x", None), "damaged records"),
        (column("aspect", "sound"), "aspect: not a known aspect .*expected 'depth' or 'occlusion', found 'sound'"),
        (column("truth", "never"), "truth: not a label"),
        (column("answer", "perhaps"), "answer: not a label"),
        (column("answer", {"a": 1}, None), "damaged records"),
    ],
)
def test_damaged_records_are_told(folder: Path, change: Change, says: str) -> None:
    file = folder / RECORDS
    first, *rest = file.read_text().splitlines()
    line = json.loads(first)
    change(line)
    file.write_text("\n".join([json.dumps(line), *rest]) + "\n")
    with pytest.raises(DataError, match=says):
        score(folder, resamples=100)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda data: data[: len(data) // 2] + b"\n", "damaged records"),  # cut off and gone on
        (lambda data: data + data[: data.index(b"\n") + 1], "item stands twice"),
        (lambda data: b"[" * 300 + b"\n" + data, "row 1: not JSON: nested more than 64 levels"),
        (lambda data: data.replace(b'"depth"', b"\xff\xfe", 1), "damaged records"),
        (lambda data: b"\x00" * 50 + b"\n", "damaged records"),
        (lambda data: data.replace(b'"subject"', b'"truth"'), "damaged records"),  # a column twice
    ],
)
def test_records_that_are_no_lines_of_a_run(folder: Path, change: Callable[[bytes], bytes], says: str) -> None:
    file = folder / RECORDS
    file.write_bytes(change(file.read_bytes()))
    data = dataset(folder, images=8)
    for work in (
        lambda: score(folder, resamples=100),
        lambda: report(folder, None, data),
        lambda: compare(folder, folder),
    ):
        with pytest.raises(DataError, match=says):
            work()


def test_null_fields_read_as_if_they_were_not_there(folder: Path) -> None:
    manifest = json.loads((folder / MANIFEST).read_text())
    manifest |= dict.fromkeys(("given", "versions", "model", "broken", "checked", "seeds", "items"))
    (folder / MANIFEST).write_text(json.dumps(manifest))
    assert score(folder, resamples=100).to_dict()["status"] == "finished"
