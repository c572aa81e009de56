"""The CUDA back end: in numba's simulator everywhere, and on a card where there is one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fast_layouts import made_layout
from numba import cuda

from sightline.errors import ConfigError
from sightline.render.fast import FastRenderer
from sightline.render.fast.cuda import CudaRenderer

pytestmark = pytest.mark.long

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def simulated() -> dict[str, Any]:
    """What `simulated_cuda` finds with compiling switched off."""
    paths = os.pathsep.join(filter(None, (str(HERE), str(HERE.parent), os.environ.get("PYTHONPATH"))))
    done = subprocess.run(
        [sys.executable, "-W", "error", "simulated_cuda.py"],
        cwd=HERE,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "NUMBA_ENABLE_CUDASIM": "1", "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": paths},
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_the_card_draws_what_the_processor_draws(simulated: dict[str, Any]) -> None:
    """The same functions on the same numbers: the same pixels, whatever else is in the batch."""
    assert [row["rows"] for row in simulated["rows"]] == [[[4, 3], [4, 57]]] * 4
    assert [row["shown"] for row in simulated["rows"]] == [4, 1, 4, 2]
    for row in simulated["rows"]:
        assert (row["ids"], row["sky"], row["stuff"], row["image"]) == (0, 0, 0, 0)
        assert row["depth"] < 1e-5
        assert row["normals"] < 1e-5
    assert simulated["another batch"]


def test_views_packed_elsewhere_look_the_same(simulated: dict[str, Any]) -> None:
    """Workers pack, the card's process draws: both know the same shapes, in an order of their own."""
    said = ("image", "brought otherwise", "the same image", "own rows", "other rows")
    assert simulated["elsewhere"] == dict.fromkeys(said, True)


@pytest.mark.parametrize(
    ("case", "problem"),
    [
        ("camera inside", "DataError: row original: camera inside an object (found 'object 0, cube')"),
        (
            "other solids",
            "ConfigError: views were packed with other solids than this renderer knows, such as 'plate'",
        ),
        ("unknown view", "ConfigError: unknown view 'side'"),
        ("mixed sizes", "DataError: views of a batch differ in size (found [(12, 8), (24, 16)])"),
        ("empty", "ConfigError: no layouts to draw"),
    ],
)
def test_batches_that_cannot_be(simulated: dict[str, Any], case: str, problem: str) -> None:
    assert simulated["errors"][case] == problem


@pytest.mark.skipif(cuda.is_available(), reason="there is a CUDA card here")
def test_without_a_card() -> None:
    with pytest.raises(ConfigError, match="no CUDA card here: use FastRenderer"):
        CudaRenderer()


@pytest.mark.skipif(not cuda.is_available(), reason="needs a CUDA card")
def test_on_a_card() -> None:
    """Rays there are in fast arithmetic: a pixel on an edge may go to the other side."""
    layout = made_layout((240, 160))
    for view in layout.shots:
        frame = FastRenderer().frame(layout, view)
        renderer = CudaRenderer()
        found = renderer.pictures(renderer.batch([layout, layout.without(0)], view.name))
        same = found.ids.copy_to_host()[0] == frame.ids
        assert same.mean() > 0.999
        assert np.allclose(found.depth.copy_to_host()[0][same], frame.depth[same], rtol=1e-4)
        error = (found.image.copy_to_host()[0].astype(float) - frame.image) ** 2
        assert 10 * np.log10(255**2 / error.mean()) > 40
