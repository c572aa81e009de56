"""Whole small inputs of every area, and the commands that are given them once spoilt."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import clevr_cases
import format_cases
import pascal3d_cases
import test_ade20k
import test_coco
import test_coco_panoptic
import test_coco_results
import test_cocoa
import test_semantic_masks
import test_voc
import test_vrd
import test_vsr
import test_yolo
import yaml
from PIL import Image

from exams import viewpoint_runs
from worlds import cad_cases

Words = tuple[str, ...]
Call = Callable[..., None]
"""Runs a command that must succeed: ``call("import", …)``."""


@dataclass(frozen=True)
class Area:
    """What is spoilt, and which commands read it.

    Attributes:
        part: The row of the table it counts for.
        build: Lays the whole input into a folder, by commands where it takes any.
        commands: Each a list of words, ``{d}`` standing for the folder and ``{o}`` for what is written.
        share: How many of the mutations it gets, by proportion.
    """

    part: str
    build: Callable[[Path, Call], object]
    commands: tuple[Words, ...]
    share: float = 1.0


def _as_json(name: str, content: Any) -> Callable[[Path, Call], object]:
    return lambda folder, _: (folder / name).write_text(json.dumps(content))


def _laid(lay: Callable[[Path], object]) -> Callable[[Path, Call], object]:
    def build(folder: Path, _: Call) -> None:
        folder.rmdir()
        lay(folder)

    return build


def _texts(files: Mapping[str, str]) -> Callable[[Path, Call], object]:
    return lambda folder, _: format_cases.lay(folder, files)


def _photos(folder: Path, _: Call) -> None:
    for i, suffix in enumerate(("png", "jpg", "webp")):
        Image.new("RGB", (30 + i, 20), (40 * i, 90, 200)).save(folder / f"{i}.{suffix}")


def _cad(folder: Path) -> None:
    folder.mkdir()
    cad_cases.saved(folder / "aeroplane.mat", cad_cases.model(), cad_cases.model())
    cad_cases.saved(folder / "bus.mat", cad_cases.model())


def _furniture(folder: Path) -> None:
    folder.mkdir()
    pieces = [cad_cases.piece(), cad_cases.piece(name="Hat stand", modelRotation="0 0 1 0 1 0 -1 0 0")]
    cad_cases.catalogue(folder / "furniture.sh3f", pieces)


SHAPES: dict[str, tuple[str, Callable[[Path, Call], object]]] = {
    "meshes": ("", _laid(cad_cases.lay_meshes)),
    "pascal3d-cad": ("", _laid(_cad)),
    "sh3f": ("/furniture.sh3f", _laid(_furniture)),
}
"""Files with models → where in its folder an import begins, and how its files are laid."""

IMPORTS: dict[str, tuple[str, Callable[[Path, Call], object]]] = {
    "2.5vrd": ("", _texts(format_cases.VRD25)),
    "ade20k": ("", _laid(test_ade20k.lay)),
    "clevr": ("/scenes.json", _as_json("scenes.json", clevr_cases.PUBLISHED)),
    "coco": ("/instances.json", _as_json("instances.json", test_coco.VALID)),
    "coco-panoptic": ("", _laid(test_coco_panoptic.lay)),
    "coco-results": ("/results.json", _laid(test_coco_results.lay)),
    "cocoa": ("", _laid(test_cocoa.lay)),
    "imagenet3d": ("", _laid(pascal3d_cases.lay_imagenet3d)),
    "openimages": ("", _texts(format_cases.OPENIMAGES)),
    "pascal3d": ("", _laid(pascal3d_cases.lay)),
    "pascal3d-poses": ("", _laid(pascal3d_cases.lay_poses)),
    "photos": ("", _photos),
    "semantic-masks": ("", _laid(test_semantic_masks.lay)),
    "voc": ("", _laid(test_voc.lay)),
    "vsr": ("", _laid(test_vsr.lay)),
    "vrd": ("/vrd.json", _as_json("vrd.json", test_vrd.ONE_FILE)),
    "yolo": ("", _laid(test_yolo.lay)),
}
"""Format → where in its folder an import begins, and how its files are laid."""


def _world(folder: Path, _: Call) -> None:
    """A small table with every kind of setting a world has."""
    breakfast = Path(__file__).parents[2] / "docs" / "howto" / "breakfast.yaml"
    settings = yaml.safe_load(breakfast.read_text())
    settings |= {
        "objects": [2, 3],
        "scenes": 5,
        "resolution": [96, 64],
        "splits": {"train": {"scenes": 2}, "test": {"stream": 1}},
    }
    (folder / "breakfast.yaml").write_text(yaml.safe_dump(settings))


def _library(folder: Path, call: Call) -> None:
    """A shape library, and a world with its shapes."""
    cad_cases.lay_meshes(folder / "meshes")
    call("import", folder / "meshes", "--out", folder / "shapes")
    shutil.rmtree(folder / "meshes")
    settings = {"meshes": {"own": {"file": "shapes", "scale": 2}}, "shapes": ["own"], "objects": [2, 3]}
    (folder / "own-world.yaml").write_text(yaml.safe_dump(settings | {"resolution": [96, 64]}))


def _vocabulary(folder: Path, _: Call) -> None:
    from importlib.resources import files

    ready = files("sightline.exams.turing.vocabulary")
    source = next(path for path in Path(str(ready)).rglob("*.yaml") if path.stem == "urban")
    shutil.copy(source, folder / "vocabulary.yaml")


def _labels(folder: Path, call: Call) -> None:
    from sightline.exams.relations import simulate

    simulate(folder, images=8, seed=2)


def _stored(folder: Path, call: Call) -> None:
    labels = folder.with_name(f"{folder.name}-labels")
    _labels(labels, call)
    call("import", labels, "--out", folder / "data")
    shutil.rmtree(labels)


def _pictured(folder: Path, call: Call) -> None:
    source = folder.with_name(f"{folder.name}-source")
    test_voc.lay(source)
    call("import", source, "--format", "voc", "--out", folder / "data")
    shutil.rmtree(source)


def _generated(folder: Path, call: Call, scenes: int = 3) -> None:
    more = ("--views", "original,top", "--size", "96x64", "--canonical", 1, "--seed", 5)
    call("generate", "geospa/train", "--scenes", scenes, *more, "--out", folder / "data")


def _relations_runs(folder: Path, call: Call) -> None:
    _stored(folder, call)
    for model in ("location", "size"):
        call(
            "exam",
            "relations",
            "--data",
            folder / "data",
            "--model",
            model,
            "--no-baselines",
            "--out",
            folder / "runs",
        )


def _predicates_runs(folder: Path, call: Call) -> None:
    _generated(folder, call)
    call(
        "exam", "predicates", "--data", folder / "data", "--model", "predicates_majority", "--out", folder / "runs"
    )


def _predictions(folder: Path, call: Call) -> None:
    _texts(format_cases.SCORING)(folder, call)
    (folder / "within_image_objects_test.csv").write_text(format_cases.VRD25["within_image_objects_test.csv"])
    (folder / "within_image_vrd_test.csv").write_text(format_cases.VRD25["within_image_vrd_test.csv"])


def _predicate_answers(folder: Path, call: Call) -> None:
    _generated(folder, call)
    lines = [
        {"scene_id": f"geospa/train/5/{i:08d}", "subject": s, "object": 1 - s, "predicate": word, "answer": "yes"}
        for i in range(3)
        for s in (0, 1)
        for word in ("left", "behind")
    ]
    (folder / "answers.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    rows = [",".join(lines[0]), *(",".join(map(str, line.values())) for line in lines)]
    (folder / "answers.csv").write_text("\n".join(rows) + "\n")


def _presence_answers(folder: Path, call: Call) -> None:
    _generated(folder, call)
    lines = [
        {"picture": f"geospa/train/5/{i:08d}{edit}", "category": word, "answer": "yes"}
        for i in range(3)
        for edit in ("", "/without/cube")
        for word in ("cube", "cylinder")
    ]
    (folder / "answers.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    rows = [",".join(lines[0]), *(",".join(line.values()) for line in lines)]
    (folder / "answers.csv").write_text("\n".join(rows) + "\n")


def _written_test(folder: Path, call: Call) -> None:
    _generated(folder, call, scenes=8)
    call(
        "turing",
        "write",
        folder / "data",
        "--halves",
        "--questions",
        6,
        "--min-support",
        1,
        "--out",
        folder / "handout",
    )
    answers = [
        json.loads(line) | {"answer": "yes"}
        for line in (folder / "handout/questions.jsonl").read_text().splitlines()
    ]
    (folder / "theirs.jsonl").write_text("".join(json.dumps(answer) + "\n" for answer in answers))
    shutil.rmtree(folder / "data")


def _operators(folder: Path, _: Call) -> None:
    """Answers of two operators about the same questions."""
    for name, words in (("a", ("yes", "no", "yes", "ambiguous")), ("b", ("yes", "no", "no", "yes"))):
        rows = [
            {"scene_id": f"s{i // 2}", "seed": 0, "stream": 0, "question": {"type": "exist", "object_type": str(i)}}
            | {"answer": word, "object_id": None, "box": [0.1, 0.2, 0.5, 0.6], "labels": ["ball 1"]}
            for i, word in enumerate(words)
        ]
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def _viewed(folder: Path, call: Call) -> None:
    """Scenes with viewpoints, and what a detector and a reader of viewpoints said of them in files."""
    data = viewpoint_runs.scenes(folder / "data", 6)
    seen = [(scene, one) for scene in data for one in scene.sightings]
    views = [(one.viewpoint.azimuth, one.viewpoint.elevation, one.viewpoint.theta) for _, one in seen]
    rows = ["scene_id,object,azimuth,elevation,theta"]
    rows += [f"{scene.id},{one.object_id},{a},{e},{t}" for (scene, one), (a, e, t) in zip(seen, views, strict=True)]
    (folder / "answers.csv").write_text("\n".join(rows) + "\n")
    (width, height), rows = (
        viewpoint_runs.SIZE,
        ["image_id,entity,xmin,xmax,ymin,ymax,score,azimuth,elevation,theta"],
    )
    truth, said = [], []
    for (scene, one), (azimuth, elevation, theta) in zip(seen, views, strict=True):
        category = next(thing.category for thing in scene.objects if thing.id == one.object_id)
        x0, y0, x1, y1 = (max(0.0, side) for side in one.box)
        shares = (x0 / width, min(x1 / width, 1.0), y0 / height, min(y1 / height, 1.0))
        rows.append(",".join(map(str, (scene.id, category, *shares, 0.9, azimuth, elevation, theta))))
        box = {"image": scene.id, "class": category, "box": [x0, y0, x1, y1], "azimuth": azimuth}
        truth.append(box | {"difficult": "difficult" in one.flags})
        said.append(box | {"score": 0.9, "elevation": elevation, "theta": theta})
    (folder / "detections.csv").write_text("\n".join(rows) + "\n")
    (folder / "truth.json").write_text(json.dumps(truth))
    (folder / "detections.json").write_text(json.dumps(said))


VIEWPOINT = ("exam", "viewpoint", "--data", "{d}/data", "--no-baselines", "--out", "{o}")


def _plan(folder: Path, _: Call) -> None:
    plan = {
        "steps": 3,
        "batch": 2,
        "rate": 0.001,
        "size": "tiny",
        "views": ["original", "top"],
        "augmentation": {"zoom": 0.1},
    }
    (folder / "plan.json").write_text(json.dumps({"plan": plan, "source": {"scenes": 6, "world": "x"}}))
    (folder / "sornet.safetensors").write_bytes(b"")
    (folder / "log.csv").write_text("step,predicates,right\n1,0.5,0.4\n")


DATA = "{d}/data"
AREAS: dict[str, Area] = {
    **{
        f"import {name}": Area(
            "importers",
            build,
            (("import", f"{{d}}{at}", "--format", name, "--out", "{o}"), ("import", f"{{d}}{at}", "--out", "{o}")),
        )
        for name, (at, build) in IMPORTS.items()
    },
    **{
        f"shapes of {name}": Area(
            "shapes",
            build,
            (("import", f"{{d}}{at}", "--format", name, "--out", "{o}"), ("import", f"{{d}}{at}", "--out", "{o}")),
        )
        for name, (at, build) in SHAPES.items()
    },
    "shape library": Area(
        "shapes",
        _library,
        (("generate", "{d}/own-world.yaml", "--scenes", "1", "--format", "none", "--out", "{o}"),),
    ),
    "look at coco": Area(
        "importers", _as_json("c.json", test_coco.VALID), (("look", "{d}/c.json", "--out", "{o}.html"),), 0.3
    ),
    "world": Area(
        "YAML", _world, (("generate", "{d}/breakfast.yaml", "--scenes", "1", "--format", "none", "--out", "{o}"),)
    ),
    "vocabulary": Area("YAML", _vocabulary, (("turing", "vocabulary", "{d}/vocabulary.yaml"),), 2.0),
    "plan": Area("YAML", _plan, (("train", "sornet", "--data", "{d}/nothing", "--out", "{d}", "--device", "cpu"),)),
    "predictions": Area(
        "answers",
        _predictions,
        (
            (
                "score",
                "relations",
                "--objects",
                "{d}/objects.csv",
                "--truth",
                "{d}/vrd.csv",
                "--predictions",
                "{d}/prediction.csv",
            ),
            (
                "exam",
                "relations",
                "--data",
                "{d}",
                "--model",
                "{d}/prediction.csv",
                "--no-baselines",
                "--out",
                "{o}",
            ),
        ),
        1.5,
    ),
    "predicate answers": Area(
        "answers",
        _predicate_answers,
        tuple(
            ("exam", "predicates", "--data", DATA, "--model", f"{{d}}/{name}", "--no-baselines", "--out", "{o}")
            for name in ("answers.jsonl", "answers.csv")
        ),
    ),
    "context answers": Area(
        "answers",
        _presence_answers,
        tuple(
            (
                "exam",
                "context",
                "--data",
                DATA,
                "--model",
                f"answers:{{d}}/{name}",
                "--no-baselines",
                "--out",
                "{o}",
            )
            for name in ("answers.jsonl", "answers.csv")
        ),
        0.5,
    ),
    "viewpoint answers": Area(
        "answers",
        _viewed,
        (
            (
                *("score", "viewpoint", "--truth", "{d}/truth.json", "--detections", "{d}/detections.json"),
                *("--within", "15", "--rotation", "30", "--json"),
            ),
            (*VIEWPOINT, "--model", "{d}/answers.csv"),
            (*VIEWPOINT, "--boxes", "detected", "--detections", "{d}/detections.csv"),
        ),
        2.0,
    ),
    "dataset": Area(
        "datasets",
        _stored,
        (
            ("check", DATA),
            ("stats", DATA),
            ("look", DATA, "--scenes", "2", "--out", "{o}.html"),
            ("exam", "relations", "--data", DATA, "--model", "location", "--no-baselines", "--out", "{o}"),
            ("export", "2.5vrd", DATA, "--out", "{o}"),
        ),
        2.0,
    ),
    "dataset with pictures": Area(
        "datasets",
        _pictured,
        (
            ("check", DATA),
            ("stats", DATA),
            ("look", DATA, "--out", "{o}.html"),
            ("look", DATA, "--out", "{o}.png"),
            ("export", "coco", DATA, "--out", "{o}"),
            ("export", "voc", DATA, "--out", "{o}"),
        ),
    ),
    "generated dataset": Area(
        "datasets",
        _generated,
        (
            ("check", DATA),
            ("look", DATA, "--scenes", "1", "--out", "{o}.html"),
            (
                "exam",
                "predicates",
                "--data",
                DATA,
                "--model",
                "predicates_majority",
                "--no-baselines",
                "--out",
                "{o}",
            ),
        ),
    ),
    "relations runs": Area(
        "runs",
        _relations_runs,
        (
            ("compare", "{d}/runs/relations/location@test", "{d}/runs/relations/size@test", "--resamples", "100"),
            ("report", "{d}/runs", "--data", DATA, "--resamples", "100", "--out", "{o}.html"),
            ("exam", "relations", "--data", DATA, "--model", "location", "--no-baselines", "--out", "{d}/runs"),
        ),
    ),
    "predicates runs": Area(
        "runs",
        _predicates_runs,
        (
            ("report", "{d}/runs", "--data", DATA, "--resamples", "100", "--out", "{o}.html"),
            ("exam", "predicates", "--data", DATA, "--model", "predicates_majority", "--out", "{d}/runs"),
        ),
        0.5,
    ),
    "operators": Area(
        "answers", _operators, (("turing", "agree", "{d}/a.jsonl", "{d}/b.jsonl", "--out", "{o}.jsonl"),), 0.5
    ),
    "written test": Area(
        "tests",
        _written_test,
        (
            (
                *(
                    "exam",
                    "turing",
                    "--test",
                    "{d}/handout",
                    "--key",
                    "{d}/handout.key.jsonl",
                    "--model",
                    "{d}/theirs.jsonl",
                ),
                *("--no-baselines", "--out", "{o}"),
            ),
        ),
    ),
}
