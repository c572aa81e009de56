"""Worlds and the fast back end run where only numpy, numba and yaml are installed, as on machines with a card."""

from __future__ import annotations

import json
import subprocess
import sys

from sightline.worlds import presets

CODE = """
import json, sys

BLOCKED = (
    "polars", "pyarrow", "pydantic", "trimesh", "shapely", "manifold3d", "PIL", "rich", "typer", "jinja2", "scipy",
    "mujoco", "torch", "onnxruntime",
)

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in BLOCKED:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())

from dataclasses import replace
from sightline.render.fast import FastRenderer
from sightline.worlds import arrange, load_world, presets, relations

renderer, found = FastRenderer(), {}
for name in presets():
    layout = arrange(load_world(name), seed=0, index=0)
    camera = layout.shots[0].camera
    k = [value / 10 if i < 6 else value for i, value in enumerate(camera.k)]
    shot = replace(layout.shots[0], camera=replace(camera, k=tuple(k)), size=(48, 32))
    frame = renderer.frame(layout, shot)
    without = renderer.counterfactual(layout, shot, 0)
    found[name] = {
        "objects": len(layout.objects), "labels": len(relations(layout)), "shape": frame.image.shape,
        "seen": sorted({int(i) for i in frame.ids.ravel()} - {0}), "tones": len({*frame.image.ravel().tolist()}),
        "left": len(without.amodal),
    }
imported = sorted({name.split(".")[0] for name in sys.modules} & set(BLOCKED))
print(json.dumps({"found": found, "imported": imported}))
"""


def test_every_preset_without_the_rest() -> None:
    done = subprocess.run([sys.executable, "-W", "error", "-c", CODE], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["imported"] == []
    assert tuple(told["found"]) == presets()
    for scene in told["found"].values():
        assert scene["objects"] >= 2
        assert scene["left"] == scene["objects"] - 1
        assert scene["labels"] >= scene["objects"]
        assert scene["shape"] == [32, 48, 3]
        assert len(scene["seen"]) >= scene["objects"] - 2
        assert scene["tones"] > 30
