"""PASCAL3D+'s CAD models: files of ours with everything that may be missing, and the real ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io

from sightline.errors import DataError
from sightline.worlds.shapes.pascal_models import read_cad_models
from sightline.worlds.shapes.repair import merged
from sightline.worlds.shapes.surfaces import open_edges
from worlds.cad_cases import CORNERS, FACES, model, saved


def test_a_model_is_read_as_its_file_has_it(tmp_path: Path) -> None:
    first, second = read_cad_models(saved(tmp_path / "bus.mat", model(), model(left=np.zeros((0, 0)))))
    assert (first.name, second.name, first.category) == ("bus/1", "bus/2", "bus")
    np.testing.assert_array_equal(first.vertices, CORNERS)
    np.testing.assert_array_equal(first.faces, FACES)
    assert first.names == ("nose", "left", "tail")
    assert first.landmarks == {"nose": (0.0, -0.4, 0.0), "left": (0.2, 0.0, 0.0)}
    assert list(second.landmarks) == ["nose"]
    assert first.visibility is None  # not asked for


def test_the_table_of_visibility_is_kept(tmp_path: Path) -> None:
    (one,) = read_cad_models(saved(tmp_path / "bus.mat", model()), visibility=True)
    table = one.visibility
    assert table is not None
    assert (table.azimuths.tolist(), table.elevations.tolist(), table.names) == ([0, 90], [-90, 0, 90], one.names)
    assert table.seen[0, :, 0].all()
    assert not table.seen[1, :, 0].any()
    assert table.seen[:, :, 1].tolist() == [[False, True, False]] * 2


def test_a_solid_stands_on_its_base_with_its_landmarks(tmp_path: Path) -> None:
    path = saved(tmp_path / "bus.mat", model(faces=(FACES[:-2] + 1).astype(np.uint16)))
    (one,) = read_cad_models(path)
    solid = one.solid(path)
    assert (solid.name, solid.closed, solid.height) == ("bus/1:medium", False, pytest.approx(0.2))
    assert solid.landmarks["nose"] == pytest.approx((0.0, -0.4, 0.1))
    np.testing.assert_allclose(solid.vertices[:, 2].min(), 0.0, atol=1e-7)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"vertices": None}, r"bus.mat, row bus\(1\), vertices: field is missing"),
        ({"faces": None}, "faces: field is missing"),
        ({"faces": np.array([[1, 2, 9]])}, "faces: .*numbers of vertices from 1 to 8"),
        ({"vertices": CORNERS * np.nan}, "vertices: .*finite"),
        ({"nose": np.array([[1.0, 2.0]])}, "nose: .*expected 3 numbers"),
        ({"pnames": np.array([[1.0]], dtype=object)}, "pnames: .*names of landmarks"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, changes: dict[str, Any], words: str) -> None:
    with pytest.raises(DataError, match=words):
        read_cad_models(saved(tmp_path / "bus.mat", model(**changes)))


def test_a_model_without_landmarks_is_a_model(tmp_path: Path) -> None:
    (one,) = read_cad_models(saved(tmp_path / "bus.mat", model(pnames=None)))
    assert (one.names, one.landmarks) == ((), {})


def test_files_without_models_are_told(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no CAD model"):
        read_cad_models(tmp_path)
    scipy.io.savemat(tmp_path / "bus.mat", {"bus": np.zeros((2, 2))})
    with pytest.raises(DataError, match="records"):
        read_cad_models(tmp_path)


@pytest.mark.realdata
def test_all_official_models_are_read(real_data: Path) -> None:
    models = read_cad_models(real_data / "pascal3d" / "cad")
    counts = {m.category: 0 for m in models}
    for m in models:
        counts[m.category] += 1
    assert len(models) == 62
    assert list(counts.values()) == [7, 5, 6, 8, 6, 10, 6, 6, 4, 4]
    small = [m for m in models if len(m.faces) < 6000]
    assert sum(open_edges(merged(m.vertices, m.faces)[0].faces) > 0 for m in small) == len(small) - 2
    diagonals = np.array([np.linalg.norm(np.ptp(m.vertices, axis=0)) for m in models])
    assert np.abs(diagonals - 1.0).max() < 0.1
    assert sum(len(m.landmarks) < len(m.names) for m in models) == 20
    assert all(np.abs(np.array(list(m.landmarks.values()))).max() < 0.75 for m in models)


@pytest.mark.realdata
def test_the_official_tables_of_visibility_are_read(real_data: Path) -> None:
    models = read_cad_models(real_data / "pascal3d" / "cad" / "tvmonitor.mat", visibility=True)
    tables = [m.visibility for m in models]
    assert all(t is not None and t.seen.shape == (72, 73, 8) for t in tables)
    assert all(t is not None and t.elevations[[0, -1]].tolist() == [-90.0, 90.0] for t in tables)
    front = tables[1]
    assert front is not None
    level = int(np.flatnonzero(front.elevations == 0.0)[0])
    names = list(front.names)
    assert front.seen[0, level, names.index("front_top_left")]  # azimuth 0 is the front
    assert not front.seen[0, level, names.index("back_top_left")]
