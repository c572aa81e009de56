"""What the shell offers on Tab."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Cli = Callable[..., Any]


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("generate geospa/val_k", ["geospa/val_kitchen", "geospa/val_kitchen_plain"]),
        ("generate kitch", ["kitchen"]),
        ("exam relations --model bottom", ["bottom_edge", "bottom_edge_tuned"]),
        ("exam all --model sor", ["sornet"]),
        ("exam rel", ["relations"]),
        ("export yo", ["yolo"]),
        ("import photos --format coco-r", ["coco-results"]),
        ("prompts pred", ["predicates"]),
        ("report runs --exam vie", ["viewpoint"]),
        ("train sornet --world geospa/alik", ["geospa/alike"]),
        ("train detector --world roo", ["room"]),
        ("train rel", ["relations"]),
        ("exam relations --model ./my_mo", []),  # the shell then offers files
    ],
)
def test_names_are_offered(cli: Cli, monkeypatch: pytest.MonkeyPatch, line: str, offered: list[str]) -> None:
    monkeypatch.setenv("_SIGHTLINE_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", f"sightline {line}")
    monkeypatch.setenv("COMP_CWORD", str(len(line.split())))
    assert cli().out.split() == offered
