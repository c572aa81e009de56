"""Moved to `sightline.show.svg`; these names stay until the last user has followed."""

from sightline.show.svg import *  # noqa: F403
