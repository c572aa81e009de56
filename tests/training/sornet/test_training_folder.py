"""The folder of a training: what may begin where, plans and states that are damaged, rows that were cut short."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from toy_scenes import ToySource, fit_sornet, toy_plan

from sightline.errors import ConfigError, DataError, SightlineError
from sightline.store.manifest import MANIFEST
from sightline.training.folder import DATASET, LOG, PLAN, STATE, begun, columns_of, last_row
from sightline.training.sornet.task import WEIGHTS, SornetTask


@pytest.fixture
def finished(tmp_path: Path) -> Path:
    fit_sornet(toy_plan(), ToySource(), tmp_path / "finished", log_every=1)
    return tmp_path / "finished"


@pytest.fixture
def copy(finished: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(finished, tmp_path / "t"))


def held(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_dataset_goes_by_the_name_the_store_gives_it() -> None:
    assert DATASET == MANIFEST


@pytest.mark.parametrize(
    ("names", "problem"),
    [
        (["dataset.json", "images", "views"], "t is no folder of a training: it is a Sightline dataset;"),
        (["a", "b", "c", "d", "e"], "it holds a, b, c and 2 more; choose another folder"),
        (["curve.json"], "it holds curve.json"),
        ([LOG], "it holds log.csv"),  # nobody knows what of
        ([STATE, LOG], "holds state.ckpt but no plan.json"),
        ([STATE, DATASET], "holds state.ckpt but no plan.json"),
    ],
)
def test_folder_of_something_else(names: list[str], problem: str, tmp_path: Path) -> None:
    folder = tmp_path / "t"
    folder.mkdir()
    for name in names:
        (folder / name).write_text("{}")
    before = held(folder)
    with pytest.raises(ConfigError, match=problem):
        fit_sornet(toy_plan(), ToySource(), folder)
    assert held(folder) == before


def test_a_file(tmp_path: Path) -> None:
    (tmp_path / "t").write_text("")
    with pytest.raises(ConfigError, match="t is a file, not a folder for a training"):
        begun(tmp_path / "t", WEIGHTS)


def test_hidden_files_do_not_count(tmp_path: Path) -> None:
    (tmp_path / ".plan.json.1f.tmp").write_text("")
    assert begun(tmp_path, WEIGHTS) is None
    assert fit_sornet(toy_plan(steps=1), ToySource(), tmp_path)[1].steps == 1


def test_a_state_without_a_plan(copy: Path) -> None:
    (copy / PLAN).unlink()
    before = held(copy)
    with pytest.raises(ConfigError, match="which training it is of cannot be told"):
        fit_sornet(toy_plan(rate=1e-4), ToySource(), copy)
    assert held(copy) == before


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"{", r"plan.json: damaged: not JSON: Expecting .*; choose another folder or remove this one"),
        (b"", "plan.json: damaged"),
        (b"\xff\xfe\x00", "plan.json: damaged"),  # no text
        (b"[]", "plan.json: not the plan of a training .expected a plan and a source"),
        (b'{"plan": {}}', "not the plan of a training"),
        (b'{"plan": {}, "source": 3}', "not the plan of a training"),
    ],
)
def test_damaged_plan(content: bytes, problem: str, copy: Path) -> None:
    (copy / PLAN).write_bytes(content)
    before = held(copy)
    with pytest.raises(DataError, match=problem):
        fit_sornet(toy_plan(), ToySource(), copy)
    assert held(copy) == before


def cut_short(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:1000])


def another(file: Path) -> None:
    torch.save({"weights": torch.zeros(2)}, file)


def no_state(file: Path) -> None:
    torch.save([1, 2], file)


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        (cut_short, "PytorchStreamReader"),
        (lambda file: file.write_bytes(b""), "damaged: "),
        (lambda file: file.write_bytes(b"nothing at all"), "damaged: "),
        (another, "not the state of a SORNet's training"),
        (no_state, "not the state of a SORNet's training"),
    ],
)
def test_damaged_state(damage: Callable[[Path], None], problem: str, copy: Path) -> None:
    damage(copy / STATE)
    before = held(copy)
    with pytest.raises(
        SightlineError, match=f"state.ckpt: damaged: .*{problem.removeprefix('damaged: ')}"
    ) as caught:
        fit_sornet(toy_plan(), ToySource(), copy)
    assert "; remove it to begin this training anew" in str(caught.value)
    assert held(copy) == before
    (copy / STATE).unlink()
    source = ToySource()
    fit_sornet(toy_plan(), source, copy)
    assert source.asked == [0, 1, 2, 3, 4, 5]
    assert (copy / WEIGHTS).read_bytes() == before[WEIGHTS]


def test_another_may_begin_where_nothing_was_saved(copy: Path) -> None:
    for name in (STATE, WEIGHTS):
        (copy / name).unlink()
    _, done = fit_sornet(toy_plan(steps=2), ToySource(), copy)
    assert done.steps == 2
    assert begun(copy, WEIGHTS) is not None
    assert [row.split(",")[0] for row in (copy / LOG).read_text().splitlines()] == ["step", "2"]


def test_weights_alone_are_not_given_away(copy: Path) -> None:
    (copy / STATE).unlink()
    before = held(copy)
    with pytest.raises(ConfigError, match="holds another training: its steps is 6, now it is 2"):
        fit_sornet(toy_plan(steps=2), ToySource(), copy)
    assert held(copy) == before


@pytest.mark.parametrize(
    "torn", ["1", "1,0.5", "", "1,0.5,0.9,x,nan,0.001,80,160,3.5", "�,0.5,0.9,nan,nan,0.001,80,160,3.5"]
)
def test_rows_cut_short_are_left_out(torn: str, tmp_path: Path) -> None:
    fit_sornet(toy_plan(), ToySource(), tmp_path, log_every=1, stop_after=3)
    with (tmp_path / LOG).open("a") as file:
        file.write(torn)
    assert last_row(tmp_path)["step"] == 3
    fit_sornet(toy_plan(), ToySource(), tmp_path, log_every=1)
    rows = (tmp_path / LOG).read_text().splitlines()
    assert rows[0] == ",".join(columns_of(SornetTask(toy_plan(), ToySource())))
    assert [row.split(",")[0] for row in rows[1:]] == ["1", "2", "3", "4", "5", "6"]


def test_without_its_log(copy: Path, finished: Path) -> None:
    (copy / LOG).unlink()
    _, done = fit_sornet(toy_plan(), ToySource(), copy)
    assert (done.steps, done.last) == (6, {})
    assert (copy / WEIGHTS).read_bytes() == (finished / WEIGHTS).read_bytes()


def gone(file: Path) -> None:
    file.unlink()


def older(file: Path) -> None:
    fit_sornet(toy_plan(), ToySource(), file.parent / "older", stop_after=4)
    (file.parent / "older" / WEIGHTS).replace(file)


@pytest.mark.parametrize("damage", [gone, cut_short, older])
def test_weights_are_made_again_of_the_state(damage: Callable[[Path], None], copy: Path, finished: Path) -> None:
    damage(copy / WEIGHTS)
    source = ToySource()
    _, done = fit_sornet(toy_plan(), source, copy)
    assert source.asked == []
    assert done.weights.read_bytes() == (finished / WEIGHTS).read_bytes()
