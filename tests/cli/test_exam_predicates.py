"""``sightline exam predicates`` and ``sightline compare`` of its runs."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from sightline.scenes.labels import PREDICATES

Cli = Callable[..., Any]
NAMES = ["all", "spatial", "geometric", *PREDICATES]
BASELINES = ["majority", "shape_prior", "size_prior", "shape_size_prior"]

OWN = """
import numpy as np
from sightline.skills import Verdicts

class Never:
    def predicates(self, queries):
        print("thinking")
        return Verdicts(np.zeros((len(queries), len(queries), 8), dtype=int))

class Unsure(Never):
    views = ("original",)
    def predicates(self, queries):
        assert [view.id for view in queries.views] == ["original"]
        return Verdicts(np.full((len(queries), len(queries), 8), -1))

class Narrow(Never):
    def check(self, syllabus):
        from sightline.errors import ModelError
        raise ModelError(f"takes 2 objects, found {syllabus.most_objects}")
"""


@pytest.fixture
def own(tmp_path: Path) -> Path:
    file = tmp_path / "own.py"
    file.write_text(OWN)
    return file


def test_the_fixed_interface(cli: Cli, generated: Path, own: Path, tmp_path: Path) -> None:
    words = ("exam", "predicates", "--data", generated, "--model", f"{own}:Never", "--out", tmp_path / "runs")
    told = cli(*words, "--json").json
    for entry in (*told["models"], *told["baselines"].values()):
        assert list(entry) == [
            "model",
            "run",
            "status",
            "options",
            "scores",
            "items_asked",
            "items_kept",
            "kept_from",
        ]
        assert entry["options"] == {"views": None, "split": None}
    for scored in (told, *(entry["scores"] for entry in (*told["models"], *told["baselines"].values()))):
        assert list(scored["scene_accuracy"]) == list(scored["f1"]) == list(scored["scene_all_by"]) == NAMES
        assert {"value", "low", "high"} <= set(scored["scene_all_accuracy"])
        for one in (*scored["scene_accuracy"].values(), *scored["f1"].values(), *scored["unknown"].values()):
            assert {"value", "low", "high"} <= set(one)
        assert scored["n_scenes"] == 6
    assert list(told["baselines"]) == BASELINES
    assert told["exam"] == "predicates"
    assert told["baselines"]["majority"]["scores"]["f1"]["all"]["value"] is None
    assert told["f1"]["all"]["value"] is None  # says no throughout
    assert told["scene_accuracy"]["all"]["value"] > 0.5
    assert [m["model"] for m in told["models"]] == ["own.py:Never"]
    assert set(told["slices"]) == {"n_objects", "hidden", "subject_how", "object_how"}
    metrics = json.loads((Path(told["run"]) / "metrics.json").read_text())
    assert metrics["scene_accuracy"] == told["scene_accuracy"]
    shown = cli(*words)
    assert shown.code == 0
    for word in ("scene accuracy", "scene-all accuracy", "F1", "own.py:Never", *BASELINES, "can_support"):
        assert word in shown.out
    assert "unknown" not in shown.out


def test_several_models_a_limit_and_no_baselines(cli: Cli, generated: Path, own: Path, tmp_path: Path) -> None:
    words = ("--data", generated, "--no-baselines", "--limit", 2, "--out", tmp_path / "runs")
    models = ("--model", f"{own}:Unsure", "--model", f"{own}:Never")
    told = cli("exam", "predicates", *words, *models, "--workers", 1, "--json").json
    assert told["baselines"] == {}
    assert [m["model"] for m in told["models"]] == ["own.py:Unsure", "own.py:Never"]
    assert [m["scores"]["n_scenes"] for m in told["models"]] == [2, 2]
    assert [m["status"] for m in told["models"]] == ["stopped", "stopped"]
    assert told["model"] == "own.py:Unsure"
    assert (told["unknown"]["all"]["value"], told["views"]) == (1.0, ["original"])
    shown = cli("exam", "predicates", *words, *models)
    assert "unknown (share of judgements)" in shown.out


def test_views_and_splits_have_folders_of_their_own(cli: Cli, generated: Path, own: Path, tmp_path: Path) -> None:
    words = ("exam", "predicates", "--data", generated, "--no-baselines", "--model", f"{own}:Never")
    runs = {
        cli(*words, *more, "--limit", 1, "--out", tmp_path / "runs", "--json").json["run"]
        for more in ((), ("--views", "top"), ("--views", "top, original"), ("--split", "train"))
    }
    assert len(runs) == 4


def test_a_file_of_answers_sits(cli: Cli, generated: Path, tmp_path: Path) -> None:
    file = tmp_path / "answers.csv"
    file.write_text("scene_id,subject,object,predicate,answer\ngeospa/train/5/00000000,0,1,left,yes\n")
    words = ("--data", generated, "--no-baselines", "--model", file, "--out", tmp_path / "runs", "--json")
    told = cli("exam", "predicates", *words).json
    assert told["unknown"]["all"]["value"] == pytest.approx(1 - 1 / told["n_judgements"])


HEAD = "scene_id,subject,object,predicate,answer\n"
GOOD = "geospa/train/5/00000000,0,1,left,yes\n"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (HEAD + GOOD + "geospa/train/5/00000000,0,99,left,yes\n", "row 3, object: no such object in the scene"),
        (HEAD + GOOD + "nowhere,0,1,left,yes\n", "row 3, scene_id: no such scene in the data (found 'nowhere')"),
        (HEAD + "geospa/train/00000003,0,1,left,yes\n", "did you mean 'geospa/train/5/00000003'?"),  # a near miss
        ("", "file is empty (expected a header with scene_id, subject, object, predicate, answer"),  # no header
        ("scene,subject,object,predicat,answer\n", "scene_id: column is missing"),  # none that is known
    ],
)
def test_a_file_of_answers_is_refused_as_a_whole(
    cli: Cli, generated: Path, tmp_path: Path, text: str, says: str
) -> None:
    file = tmp_path / "answers.csv"
    file.write_text(text)
    refused = cli("exam", "predicates", "--data", generated, "--model", file, "--out", tmp_path / "runs")
    assert refused.code == 2
    assert f"{file}, row" in refused.err
    assert says in refused.err
    assert not (tmp_path / "runs").exists()


def test_two_runs_compared(cli: Cli, generated: Path, own: Path, tmp_path: Path) -> None:
    words = ("--data", generated, "--model", f"{own}:Unsure", "--out", tmp_path / "runs", "--json")
    told = cli("exam", "predicates", *words).json
    pair = (told["baselines"]["shape_prior"]["run"], told["run"])
    compared = cli("compare", *pair, "--resamples", 200, "--json").json
    assert (compared["a"], compared["b"], compared["dropped"]) == ("shape_prior", "own.py:Unsure", 0)
    first = compared["comparisons"][0]
    assert first["name"] == "scene accuracy"
    assert (first["a"], first["b"]) == (
        told["baselines"]["shape_prior"]["scores"]["scene_accuracy"]["all"]["value"],
        0.0,
    )
    assert "can_support" in cli("compare", *pair, "--resamples", 200).out
    refused = cli("compare", *pair, "--protocol", "paper")
    assert (refused.code, "the predicates exam has no --protocol" in refused.err) == (2, True)


def test_runs_of_two_exams_are_not_compared(cli: Cli, generated: Path, simulated: Path, tmp_path: Path) -> None:
    out = ("--out", tmp_path / "runs", "--no-baselines", "--json")
    one = cli("exam", "predicates", "--data", generated, "--model", "shape_prior", *out).json["run"]
    other = cli("exam", "relations", "--data", simulated, "--model", "size", *out).json["models"][0]["run"]
    refused = cli("compare", one, other)
    assert refused.code == 2
    assert "one is of the predicates exam, the other of the relations exam" in refused.err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--views", "orginal"), "did you mean 'original'"),  # a misspelt view
        (("--split", "tset"), "no such split"),  # a misspelt split
        (("--model", "size"), "needs the skill 'predicates'"),  # a model of the other exam
        (("--model", "shape_piror"), "did you mean 'shape_prior'"),  # a misspelt model
        (("--model", "own.py:Narrow"), "takes 2 objects, found"),  # more objects than it can take
        (("--no-baselines",), "nobody to examine"),  # nobody
        (("--boxes", "detected"), "No such option: --boxes"),  # an option of the other exam
        (("--train-split", "x"), "No such option: --train-split (Possible options: --split)"),  # likewise
        (("--protocol", "paper"), "No such option: --protocol"),  # likewise
        (("--view", "top"), "No such option: --view (Possible options: --views)"),  # a near miss
    ],
)
def test_what_cannot_be_is_refused_before_any_work(
    cli: Cli,
    generated: Path,
    own: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    says: str,
) -> None:
    monkeypatch.chdir(own.parent)
    refused = cli("exam", "predicates", "--data", generated, *words, "--out", tmp_path / "runs")
    assert refused.code == 2
    assert says in refused.words
    assert "Traceback" not in refused.err
    assert not (tmp_path / "runs").exists()


def test_the_relations_exam_has_no_views(cli: Cli, simulated: Path) -> None:
    refused = cli("exam", "relations", "--data", simulated, "--views", "top")
    assert (refused.code, "No such option: --views" in refused.err) == (2, True)


def test_only_baselines(cli: Cli, generated: Path, tmp_path: Path) -> None:
    told = cli("exam", "predicates", "--data", generated, "--out", tmp_path / "runs", "--json").json
    assert told["model"] == "predicates_majority"
    assert list(told["baselines"]) == BASELINES


def test_canonical_views_that_the_data_lacks_are_drawn(cli: Cli, own: Path, tmp_path: Path) -> None:
    how = ("--scenes", 2, "--size", "48x32", "--depth", "none", "--seed", 3)
    cli("generate", "geospa/train", "--out", tmp_path / "bare", *how)
    cli("generate", "geospa/train", "--out", tmp_path / "whole", *how, "--canonical", 4)
    assert not (tmp_path / "bare" / "canonical").exists()
    looking = own.with_name("looking.py")
    looking.write_text(
        "import numpy as np\nfrom sightline.skills import Verdicts\n"
        "class Looks:\n    def predicates(self, queries):\n"
        "        brighter = queries.patches.mean(axis=(1, 2, 3))\n"
        "        answers = np.repeat((brighter[:, None] > brighter)[..., None], 8, axis=2)\n"
        "        return Verdicts(answers.astype(np.int8))\n"
    )
    words = ("exam", "predicates", "--model", f"{looking}:Looks", "--no-baselines", "--json")
    bare, whole = (
        cli(*words, "--data", tmp_path / name, "--out", tmp_path / f"runs-{name}").json
        for name in ("bare", "whole")
    )
    assert bare["items_asked"] == 2
    assert bare["scores"] == whole["scores"]  # the views are those that would have been stored


CLEVR = {
    "info": {"split": "test"},
    "scenes": [
        {
            "image_index": 0,
            "objects": [
                {"shape": shape, **look, "3d_coords": [0, 0, z], "rotation": 0}
                for shape, z in (("tray", 0.02), ("mug", 0.09))
                for look in ({"size": "large", "color": "white", "material": "clay"},)
            ],
            "relationships": {
                **{name: [[], []] for name in PREDICATES},
                **{name: [[1], []] for name in ("supports", "can_support")},
            },
            "sightline": {
                "id": "tray",
                "views": [{"id": "0", "image": "desk.png", "size": [80, 60]}],
                "objects": [
                    {"id": str(i), "category": name, "pose": [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, z, 0, 0, 0, 1]}
                    for i, (name, z) in enumerate((("tray", 0.02), ("mug", 0.09)))
                ],
                "sightings": [
                    {"view": "0", "object": i, "box": box}
                    for i, box in enumerate(([8, 30, 52, 54], [14, 18, 28, 36]))
                ],
            },
        }
    ],
}


@pytest.mark.parametrize("form", ["coco", "clevr"])
def test_photos_of_the_how_to_are_asked_about(cli: Cli, own: Path, tmp_path: Path, form: str) -> None:
    """The page's own file and commands; and the same kind of labels in a file of CLEVR's form."""
    page = (Path(__file__).resolve().parents[2] / "docs" / "howto" / "predicates.md").read_text(encoding="utf-8")
    [written] = re.findall(r"^```json\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    labels, photos = tmp_path / "desk.json", tmp_path / "photos"
    labels.write_text(written if form == "coco" else json.dumps(CLEVR))
    photos.mkdir()
    Image.fromarray(np.full((60, 80, 3), 90, dtype=np.uint8)).save(photos / "desk.png")
    assert (
        "$ sightline import desk.json --images photos --out desk\n$ sightline exam predicates --data desk" in page
    )
    done = cli("import", labels, "--images", photos, "--out", tmp_path / "desk")
    assert done.code == 0, done.err
    words = ("exam", "predicates", "--data", tmp_path / "desk", "--model", f"{own}:Never", "--out", tmp_path / "r")
    taken = cli(*words, "--no-baselines", "--json")
    assert taken.code == 0, taken.err
    assert taken.json["patches"] == "cut from the photos"
    true = {"supports", "can_support"} | ({"left", "right"} if form == "coco" else set())
    right = {name: taken.json["scores"]["scene_accuracy"][name]["value"] for name in PREDICATES}
    assert {name for name, share in right.items() if share < 1.0} == true  # the model says never


def test_start_up_imports_no_more_than_it_needs(generated: Path, tmp_path: Path) -> None:
    code = (
        "import sys\nfrom sightline.cli import main\n"
        "try:\n    main()\nexcept SystemExit as stop:\n    assert not stop.code\n"
        "print([name for name in ('numba', 'torch', 'PIL.ImageDraw', 'sightline.worlds.world', "
        "'sightline.exams.report') if name in sys.modules], file=sys.stderr)"
    )
    words = ["exam", "predicates", "--data", str(generated), "--out", str(tmp_path), "--json"]
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=True)
    assert done.stderr.splitlines()[-1] == "[]"
