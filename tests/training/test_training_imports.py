"""What a machine with a card needs: torch, numpy, numba, yaml and safetensors, for all but the trainer."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

BLOCKED = (
    "polars",
    "pyarrow",
    "PIL",
    "rich",
    "typer",
    "jinja2",
    "scipy",
    "trimesh",
    "shapely",
    "manifold3d",
    "pydantic",
    "mujoco",
    "onnxruntime",
    "lightning",
    "pytorch_lightning",
    "tensorboard",
)

MODULES = (
    "batches",
    "dpm.fit",
    "folder",
    "optimizers",
    "plan",
    "augmentation",
    "inpainter.examples",
    "inpainter.pairs",
    "inpainter.task",
    "context.evaluation",
    "context.losses",
    "context.painters",
    "context.plan",
    "context.scenes",
    "context.task",
    "relations.examples",
    "relations.options",
    "relations.plan",
    "relations.scenes",
    "relations.seen",
    "relations.task",
    "sornet.augmentation",
    "sornet.evaluation",
    "sornet.finetune",
    "sornet.layouts",
    "sornet.losses",
    "sornet.pictures",
    "sornet.plan",
    "sornet.setup",
    "sornet.sources",
    "sornet.task",
    "viewpoint.evaluation",
    "viewpoint.losses",
    "viewpoint.placed",
    "viewpoint.plan",
    "viewpoint.setup",
    "viewpoint.task",
    "viewpoint.views",
)

CODE = """
import importlib, json, sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in BLOCKED:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

BLOCKED, MODULES = json.loads(sys.argv[1])
sys.meta_path.insert(0, Missing())
for module in MODULES:
    importlib.import_module(f"sightline.training.{module}")

from dataclasses import replace
from sightline.models.nets.sornet import Sornet, SornetConfig
from sightline.training.sornet.evaluation import answers
from sightline.training.sornet.finetune import majority
from sightline.training.sornet.layouts import PlacedScenes
from sightline.training.sornet.sources import FewScenes, WorldSource
from sightline.worlds import load_world
import torch

torch.set_num_threads(1)
world = replace(load_world("geospa/train"), resolution=(64, 32), colors=load_world("geospa/train").colors[:1])
world = replace(world, distinct=False)
source = WorldSource(PlacedScenes(world, ("original",), seed=0, size=2, batches=1), canonical=1)
few = FewScenes(source, 2, 1, batch=2, seed=0)
found = answers(Sornet(SornetConfig(8, 1, 2, 4, image=(64, 32))), few, 1, (0,))
scored = majority(found, 2)
told = {"shape": found.said.shape, "scenes": scored.n_scenes}
imported = sorted({name.split(".")[0] for name in sys.modules} & set(BLOCKED))
print(json.dumps({**told, "imported": imported}))
"""


@pytest.mark.long
def test_light_modules_alone() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", CODE, json.dumps([BLOCKED, MODULES])],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"shape": [2, 6, 6, 8], "scenes": 2, "imported": []}
