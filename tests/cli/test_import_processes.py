"""Import as a process of its own: killed, and in a locale that knows ASCII only."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from PIL import Image

SIGHTLINE = [sys.executable, "-m", "sightline"]
ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


@pytest.mark.long
def test_a_killed_import_leaves_nothing_that_the_next_one_keeps(tmp_path: Path) -> None:
    photos = tmp_path / "photos"
    photos.mkdir()
    for i in range(400):
        Image.new("RGB", (8, 8), (i % 256, i // 256, 0)).save(photos / f"{i}.png")
    command = [*SIGHTLINE, "import", str(photos), "--out", str(tmp_path / "d")]
    killed = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while not list(tmp_path.glob(".d.*.partial/images/*")) and time.monotonic() < deadline:
        assert killed.poll() is None, "ended before it could be killed"
        time.sleep(0.001)
    killed.send_signal(signal.SIGKILL)
    assert killed.wait() == -signal.SIGKILL
    assert not (tmp_path / "d").exists()
    assert len(list(tmp_path.glob(".d.*.partial"))) == 1
    subprocess.run(command, check=True, capture_output=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["d", "photos"]
    assert len(list((tmp_path / "d" / "images").glob("*/*"))) == 400


@pytest.mark.long
def test_names_beyond_ascii_in_a_locale_without_them(tmp_path: Path) -> None:
    """Photos, classes and folders with such names: import, export, exam and report."""
    source = tmp_path / "Fotos-ü"
    (source / "val2017").mkdir(parents=True)
    (source / "annotations").mkdir()
    names = [f"Bild-é{i}.png" for i in range(3)]
    for name in names:
        Image.new("RGB", (64, 48)).save(source / "val2017" / name)
    annotations = [
        {"id": 3 * i + j + 1, "image_id": i, "category_id": j % 2, "bbox": [9 * j, 8 * j, 12, 14], "area": 168}
        for i in range(3)
        for j in range(2)
    ]
    content = {
        "images": [{"id": i, "file_name": name, "width": 64, "height": 48} for i, name in enumerate(names)],
        "categories": [{"id": 0, "name": "Käse"}, {"id": 1, "name": "猫"}],
        "annotations": annotations,
        "relations": [
            {
                "id": i,
                "image_id": i,
                "subject_id": 3 * i + 1,
                "object_id": 3 * i + 2,
                "aspect": "depth",
                "predicate": "closer",
                "votes": [],
            }
            for i in range(3)
        ],
    }
    text = json.dumps(content, ensure_ascii=False)
    (source / "annotations/instances_val2017.json").write_text(text, encoding="utf-8")
    for words in (
        ["import", "Fotos-ü", "--out", "Däta"],
        ["export", "voc", "Däta", "--out", "aus-ö"],
        ["exam", "relations", "--data", "Däta", "--model", "size", "--no-baselines", "--out", "Läufe"],
        ["report", "Läufe", "--out", "Seite-ß.html", "--resamples", "100"],
    ):
        done = subprocess.run(
            [*SIGHTLINE, *words], cwd=tmp_path, env={**os.environ, **ASCII}, capture_output=True, check=False
        )
        assert done.returncode == 0, (words, done.stderr.decode())
    assert "<name>Käse</name>" in next((tmp_path / "aus-ö/Annotations").glob("*.xml")).read_text(encoding="utf-8")
    assert len(list((tmp_path / "aus-ö/JPEGImages").iterdir())) == 3
    assert "Däta" in (tmp_path / "Seite-ß.html").read_text(encoding="utf-8")
