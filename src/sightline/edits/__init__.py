"""Pictures with objects removed: which pixels go, what fills the hole, and edits that remove nothing.

An exam gets its fills from here by name; those that are networks live in `sightline.models.fills` and are imported
when one is opened. `sightline.edits.cache` keeps edits on disk; it is not imported here, since it needs the store.
"""

from sightline.edits.fills import Fill, FillRequest, open_fill, remove
from sightline.edits.removal import Removal, RemovalError, empty_region, false_edit

__all__ = ["Fill", "FillRequest", "Removal", "RemovalError", "empty_region", "false_edit", "open_fill", "remove"]
