"""Whether the demo opens its card, and which networks it finds."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from sightline.cli import demo_command
from sightline.models.manifest import MANIFEST


@pytest.mark.parametrize(
    ("platform", "terminal", "settings", "expected"),
    [
        ("linux", True, {"DISPLAY": ":0"}, True),
        ("linux", True, {"WAYLAND_DISPLAY": "wayland-0"}, True),
        ("linux", True, {}, False),  # a server
        ("linux", False, {"DISPLAY": ":0"}, False),  # a pipe
        ("linux", True, {"DISPLAY": ":0", "CI": "true"}, False),
        ("darwin", True, {}, True),
        ("darwin", True, {"CI": "1"}, False),
    ],
)
def test_the_card_is_opened_where_somebody_looks(
    platform: str, terminal: bool, settings: dict[str, str], expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "CI"):
        monkeypatch.delenv(name, raising=False)
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal)
    assert demo_command.has_screen() is expected


def test_public_networks_take_part_where_their_weights_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(demo_command.WEIGHTS, str(tmp_path))
    monkeypatch.setattr(demo_command, "find_spec", lambda _: True)
    ours = ["small_depth"], ["small_detector"]
    scorers = ["best_box+viewnet"]
    assert (demo_command.depth_networks(), demo_command.detectors(), demo_command.class_scorers()) == (
        *ours,
        scorers,
    )
    (tmp_path / "fastdepth_7.onnx").touch()
    (tmp_path / "efficientdet-lite2.tflite").touch()
    assert demo_command.depth_networks() == [*ours[0], f"depth:onnx={tmp_path / 'fastdepth_7.onnx'}"]
    assert demo_command.detectors() == [*ours[1], f"tflite:{tmp_path / 'efficientdet-lite2.tflite'}"]
    assert demo_command.class_scorers() == [*scorers, f"best_box+tflite:{tmp_path / 'efficientdet-lite2.tflite'}"]
    monkeypatch.setattr(demo_command, "find_spec", lambda _: None)  # nothing to run them with
    assert (demo_command.depth_networks(), demo_command.detectors()) == ours


def test_without_torch_no_network_takes_part(monkeypatch: pytest.MonkeyPatch) -> None:
    assert demo_command.view_networks() == ["viewnet"]
    monkeypatch.setattr(demo_command, "has_torch", lambda: False)
    assert demo_command.view_networks() == []


def test_no_model_of_the_demo_reads_the_truth() -> None:
    """Rules that are told the truth check exams; what the demo shows are models."""
    told = [name for name, entry in MANIFEST.items() if "true pixels" in entry.description]
    told += ["context_only", "pixel_count"]
    sources = [Path(demo_command.__file__), Path(demo_command.__file__).with_name("demo_worlds.py")]
    for source in sources:
        assert not [name for name in told if name in source.read_text()]
