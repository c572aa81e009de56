"""Commands of the how-to pages, run in their order in one folder that has what the pages speak of, small.

`tests/test_docs.py` checks that every command of every page exists; here they are run. What stands in `NOT_HERE`
needs something that a test has not, and says so.
"""

from __future__ import annotations

import csv
import json
import re
import shlex
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import sightline as sl
from sightline.exams.relations import simulate

HOWTO = Path(__file__).resolve().parents[2] / "docs" / "howto"
FENCE = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)
NOT_HERE = {
    "hf:ORG/NAME": "a hub and a card",
    "hf:models/my-detector": "the classes of a real detector",
    "hf:models/my-segmenter": "the classes of a real segmenter",
    "hf:models/dpt": "a depth network of real size; tests/models/adapters/test_hf.py has a small one",
    ".tflite": "published weights; docs/results/real.md runs them",
    "fastdepth.onnx": "published weights; docs/results/real.md runs them",
    "/answer": "the server of the page; tests/models/adapters/test_http.py has one",
    "gpt-4o": "a key",
    "--scene geospa": "a hundred scenes",
    "runs-before": "an earlier state of a model; tests/cli/test_commands.py compares sets of runs",
}
"""What a command has in it that cannot be run here → what it needs."""
PAGES = ("own-model.md", "vision-language.md", "variations.md", "plan.md", "export.md", "report.md")

MINE = """
import numpy as np
from sightline import Depth, Detections, Judgements, Occlusion, Verdicts, View


class Model:
    def relate(self, pairs):
        lower = pairs.boxes_a[:, 3] > pairs.boxes_b[:, 3]
        return Judgements(np.where(lower, Depth.CLOSER, Depth.FARTHER), np.full(len(pairs), Occlusion.NONE))

    def predicates(self, queries):
        n = len(queries)
        answers = np.zeros((n, n, 8), np.int8)
        answers[..., :4] = np.random.default_rng(n).random((n, n, 4)) < 0.5
        return Verdicts(answers)

    def detect(self, view):
        boxes = np.array([[0.1, 0.1, 0.5, 0.6], [0.4, 0.3, 0.9, 0.9]])
        return Detections(boxes, np.array([0.9, 0.6]), ("cup", "plate"))


class Detector:
    detect = Model.detect


class Taller:
    relate = Model.relate
"""


def commands(page: str) -> list[list[str]]:
    """Words of the ``sightline`` commands of a page, without what stands before the program's name."""
    text = (HOWTO / page).read_text(encoding="utf-8")
    lines = [line for body in FENCE.findall(text) for line in body.replace("\\\n", " ").splitlines()]
    shown = [line.partition("sightline ")[2] for line in lines if re.match(r"\$ (\S+=\S+ )?sightline ", line)]
    return [shlex.split(line) for line in shown]


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """Host and port of an endpoint whose model says the first word of the options."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            text = asked["messages"][0]["content"][1]["text"]
            word = "left" if "true?" in text else "yes" if "yes or no" in text else "first"
            data = json.dumps({"choices": [{"message": {"content": word}}]}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        yield f"127.0.0.1:{listening.server_address[1]}"
        listening.shutdown()


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the data, models and files that the pages name."""
    folder = tmp_path_factory.mktemp("howto")
    sl.generate("geospa/val_default", folder / "scenes", scenes=3, views=["original", "top"], canonical=2)
    for name in ("mine", "my_model", "taller"):
        (folder / f"{name}.py").write_text(MINE)
    _photos(folder / "photos")
    _labels(folder)
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "models" / "adapters"))
    pytest.importorskip("transformers", reason="needs the extra vlm")
    from tiny_models import vision_language  # type: ignore[import-not-found, unused-ignore]

    vision_language(folder / "models" / "my-vlm")
    return folder


def _photos(folder: Path) -> None:
    """Two photos of COCO's form."""
    folder.mkdir()
    for name in ("1.jpg", "2.jpg"):
        noise = np.random.default_rng(ord(name[0])).integers(0, 255, (48, 64, 3), dtype=np.uint8)
        Image.fromarray(noise).save(folder / name)
    square = [[4, 5, 24, 5, 24, 35, 4, 35], [30, 8, 50, 8, 50, 28, 30, 28]]
    content = {
        "images": [{"id": i, "file_name": f"{i}.jpg", "width": 64, "height": 48} for i in (1, 2)],
        "categories": [{"id": 1, "name": "cup"}, {"id": 2, "name": "plate"}],
        "annotations": [
            {
                "id": 2 * i + j,
                "image_id": i,
                "category_id": 1 + j,
                "bbox": [points[0], points[1], 20, points[5] - points[1]],
                "segmentation": [points],
                "area": 400.0,
                "iscrowd": 0,
            }
            for i in (1, 2)
            for j, points in enumerate(square)
        ],
    }
    (folder / "instances.json").write_text(json.dumps(content))


def _labels(folder: Path) -> None:
    """A simulated 2.5VRD with depth maps, answers and boxes for its test photos."""
    simulate(folder / "relations", images=12)
    (folder / "maps").mkdir()
    answers, boxes = [], []
    for setting in ("within_image", "across_images"):
        things = {}
        for split in ("test", "validation"):
            for row in _rows(folder / "relations" / f"{setting}_objects_{split}.csv"):
                things[row["image_id"], row["object_id"]] = row
                far = np.linspace(5, 1, 24)[:, None] * np.ones((1, 32))
                np.save(folder / "maps" / f"{row['image_id']}.npy", far)
                if setting == "within_image":
                    box = {side: row[side] for side in ("xmin", "xmax", "ymin", "ymax")}
                    boxes.append({"image_id": row["image_id"], "entity": row["entity"], **box, "score": 0.9})
        for row in _rows(folder / "relations" / f"{setting}_vrd_test.csv"):
            pair = {"distance": 1, "occlusion": 0}
            for end in "12":
                key = row[f"image_id_{end}"], row[f"object_id_{end}"]
                pair |= {f"{name}_{end}": value for name, value in things[key].items() if name != "object_id"}
            answers.append(pair)
    for name, rows in (("predictions", answers), ("detections", boxes)):
        with (folder / f"{name}.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)


def _rows(file: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(file.read_text().splitlines()))


@pytest.mark.long
@pytest.mark.parametrize("page", PAGES)
def test_every_command_of_a_page_works_in_this_order(
    page: str, place: Path, server: str, cli: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for entry in place.iterdir():
        (tmp_path / entry.name).symlink_to(entry)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SIGHTLINE_ALLOW_OUTSIDE", "1")
    monkeypatch.setenv("SIGHTLINE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("OPENAI_BASE_URL", f"http://{server}/v1")
    if page in ("plan.md", "export.md"):
        cli("exam", "predicates", "--data", "scenes", "--model", "mine.py:Model", "--out", "runs", "--limit", "2")
    ran = 0
    for words in commands(page):
        if any(part in " ".join(words) for part in NOT_HERE):
            continue
        asked = [word.replace("localhost:8000", server) for word in words]
        if words[0] == "exam" and "--limit" not in words:
            asked += ["--limit", "1"]
        done = cli(*asked)
        short = "--fail-under" in words and done.code == 1  # what such a model deserves
        assert done.code == 0 or short, (asked, done.err)
        ran += 1
    assert ran >= min(3, len(commands(page)) - 2)


def test_what_is_left_out_stands_on_a_page() -> None:
    shown = "\n".join(" ".join(words) for page in PAGES for words in commands(page))
    assert not [part for part in NOT_HERE if part not in shown]
