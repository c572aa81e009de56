"""What is written for Blender says what the layout says, and a failed process is told. Needs no Blender."""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from blender_layouts import made_layout, shot

from sightline.errors import ConfigError, DataError
from sightline.geometry.cameras import SENSOR_MM, project
from sightline.render.blender import BlenderRenderer, RenderError
from sightline.render.blender.environment import python_of
from sightline.render.blender.jobs import BlenderSettings, blender_lens, blender_pose, write
from sightline.render.blender.process import render
from sightline.render.blender.renderer import chosen
from sightline.worlds.layout import Layout, Placed
from sightline.worlds.shapes import solid


@pytest.mark.parametrize(
    "shift",
    [
        (0.0, 0.0),  # axis through the middle
        (5.0, -7.0),  # principal point to the right and up
    ],
)
def test_blenders_camera_sees_points_where_opencv_does(shift: tuple[float, float]) -> None:
    view = shot("original", (10.41, -9.79, 6.62), focal=58.5, size=(120, 80), shift=shift)
    points = np.random.default_rng(0).uniform(-2, 2, (50, 3))
    lens, (shift_x, shift_y) = blender_lens(view)
    pose = blender_pose(np.array(view.camera.world_to_camera).reshape(3, 4))
    x, y, z = np.linalg.inv(pose)[:3] @ np.column_stack((points, np.ones(50))).T
    # Blender's manual: −z is forward, y up, the shift moves the frame in units of its width
    across, up = x / -z * lens / SENSOR_MM - shift_x, y / -z * lens / SENSOR_MM - shift_y
    expected = project(np.array(view.camera.k).reshape(3, 3), view.camera.world_to_camera, points)
    np.testing.assert_allclose(np.column_stack((60 + 120 * across, 40 - 120 * up, -z)), expected, atol=1e-9)


def test_a_job_holds_each_mesh_once(tmp_path: Path) -> None:
    layout = made_layout()
    twice = replace(layout, objects=layout.objects + layout.objects)
    assert write(tmp_path, [(twice, layout.shots), (layout, layout.shots[:1])], BlenderSettings()) == 3
    job = json.loads((tmp_path / "job.json").read_text())
    names = sorted({placed.shape for placed in layout.objects})
    assert job["meshes"] == len(names)
    with np.load(tmp_path / "meshes.npz") as meshes:
        for placed, told in zip(twice.objects, job["layouts"][0]["objects"], strict=True):
            np.testing.assert_array_equal(meshes[f"vertices{told['mesh']}"], solid(placed.shape).vertices)
            np.testing.assert_allclose(np.reshape(told["pose"], (4, 4)), placed.pose())


def test_lights_shine_at_their_target(tmp_path: Path) -> None:
    layout = made_layout()
    write(tmp_path, [(layout, layout.shots)], BlenderSettings())
    [told] = json.loads((tmp_path / "job.json").read_text())["layouts"]
    for light, written in zip(layout.lights, told["lights"], strict=True):
        pose = np.reshape(written["pose"], (4, 4))
        away = np.subtract(light.target, light.position)
        np.testing.assert_allclose(pose[:3, 3], light.position)
        np.testing.assert_allclose(-pose[:3, 2], away / np.linalg.norm(away), atol=1e-12)
        np.testing.assert_allclose(pose[:3, 0], light.axes()[0], atol=1e-12)
        assert np.linalg.det(pose) == pytest.approx(1.0)


def _with(placed: Placed) -> Layout:
    return replace(made_layout(), objects=(placed,))


@pytest.mark.parametrize(
    ("layout", "problem"),
    [
        (_with(Placed("cube", "puce", "rubber", (0, 0, 0), 0.0)), "unknown colour 'puce'"),
        (_with(Placed("cube", "red", "wood", (0, 0, 0), 0.0)), "unknown material 'wood'; there are rubber, metal"),
        (_with(Placed("cub", "red", "metal", (0, 0, 0), 0.0)), "unknown shape 'cub', did you mean 'cube'?"),
        (replace(made_layout(), shots=(shot("original", (9, 9, 9), aspect=1.1),)), "square pixels without skew"),
    ],
)
def test_what_blender_cannot_render_is_refused(layout: Layout, problem: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=re.escape(problem)):
        write(tmp_path, [(layout, layout.shots)], BlenderSettings())


def test_views_by_name() -> None:
    layout = made_layout()
    assert [s.name for s in chosen(layout, None)] == ["original", "top"]
    assert [s.name for s in chosen(layout, ["top"])] == ["top"]
    with pytest.raises(ConfigError, match=r"unknown view 'tip', did you mean 'top'\?"):
        chosen(layout, ["top", "tip"])


WORKS = """
for i in range(2):
    np.savez(f"{sys.argv[3]}/{i}.npz", image=np.full((2, 2, 3), i, np.uint8))
    print("noise of Blender's"); print(f"view {i}", flush=True)
"""


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary folders go, so that a test sees whether one is left."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def _fake(tmp_path: Path, body: str) -> Path:
    """An environment whose Python does not run the worker but the given lines."""
    python = python_of(tmp_path / "blender")
    python.parent.mkdir(parents=True)
    usable = (
        'if sys.argv[2] == "-c": print(json.dumps({"bpy": "4.5.0", "missing": [], "problem": None})); sys.exit()'
    )
    head = f"#!{sys.executable}\nimport json, os, signal, sys, time\nimport numpy as np\n{usable}\n"
    python.write_text(head + body)
    python.chmod(0o755)
    return tmp_path / "blender"


@pytest.mark.skipif(os.name == "nt", reason="the fake is a POSIX script")
class TestProcess:
    def test_views_come_in_order_and_the_folder_goes(self, scratch: Path, tmp_path: Path) -> None:
        layout = made_layout()
        found = list(render([(layout, layout.shots)], BlenderSettings(), folder=_fake(tmp_path, WORKS)))
        assert [arrays["image"].max() for arrays in found] == [0, 1]
        assert not list(scratch.iterdir())

    @pytest.mark.parametrize(
        ("body", "problem"),
        [
            ("sys.exit('Traceback: no such node')", "exit code 1: Traceback: no such node"),  # an exception
            ("os.kill(os.getpid(), signal.SIGKILL)", "ended by SIGKILL (out of memory?)"),  # the kernel's doing
            ("os.kill(os.getpid(), signal.SIGSEGV)", "ended by SIGSEGV: it said nothing"),  # a bug of Blender's
            ("", "stopped with exit code 0"),  # silence
            ("print('still here', flush=True); time.sleep(60)", "more than 0.8 s for one view"),  # it hangs
        ],
    )
    def test_a_failed_process_is_told(self, body: str, problem: str, scratch: Path, tmp_path: Path) -> None:
        layout = made_layout()
        place = _fake(tmp_path, body)
        with pytest.raises(RenderError, match=re.escape(problem)):
            list(
                render(
                    [(layout, layout.shots)],
                    BlenderSettings(),
                    folder=place,
                    timeout=0.8 if "0.8" in problem else 60,
                )
            )
        assert not list(scratch.iterdir())

    def test_it_ends_with_who_asked(self, scratch: Path, tmp_path: Path) -> None:
        layout = made_layout()
        pid = tmp_path / "pid"
        body = f"open({str(pid)!r}, 'w').write(str(os.getpid()))\n{WORKS}time.sleep(60)"
        views = render([(layout, layout.shots * 2)], BlenderSettings(), folder=_fake(tmp_path, body))
        next(views)
        views.close()
        with pytest.raises(ProcessLookupError):
            os.kill(int(pid.read_text()), 0)
        assert not list(scratch.iterdir())

    def test_a_bad_layout_starts_nothing(self, scratch: Path, tmp_path: Path) -> None:
        layout = _with(Placed("cube", "puce", "rubber", (0, 0, 0), 0.0))
        with pytest.raises(ConfigError, match="puce"):
            list(render([(layout, layout.shots)], BlenderSettings(), folder=_fake(tmp_path, "sys.exit('started')")))
        assert not list(scratch.iterdir())


@pytest.mark.parametrize("index", [-1, 5])
def test_taking_away_what_is_not_there(index: int) -> None:
    layout = made_layout()
    with pytest.raises(DataError, match=f"expected 0 … 4, found {index}"):
        BlenderRenderer().counterfactual(layout, layout.shots[0], index)


def test_without_an_environment_the_command_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="sightline blender install"):
        BlenderRenderer(environment=tmp_path / "none").passes(made_layout())
