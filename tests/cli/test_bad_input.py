"""Bad input, as a user or a script would give it: a clear error, exit code 2, nothing written."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from sightline.store.formats import EXPORTS, FORMATS

Cli = Callable[..., Any]
Frame = pl.DataFrame

OBJECTS, PAIRS = "within_image_objects_test.csv", "within_image_vrd_test.csv"


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A label set of very few images, to be broken."""
    from sightline.exams.relations import simulate

    folder = tmp_path_factory.mktemp("small") / "labels"
    simulate(folder, images=16, seed=2)
    return folder


@pytest.fixture
def labels(small: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(small, tmp_path / "labels"))


def put(name: str, value: str) -> Callable[[Frame], Frame]:
    """Replace the cell of one column in row 4."""
    here = pl.int_range(pl.len()) == 2
    return lambda frame: frame.with_columns(pl.when(here).then(pl.lit(value)).otherwise(name).alias(name))


def rewrite(path: Path, change: Callable[[Frame], Frame]) -> None:
    change(pl.read_csv(path, infer_schema=False)).write_csv(path)


def assert_refused(done: Any, *words: object) -> None:
    assert done.code == 2, done.out + done.err
    assert "Traceback" not in done.err
    told = " ".join(done.err.split())
    for word in words:
        assert str(word) in told


BROKEN_FILES: list[tuple[str, Callable[[Frame], Frame], tuple[str, ...]]] = [
    (OBJECTS, lambda f: f.drop("xmax"), ("row 1", "xmax", "column is missing", "expected", "found")),  # column gone
    (PAIRS, lambda f: f.with_columns(more=pl.lit("1")), ("row 1", "more", "unexpected column")),  # column too many
    (OBJECTS, put("xmin", "NaN"), ("row 4", "xmin", "found 'NaN'")),  # not a number
    (OBJECTS, put("xmin", "1e400"), ("row 4", "xmin", "found '1e400'")),  # not finite
    (OBJECTS, put("ymax", "1.2"), ("row 4", "ymax", "expected a number in [0, 1]", "1.2")),  # out of range
    (OBJECTS, put("xmin", "1"), ("row 4", "xmin, xmax", "reversed")),  # reversed
    (PAIRS, put("object_id_2", "99"), ("row 4", "object_id_2", "unknown object", "99")),  # unknown id
    (PAIRS, lambda f: pl.concat([f, f[:1]]), ("row", "pair stands twice")),  # duplicate pair
    (PAIRS, lambda f: f.clear(), ("row 2", "no rows")),  # header only
    (PAIRS, put("distance", "4"), ("row 4", "distance", "expected one of -1, 0, 1, 2, 3", "found '4'")),  # no label
    (PAIRS, put("raw_distance", "1,7"), ("row 4", "raw_distance", "found '1,7'")),  # no vote
    (PAIRS, put("distance", "-1"), ("row 4", "distance", "votes contradict the label")),  # against its votes
]


@pytest.mark.parametrize(("name", "change", "told"), BROKEN_FILES)
def test_broken_labels_are_refused_everywhere(
    cli: Cli, labels: Path, tmp_path: Path, name: str, change: Callable[[Frame], Frame], told: tuple[str, ...]
) -> None:
    rewrite(labels / name, change)
    place = tmp_path / "out"
    for words in (
        ("import", labels, "--out", place),
        ("check", labels),
        ("stats", labels, "--json"),
        ("audit", labels, "--json"),
        ("export", "2.5vrd", labels, "--out", place),
        ("exam", "relations", "--data", labels, "--no-baselines", "--model", "size", "--out", place, "--json"),
    ):
        done = cli(*words)
        assert_refused(done, labels / name, *told)
        assert done.out == "" or words[0] == "check"
        assert [p.name for p in tmp_path.iterdir()] == ["labels"]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda b: b"", "file is empty"),  # nothing at all
        (lambda b: b"\xef\xbb\xbf" + b, "byte order mark"),  # a BOM
        (lambda b: b.replace(b"/sim/", b"/s\xffm/", 1), "not UTF-8"),  # bytes that are no text
        (lambda b: b.decode().encode("utf-16"), "not one line of UTF-8"),  # UTF-16
        (lambda b: b[:-30], "wrong number of cells"),  # cut off
        (lambda b: b.replace(b"\n", b"\r"), "not one line of UTF-8"),  # line ends of old
    ],
)
def test_broken_bytes_are_refused(
    cli: Cli, labels: Path, tmp_path: Path, change: Callable[[bytes], bytes], told: str
) -> None:
    path = labels / OBJECTS
    path.write_bytes(change(path.read_bytes()))
    assert_refused(cli("import", labels, "--out", tmp_path / "out"), path, told)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "change",
    [
        lambda b: b.replace(b"\n", b"\r\n"),  # line ends of Windows
        lambda b: b.rstrip(b"\n"),  # no last line end
        lambda b: b"\n".join(
            b",".join(b'"' + c + b'"' for c in r.split(b",")) for r in b.split(b"\n")[:-1]
        ),  # quotes
    ],
)
def test_other_spellings_of_csv_are_the_same_data(
    cli: Cli, small: Path, labels: Path, tmp_path: Path, change: Callable[[bytes], bytes]
) -> None:
    path = labels / OBJECTS
    path.write_bytes(change(path.read_bytes()))
    prints = [
        cli("import", source, "--out", tmp_path / name, "--json").json["fingerprint"]
        for name, source in (("a", small), ("b", labels))
    ]
    assert prints[0] == prints[1]


@pytest.mark.parametrize("table", ["views", "objects", "sightings", "relations"])
def test_a_truncated_shard_is_named_by_every_command(cli: Cli, small: Path, tmp_path: Path, table: str) -> None:
    data = tmp_path / "data"
    assert cli("import", small, "--out", data).code == 0
    shard = next((data / table).glob("*.parquet"))
    shard.write_bytes(shard.read_bytes()[:-40])
    for words in (
        ("check", data),
        ("stats", data),
        ("audit", data),
        ("export", "2.5vrd", data, "--out", tmp_path / "out"),
        ("exam", "relations", "--data", data, "--out", tmp_path / "out"),
    ):
        assert_refused(cli(*words), f"{table}/{shard.name}")
        assert not (tmp_path / "out").exists()


SCORED = [
    ("objects.csv", "0.0,0.5,0.4,0.8", "0.0,nan,0.4,0.8", "xmax"),  # NaN
    ("objects.csv", "0.0,0.5,0.4,0.8", "0.7,0.5,0.4,0.8", "xmin, xmax"),  # reversed
    ("objects.csv", "entity,", "entity,more,", "more"),  # extra column
    ("vrd.csv", "image01,0,image02,1", "image01,8,image02,1", "object_id_1"),  # unknown id
    ("vrd.csv", "image01,0,image02,1,1", "image01,0,image02,1,5", "occlusion"),  # label outside the range
    ("vrd.csv", "image01,0,image02,1", "image01,0,image02,0", "pair stands twice"),  # duplicate pair
    ("prediction.csv", "ymax_2,", "", "ymax_2"),  # missing column
    ("prediction.csv", "image01,/m/018xm,0.0,0.5", "image01,/m/018xm,0.0,1.5", "xmax_1"),  # out of range
    ("prediction.csv", ",0,0\n", ",0,-1\n", "distance"),  # a model must say something
]


@pytest.mark.parametrize("protocol", ["official", "paper", "default"])
@pytest.mark.parametrize(("name", "old", "new", "told"), SCORED)
def test_score_refuses_broken_files(
    cli: Cli, tmp_path: Path, name: str, old: str, new: str, told: str, protocol: str
) -> None:
    files = write_case(tmp_path)
    path = files[name]
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new, 1))
    done = cli(*score(files), "--protocol", protocol, "--json")
    assert_refused(done, path, "row ", told)
    assert done.out == ""


def test_score_does_not_look_at_votes_nor_at_the_order_of_columns(cli: Cli, tmp_path: Path) -> None:
    files = write_case(tmp_path)
    rows = cli(*score(files), "--json").json["rows"]
    rewrite(files["vrd.csv"], lambda f: f.with_columns(raw_distance=pl.lit("9")).select(reversed(f.columns)))
    rewrite(files["prediction.csv"], lambda f: f.select(sorted(f.columns)))
    assert cli(*score(files), "--json").json["rows"] == rows
    rewrite(files["vrd.csv"], lambda f: f.drop("raw_distance", "raw_occlusion"))
    assert cli(*score(files), "--json").json["rows"] == rows


@pytest.mark.parametrize(
    "window", ["vertical", "vertical=0", "vertical=a:b", "vertical=1:0", "vertical=nan:1", "x=0:1"]
)
def test_a_window_that_is_none_is_refused(cli: Cli, tmp_path: Path, window: str) -> None:
    assert_refused(cli(*score(write_case(tmp_path)), "--window", window), "--window")


@pytest.mark.parametrize(
    ("old", "new", "options", "told"),
    [
        ("image0", "photo0", (), "'image01', 'image02'.*found .*'photo01'"),  # other ids
        ("image02,/m", "image01,/m", (), "pairs such as .*'image01', 'image02'"),  # never together
        ("0.4,0.8", "0.1,0.3", (), r"IoU 0.00 at best.*such as \(0, 0.4, 0.5, 0.8\)"),  # other boxes
        ("0.4,0.8", "0.41,0.8", ("--iou", "0.99"), "IoU above 0.99"),  # a harder overlap
        ("/m/018xm", "person", ("--check-entity",), "'/m/018xm'.*found .*'person'"),  # other classes
    ],
)
def test_predictions_that_fit_no_pair_say_why(
    cli: Cli, tmp_path: Path, old: str, new: str, options: tuple[str, ...], told: str
) -> None:
    files = write_case(tmp_path)
    text = files["prediction.csv"].read_text()
    assert old in text
    files["prediction.csv"].write_text(text.replace(old, new))
    for protocol in ("default", "official"):
        done = cli(*score(files), *options, "--protocol", protocol, "--json")
        assert_refused(done, files["prediction.csv"])
        assert re.search(told, done.err.replace("\n", " ")), done.err


def test_predictions_without_a_row_are_no_score(cli: Cli, tmp_path: Path) -> None:
    files = write_case(tmp_path)
    header, *_ = files["prediction.csv"].read_text().splitlines()
    files["prediction.csv"].write_text(f"{header}\n")
    done = cli(*score(files), "--json")
    assert_refused(done, files["prediction.csv"], "no prediction at all")
    assert done.out == ""


@pytest.mark.parametrize("iou", ["1", "-0.1", "nan"])
def test_an_overlap_that_is_none_is_refused(cli: Cli, tmp_path: Path, iou: str) -> None:
    assert_refused(cli(*score(write_case(tmp_path)), "--iou", iou), "at least 0 and below 1")


def test_a_window_for_each_box(cli: Cli, tmp_path: Path) -> None:
    files = write_case(tmp_path)
    upper = "vertical=0:0.5"
    both = cli(*score(files), "--window", upper, "--json").json
    assert both == cli(*score(files), "--window-a", upper, "--window-b", upper, "--json").json
    assert both["outcomes"]["correct"] == 0  # image01's box lies lower
    second = cli(*score(files), "--window-b", upper, "--json").json
    assert second["outcomes"]["correct"] == 2  # all second boxes of the file lie in the upper half
    mixed = cli(*score(files), "--window", "area=0:1", "--window-b", "vertical=0.3:1", "--json").json
    assert mixed["outcomes"]["correct"] == 1
    assert_refused(cli(*score(files), "--window-b", "x=0:1"), "--window-b")
    nothing = cli(*score(files), "--window", "vertical=2:3")
    assert (nothing.code, nothing.out) == (0, "")
    left = r"the window leaves no pair to score \(first box: vertical 2 to 3, there is 0\.\d+ to 0\.\d+; second"
    assert re.search(left, nothing.err)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda f: f.with_columns(image_id_1="image_id_1"), ""),  # as it is
        (lambda f: f.with_columns(image_id_1=pl.lit("?"), image_id_2=pl.lit("?")), "found .*'\\?'"),  # other ids
        (lambda f: f.with_columns(pl.col("^[xy]m.._[12]$").cast(pl.Float64) / 9), "IoU 0.*at best"),  # other boxes
        (lambda f: f.clear(), "no prediction at all.*a row for each pair"),  # a header alone
    ],
)
def test_answers_that_fit_no_pair_take_no_exam(
    cli: Cli, small: Path, tmp_path: Path, change: Callable[[Frame], Frame], told: str
) -> None:
    objects = pl.read_csv(small / OBJECTS, infer_schema=False)
    ends = [objects.rename(lambda name, end=end: f"{name}_{end}") for end in "12"]
    pairs = ends[0].join(ends[1], left_on="image_id_1", right_on="image_id_2", coalesce=False)
    pairs = pairs.filter(pl.col("object_id_1") != pl.col("object_id_2")).drop("object_id_1", "object_id_2")
    path = tmp_path / "answers.csv"
    change(pairs.with_columns(occlusion=pl.lit("0"), distance=pl.lit("1"))).write_csv(path)
    words = ("exam", "relations", "--data", small, "--no-baselines", "--model", path, "--out", tmp_path / "runs")
    done = cli(*words)
    if told:
        assert_refused(done, path)
        assert re.search(told, done.err.replace("\n", " ")), done.err
        assert not (tmp_path / "runs").exists()
    else:  # these rows are about pairs of one image
        assert done.code == 0, done.err
        note = "answers.csv has no row for any pair across two images: all of them count as unanswered"
        assert note in done.words
        assert "pair within an image" not in done.words


def test_filters_that_know_classes_need_a_hierarchy(cli: Cli, small: Path, tmp_path: Path) -> None:
    objects = pl.read_csv(small / OBJECTS, infer_schema=False)
    kinds = objects["entity"].unique().sort().to_list()
    path, tree, names = tmp_path / "found.csv", tmp_path / "tree.json", tmp_path / "names.csv"
    objects.drop("object_id").with_columns(score=pl.lit("0.5")).write_csv(path)
    parts = [{"LabelName": kind} for kind in kinds[1:]]  # all else is a part of the first kind of thing
    people = [{"LabelName": "p"}, {"LabelName": "c"}]
    tree.write_text(
        json.dumps({"LabelName": "all", "Subcategory": [{"LabelName": kinds[0], "Part": parts}, *people]})
    )
    names.write_text("p,Person\nc,Clothing\n")
    words = ("exam", "relations", "--data", small, "--boxes", "perfect", "--detections", path, "--json")
    plain = cli(*words, "--out", tmp_path / "a")
    assert "not filtered" in plain.err
    filtered = cli(*words, "--hierarchy", tree, "--descriptions", names, "--out", tmp_path / "b")
    assert "not filtered" not in filtered.err
    recall = [
        one.json["subtasks"]["within_image/depth"]["micro"]["all"]["recall"]["value"] for one in (plain, filtered)
    ]
    assert recall[0] == 1.0
    assert 0 < recall[1] < 1.0  # pairs of the first kind and a part of it are not predicted
    assert_refused(cli(*words, "--hierarchy", tree, "--out", tmp_path / "c"), "--descriptions")


def test_detectors_that_name_classes_in_words_pass_the_same_filters(cli: Cli, small: Path, tmp_path: Path) -> None:
    objects = pl.read_csv(small / OBJECTS, infer_schema=False)
    kinds = objects["entity"].unique().sort().to_list()
    words = {kind: f"Thing {k}" for k, kind in enumerate(kinds[:-1])}  # of the last one nobody has a name
    tree, names = tmp_path / "tree.json", tmp_path / "names.csv"
    thing = {"LabelName": kinds[0], "Part": [{"LabelName": kind} for kind in kinds[1:-1]]}
    people = [{"LabelName": "p"}, {"LabelName": "c"}]
    tree.write_text(json.dumps({"LabelName": "all", "Subcategory": [thing, *people]}))
    names.write_text("p,Person\nc,Clothing\n" + "".join(f"{kind},{name}\n" for kind, name in words.items()))
    given = (
        "exam",
        "relations",
        "--data",
        small,
        "--boxes",
        "perfect",
        "--hierarchy",
        tree,
        "--descriptions",
        names,
    )
    scores = []
    for name, called in (("mids", {}), ("words", {kind: name.upper() for kind, name in words.items()})):
        path = tmp_path / f"{name}.csv"
        found = objects.drop("object_id").with_columns(pl.col("entity").replace(called), score=pl.lit("0.5"))
        found.write_csv(path)
        done = cli(*given, "--detections", path, "--json", "--out", tmp_path / name)
        scores.append(done.json["subtasks"]["within_image/depth"])
        assert done.json["scores"]["unfiltered_classes"] == [kinds[-1]]
        assert "1 class of its boxes not found in the descriptions" in done.words
    assert scores[0] == scores[1]
    assert scores[0]["micro"]["all"]["recall"]["value"] < 1.0  # a thing and its part are not paired


def test_detections_in_no_image_of_the_data_are_refused(cli: Cli, small: Path, tmp_path: Path) -> None:
    path = tmp_path / "found.csv"
    frame = pl.read_csv(small / OBJECTS, infer_schema=False).drop("object_id")
    frame.with_columns(image_id=pl.lit("elsewhere"), score=pl.lit("0.5")).write_csv(path)
    words = ("exam", "relations", "--data", small, "--boxes", "detected", "--detections", path)
    assert_refused(cli(*words, "--out", tmp_path / "runs"), path, "'elsewhere'")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda f: f.drop("score"), "score: column is missing"),  # not taken for a predictions file
        (lambda f: f.with_columns(group=pl.lit("yes")), "group: not a flag"),  # neither 0 nor 1
        (put("score", "nan"), "score: not a finite number"),  # NaN
        (put("xmax", "2"), "xmax: box leaves the image"),  # out of range
        (lambda f: f.clear(), "no rows"),  # header only
    ],
)
def test_broken_detections_are_refused(
    cli: Cli, small: Path, tmp_path: Path, change: Callable[[Frame], Frame], told: str
) -> None:
    path = tmp_path / "found.csv"
    frame = pl.read_csv(small / OBJECTS, infer_schema=False).drop("object_id")
    change(frame.with_columns(score=pl.lit("0.5"))).write_csv(path)
    words = ("exam", "relations", "--data", small, "--boxes", "detected", "--detections", path)
    assert_refused(cli(*words, "--out", tmp_path / "runs"), path, told)
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "file is empty"),  # nothing at all
        ("\ufeff{}", "byte order mark"),  # a BOM
        ("[]", "not of a known format"),  # other JSON
        ('{"images": [{"id": 1, "file', "not JSON"),  # cut off
        (
            json.dumps(
                {
                    "images": [{"id": 1, "width": 9, "height": 9, "file_name": "a"}],
                    "categories": [],
                    "annotations": [{"id": 1, "image_id": 7, "category_id": 1, "bbox": [0, 0, 1, 1]}],
                }
            ),
            "annotation 1, image_id: unknown id",
        ),  # unknown id
    ],
)
def test_broken_coco_is_refused(cli: Cli, tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "instances_val.json"
    path.write_text(text)
    for words in (("import", path, "--out", tmp_path / "out"), ("check", path), ("stats", path)):
        assert_refused(cli(*words), path, told)
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_paths_that_cannot_be_used_are_named(cli: Cli, small: Path, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("x")
    exam = ("exam", "relations", "--data", small, "--no-baselines", "--model", "size", "--out")
    for words in (
        ("import", small, "--out", file),
        ("import", small, "--out", file / "below"),
        ("export", "2.5vrd", small, "--out", file),
        (*exam, file),
        ("compare", file, file),
        ("report", file),
        ("stats", file),
    ):
        assert_refused(cli(*words), file)
    assert_refused(cli(*exam, tmp_path / "runs", "--split", "tset"), "tset", "expected test or validation")
    assert_refused(cli("import", small, "--out", small), "choose another folder")
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize(
    "words",
    [
        ("exam", "relations", "--limit", "-1", "--data"),  # fewer than none
        ("exam", "relations", "--workers", "-1", "--data"),  # fewer than none
        ("exam", "relations", "--boxes", "guessed", "--data"),  # no such choice
        ("exam", "relations", "--boxes", "detected", "--data"),  # nobody detects
        ("audit", "--seed", "-1"),  # generators take no such seed
        ("audit", "--folds", "1"),  # nothing to fit on
        ("export", "foo", "--out", "x"),  # no such format
    ],
)
def test_bad_options_end_with_two(cli: Cli, small: Path, words: tuple[str, ...]) -> None:
    done = cli(*words, small)
    assert_refused(done)
    assert done.out == ""


MODELS = """
import os, sys
import numpy as np
from sightline import Detections, Judgements
class Model:
    def relate(self, pairs): return Judgements(np.ones(len(pairs), np.int8), np.zeros(len(pairs), np.int8))
class Talks(Model):
    def relate(self, pairs):
        print("thinking"); os.write(1, b"hard\\n")
        return super().relate(pairs)
class Breaks(Model):
    def relate(self, pairs): return [][len(pairs)]
class Leaves(Model):
    def relate(self, pairs): sys.exit(0)
class Unready(Model):
    def prepare(self, study): raise RuntimeError("no weights")
class Mute(Model):
    def relate(self, pairs): return None
class Boasts(Model):
    def facts(self): return {"margin": float("nan")}
class Blurs(Model):
    def detect(self, view): return Detections(np.array([[0, 0, np.nan, 1]]), np.ones(1), ("a",))
class Blind(Model):
    def detect(self, view): return []
x = 5
"""


@pytest.fixture
def models(tmp_path: Path) -> Path:
    path = tmp_path / "models.py"
    path.write_text(MODELS)
    return path


@pytest.mark.parametrize(
    ("name", "boxes", "told"),
    [
        ("Breaks", "truth", "relate() failed: IndexError: list index out of range (models.py, line 12)"),  # raises
        ("Leaves", "truth", "relate() failed: SystemExit: 0"),  # ends the process
        ("Unready", "truth", "prepare() failed: RuntimeError: no weights"),  # cannot learn
        ("Mute", "truth", "relate() must return Judgements, not NoneType"),  # says nothing
        ("Boasts", "truth", "facts() failed"),  # not JSON
        ("Blurs", "detected", "detect() returned boxes that are not finite"),  # NaN
        ("Blind", "perfect", "detect() must return Detections, not list"),  # not detections
        ("x", "truth", "models.py:x: int has no skill"),  # no model; and ":x:" is no emoji
    ],
)
def test_a_broken_model_is_blamed(
    cli: Cli, small: Path, models: Path, tmp_path: Path, name: str, boxes: str, told: str
) -> None:
    runs = tmp_path / "runs"
    words = ("--no-baselines", "--model", f"{models}:{name}", "--boxes", boxes, "--out", runs)
    assert_refused(cli("exam", "relations", "--data", small, *words), told)
    statuses = {json.loads(p.read_text())["status"] for p in runs.rglob("manifest.json")}
    assert statuses <= {"failed"}


def test_a_model_that_prints_does_not_spoil_the_json(cli: Cli, small: Path, models: Path, tmp_path: Path) -> None:
    words = ["exam", "relations", "--data", str(small), "--no-baselines", "--model", f"{models}:Talks", "--json"]
    inline = cli(*words, "--out", tmp_path / "a")
    assert inline.json["models"][0]["status"] == "finished"
    assert "thinking" in inline.err
    words += ["--out", str(tmp_path / "b"), "--workers", "1"]
    worker = subprocess.run([sys.executable, "-m", "sightline", *words], capture_output=True, text=True, check=True)
    assert json.loads(worker.stdout)["models"][0]["status"] == "finished"
    assert "thinking" in worker.stderr
    assert "hard" in worker.stderr


def test_a_changed_model_file_does_not_resume(cli: Cli, small: Path, models: Path, tmp_path: Path) -> None:
    words = (
        "exam",
        "relations",
        "--data",
        small,
        "--no-baselines",
        "--model",
        f"{models}:Model",
        "--out",
        tmp_path,
    )
    assert cli(*words, "--limit", 2).code == 0
    assert cli(*words, "--limit", 3).code == 0
    models.write_text(MODELS + "\n")
    assert_refused(cli(*words), "model_fingerprint")


@pytest.mark.parametrize(
    ("name", "change", "told"),
    [
        ("manifest.json", lambda b: b[:50], "not JSON"),  # cut off
        ("manifest.json", lambda b: b.replace(b'"options"', b'"optoins"'), "did you mean 'options'"),  # misspelt
        ("records.jsonl", lambda b: b[:300] + b"#" + b[301:], "damaged records"),  # broken in the middle
        ("records.jsonl", lambda b: b + b.split(b"\n")[0] + b"\n", "item stands twice"),  # a line doubled
        ("records.jsonl", lambda b: b.replace(b'"closer"', b'"nearer"', 1), "not a label"),  # a foreign word
    ],
)
def test_a_damaged_run_is_refused(
    cli: Cli, small: Path, tmp_path: Path, name: str, change: Callable[[bytes], bytes], told: str
) -> None:
    words = ("exam", "relations", "--data", small, "--no-baselines", "--model", "size", "--out", tmp_path)
    assert cli(*words).code == 0
    run = tmp_path / "relations" / "size@test"
    (run / name).write_bytes(change((run / name).read_bytes()))
    assert_refused(cli("compare", run, run), told)


def write_case(folder: Path) -> dict[str, Path]:
    """A tiny scoring case: two images, three objects, two pairs, votes that contradict their label."""
    texts = {
        "objects.csv": "image_id,object_id,entity,xmin,xmax,ymin,ymax\n"
        "image01,0,/m/018xm,0.0,0.5,0.4,0.8\nimage02,0,/m/04rky,0.0,0.5,0.0,0.5\nimage02,1,/m/06mf6,0.0,0.5,0.1,0.6\n",
        "vrd.csv": "image_id_1,object_id_1,image_id_2,object_id_2,occlusion,distance,raw_occlusion,raw_distance\n"
        'image01,0,image02,0,0,0,"1,1,1","3,3,3"\nimage01,0,image02,1,1,2,"0,0,0","1,1,1"\n',
        "prediction.csv": "image_id_1,entity_1,xmin_1,xmax_1,ymin_1,ymax_1,"
        "image_id_2,entity_2,xmin_2,xmax_2,ymin_2,ymax_2,occlusion,distance\n"
        "image01,/m/018xm,0.0,0.5,0.4,0.8,image02,/m/04rky,0.0,0.5,0.0,0.5,0,0\n"
        "image01,/m/018xm,0.0,0.5,0.4,0.8,image02,/m/06mf6,0.0,0.5,0.1,0.6,1,2\n",
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
    return {name: folder / name for name in texts}


def score(files: dict[str, Path]) -> list[object]:
    options = (("--objects", "objects.csv"), ("--truth", "vrd.csv"), ("--predictions", "prediction.csv"))
    return ["score", "relations", *(word for option, name in options for word in (option, files[name]))]


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (MemoryError(), "error: not enough memory\n"),
        (MemoryError("Unable to allocate 9 TiB"), "error: not enough memory: Unable to allocate 9 TiB\n"),
        (RecursionError("maximum recursion depth exceeded"), "error: something is nested too deeply"),
        (pl.exceptions.ComputeError("bad page\nand more"), "error: a table cannot be read: bad page\n"),
        (pl.exceptions.PanicException("index out of bounds"), "error: a table cannot be read: index out of bounds"),
    ],
)
def test_what_gives_out_is_told_in_one_sentence(
    cli: Cli, tmp_path: Path, error: BaseException, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr("sightline.store.open_dataset", fails)
    done = cli("stats", tmp_path)
    assert done.code == 2
    assert done.err.startswith(says)
    assert len(done.err.splitlines()) == 1


def test_an_export_that_lacks_something_names_the_data(cli: Cli, simulated: Path, tmp_path: Path) -> None:
    refused = cli("export", "voc", simulated, "--out", tmp_path / "o")
    assert_refused(refused, f"{simulated}, row ", "VOC needs the image size")
    assert not (tmp_path / "o").exists()


def test_help_lists_the_formats(cli: Cli) -> None:
    for command, names in {
        "import": [*FORMATS],
        "export": [*EXPORTS, *(name for name, one in FORMATS.items() if one.write is not None)],
    }.items():
        shown = " ".join(cli(command, "--help").out.split())
        assert f"Formats: {', '.join(sorted(names))}." in shown
