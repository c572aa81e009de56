"""Which format is this?"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from format_cases import OPENIMAGES, VRD25, lay

from sightline.errors import ConfigError, DataError
from sightline.store.formats import FORMATS, detect, named, pick
from sightline.store.tables import Tables


@pytest.mark.parametrize(("files", "name"), [(VRD25, "2.5vrd"), (OPENIMAGES, "openimages")])
def test_recognised_read_and_told(tmp_path: Path, files: dict[str, str], name: str) -> None:
    folder = lay(tmp_path, files)
    assert detect(folder).name == pick(folder).name == pick(folder, name).name == name
    assert Tables.concat(pick(folder).read(str(folder))).views.height >= 3


def test_unknown_things(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="not of a known format"):
        detect(tmp_path)
    with pytest.raises(DataError, match="no such file"):
        detect(tmp_path / "nowhere")
    with pytest.raises(ConfigError, match="did you mean 'openimages'"):
        named("openimage")
    with pytest.raises(ConfigError, match="no import option 'split'"):
        named("2.5vrd").read(tmp_path, split="test")


def test_folders_of_known_formats_below_are_named(tmp_path: Path) -> None:
    for name, files in (("second", VRD25), ("first", OPENIMAGES)):
        (tmp_path / name).mkdir()
        lay(tmp_path / name, files)
    (tmp_path / "third").mkdir()
    with pytest.raises(DataError, match="not of a known format") as caught:
        detect(tmp_path)
    first, second = (
        f"{tmp_path / name} ({form})" for name, form in (("first", "openimages"), ("second", "2.5vrd"))
    )
    assert f"one of the folders in it: {first}, {second}" in str(caught.value)


def test_what_each_can_do() -> None:
    assert {name for name, form in FORMATS.items() if form.write} == {"2.5vrd", "clevr", "coco", "voc", "yolo"}
    assert all(form.name == name and form.describe for name, form in FORMATS.items())
    assert list(FORMATS)[-2:] == ["ade20k", "photos"]  # they look through all folders below: tried last


def test_no_folder_is_taken_for_another(tmp_path: Path) -> None:
    for name in ("objects", "predicates", "annotations_test"):
        (tmp_path / f"{name}.json").write_text("{}")
    assert [name for name, form in FORMATS.items() if form.detect(tmp_path)] == ["vrd"]
    with pytest.raises(ConfigError, match="vrd has no import option 'relationships'"):
        named("vrd").read(tmp_path, relationships="x")


def test_notes_tell_what_is_left_out(tmp_path: Path) -> None:
    lay(tmp_path, {name: VRD25[name] for name in list(VRD25)[1:]})
    notes = named("2.5vrd").notes
    assert notes is not None
    assert notes(tmp_path) == ["within_image_vrd_test.csv: left out, within_image_objects_test.csv is not there"]


def test_formats_are_imported_when_used() -> None:
    loaded = "[m for m in sys.modules if m.startswith(f.__name__ + '.')]"
    code = f"import sys, sightline.store.formats as f; print({loaded})"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
