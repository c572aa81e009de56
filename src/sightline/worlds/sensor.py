"""Sensors as a world file says them: what lens and camera do to a picture, drawn for each view."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Annotated, Any, Final

import numpy as np

from sightline.typed import As, Unfit, Value
from sightline.worlds.cameras import Distribution, distribution
from sightline.worlds.layout import Sensor

NONE: Final = "none"


def _within(least: float, most: float) -> Callable[[Any], Distribution]:
    def read(said: Any) -> Distribution:
        drawn = distribution(said)
        if drawn.ends[0] < least or drawn.ends[1] > most:
            raise Unfit("number out of range", f"{least:g} to {most:g}, as a number, a range or weighted values")
        return drawn

    return read


_ZERO, _ONE, _ANY = distribution(0.0), distribution(1.0), distribution((0.0, 180.0))
_Gain = Annotated[Distribution, As(Any), _within(0.1, 10.0)]
_Noise = Annotated[Distribution, As(Any), _within(0.0, 1.0)]
_Pixels = Annotated[Distribution, As(Any), _within(0.0, 50.0)]


@dataclass(frozen=True, slots=True)
class SensorSpec:
    """What sensors are drawn from; see `layout.Sensor`."""

    exposure: Annotated[Distribution, As(Any), _within(-10.0, 10.0)] = _ZERO
    red: _Gain = _ONE
    blue: _Gain = _ONE
    shot: _Noise = _ZERO
    read: _Noise = _ZERO
    defocus: _Pixels = _ZERO
    motion: _Pixels = _ZERO
    angle: Annotated[Distribution, As(Any), _within(-360.0, 360.0)] = _ANY
    distortion: Annotated[Distribution, As(Any), _within(-0.3, 0.5)] = _ZERO
    jpeg: Annotated[Distribution, As(Any), _within(0.0, 95.0)] = _ZERO

    def draw(self, rng: np.random.Generator) -> Sensor:
        """Draw the sensor of one view."""
        asked: list[Distribution] = [getattr(self, f.name) for f in fields(self)]
        draws = rng.random((len(asked), 2)).tolist()
        values: dict[str, Any] = {f.name: d.at(*u) for f, d, u in zip(fields(self), asked, draws, strict=True)}
        return replace(Sensor(seed=int(rng.integers(1 << 62))), **values)


PRESETS: Final[dict[str, dict[str, Any]]] = {
    "phone": {
        "exposure": [-0.7, 0.7],
        "red": [0.88, 1.15],
        "blue": [0.88, 1.15],
        "shot": [0.01, 0.03],
        "read": [0.0005, 0.002],
        "defocus": [0, 0.8],
        "motion": [0, 1.5],
        "jpeg": [70, 95],
    },
    "webcam": {
        "exposure": [-1, 1],
        "red": [0.75, 1.3],
        "blue": [0.75, 1.3],
        "shot": [0.03, 0.08],
        "read": [0.001, 0.005],
        "defocus": [0.5, 2],
        "motion": [0, 4],
        "distortion": [0, 0.12],
        "jpeg": [30, 70],
    },
}
"""Sensors by name. A phone takes the distortion of its lens out itself."""


def read_sensor(said: Value) -> SensorSpec | None:
    """The sensor of a world file: ``none``, a preset's name, or values, laid over a preset's where one is named."""
    if said.value is None or said.value == NONE:
        return None
    mapping = isinstance(said.value, dict)
    named = said["preset"] if mapping else said
    preset = named.value
    if preset is not None and (not isinstance(preset, str) or preset not in PRESETS):
        known = ", ".join(PRESETS) if mapping else f"{', '.join((NONE, *PRESETS))}, or a mapping"
        named.fail(f"unknown sensor {preset!r}", f"one of {known}")
    own = {key: value for key, value in said.value.items() if key != "preset"} if mapping else {}
    layered = {**PRESETS.get(preset or NONE, {}), **own}
    spec: SensorSpec = Value(layered, said.where, said.path).read(SensorSpec)
    return spec
