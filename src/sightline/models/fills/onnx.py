"""In-painters in ONNX with MI-GAN's interface: picture and mask as bytes in, picture as bytes out."""

from __future__ import annotations

from functools import cached_property
from hashlib import file_digest
from pathlib import Path
from typing import Any

import numpy as np

from sightline.edits.fills import FillRequest, Pixels
from sightline.errors import ModelError
from sightline.models.adapters.pictures import open_session

INTERFACE = "image uint8 1×3×H×W (RGB) and mask uint8 1×1×H×W (255 keep, 0 hole) in, image uint8 1×3×H×W out"


class OnnxFill:
    """Fills by an ONNX in-painter that takes a picture and a mask, both uint8, and gives a picture.

    A session does not pickle, so each process opens its own.

    Args:
        path: The file; opened at once, so that a wrong one is told before anything is asked of it.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.name = path, f"onnx:{path.stem}"
        self._inputs = _checked_inputs(self._session, path)
        with path.open("rb") as file:
            self.identity = f"onnx {file_digest(file, 'sha256').hexdigest()}"

    def __reduce__(self) -> tuple[type[OnnxFill], tuple[Path]]:
        return OnnxFill, (self.path,)

    @cached_property
    def _session(self) -> Any:
        return open_session(self.path)

    def fill(self, request: FillRequest) -> Pixels:
        """The network's picture."""
        image, mask = self._inputs
        picture = np.ascontiguousarray(request.pixels.transpose(2, 0, 1)[None])
        keep = np.where(request.hole, np.uint8(0), np.uint8(255))[None, None]
        try:
            given = np.asarray(self._session.run(None, {image: picture, mask: keep})[0])
        except Exception as error:  # whatever onnxruntime raises
            raise ModelError(f"{self.path}: the network failed: {error}") from error
        if given.dtype != np.uint8 or given.shape != picture.shape:
            found = f"{given.dtype} {'×'.join(map(str, given.shape))}"
            raise ModelError(f"{self.path}: expected uint8 {'×'.join(map(str, picture.shape))}, found {found}")
        return np.ascontiguousarray(given[0].transpose(1, 2, 0))


def _checked_inputs(session: Any, path: Path) -> tuple[str, str]:
    """Names of the inputs for picture and mask; ModelError where the network has others."""
    inputs = session.get_inputs()
    by_channels = {one.shape[1]: one.name for one in inputs if len(one.shape) == 4 and one.type == "tensor(uint8)"}
    fixed = [side for one in inputs for side in one.shape[2:] if isinstance(side, int)]
    if len(inputs) != 2 or set(by_channels) != {1, 3} or fixed:
        found = ", ".join(f"{one.name} {one.type} {'×'.join(map(str, one.shape))}" for one in inputs)
        raise ModelError(f"{path}: not an in-painter with MI-GAN's interface: expected {INTERFACE}; found {found}")
    return by_channels[3], by_channels[1]
