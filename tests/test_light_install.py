"""What runs on machines with a card: worlds and the fast back end by numpy, numba and yaml, networks by torch."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from sightline.worlds import presets

BLOCKED = (
    "polars",
    "pyarrow",
    "pydantic",
    "trimesh",
    "shapely",
    "manifold3d",
    "PIL",
    "rich",
    "typer",
    "jinja2",
    "scipy",
    "mujoco",
    "onnxruntime",
    "lightning",
    "pytorch_lightning",
    "tensorboard",
)

WITHOUT = """
import json, sys

BLOCKED = sys.argv[1:]

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in BLOCKED:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
"""

DRAWS = """
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
"""

LEARNS = """
import tempfile
import torch
from sightline.models.nets.checkpoints import dump_checkpoint, load_checkpoint
from sightline.models.nets.sornet import Sornet, SornetConfig
from sightline.training.sornet import augmentation, evaluation, layouts, losses, pictures, plan, sources
from sightline.exams.predicates import counts

torch.set_num_threads(1)
net = Sornet(SornetConfig(width=8, depth=1, heads=2, hidden=4, image=(64, 32)))
logits = net(torch.zeros(1, 1, 32, 64, 3), torch.zeros(1, 2, 32, 32, 3))
with tempfile.NamedTemporaryFile() as file:
    file.write(dump_checkpoint(net))
    file.flush()
    again = load_checkpoint(file.name).net
found = {"shape": logits.shape, "same": all(map(torch.equal, net.parameters(), again.parameters()))}
"""

TELLS = """
imported = sorted({name.split(".")[0] for name in sys.modules} & set(BLOCKED))
print(json.dumps({"found": found, "imported": imported}))
"""


def run_without(blocked: tuple[str, ...], code: str) -> dict[str, Any]:
    """What the code leaves in `found`, run by an interpreter that has none of the packages."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", WITHOUT + code + TELLS, *blocked],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    assert told["imported"] == []
    return told


@pytest.mark.long
def test_networks_without_the_rest() -> None:
    pytest.importorskip("torch", reason="networks need torch")
    pytest.importorskip("safetensors", reason="checkpoints need safetensors")
    assert run_without(BLOCKED, LEARNS)["found"] == {"shape": [1, 2, 2, 8], "same": True}


@pytest.mark.long
def test_every_preset_without_the_rest() -> None:
    told = run_without((*BLOCKED, "torch", "safetensors"), DRAWS)
    assert tuple(told["found"]) == presets()
    for name, scene in told["found"].items():
        assert scene["objects"] >= (1 if name.startswith(("cad/", "context/s")) else 2)
        assert scene["left"] == scene["objects"] - 1
        assert scene["labels"] >= scene["objects"] - (scene["objects"] == 1)  # labels are of pairs
        assert scene["shape"] == [32, 48, 3]
        assert len(scene["seen"]) >= scene["objects"] - 2
        assert scene["tones"] > 30
