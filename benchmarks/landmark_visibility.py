"""Do rays say what PASCAL3D+'s own tables say of which landmarks can be seen from where?

    python benchmarks/landmark_visibility.py [--data FOLDER] [--write]

Its CAD models carry tables of 72 azimuths × 73 elevations. The tolerance, how long before a landmark the surface
must be met to hide it, is chosen on seven named models; the figures are of the others. ``--write`` keeps the table
in docs/results/viewpoint/landmarks.md.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import numpy as np

from sightline.geometry import rotations
from sightline.render.landmarks import TOLERANCE, hidden_by_itself, ray_mesh
from sightline.worlds.shapes.pascal_models import CadModel, read_cad_models

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / "docs" / "results" / "viewpoint" / "landmarks.md"
CHOSEN_ON = ("aeroplane/1", "bicycle/1", "boat/1", "bus/1", "chair/1", "sofa/1", "train/1")
TOLERANCES = (0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.08)
DISTANCE = 3.0
"""Diagonals from the middle of the model to the camera."""


def agreement(model: CadModel, tolerances: tuple[float, ...]) -> tuple[np.ndarray, int, int]:
    """Right answers for each tolerance, answers, and how many of them are "visible" in the table."""
    table = model.visibility
    assert table is not None
    names = [name for name in table.names if name in model.landmarks]
    seen = table.seen[..., [table.names.index(name) for name in names]].reshape(-1, len(names))
    a, e = np.meshgrid(table.azimuths, table.elevations, indexing="ij")
    eyes = -DISTANCE * rotations(a.ravel(), e.ravel())[:, 2]
    mesh, points = ray_mesh(model.vertices, model.faces), [model.landmarks[name] for name in names]
    right = [int((seen != hidden_by_itself(mesh, eyes, points, tolerance)).sum()) for tolerance in tolerances]
    return np.array(right), seen.size, int(seen.sum())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    given = Path(os.environ.get("SIGHTLINE_DATA", ROOT.parent / "shared" / "data"))
    parser.add_argument("--data", type=Path, default=given, help="folder that holds pascal3d/cad")
    parser.add_argument("--write", action="store_true", help=f"keep the table in {OUT.name}")
    asked = parser.parse_args()
    models = read_cad_models(asked.data / "pascal3d" / "cad", visibility=True)
    chosen = [agreement(model, TOLERANCES) for model in models if model.name in CHOSEN_ON]
    shares = sum(right for right, _, _ in chosen) / sum(n for _, n, _ in chosen)
    best = TOLERANCES[int(np.argmax(shares))]
    rows = {m.name: agreement(m, (best,)) for m in models if m.name not in CHOSEN_ON}
    right, total, seen = (sum(int(np.sum(row[k])) for row in rows.values()) for k in range(3))
    lines = [
        "Written by `python benchmarks/landmark_visibility.py --write`.",
        "",
        f"Which landmarks the model itself hides, by rays from {DISTANCE:g} diagonals, against the tables that",
        f"come with PASCAL3D+'s {len(models)} CAD models (72 azimuths × 73 elevations each). The tolerance is",
        f"chosen on {', '.join(CHOSEN_ON)}:",
        "",
        "| tolerance, diagonals | " + " | ".join(f"{t:g}" for t in TOLERANCES) + " |",
        "|---|" + "---:|" * len(TOLERANCES),
        "| agreement on these | " + " | ".join(f"{100 * share:.1f} %" for share in shares) + " |",
        "",
        f"With {best:g}, the {len(rows)} other models agree in **{100 * right / total:.1f} %** of {total:,}",
        f"answers. Saying always the commoner of the two, {'visible' if 2 * seen > total else 'hidden'}, is right",
        f"in {100 * max(seen, total - seen) / total:.1f} %.",
        "",
        "| model | agreement | commoner answer |",
        "|---|---:|---:|",
        *(
            f"| {name} | {100 * int(hits[0]) / n:.1f} % | {100 * max(k, n - k) / n:.1f} % |"
            for name, (hits, n, k) in rows.items()
        ),
    ]
    print("\n".join(lines))
    print(f"\nrender.landmarks.TOLERANCE is {TOLERANCE:g}")
    if asked.write:
        OUT.parent.mkdir(parents=True, exist_ok=True)
        OUT.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
