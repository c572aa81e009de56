"""The commands others script against, on simulated labels."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from PIL import Image

Cli = Callable[..., Any]


@pytest.fixture(scope="module")
def stored(simulated: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    from sightline.store import open_dataset, write

    folder = tmp_path_factory.mktemp("stored") / "data"
    write(open_dataset(simulated).tables(), folder, source="simulated")
    return folder


def test_python_m_sightline_is_sightline() -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "sightline", "--version"], capture_output=True, text=True, check=True
    )
    assert ran.stdout.startswith("sightline 0.")


def test_import_tells_what_it_wrote(cli: Cli, simulated: Path, tmp_path: Path) -> None:
    done = cli("import", simulated, "--out", tmp_path / "d", "--json")
    assert done.code == 0
    assert done.json["format"] == "2.5vrd"
    assert done.json["scenes"] == 100
    assert done.json["rows"]["relations"] > 0


def test_import_into_a_folder_that_is_taken_is_refused(cli: Cli, simulated: Path, tmp_path: Path) -> None:
    target = tmp_path / "d"
    assert cli("import", simulated, "--out", target).code == 0
    again = cli("import", simulated, "--out", target)
    assert again.code == 2
    assert "overwrite" in again.err
    assert cli("import", simulated, "--out", target, "--overwrite").code == 0


def test_export_brings_the_labels_back(cli: Cli, simulated: Path, stored: Path, tmp_path: Path) -> None:
    assert cli("export", "2.5vrd", stored, "--out", tmp_path / "csv").code == 0
    keys = ["image_id_1", "object_id_1", "image_id_2", "object_id_2"]
    for name in ("within_image_vrd_test.csv", "across_images_vrd_validation.csv"):
        ours, theirs = (pl.read_csv(folder / name).sort(keys) for folder in (tmp_path / "csv", simulated))
        assert ours.equals(theirs)


@pytest.mark.parametrize("place", ["simulated", "stored"])  # a folder of CSVs, a dataset
def test_stats_has_the_fixed_keys(cli: Cli, place: str, request: pytest.FixtureRequest) -> None:
    told = cli("stats", request.getfixturevalue(place), "--json").json
    for setting in ("within_image", "across_images"):
        assert {"test", "validation", "validation+test"} <= set(told[setting])
        test = told[setting]["test"]
        assert test["images"] == 40
        assert sum(test["depth"].values()) == pytest.approx(1)
        assert sum(test["difficulty"].values()) == pytest.approx(1)
        assert set(told[setting]["validation+test"]["difficulty"]) == {
            "easy",
            "moderate",
            "difficult",
            "infeasible",
            "ambiguous",
        }
    assert sum(told["within_image"]["test"]["occlusion"].values()) == pytest.approx(1)


def test_stats_prints_tables(cli: Cli, stored: Path) -> None:
    told = cli("stats", stored)
    assert told.code == 0
    assert "validation+test" in told.out
    assert "Fleiss" in told.out


def test_audit_has_the_fixed_keys(cli: Cli, simulated: Path) -> None:
    told = cli("audit", simulated, "--json").json
    for setting in ("within_image", "across_images"):
        assert {"bottom_edge", "area", "class_prior", "majority"} <= set(told[setting])
        for rule in told[setting].values():
            assert rule["low"] <= rule["accuracy"] <= rule["high"]
            assert rule["n"] > 0
    assert told["within_image"]["bottom_edge"]["accuracy"] > 0.65
    assert "bottom_edge" in cli("audit", simulated).out


def test_models_lists_the_baselines(cli: Cli) -> None:
    names = {m["name"] for m in cli("models", "--json").json}
    assert {"majority", "object_class", "class_prior", "size", "location", "bottom_edge", "depth"} <= names
    assert "bottom_edge" in cli("models").out


def test_exam_compare_and_report(cli: Cli, stored: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine.py"
    mine.write_text(
        "import numpy as np\n"
        "from sightline import Judgements\n"
        "class Always:\n"
        "    def relate(self, pairs):\n"
        "        return Judgements(np.ones(len(pairs), np.int8), np.zeros(len(pairs), np.int8))\n"
    )
    runs = tmp_path / "runs"
    spec = f"{mine}:Always"
    sat = cli("exam", "relations", "--data", stored, "--model", spec, "--out", runs, "--json")
    assert sat.code == 0, sat.err
    assert [m["model"] for m in sat.json["models"]] == ["mine.py:Always"]
    by_name = {m["model"]: m for m in (*sat.json["models"], *sat.json["baselines"].values())}
    assert {"majority", "class_prior", "location_tuned", "bottom_edge"} <= set(sat.json["baselines"]) < set(by_name)
    assert all(list(m)[:5] == ["model", "run", "status", "options", "scores"] for m in by_name.values())
    assert sat.json["subtasks"] == by_name["mine.py:Always"]["scores"]["subtasks"]
    assert all(m["status"] == "finished" for m in by_name.values())
    edge = by_name["bottom_edge"]["scores"]["subtasks"]["within_image/depth"]["micro"]["all"]["f1"]
    assert edge["low"] < edge["value"] < edge["high"]

    folders = [by_name[name]["run"] for name in ("bottom_edge", "majority")]
    compared = cli("compare", *folders, "--resamples", 200, "--json").json
    assert compared["dropped"] == 0
    assert {row["name"] for row in compared["comparisons"]} >= {"average", "within_image depth"}
    assert cli("compare", *folders, "--resamples", 200).code == 0

    report = tmp_path / "report.html"
    assert cli("report", runs, "--out", report).code == 0
    assert report.read_text().count("<svg") > 3


def test_an_exam_resumes_only_with_the_same_data(cli: Cli, stored: Path, simulated: Path, tmp_path: Path) -> None:
    words = ("exam", "relations", "--no-baselines", "--model", "size", "--out", tmp_path)
    assert cli(*words, "--data", stored, "--limit", 3).code == 0
    assert cli(*words, "--data", stored).code == 0
    other = tmp_path / "other"
    shutil.copytree(simulated, other)
    (other / "within_image_objects_test.csv").write_text(
        (simulated / "within_image_objects_test.csv").read_text().replace("/sim/", "/mis/")
    )
    refused = cli(*words, "--data", other)
    assert refused.code == 2
    assert "data_fingerprint" in refused.err


def test_workers_give_the_same_records(cli: Cli, stored: Path, tmp_path: Path) -> None:
    words = ("exam", "relations", "--data", stored, "--no-baselines", "--model", "size", "--model", "location")
    assert cli(*words, "--out", tmp_path / "a").code == 0
    assert cli(*words, "--out", tmp_path / "b", "--workers", 2).code == 0
    for run in ("size@test", "location@test"):
        a, b = (tmp_path / side / "relations" / run / "records.jsonl" for side in "ab")
        assert a.read_bytes() == b.read_bytes()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["exam", "relations", "--model", "bottom_egde"], "did you mean"),  # a misspelt model
        (["exam", "relations", "--split", "tset", "--model", "size"], "no such split"),  # a misspelt split
        (["exam", "relations", "--no-baselines"], "nobody to examine"),  # no model at all
        (["exam", "relations", "--model", "nofile.py:m", "--no-baselines"], "nofile.py"),  # no such file
    ],
)
def test_bad_exam_requests_end_with_two(
    cli: Cli, stored: Path, tmp_path: Path, words: list[str], told: str
) -> None:
    done = cli(*words, "--data", stored, "--out", tmp_path / "runs")
    assert done.code == 2
    assert told in done.err
    assert "Traceback" not in done.err


def test_a_path_that_is_nothing_known_is_refused(cli: Cli, tmp_path: Path) -> None:
    for command in ("stats", "audit", "check"):
        done = cli(command, tmp_path / "nowhere")
        assert done.code == 2
        assert "nowhere" in done.err


def test_check_names_what_is_wrong(cli: Cli, stored: Path, tmp_path: Path) -> None:
    assert cli("check", stored).code == 0
    broken = tmp_path / "broken"
    shutil.copytree(stored, broken)
    shard = next((broken / "relations").glob("*.parquet"))
    shard.write_bytes(shard.read_bytes()[:-20])
    done = cli("check", broken, "--json")
    assert done.code == 2
    assert any(shard.name in (p["file"] or "") for p in done.json["problems"])


def test_check_tells_votes_that_contradict_a_label(cli: Cli, simulated: Path, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong"
    shutil.copytree(simulated, wrong)
    path = wrong / "within_image_vrd_test.csv"
    rows = pl.read_csv(path, infer_schema=False)
    rows.with_columns(distance=pl.lit("3")).write_csv(path)
    for command in (["check", wrong], ["import", wrong, "--out", tmp_path / "d"]):
        done = cli(*command)
        assert done.code == 2
        assert "within_image_vrd_test.csv" in done.err
        assert "row " in done.err
    assert not (tmp_path / "d").exists()


def test_export_takes_its_format_either_way(cli: Cli, simulated: Path, stored: Path, tmp_path: Path) -> None:
    for words, to in ((("2.5vrd", stored), "a"), ((stored, "--format", "2.5vrd"), "b")):
        done = cli("export", *words, "--out", tmp_path / to)
        assert done.code == 0, done.err
    assert [f.read_bytes() for f in sorted((tmp_path / "a").iterdir())] == [
        f.read_bytes() for f in sorted((tmp_path / "b").iterdir())
    ]
    for words in (("2.5vrd",), ("2.5vrd", stored, "--format", "coco")):
        refused = cli("export", *words, "--out", tmp_path / "c")
        assert (refused.code, "DATA --format FORMAT" in refused.err) == (2, True)
    refused = cli("export", "photos", simulated, "--out", tmp_path / "c")
    assert (refused.code, "photos can be read but not written" in refused.err) == (2, True)


def test_import_brings_the_photos_in(cli: Cli, tmp_path: Path) -> None:
    from PIL import Image

    from sightline.store import open_dataset

    photos = tmp_path / "photos"
    photos.mkdir()
    Image.new("RGB", (8, 6), (200, 30, 10)).save(photos / "one.png")
    told = {
        "images": [{"id": 1, "file_name": "one.png", "width": 8, "height": 6}],
        "categories": [{"id": 1, "name": "cup"}],
        "annotations": [{"id": 5, "image_id": 1, "category_id": 1, "bbox": [1, 1, 4, 3], "area": 12, "iscrowd": 0}],
    }
    (tmp_path / "instances.json").write_text(json.dumps(told))
    done = cli("import", tmp_path / "instances.json", "--images", photos, "--out", tmp_path / "data")
    assert done.code == 0, done.err
    shutil.rmtree(photos)
    view = next(iter(open_dataset(tmp_path / "data"))).views[0]
    assert view.image().shape == (6, 8, 3)
    assert view.image()[0, 0].tolist() == [200, 30, 10]


def only(simulated: Path, folder: Path, pattern: str) -> Path:
    """A copy of some of the simulated files."""
    folder.mkdir()
    for path in simulated.glob(pattern):
        shutil.copy(path, folder)
    return folder


@pytest.mark.parametrize(
    "pattern",
    [
        "*_test.csv",  # nothing to learn from
        "across_images_*_test.csv",  # one setting, nothing to learn from
        "within_image_*.csv",  # one setting
    ],
)
def test_a_part_of_the_data_will_do(cli: Cli, simulated: Path, tmp_path: Path, pattern: str) -> None:
    data = only(simulated, tmp_path / "part", pattern)
    sat = cli("exam", "relations", "--data", data, "--out", tmp_path / "runs", "--json")
    assert sat.code == 0, sat.err
    learned = set(sat.json["baselines"]) & {"majority", "object_class", "location_tuned"}
    assert bool(learned) == (pattern == "within_image_*.csv")
    for command in (["stats", data], ["audit", data], ["report", tmp_path / "runs", "--out", tmp_path / "r.html"]):
        assert cli(*command).code == 0


def coco_pairs(votes: bool) -> dict[str, Any]:
    """Photos with three things each; depth labels only, no splits, pixel boxes."""
    boxes = ([2, 2, 30, 20], [20, 30, 40, 30], [60, 60, 38, 38])
    images = [{"id": i, "file_name": f"{i}.jpg", "width": 100, "height": 100} for i in range(1, 9)]
    things = [
        {"id": 10 * i + k, "image_id": i, "category_id": 1, "bbox": box, "area": 100, "iscrowd": 0}
        for i in range(1, 9)
        for k, box in enumerate(boxes)
    ]
    pairs = [(i, a, b) for i in range(1, 9) for a, b in ((0, 1), (0, 2), (1, 2))]
    relations = [
        {
            "id": n,
            "image_id": i,
            "subject_id": 10 * i + a,
            "object_id": 10 * i + b,
            "aspect": "depth",
            "predicate": "farther",
            "votes": ["farther"] * 3 if votes else [],
        }
        for n, (i, a, b) in enumerate(pairs)
    ]
    return {
        "images": images,
        "annotations": things,
        "categories": [{"id": 1, "name": "cup"}],
        "relations": relations,
    }


@pytest.mark.long
@pytest.mark.parametrize("votes", [True, False])
def test_depth_alone_without_splits_is_an_exam_too(cli: Cli, tmp_path: Path, votes: bool) -> None:
    (tmp_path / "instances.json").write_text(json.dumps(coco_pairs(votes)))
    data, runs = tmp_path / "data", tmp_path / "runs"
    assert cli("import", tmp_path / "instances.json", "--out", data).code == 0
    told = cli("stats", data, "--json").json["within_image"][""]
    assert told["occlusion"] == {}
    assert told["difficulty"]["easy"] == (1.0 if votes else None)
    assert cli("stats", data).code == 0
    sat = cli("exam", "relations", "--data", data, "--out", runs, "--protocol", "official", "--json").json
    best = sat["baselines"]["bottom_edge"]["scores"]
    assert list(best["subtasks"]) == ["within_image/depth"]
    assert best["subtasks"]["within_image/depth"]["micro"]["all"]["f1"]["value"] == 1.0
    card = cli("report", runs, "--out", tmp_path / "r.html", "--json").json
    assert "bottom_edge" in json.dumps(card)
    assert "No finished run" not in (tmp_path / "r.html").read_text()


@pytest.mark.long
def test_stats_give_contradictions_of_the_labels_by_each_denominator(cli: Cli, simulated: Path) -> None:
    told = cli("stats", simulated)
    for head in ("of a ≤ b, b ≤ c", "of a < b, b < c", "of all labelled triples"):
        assert head in told.out
    laws = cli("stats", simulated, "--json").json["within_image"]["test"]["transitivity"]
    cases = [laws[law]["cases"] for law in ("transitivity_strict", "transitivity", "transitivity_all")]
    assert cases == sorted(cases)
    assert cases[-1] % 6 == 0  # every order of three objects


@pytest.mark.long
def test_photos_with_boxes_alone_say_how_consistent_a_model_is(cli: Cli, tmp_path: Path) -> None:
    told, photos = {**coco_pairs(votes=False), "relations": []}, tmp_path / "photos"
    photos.mkdir()
    for image in told["images"]:
        shade = np.random.default_rng(image["id"]).integers(0, 256, (100, 100, 3), dtype=np.uint8)
        Image.fromarray(shade).save(photos / image["file_name"])
    (tmp_path / "i.json").write_text(json.dumps(told))
    data, runs = tmp_path / "data", tmp_path / "runs"
    assert cli("import", tmp_path / "i.json", "--images", photos, "--out", data).code == 0
    refused = cli("exam", "relations", "--data", data, "--out", runs)
    assert refused.code == 2
    assert "--no-truth" in refused.err
    asked = ["exam", "relations", "--data", data, "--no-truth", "--model", "random", "--out", runs]
    shown = cli(*asked)
    assert shown.code == 0, shown.err
    assert "Consistency, not correctness" in shown.out
    again = cli(*asked, "--json").json  # finished runs are taken up, nothing is asked again
    assert set(again["consistency"]) == {"meaning", "models", "agreement"}
    assert set(again["scores"]["changes"]["within_image/depth"]) == {"mirror", "jpeg", "shift"}
    assert again["baselines"]["bottom_edge"]["scores"]["both_ways"]["value"] == 1.0
    card = cli("report", runs, "--focus", "random", "--out", tmp_path / "card.html", "--json").json
    assert card["parts"][0]["title"] == "2.5D relations, without truth"
    assert "not correctness" in card["parts"][0]["warnings"][0]
    assert all(one["facts"]["answer"] != one["facts"]["back"] for one in card["examples"])
    assert "asked of (B, A)" in (tmp_path / "card.html").read_text(encoding="utf-8")
    compared = cli("compare", *(next((runs / "relations").glob(f"{name}@*")) for name in ("random", "size")))
    assert "answers that fit their reverse" in compared.out


def test_partial_truth_counts_where_it_is(cli: Cli, tmp_path: Path) -> None:
    told = coco_pairs(votes=False)
    told["relations"].append({**told["relations"][0], "id": 999, "aspect": "occlusion", "predicate": "none"})
    (tmp_path / "instances.json").write_text(json.dumps(told))
    sat = cli("exam", "relations", "--data", tmp_path / "instances.json", "--out", tmp_path / "runs", "--json")
    scores = sat.json["baselines"]["bottom_edge"]["scores"]
    assert {name: of["pairs"] for name, of in scores["subtasks"].items()} == {
        "within_image/depth": 48,
        "within_image/occlusion": 2,  # the one pair, both ways
    }
    assert scores["not_scored"] == ["across_images/depth"]


def test_occlusion_alone_is_scored_and_what_is_not_is_said(cli: Cli, tmp_path: Path) -> None:
    told = coco_pairs(votes=False)
    told["relations"] = [{**r, "aspect": "occlusion", "predicate": "occludes"} for r in told["relations"]]
    (tmp_path / "instances.json").write_text(json.dumps(told))
    data, runs = tmp_path / "instances.json", tmp_path / "runs"
    sat = cli("exam", "relations", "--data", data, "--out", runs)
    assert sat.code == 0, sat.err
    assert (
        "Not scored, since the data has no such labels: depth within an image, depth across two images." in sat.out
    )
    scores = cli("exam", "relations", "--data", data, "--out", runs, "--json").json["baselines"]["size"]["scores"]
    assert list(scores["subtasks"]) == ["within_image/occlusion"]
    assert cli("stats", data).code == 0
    card = cli("report", runs, "--out", tmp_path / "r.html", "--json").json
    assert any("Not scored" in warning for warning in card["parts"][0]["warnings"])
    audited = cli("audit", data)
    assert audited.code == 2
    assert "no depth relations" in audited.err


def test_a_depth_order_is_drawn(cli: Any, generated: Path, tmp_path: Path) -> None:
    words = ("look", generated, "--view", "original", "--scenes", 2)
    done = cli(*words, "--order", "consistent", "--out", tmp_path / "order.png", "--json")
    assert done.code == 0, done.err
    assert done.json["written"] == [str(tmp_path / name) for name in ("order.png", "order-2.png")]
    refused = cli(*words, "--order", "bottom_edge", "--out", tmp_path / "other.png")
    assert (refused.code, "bottom_edge puts objects in no order" in refused.err) == (2, True)
    both = cli(*words, "--order", "consistent", "--overlay", "boxes", "--out", tmp_path / "other.png")
    assert (both.code, "--overlay and --columns are not for --order" in both.err) == (2, True)
    assert not (tmp_path / "other.png").exists()
