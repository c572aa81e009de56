"""``sightline train``: small trainings from a dataset and a world, the exam after them, the curve, refusals."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

import sightline
from sightline.cli import console
from sightline.exams.relations import simulate
from sightline.models.nets import sornet, viewpoint
from sightline.models.nets.sornet import SornetConfig
from sightline.training.sornet import losses, setup
from sightline.training.sornet.layouts import identities_of
from sightline.worlds import load_world

SMALL = ("--steps", 3, "--batch", 2, "--device", "cpu")


@pytest.fixture(autouse=True)
def mini(monkeypatch: pytest.MonkeyPatch) -> None:
    """``tiny`` is smaller still."""
    monkeypatch.setitem(sornet.SIZES, "tiny", SornetConfig(width=32, depth=1, heads=2, hidden=16))


@pytest.fixture
def small_world(tmp_path: Path) -> Path:
    file = tmp_path / "small.yaml"
    file.write_text("extends: geospa/train\nresolution: [96, 64]\ncolors: [red]\ndistinct: false\n")
    return file


def test_from_a_dataset_to_the_exam(cli: Any, generated: Path, tmp_path: Path) -> None:
    made = cli("train", "sornet", "--data", generated, "--split", "train", "--out", tmp_path / "t", *SMALL)
    assert made.code == 0, made.err
    weights = tmp_path / "t" / "sornet.safetensors"
    assert made.out.startswith(f"{weights}: 3 steps, loss 0.")
    assert f"sightline exam predicates --data DIR --model {weights}" in made.err
    again = cli(
        "train", "sornet", "--data", generated, "--split", "train", "--out", tmp_path / "t", *SMALL, "--json"
    )
    assert again.json["weights"] == str(weights)
    assert (again.json["steps"], again.json["planned"], again.json["device"]) == (3, 3, "cpu")
    assert 0.0 <= again.json["last"]["right"] <= 1.0
    sat = cli(
        "exam",
        "predicates",
        "--data",
        generated,
        "--model",
        weights,
        "--no-baselines",
        "--out",
        tmp_path / "r",
        "--json",
    )
    assert sat.code == 0, sat.err
    assert sat.json["n_scenes"] == 6
    assert sat.json["views"] == ["original", "top"]


def test_from_a_world(cli: Any, small_world: Path, tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    made = cli(
        "train",
        "sornet",
        "--world",
        small_world,
        "--out",
        tmp_path / "t",
        *SMALL,
        "--views",
        "original",
        "--canonical",
        1,
        "--augmentation",
        "none",
        "--rate",
        1e-3,
        "--seed",
        4,
        "--tensorboard",
    )
    assert made.code == 0, made.err
    assert "drawn on the CPU" in made.err
    plan = json.loads((tmp_path / "t" / "plan.json").read_text())["plan"]
    told = {name: plan[name] for name in ("augmentation", "views", "rate", "seed", "canonical", "steps")}
    assert told == {
        "augmentation": None,
        "views": ["original"],
        "rate": 1e-3,
        "seed": 4,
        "canonical": 1,
        "steps": 3,
    }
    assert [file.name.split(".")[0] for file in (tmp_path / "t" / "tensorboard").iterdir()] == ["events"]


@pytest.mark.parametrize(
    ("auxiliary", "facts", "pointing"),
    [("both", True, True), ("pose", True, False), ("pointing", False, True), ("none", False, False)],
)
def test_auxiliary_losses(
    cli: Any, generated: Path, tmp_path: Path, auxiliary: str, facts: bool, pointing: bool
) -> None:
    words = ("train", "sornet", "--data", generated, "--out", tmp_path / "t", *SMALL)
    made = cli(*words, "--auxiliary", auxiliary, "--json")
    assert made.code == 0, made.err
    last = made.json["last"]
    assert (last["facts"] is not None, last["pointing"] is not None) == (facts, pointing)
    plan = json.loads((tmp_path / "t" / "plan.json").read_text())["plan"]
    assert (plan["facts"] > 0, plan["pointing"] > 0) == (facts, pointing)
    again = cli(*words)  # with both, as by default
    assert again.code == (0 if auxiliary == "both" else 2)
    if auxiliary in ("pointing", "none"):
        assert "holds another training: its facts is 0.0, now it is 1.0" in again.err
    if auxiliary == "pose":
        assert "holds another training: its pointing is 0.0, now it is 0.3" in again.err


@pytest.mark.parametrize(
    ("named", "turns", "scenes"),
    [
        (("small", "other"), [0, 1], 6),  # three steps of two scenes
        (("small", "other", "other"), [0, 1, 1], 6),
        (("small", "small"), None, 6),
    ],
)
def test_from_several_worlds(
    cli: Any, small_world: Path, tmp_path: Path, named: tuple[str, ...], turns: list[int] | None, scenes: int
) -> None:
    other = tmp_path / "other.yaml"
    other.write_text(
        "extends: geospa/diverse\nresolution: [96, 64]\ncolors: [cyan]\ndistinct: false\nobjects: [2, 5]\n"
    )
    files = {"small": small_world, "other": other}
    worlds = [word for name in named for word in ("--world", files[name])]
    made = cli("train", "sornet", *worlds, "--out", tmp_path / "t", *SMALL, "--views", "original", "--canonical", 1)
    assert made.code == 0, made.err
    source = json.loads((tmp_path / "t" / "plan.json").read_text())["source"]
    assert (source.get("turns"), source["scenes"]) == (turns, scenes)
    assert len({one["world"] for one in source.get("sources", [source])}) == len(set(named))


def test_many_objects_have_fewer_canonical_views(
    cli: Any, small_world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    objects = len(identities_of(load_world(small_world)))
    monkeypatch.setattr(setup, "MOST_CANONICAL", {"cpu": 3 * objects})
    made = cli(
        "train",
        "sornet",
        "--world",
        small_world,
        "--out",
        tmp_path / "t",
        *SMALL,
        "--views",
        "original",
        "--canonical",
        4,
    )
    assert made.code == 0, made.err
    assert f"has {objects} objects: 2 canonical views of each" in made.err


def test_worlds_that_do_not_mix(cli: Any, small_world: Path, tmp_path: Path) -> None:
    done = cli("train", "sornet", "--world", "geospa/diverse", "--world", small_world, "--out", tmp_path / "t")
    assert done.code == 2
    assert "have views of 480×320 and 96×64 pixels: they do not mix" in done.err
    assert not (tmp_path / "t").exists()


def test_curve(cli: Any, generated: Path, tmp_path: Path) -> None:
    cli("train", "sornet", "--data", generated, "--out", tmp_path / "t", *SMALL)
    start = tmp_path / "t" / "sornet.safetensors"
    words = ("train", "curve", "--data", generated, "--start", start, "--out", tmp_path / "c", *SMALL)
    made = cli(*words, "--scenes", "0,2", "--held-out", 3)
    assert made.code == 0, made.err
    assert "scene accuracy on 3 held-out scenes" in made.out
    assert [line.split()[0] for line in made.out.splitlines()[2:]] == ["0", "2", "(commoner"]
    assert (tmp_path / "c" / "curve.svg").read_text().startswith("<svg")
    told = cli(*words, "--scenes", "0,2", "--held-out", 3, "--json").json
    assert [point["scenes"] for point in told["points"]] == [0, 2]
    assert told["source"]["part"] == [0, 3]
    assert told["held_out"]["part"] == [3, 6]
    many = cli(*words, "--scenes", "0,4", "--held-out", 3)
    assert (many.code, many.err) == (2, "error: 4 scenes to learn from and 3 to ask about: there are only 6\n")


def test_curve_of_a_world(cli: Any, small_world: Path, generated: Path, tmp_path: Path) -> None:
    cli("train", "sornet", "--data", generated, "--out", tmp_path / "t", *SMALL)
    made = cli(
        "train",
        "curve",
        "--world",
        small_world,
        "--start",
        tmp_path / "t" / "sornet.safetensors",
        "--out",
        tmp_path / "c",
        *SMALL,
        "--canonical",
        1,
        "--scenes",
        "2",
        "--held-out",
        3,
        "--json",
    )
    assert made.code == 0, made.err
    assert made.json["source"]["seed"] != made.json["held_out"]["seed"]
    assert made.json["points"][0]["n_scenes"] == 3


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["sornet"], "train on one of --world and --data"),
        (["sornet", "--world", "geospa/train", "--data", "D"], "train on one of --world and --data"),
        (["sornet", "--world", "geospa/train", "--split", "train"], "--split is for --data"),
        (["sornet", "--world", "geospa/trian"], "did you mean"),
        (["sornet", "--world", "geospa/train", "--views", "below"], "no view 'below'"),
        (["sornet", "--world", "geospa/train", "--start", "none.safetensors"], "none.safetensors: no such file"),
        (
            ["curve", "--world", "geospa/train", "--world", "geospa/diverse", "--start", "x"],
            "curve takes one --world",
        ),
        (["sornet", "--data", "D", "--split", "val"], "no split 'val'"),
        (["sornet", "--data", "D", "--views", "original,side_2"], "no view 'side_2'; it has original, top"),
        (["sornet", "--data", "D", "--rate", "0"], "rate of a training must be a number above 0"),
        (["sornet", "--data", "D", "--rate", "nan"], "rate of a training must be a number above 0, not nan"),
        (["sornet", "--data", "D", "--rate", "inf"], "rate of a training must be a number above 0, not inf"),
        (["sornet", "--data", "D", "--start", "sornet"], "sornet takes views original, top of 480×320 pixels"),
        (["sornet", "--data", "D", "--start", "sornet", "--size", "base"], "sornet is a network of size"),
        (["curve", "--data", "D", "--start", "sornet", "--scenes", "2", "--held-out", "3"], "takes views original"),
        (["sornet", "--data", "D", "--scenes", "0,8"], "No such option: --scenes"),
        (["sornet", "--data", "nowhere"], "nowhere"),
        (["curve", "--data", "D"], "Missing option '--start'"),
        (["curve", "--data", "D", "--start", "x", "--scenes", "few"], "expected whole numbers"),
    ],
)
def test_refused(cli: Any, generated: Path, tmp_path: Path, words: list[str], problem: str) -> None:
    given = [str(generated) if word == "D" else word for word in words]
    done = cli("train", *given, "--out", tmp_path / "t", "--device", "cpu")
    assert done.code == 2
    assert problem in done.words
    assert not (tmp_path / "t").exists()


def test_pictures_outside_the_folder_are_read_where_that_is_allowed(
    cli: Any, generated: Path, tmp_path: Path
) -> None:
    shutil.copytree(generated, tmp_path / "d")
    shutil.move(tmp_path / "d" / "images", tmp_path / "elsewhere")
    (tmp_path / "d" / "images").symlink_to(tmp_path / "elsewhere")
    words = ("train", "sornet", "--data", tmp_path / "d", "--out", tmp_path / "t", *SMALL)
    refused = cli(*words)
    assert refused.code == 2
    assert "leads out of the dataset" in refused.err
    assert cli(*words, "--allow-outside").code == 0


def held(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (("sornet",), "is no folder of a training: it is a Sightline dataset; choose another folder"),
        (
            ("curve", "--start", "sornet"),
            "is no folder of a curve: it is a Sightline dataset; choose another folder",
        ),
    ],
)
def test_into_a_dataset(cli: Any, generated: Path, words: tuple[str, ...], found: str) -> None:
    before = held(generated)
    done = cli("train", *words, "--data", generated, "--out", generated, *SMALL)
    assert (done.code, done.err) == (2, f"error: {generated} {found}\n")
    assert held(generated) == before


def test_diverged(cli: Any, generated: Path, tmp_path: Path) -> None:
    words = ("train", "sornet", "--data", generated, "--out", tmp_path / "t", *SMALL)
    done = cli(*words, "--rate", 1e30)
    assert (done.code, done.out) == (2, "")
    assert "t: the training diverged: loss nan" in done.err
    assert "try a lower rate (--rate) than 1e+30" in done.err
    assert sorted(held(tmp_path / "t")) == ["log.csv", "plan.json"]
    assert cli(*words, "--rate", 1e-3).code == 0, "what is advised can be done"


def test_a_missing_picture(cli: Any, generated: Path, tmp_path: Path) -> None:
    shutil.copytree(generated, tmp_path / "d")
    file = next(path for path in sorted((tmp_path / "d" / "images").rglob("*")) if path.is_file())
    file.unlink()
    done = cli("train", "sornet", "--data", tmp_path / "d", "--out", tmp_path / "t", *SMALL)
    assert done.code == 2
    assert done.err.startswith(f"error: {file}, row ")
    assert done.err.endswith(": picture is missing\n")
    assert not (tmp_path / "t").exists()


def test_of_a_finished_training_things_are_lost(cli: Any, generated: Path, tmp_path: Path) -> None:
    words = ("train", "sornet", "--data", generated, "--out", tmp_path / "t", *SMALL)
    cli(*words)
    before = held(tmp_path / "t")
    for name in ("log.csv", "sornet.safetensors"):
        (tmp_path / "t" / name).unlink()
    done = cli(*words)
    weights = tmp_path / "t" / "sornet.safetensors"
    assert (done.code, done.out) == (0, f"{weights}: 3 steps\n")
    assert weights.read_bytes() == before["sornet.safetensors"]
    (tmp_path / "t" / "state.ckpt").write_bytes(b"nothing")
    damaged = cli(*words)
    assert damaged.code == 2
    assert damaged.err.startswith(f"error: {tmp_path / 't' / 'state.ckpt'}: damaged: ")


def test_interrupted_while_drawing(
    cli: Any, small_world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def press(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("sightline.training.sornet.pictures.cpu_bank", press)
    done = cli("train", "sornet", "--world", small_world, "--out", tmp_path / "t", *SMALL)
    assert done.code == 130
    assert "interrupted: the same command goes on from the start, no state was saved yet" in done.err
    assert not (tmp_path / "t").exists()


def test_curve_interrupted(cli: Any, generated: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def press(*_: Any) -> None:
        raise KeyboardInterrupt

    cli("train", "sornet", "--data", generated, "--out", tmp_path / "t", *SMALL)
    words = (
        "train",
        "curve",
        "--data",
        generated,
        "--start",
        tmp_path / "t" / "sornet.safetensors",
        "--out",
        tmp_path / "c",
        *SMALL,
        "--scenes",
        "0,2",
        "--held-out",
        3,
    )
    with monkeypatch.context() as patched:
        patched.setattr("sightline.training.sornet.task.predicate_loss", press)
        done = cli(*words)
    assert (done.code, done.err.splitlines()[0]) == (
        130,
        "interrupted: the same command goes on with what is not learned yet, at its last state or, where none "
        "was saved, from its start",
    )
    assert cli(*words).code == 0


def on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console.err, "_force_terminal", True)
    monkeypatch.setattr(console.err, "is_interactive", True)
    monkeypatch.setenv("TERM", "xterm")


@pytest.mark.parametrize("what", ["sornet", "curve"])
def test_a_bar_while_canonical_views_are_drawn(
    cli: Any, what: str, small_world: Path, generated: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli("train", "sornet", "--data", generated, "--out", tmp_path / "t", *SMALL)
    words = ("--world", small_world, "--out", tmp_path / "c", *SMALL, "--canonical", 1)
    if what == "curve":
        words += ("--start", tmp_path / "t" / "sornet.safetensors", "--scenes", "2", "--held-out", 3)
    on_a_terminal(monkeypatch)
    made = cli("train", what, *words)
    assert made.code == 0, made.err
    objects = len(identities_of(load_world(small_world)))
    assert "canonical views" in made.err
    assert f"{objects}/{objects}" in made.err


def test_interrupted(cli: Any, generated: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def press(*_: Any) -> None:
        raise KeyboardInterrupt

    words = ("train", "sornet", "--data", generated, "--out", tmp_path / "t", *SMALL)
    with monkeypatch.context() as patched:
        patched.setattr("sightline.training.sornet.task.predicate_loss", press)
        done = cli(*words)
    assert (done.code, done.err.splitlines()[0]) == (
        130,
        "interrupted: the same command goes on from the start, no state was saved yet",
    )
    assert cli(*words).code == 0


def test_interrupted_after_a_state(
    cli: Any, generated: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[int] = []

    def press_at_third(*given: Any) -> Any:
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return losses.predicate_loss(*given)

    words = ("train", "sornet", "--data", generated, "--out", tmp_path / "t", *SMALL)
    with monkeypatch.context() as patched:
        patched.setattr("sightline.training.log.FIRST_STATE", 0.0)
        patched.setattr("sightline.training.sornet.task.predicate_loss", press_at_third)
        done = cli(*words)
    state = tmp_path / "t" / "state.ckpt"
    assert (done.code, done.err.splitlines()[:2]) == (
        130,
        [
            f"note: {state} holds the training after step 1: stopped now, the same command goes on there",
            f"interrupted: the same command goes on after step 1 of 3, kept in {state}",
        ],
    )
    again = cli(*words)
    assert again.code == 0, again.err
    assert f"note: {state} holds the training after step 1" in again.err


def test_a_batch_that_suits_the_cpu(
    cli: Any, generated: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(setup, "CPU_BATCH", 3)
    words = ("train", "sornet", "--data", generated, "--out", tmp_path / "t", "--steps", 1, "--device", "cpu")
    done = cli(*words)
    assert done.code == 0, done.err
    assert "note: 3 scenes a step, to suit this CPU; --batch sets it" in done.err
    assert json.loads((tmp_path / "t" / "plan.json").read_bytes())["plan"]["batch"] == 3
    monkeypatch.setattr(setup, "CPU_BATCH", 2)  # gone on with on another machine
    again = cli(*words)
    assert again.code == 0, again.err
    assert "to suit this CPU" not in again.err
    plan = tmp_path / "t" / "plan.json"
    whole = plan.read_text()
    for spoilt in ('"2"', "-1", "null", "[3]"):  # found by make fuzz
        plan.write_text(whole.replace('"batch": 3', f'"batch": {spoilt}'))
        assert "holds another training: its batch is" in cli(*words).err
    plan.write_text(whole)
    refused = cli(*words, "--batch", 5)
    assert (refused.code, "its batch is 3, now it is 5" in refused.err) == (2, True)


@pytest.mark.parametrize(
    ("options", "memory", "batch"),
    [
        ({}, 64e9, 16),  # a CPU
        ({"size": "base"}, 4e9, 8),  # whose memory is small
        ({"size": "base"}, 1e6, 1),  # or next to nothing
        ({"batch": 256}, 8e9, 256),  # asked for
        ({"start": "sornet"}, 64e9, 32),  # a checkpoint's
        ({"start": "sornet"}, 4e9, 8),  # on a CPU of little memory
    ],
)
def test_batches_by_memory(
    options: dict[str, Any], memory: float, batch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(setup, "_memory", lambda: memory)
    chosen = setup.SornetOptions(worlds=("geospa/train",), **options)
    assert setup.plan_of(chosen, "cpu").batch == batch
    on_card = setup.plan_of(chosen, "cuda").batch
    assert on_card == options.get("batch", 32 if "start" in options else 256)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a card")
def test_no_card(cli: Any, generated: Path, tmp_path: Path) -> None:
    done = cli("train", "sornet", "--data", generated, "--out", tmp_path / "t", "--device", "cuda")
    assert (done.code, done.err) == (2, "error: --device cuda: torch sees no card here\n")


@pytest.mark.parametrize("package", ["lightning", "torch", "safetensors"])
def test_without_the_extra(
    cli: Any, generated: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    done = cli("train", "sornet", "--data", generated, "--out", tmp_path / "t")
    assert (done.code, done.err) == (
        2,
        f'error: this needs the package {package}: pip install "sightline-exams[train]"\n',
    )


def test_without_tensorboard(cli: Any, generated: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    done = cli("train", "sornet", "--data", generated, "--out", tmp_path / "t", *SMALL, "--tensorboard")
    assert done.code == 2
    assert "--tensorboard needs the package tensorboard" in done.err
    assert not (tmp_path / "t").exists()


def test_a_viewnet_to_the_exam(cli: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small = {"widths": (8, 8, 16, 16), "depths": (1, 1, 1, 1), "neck": 8, "hidden": 16, "bins": 8, "side": 64}
    monkeypatch.setattr(viewpoint, "SIZES", {**viewpoint.SIZES, "tiny": small})
    world = tmp_path / "cars.yaml"
    world.write_text("extends: cad/train\nshapes: [cad/car/sedan, cad/bottle/beer]\nvariants: [0, 1]\n")
    given = ("train", "viewpoint", "--world", world, "--out", tmp_path / "t", "--scenes", 4, *SMALL)
    made = cli(*given)
    assert made.code == 0, made.err
    weights = tmp_path / "t" / "viewnet.safetensors"
    assert made.out.startswith(f"{weights}: 3 steps, loss ")
    assert f"sightline exam viewpoint --data DIR --model {weights}" in made.err
    assert cli(*given, "--json").json["steps"] == 3
    data = tmp_path / "data"
    assert cli("generate", world, "--scenes", 3, "--out", data).code == 0
    for boxes in ("given", "detected"):
        sat = cli(
            "exam", "viewpoint", "--data", data, "--model", weights, "--boxes", boxes, "--out", tmp_path / boxes
        )
        assert sat.code == 0, sat.err


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--data", "d"), "No such option: --data"),
        (("--start", "sornet"), "No such option: --start"),
        (("--world", "cad/train", "--world", "cad/val"), "takes one --world"),
        (("--size", "paper"), "'paper' is not one of 'tiny', 'base', 'large'"),
    ],
)
def test_what_a_viewnet_is_not_trained_by(cli: Any, tmp_path: Path, more: tuple[str, ...], words: str) -> None:
    refused = cli("train", "viewpoint", "--out", tmp_path / "t", "--device", "cpu", *more)
    assert refused.code == 2
    assert words in refused.words
    assert not (tmp_path / "t").exists()


@pytest.mark.parametrize("model", ["mlp", "consistent"])
def test_a_relations_network_to_the_exam(cli: Any, tmp_path: Path, model: str) -> None:
    simulate(tmp_path / "labels", images=60)
    where = ("--data", tmp_path / "labels")
    given = ("train", "relations", *where, "--model", model, "--cues", "bc", "--steps", 5, "--out", tmp_path / "t")
    made = cli(*given)
    assert made.code == 0, made.err
    assert made.out.startswith(f"{tmp_path / 't' / 'relations.safetensors'}: 5 steps, loss ")
    assert cli(*given, "--json").json["steps"] == 5  # done already
    sat = cli("exam", "relations", *where, "--model", tmp_path / "t", "--out", tmp_path / "runs", "--json")
    assert sat.code == 0, sat.err
    assert {"blind_mlp", "consistent"} <= set(sat.json["baselines"])
    other = cli(*given[:-4], "--steps", 6, "--out", tmp_path / "t")
    assert other.code == 2
    assert "holds another training" in other.err


def test_a_relations_network_by_depth_maps(cli: Any, small_world: Path, tmp_path: Path) -> None:
    data, maps, net = tmp_path / "data", tmp_path / "maps", tmp_path / "t"
    assert cli("generate", small_world, "--out", data, "--scenes", 2, "--pairs").code == 0
    for scene in sightline.open(data):
        (maps / scene.id).parent.mkdir(parents=True, exist_ok=True)
        np.save(maps / f"{scene.id}.npy", scene.views[0].depth())
    words = ("train", "relations", "--data", data, "--cues", "bd", "--out", net, *SMALL)
    refused = cli(*words)
    assert (refused.code, net.exists()) == (2, False)
    assert "--cues bd: has the cue d and needs the option depth, as in --cues bd --depth PATH" in refused.err
    made = cli(*words, "--depth", maps)
    assert f"--model {net / 'relations.safetensors'}:depth={maps}" in made.err
    exam = ("exam", "relations", "--data", data, "--no-baselines", "--out", tmp_path / "runs")
    sat = cli(*exam, "--model", f"{net}:depth={maps}")  # the folder, with its options
    assert sat.code == 0, sat.err
    again = cli(*exam, "--model", f"{net / 'relations.safetensors'}:depth={maps}")
    assert "0 items asked, 4 there already" in again.err
    np.save(maps / f"{scene.id}.npy", np.ones((4, 4)))
    changed = cli(*exam, "--model", f"{net}:depth={maps}")
    assert changed.code == 2  # other maps are another model
    assert "--overwrite" in changed.err


def test_a_relations_network_learns_from_a_world(cli: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIGHTLINE_CACHE", str(tmp_path / "cache"))
    given = ("--world", "geospa/train", "--scenes", 6, "--steps", 3, "--out", tmp_path / "t")
    made = cli("train", "relations", *given, "--study", "across")
    assert made.code == 0, made.err
    plan = json.loads((tmp_path / "t" / "plan.json").read_text())
    assert plan["source"]["settings"] == ["across_images"]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ((), "train on one of --world and --data"),
        (("--size", "tiny"), "No such option: --size"),
        (("--world", "room", "--cues", "c"), "cues are b with any of c, d and a"),
        (("--world", "room", "--model", "vipcnn"), "learns with --study within"),
        (("--world", "room", "--model", "drnet", "--plan", "paper"), "--plan paper is for --model mlp"),
    ],
)
def test_what_a_relations_network_is_not_trained_by(
    cli: Any, tmp_path: Path, more: tuple[str, ...], words: str
) -> None:
    refused = cli("train", "relations", "--out", tmp_path / "t", "--device", "cpu", *more)
    assert refused.code == 2
    assert words in refused.words
    assert not (tmp_path / "t").exists()


@pytest.mark.parametrize("what", ["sornet", "curve", "viewpoint", "detector", "context", "inpainter"])
def test_options_of_relations_networks_are_not_for_others(cli: Any, tmp_path: Path, what: str) -> None:
    refused = cli("train", what, "--cues", "bc", "--out", tmp_path / "t")
    assert refused.code == 2
    assert "No such option: --cues" in refused.words


@pytest.mark.parametrize("option", ["--augmentation", "--auxiliary", "--canonical", "--workers"])
def test_what_a_training_does_not_use_is_refused_rather_than_passed_over(
    cli: Any, tmp_path: Path, option: str
) -> None:
    refused = cli("train", "relations", "--world", "room", option, "1", "--out", tmp_path / "t")
    assert refused.code == 2
    assert f"No such option: {option}" in refused.words


def test_a_detector_of_two_worlds(
    cli: Any, small_world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = {"widths": (8, 8, 16, 16), "depths": (1, 1, 1, 1), "neck": 8, "hidden": 8, "side": 64}
    monkeypatch.setattr(viewpoint, "SIZES", {**viewpoint.SIZES, "tiny": small})
    other = tmp_path / "other.yaml"
    other.write_text("extends: geospa/diverse\nresolution: [64, 96]\n")
    words = ("train", "detector", "--world", small_world, "--world", other, "--scenes", 3)
    made = cli(*words, "--out", tmp_path / "t", *SMALL)
    assert made.code == 0, made.err
    weights = tmp_path / "t" / "viewnet.safetensors"
    assert made.out.startswith(f"{weights}: 3 steps, loss ")
    assert f"sightline exam relations --boxes detected --data DIR --model blind_mlp+{weights}" in made.err
    told = json.loads((tmp_path / "t" / "plan.json").read_text())
    assert told["plan"]["viewpoints"] is False
    assert list(told["source"]["worlds"].values()) == [4, 4]  # scenes go two by two
    again = cli(*words, "--out", tmp_path / "t", *SMALL, "--json")
    assert (again.json["steps"], again.json["planned"]) == (3, 3)
    assert 0.0 <= again.json["last"]["right"] <= 1.0
    longer = cli(*words, "--out", tmp_path / "t", *SMALL, "--seed", 1)
    assert (longer.code, "holds another training" in longer.err) == (2, True)
    data = tmp_path / "data"
    assert cli("generate", small_world, "--out", data, "--scenes", 2, "--pairs").code == 0
    model = f"blind_mlp+{weights}"
    exam = ("exam", "relations", "--data", data, "--model", model, "--boxes", "detected", "--out", tmp_path / "r")
    sat = cli(*exam, "--no-baselines")
    assert sat.code == 0, sat.err


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ((), "Missing option '--world'"),
        (("--world", "geospa/train", "--data", "d"), "No such option: --data"),
        (("--world", "geospa/trian"), "did you mean"),
        (("--world", "geospa/train", "--scenes", "0"), "should be greater than or equal to 1"),
        (("--world", "geospa/train", "--model", "mlp"), "No such option: --model"),
        (("--world", "geospa/train", "--size", "paper"), "'paper' is not one of 'tiny', 'base', 'large'"),
    ],
)
def test_refused_detectors(cli: Any, tmp_path: Path, more: tuple[str, ...], problem: str) -> None:
    refused = cli("train", "detector", "--out", tmp_path / "t", "--device", "cpu", *more)
    assert refused.code == 2
    assert problem in refused.words


def test_a_segmenter_with_objects_removed_to_the_exam(cli: Any, tmp_path: Path) -> None:
    given = ("train", "context", "--model", "upernet", "--size", "tiny", "--scenes", 4, "--steps", 2, "--batch", 2)
    made = cli(*given, "--device", "cpu", "--out", tmp_path / "t")
    weights = tmp_path / "t" / "segmenter.safetensors"
    assert made.code == 0, made.err
    assert made.out.startswith(f"{weights}: 2 steps, loss ")
    assert f"sightline exam context --data DIR --model {weights}" in made.err
    plan = json.loads((tmp_path / "t" / "plan.json").read_text())
    assert (plan["plan"]["removal"], plan["plan"]["negative"]) == ("hardnegative", 1.0)
    assert plan["source"]["worlds"] == {"context/street/train": 4}
    assert (
        cli("generate", "context/street/full", "--scenes", 2, "--size", "96x64", "--out", tmp_path / "data").code
        == 0
    )
    words = ("exam", "context", "--data", tmp_path / "data", "--model", tmp_path / "t", "--no-controls")
    sat = cli(*words, "--out", tmp_path / "runs", "--json")
    assert sat.code == 0, sat.err
    assert sat.json["skill"] == "segment"


def test_a_segmenter_of_three_classes(cli: Any, tmp_path: Path) -> None:
    given = ("train", "context", "--model", "upernet", "--size", "tiny", "--scenes", 12, "--steps", 1, "--batch", 2)
    out = ("--device", "cpu", "--out", tmp_path / "t")
    made = cli(*given, "--part", "cooccur", "--classes", "road,sidewalk, car", *out)
    assert made.code == 0, made.err
    from sightline.models.picture_nets import load_segmenter

    model = load_segmenter(tmp_path / "t" / "segmenter.safetensors")
    assert set(model.classes[:-1]) == {"car", "road", "sidewalk"}
    assert model.classes[-1] == "other"
    plan = json.loads((tmp_path / "t" / "plan.json").read_text())
    assert plan["source"]["classes"] == ["car", "road", "sidewalk"]
    assert 0 < plan["source"]["scenes"] < 12  # a strip alone is one of the three
    for classes, problem in (
        (("--classes", "raod"), "no such class in these worlds: raod; there are"),
        (("--classes", "car,road"), "holds another training"),
        (("--model", "light", "--classes", "road"), "--classes is for upernet; light learns every class"),
    ):
        refused = cli(*given, "--part", "cooccur", *classes, *out)
        assert (refused.code, problem in refused.words) == (2, True), refused.err


def test_a_classifier_with_objects_removed_learns_from_two_worlds(cli: Any, tmp_path: Path) -> None:
    given = ("train", "context", "--scenes", 4, "--steps", 1, "--batch", 2, "--device", "cpu", "--removal", "const")
    made = cli(*given, "--part", "cooccur", "--out", tmp_path / "t", "--json")
    assert made.code == 0, made.err
    plan = json.loads((tmp_path / "t" / "plan.json").read_text())
    assert plan["source"]["worlds"] == {"context/train": 2, "context/single": 2}
    assert plan["source"]["scenes"] == 2, "those of context/single show one class"
    assert (plan["plan"]["backbone"], plan["plan"]["removal"], plan["plan"]["hinge"]) == (
        "mobilenet_v2",
        "const",
        0.03,
    )


def test_an_in_painter_fills_what_is_removed(cli: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sightline.training.inpainter.setup.SIDE", 32)
    given = ("train", "inpainter", "--world", "context/train", "--scenes", 2, "--steps", 1, "--batch", 2)
    with monkeypatch.context() as patched:
        on_a_terminal(patched)  # its bar has no share of right answers: it gives none
        made = cli(*given, "--device", "cpu", "--out", tmp_path / "t")
    weights = tmp_path / "t" / "inpainter.safetensors"
    assert made.code == 0, made.err
    assert "1/1 loss" in made.err
    assert f"--fill network:{weights}" in made.err
    Image.fromarray(np.full((40, 40, 3), 90, np.uint8)).save(tmp_path / "i.png")
    Image.fromarray(np.pad(np.full((8, 8), 255, np.uint8), 16)).save(tmp_path / "m.png")
    words = ("remove", "--image", tmp_path / "i.png", "--mask", tmp_path / "m.png", "--fill", f"network:{weights}")
    assert cli(*words, "--out", tmp_path / "o.png").code == 0


@pytest.mark.parametrize(
    ("what", "more", "words"),
    [
        ("context", ("--data", "d"), "No such option: --data"),
        ("context", ("--model", "mlp"), "'mlp' is not one of 'light', 'vgg19', 'upernet'"),
        ("context", ("--removal", "sizebased"), "a classifier's removal is none, rand, const, not sizebased"),
        ("context", ("--model", "upernet", "--removal", "rand"), "rand is for classifiers"),
        ("context", ("--size", "tiny"), "--size is for upernet"),
        ("context", ("--model", "vgg19", "--start", "w.pth"), "are for the light network"),
        ("context", ("--fill", "exakt"), "unknown fill 'exakt', did you mean 'exact'?"),
        ("context", ("--scenes", "1"), "at least one of each of 2 worlds"),
        ("inpainter", ("--fill", "exact"), "No such option: --fill"),
        ("inpainter", ("--size", "paper"), "'paper' is not one of 'tiny', 'small', 'base'"),
        ("sornet", ("--world", "room", "--removal", "rand"), "No such option: --removal"),
        ("relations", ("--world", "room", "--model", "light"), "'light' is not one of 'mlp', 'consistent'"),
    ],
)
def test_what_removal_is_not_trained_by(
    cli: Any, tmp_path: Path, what: str, more: tuple[str, ...], words: str
) -> None:
    refused = cli("train", what, "--out", tmp_path / "t", "--device", "cpu", *more)
    assert refused.code == 2
    assert words in refused.words
    assert not (tmp_path / "t").exists()
