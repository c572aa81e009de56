"""Scenes on disk: sharded Parquet with pictures beside it, written whole or not at all.

A dataset folder holds ``dataset.json`` (the manifest), ``views/``, ``objects/``, ``sightings/`` and ``relations/``
with one Parquet file a shard, and ``images/`` with blobs named by their sha256.
"""

from sightline.files import atomic_write
from sightline.store.blobs import Blobs
from sightline.store.check import check_tables
from sightline.store.convert import scenes_from_tables, tables_from_scenes
from sightline.store.dataset import Dataset, open_dataset
from sightline.store.fingerprint import fingerprint
from sightline.store.manifest import is_dataset
from sightline.store.schema import SCHEMA_VERSION, SCHEMAS
from sightline.store.tables import Tables
from sightline.store.writer import write, write_scenes, write_some

__all__ = [
    "SCHEMAS",
    "SCHEMA_VERSION",
    "Blobs",
    "Dataset",
    "Tables",
    "atomic_write",
    "check_tables",
    "fingerprint",
    "is_dataset",
    "open_dataset",
    "scenes_from_tables",
    "tables_from_scenes",
    "write",
    "write_scenes",
    "write_some",
]
