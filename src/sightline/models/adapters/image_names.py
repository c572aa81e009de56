"""Which image is a view of? The names under which files outside may know it."""

from __future__ import annotations

from pathlib import PurePosixPath

from sightline.errors import ModelError
from sightline.scenes import View
from sightline.skills import Pairs


def image_ids(scene_id: str) -> tuple[str, ...]:
    """What the source's own image id may be, the longest first: a scene id, or its end after any slash.

    >>> image_ids("within_image/test/abc")
    ('within_image/test/abc', 'test/abc', 'abc')
    """
    parts = scene_id.split("/")
    return tuple("/".join(parts[i:]) for i in range(len(parts)))


def names_of(view: View) -> tuple[str, ...]:
    """Names to try for a view, the most telling first: its id, the id's ends, its picture's stem.

    >>> names_of(View("within_image/test/abc", image_ref="blob:photos/7.jpg"))
    ('within_image/test/abc', 'test/abc', 'abc', '7')
    """
    names = [*image_ids(view.id)]
    if view.image_ref is not None:
        names.append(PurePosixPath(view.image_ref.removeprefix("blob:")).stem)
    return tuple(dict.fromkeys(names))


def scene_ids(pairs: Pairs) -> tuple[str, str]:
    """Scene of the first objects and of the second ones.

    Within an image both are the cluster. Across images the cluster names both scenes but not which comes first:
    that the views tell, whose ids an exam sets to their scene's.

    Raises:
        ModelError: Across images, if the views are not named after the cluster's scenes.
    """
    if pairs.setting == "within_image":
        return pairs.cluster_id, pairs.cluster_id
    first, second = pairs.view_a.id, pairs.view_b.id
    if pairs.cluster_id in (f"{first}|{second}", f"{second}|{first}"):
        return first, second
    raise ModelError(
        f"cannot tell which image of {pairs.cluster_id} comes first: "
        f"views are named {first!r} and {second!r}, expected scene ids"
    )
