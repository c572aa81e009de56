"""Scenes as four data frames: the form importers produce, the store writes and exams read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import polars as pl

from sightline.errors import DataError
from sightline.store.schema import SCHEMAS


@dataclass(frozen=True)
class Tables:
    """Some scenes in columnar form. Column names and types are those of `SCHEMAS`."""

    views: pl.DataFrame
    objects: pl.DataFrame
    sightings: pl.DataFrame
    relations: pl.DataFrame

    @classmethod
    def build(cls, **frames: pl.DataFrame | None) -> Tables:
        """Tables from partial frames: missing columns become null (lists: empty), missing frames empty.

        >>> Tables.build(views=pl.DataFrame({"scene_id": ["s"], "view_id": ["v"]})).views["units"].to_list()
        ['pixels']
        """
        return cls(**{name: conform(name, frames.get(name)) for name in SCHEMAS})

    @classmethod
    def concat(cls, parts: Iterable[Tables]) -> Tables:
        """All scenes of several parts, in order."""
        all_parts = list(parts)
        if not all_parts:
            return cls.build()
        return cls(**{name: pl.concat([p.frame(name) for p in all_parts]) for name in SCHEMAS})

    def frame(self, name: str) -> pl.DataFrame:
        """One table by name.

        >>> Tables.build().frame("objects").height
        0
        """
        frame: pl.DataFrame = getattr(self, name)
        return frame

    def frames(self) -> Iterator[tuple[str, pl.DataFrame]]:
        """(name, frame) of all four, in the schema's order."""
        for name in SCHEMAS:
            yield name, self.frame(name)

    def sorted(self) -> Tables:
        """Rows of every table sorted by scene, the source's order kept within a scene."""
        return Tables(**{n: f.sort("scene_id", maintain_order=True) for n, f in self.frames()})


def conform(name: str, frame: pl.DataFrame | None) -> pl.DataFrame:
    """A frame with exactly the schema's columns and types; unknown columns are an error."""
    schema = SCHEMAS[name]
    if frame is None:
        return pl.DataFrame(schema=schema)
    unknown = [c for c in frame.columns if c not in schema]
    if unknown:
        raise DataError(f"{name} table has an unknown column", field=unknown[0], expected=", ".join(schema))
    return frame.select(_column(c, t, frame.schema) for c, t in schema.items())


_FILL: Mapping[str, str] = {"units": "pixels", "split": "", "source": ""}


def _column(column: str, dtype: pl.DataType, present: pl.Schema) -> pl.Expr:
    expr = pl.col(column).cast(dtype) if column in present else pl.lit(None, dtype=dtype).alias(column)
    if column in _FILL:
        return expr.fill_null(_FILL[column])
    if column in ("flags", "votes"):
        return expr.fill_null(pl.lit([], dtype=dtype))
    return expr
