"""Datasets and runs made by others: nothing they name is executed, and no file outside their folder is read."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import typer.main
from PIL import Image

import sightline as sl
from sightline.errors import DataError
from sightline.exams.relations.exam import RelationsExam
from sightline.exams.relations.simulation import simulated_tables
from sightline.exams.run import MANIFEST
from sightline.exams.runner import run_exam
from sightline.models.registry import candidate
from sightline.store import Dataset, Tables, write

Cli = Callable[..., Any]
MODEL = """
import numpy as np
from sightline.skills import Verdicts

class Looks:
    name = "looks"

    def predicates(self, queries):
        for view in queries.views:
            view.image()
        return Verdicts(np.ones((len(queries), len(queries), 8), dtype=np.int8))

looks = Looks()
"""


@pytest.mark.parametrize(
    "words",
    [
        ("report", "RUN", "--out", "OUT/r.html", "--resamples", "100"),
        ("compare", "RUN", "RUN"),
        ("check", "DATA"),
        ("stats", "DATA"),
        ("look", "DATA", "--out", "OUT/l.html"),
    ],
    ids=lambda words: " ".join(words[::6]),
)
def test_nothing_a_run_or_dataset_names_is_executed(words: tuple[str, ...], tmp_path: Path, cli: Cli) -> None:
    trap = tmp_path / "trap.py"
    trap.write_text(f"open({str(tmp_path / 'sprung')!r}, 'w').close()\nclass M: pass\nobject = M()\n")
    data = write(simulated_tables(images=8, seed=3), tmp_path / "data", source=f"{trap}:object")
    run_exam(RelationsExam(), candidate("size"), data, tmp_path / "run")
    manifest = json.loads((tmp_path / "run" / MANIFEST).read_text())
    manifest["identity"] |= {"model": f"{trap}:object", "model_name": f"{trap}:object"}
    manifest |= {"model": {"spec": f"{trap}:object"}, "given": {"model": f"{trap}:object"}}
    (tmp_path / "run" / MANIFEST).write_text(json.dumps(manifest))
    places = {"RUN": tmp_path / "run", "DATA": tmp_path / "data"}
    done = cli(*(places.get(word, word.replace("OUT", str(tmp_path))) for word in words))
    assert done.code == 0, done.err
    assert sl.score(tmp_path / "run").run.spec == f"{trap}:object"
    assert not (tmp_path / "sprung").exists()


def scenes(folder: Path, image: str | None) -> Path:
    """A stored dataset of one scene with boxes whose picture is at `image`."""
    views = pl.DataFrame({"scene_id": ["s"], "view_id": ["0"], "image": [image], "width": [8], "height": [6]})
    objects = pl.DataFrame({"scene_id": ["s", "s"], "object_id": ["0", "1"], "category": ["cup", "cat"]})
    seen = pl.DataFrame(
        {"scene_id": ["s", "s"], "view_id": ["0", "0"], "object_id": ["0", "1"], "x0": [0.0, 4.0], "y0": [0.0, 2.0]}
        | {"x1": [3.0, 8.0], "y1": [3.0, 6.0]}
    )
    write(Tables.build(views=views, objects=objects, sightings=seen), folder / "data", source="made")
    return folder / "data"


def photo(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.full((6, 8, 3), 77, dtype=np.uint8)).save(path)
    return path


def linked(folder: Path) -> str:
    (folder / "data" / "images").mkdir(exist_ok=True)
    (folder / "data" / "images" / "in.png").symlink_to(folder / "secret" / "out.png")
    return "images/in.png"


def linked_folder(folder: Path) -> str:
    (folder / "data" / "images").symlink_to(folder / "secret")
    return "images/out.png"


def through(folder: Path) -> str:
    (folder / "data" / "images").mkdir()
    return "images/../../secret/out.png"


def pipe(folder: Path) -> str:
    (folder / "data" / "images").mkdir(exist_ok=True)
    os.mkfifo(folder / "data" / "images" / "p.png")
    return "images/p.png"


REFERENCES: dict[str, Callable[[Path], str]] = {
    "absolute": lambda folder: str(folder / "secret" / "out.png"),
    "above": lambda _: "../secret/out.png",
    "through": through,
    "device": lambda _: "/dev/zero",
    "process": lambda _: "/proc/self/environ",
    "link": linked,
    "linked folder": linked_folder,
    "pipe": pipe,
}


@pytest.fixture(params=REFERENCES)
def trapped(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, str]:
    """A stored dataset that points outside its folder, or to what is no file; and how."""
    photo(tmp_path / "secret" / "out.png")
    (tmp_path / "data").mkdir()
    reference = REFERENCES[request.param](tmp_path)
    made = scenes(tmp_path / "made", reference)
    for path in made.iterdir():
        shutil.move(path, tmp_path / "data" / path.name)
    return tmp_path / "data", request.param


def test_stored_datasets_stay_in_their_folder(trapped: tuple[Path, str], tmp_path: Path, cli: Cli) -> None:
    data, how = trapped
    with pytest.raises(DataError, match=r"leads out of the dataset|not a regular file"):
        next(iter(sl.open(data))).views[0].image()
    outcomes = {
        "look": cli("look", data, "--out", tmp_path / "sheet.png"),
        "export": cli("export", "yolo", data, "--out", tmp_path / "yolo"),
        "check": cli("check", data),
        "turing": cli("turing", "ask", data, "--image", "s", "--save", tmp_path / "t.png", "--min-support", 1),
    }
    for command, done in outcomes.items():
        assert done.code == 2, (command, done.out)
        if command != "turing":
            assert "leads out of the dataset" in done.err or "not a regular file" in done.err, (command, done.err)
    assert not (tmp_path / "sheet.png").exists()
    assert not list(tmp_path.rglob("yolo/**/*.png"))
    if how == "process":
        return
    regular = how not in ("device", "pipe", "above", "through")
    for words in (("look", data, "--out", tmp_path / "l.png"), ("export", "yolo", data, "--out", tmp_path / "y")):
        allowed = cli(*words, "--allow-outside")
        assert (allowed.code == 0) == regular, allowed.err
    if regular:
        assert sl.open(data, allow_outside=True).scene("s").views[0].image()[0, 0, 0] == 77
    else:
        with pytest.raises(DataError):
            sl.open(data, allow_outside=True).scene("s").views[0].image()


def test_the_exam_and_the_report_refuse_them_too(tmp_path: Path, cli: Cli) -> None:
    from sightline.generation import generate

    (tmp_path / "m.py").write_text(MODEL)
    made = generate("geospa/train", tmp_path / "made", scenes=2, size=(40, 30), depth=None, canonical=1)
    tables = made.tables()
    outside = photo(tmp_path / "out.png")
    Image.fromarray(np.zeros((30, 40, 3), np.uint8)).save(outside)
    views = tables.views.with_columns(image=pl.lit(str(outside)), ids=pl.lit(None, pl.String))
    data = write(Tables(views, tables.objects, tables.sightings, tables.relations), tmp_path / "data", source="x")
    shutil.copytree(tmp_path / "made" / "canonical", tmp_path / "data" / "canonical")
    words = ["exam", "predicates", "--data", data.path, "--model", f"{tmp_path / 'm.py'}:looks", "--no-baselines"]
    words += ["--views", "original", "--out", tmp_path / "runs"]
    refused = cli(*words)
    assert refused.code == 2
    assert "leads out of the dataset" in " ".join(refused.err.split())
    shutil.rmtree(tmp_path / "runs", ignore_errors=True)
    taken = cli(*words, "--allow-outside")
    assert taken.code == 0, taken.err
    report = ("report", tmp_path / "runs", "--out", tmp_path / "r.html", "--resamples", 100)
    refused = cli(*report)
    assert refused.code == 2
    assert "leads out of the dataset" in " ".join(refused.err.split())
    assert cli(*report, "--allow-outside").code == 0
    assert "SIGHTLINE_ALLOW_OUTSIDE" not in os.environ


def test_tables_that_are_links_or_pipes(tmp_path: Path) -> None:
    data = write(simulated_tables(images=8, seed=3), tmp_path / "data", source="x").path
    file = next((data / "objects").glob("*.parquet"))
    shutil.move(file, tmp_path / "elsewhere.parquet")
    file.symlink_to(tmp_path / "elsewhere.parquet")
    with pytest.raises(DataError, match="objects: leads out of the dataset"):
        Dataset.open(data).tables()
    with pytest.raises(DataError, match="objects: leads out of the dataset"):
        Dataset.open(data).scan("objects")
    assert Dataset.open(data, allow_outside=True).tables().objects.height
    file.unlink()
    os.mkfifo(file)
    with pytest.raises(DataError, match="shard is damaged"):
        Dataset.open(data, allow_outside=True).tables()


def test_images_of_an_import_follow_no_link_out(tmp_path: Path, cli: Cli) -> None:
    photo(tmp_path / "secret" / "7.png")
    photo(tmp_path / "photos" / "here.png")
    (tmp_path / "photos" / "a.png").symlink_to("here.png")
    image = {"id": 7, "file_name": "a.png", "width": 8, "height": 6}
    box = {"id": 1, "image_id": 7, "category_id": 1, "bbox": [0, 0, 4, 4], "iscrowd": 0, "area": 16}
    content = {"images": [image], "annotations": [box], "categories": [{"id": 1, "name": "cup"}]}
    (tmp_path / "c.json").write_text(json.dumps(content))
    words = ("import", tmp_path / "c.json", "--images", tmp_path / "photos", "--overwrite", "--out", tmp_path / "d")
    assert cli(*words).code == 0  # a link inside the folder
    (tmp_path / "photos" / "a.png").unlink()
    (tmp_path / "photos" / "a.png").symlink_to("../secret/7.png")
    refused = cli(*words)
    assert refused.code == 2
    assert "photo is a link that leads out of its folder" in " ".join(refused.err.split())
    assert cli(*words, "--allow-outside").code == 0
    (tmp_path / "moved").symlink_to(tmp_path / "photos")  # the folder itself may be a link
    (tmp_path / "photos" / "a.png").unlink()
    photo(tmp_path / "photos" / "a.png")
    assert cli("import", tmp_path / "c.json", "--images", tmp_path / "moved", "--out", tmp_path / "e").code == 0


def test_a_folder_whose_photos_are_links_is_described_where_that_is_allowed(tmp_path: Path, cli: Cli) -> None:
    photo(tmp_path / "secret" / "7.png")
    (tmp_path / "coco").mkdir()
    (tmp_path / "coco" / "7.png").symlink_to("../secret/7.png")
    image = {"id": 7, "file_name": "7.png", "width": 8, "height": 6}
    content = {"images": [image], "annotations": [], "categories": [{"id": 1, "name": "cup"}]}
    (tmp_path / "coco" / "instances.json").write_text(json.dumps(content))
    refused = cli("stats", tmp_path / "coco")
    assert refused.code == 2
    assert "--allow-outside follows links" in " ".join(refused.err.split())
    assert cli("stats", tmp_path / "coco", "--allow-outside", "--json").json["contents"]["pictures"] == 1


def test_every_command_that_opens_data_can_be_allowed_to_leave_its_folder() -> None:
    from sightline.cli import app

    def commands(group: Any, name: str = "") -> Iterator[tuple[str, set[str]]]:
        for word, command in group.commands.items():
            if hasattr(command, "commands"):
                yield from commands(command, f"{name}{word} ")
            else:
                yield name + word, {parameter.name for parameter in command.params}

    stuck = {
        name
        for name, parameters in commands(typer.main.get_command(app))
        if "data" in parameters and "allow_outside" not in parameters
    }
    assert stuck == {"demo"}  # it brings its own along
