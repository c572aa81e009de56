"""The rules themselves."""

from __future__ import annotations

import pytest

from sightline.exams.relations.protocols import Aspect, Protocol, pool, slots
from sightline.skills import Setting


@pytest.mark.parametrize(
    ("protocol", "aspect", "setting", "expected"),
    [
        (Protocol.PAPER, "depth", "within_image", (1, 2, 3)),
        (Protocol.PAPER, "depth", "across_images", (1, 2)),
        (Protocol.PAPER, "occlusion", "within_image", (0, 1, 2, 3)),  # "none" included
        (Protocol.PAPER, "occlusion", "across_images", (0, 1, 2, 3)),  # not in the paper, still a row
        (Protocol.DEFAULT, "depth", "within_image", (0, 1, 2, 3)),
        (Protocol.OFFICIAL, "depth", "across_images", (0, 1, 2, 3)),
    ],
)
def test_pool(protocol: Protocol, aspect: Aspect, setting: Setting, expected: tuple[int, ...]) -> None:
    assert pool(protocol, aspect, setting) == expected


def test_a_protocol_is_named_by_its_word() -> None:
    assert Protocol("official") is Protocol.OFFICIAL
    with pytest.raises(ValueError, match="'offical' is not a valid Protocol"):
        Protocol("offical")


@pytest.mark.parametrize("protocol", Protocol)
def test_tables_cannot_be_changed(protocol: Protocol) -> None:
    table = slots(protocol, "depth", "within_image")
    for one in (table.answer, table.truth):
        with pytest.raises(ValueError, match="read-only"):
            one[0] = 1
