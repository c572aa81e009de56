"""How good and how fast is `solve_viewpoint`, beside OpenCV's solvePnP on the same landmarks?

    python benchmarks/pose.py [--poses 2000] [--seed 0] [--write]

Landmarks are those of PASCAL3D+'s CAD models that rays say are visible, seen from the real poses of its images
(azimuth, elevation, theta), at 4 to 15 diagonals, with Gaussian noise. solvePnP is called in a loop with the same
camera matrix and no start; both run on one core, starts included. OpenCV is no dependency: without it there are
only our columns.
``--write`` keeps table and curve in docs/results/viewpoint/pose.md.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from sightline.geometry import Viewpoint, geodesic, project, rotations, solve_viewpoints
from sightline.render.landmarks import hidden_by_itself, ray_mesh
from sightline.show.chart import bars
from sightline.worlds.shapes.pascal_models import read_cad_models

try:
    import cv2

    cv2.setNumThreads(1)
except ImportError:
    cv2 = None

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / "docs" / "results" / "viewpoint" / "pose.md"
NOISE = (0.0, 0.5, 1.0, 2.0, 5.0, 10.0)
PRINCIPAL = (250.0, 190.0)
Solver = tuple[Callable[[np.ndarray, np.ndarray], Any], Callable[[Any], np.ndarray]]
"""What is timed, and what makes rotations of its result."""


def problems(data: Path, n: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Landmarks (n, N, 3), NaN where not visible, their pixels and the true rotations."""
    rng = np.random.default_rng(seed)
    models = read_cad_models(data / "pascal3d" / "cad")
    meshes = [ray_mesh(model.vertices, model.faces) for model in models]
    poses = np.loadtxt(data / "pascal3d" / "train.csv", delimiter=",", skiprows=1, usecols=(6, 7, 8), dtype=float)
    most = max(len(model.landmarks) for model in models)
    points, pixels, turns = np.full((n, most, 3), np.nan), np.full((n, most, 2), np.nan), np.empty((n, 3, 3))
    k = 0
    while k < n:
        i = int(rng.integers(len(models)))
        azimuth, elevation, theta = poses[rng.integers(len(poses))].tolist()
        elevation = (elevation + 180.0) % 360.0 - 180.0
        eye = Viewpoint(azimuth % 360.0, elevation, float(rng.uniform(4, 15)), theta, PRINCIPAL)
        marks = np.array(list(models[i].landmarks.values()))
        hidden = hidden_by_itself(meshes[i], -eye.distance * eye.rotation()[2], marks)[0]
        marks = marks[~hidden]
        thick = np.linalg.svd(marks - marks.mean(axis=0), compute_uv=False) if len(marks) >= 4 else np.zeros(3)
        if thick[-1] < 0.03:  # too few landmarks, or all in one plane
            continue
        points[k, : len(marks)], pixels[k, : len(marks)] = marks, project(marks, eye)
        turns[k] = eye.rotation()
        k += 1
    return points, pixels, turns


def ours(squares: bool) -> Solver:
    def solve(points: np.ndarray, pixels: np.ndarray) -> np.ndarray:
        return solve_viewpoints(points, pixels, PRINCIPAL, squares=squares).angles

    return solve, lambda found: rotations(*found.T)


def opencv(flag: int) -> Solver:
    k = Viewpoint(0, 0, 1, 0, PRINCIPAL).camera()[0]

    def one(p: np.ndarray, u: np.ndarray) -> np.ndarray | None:
        there = np.isfinite(u[:, 0])
        try:
            fine, turn, _ = cv2.solvePnP(p[there], u[there], k, None, flags=flag)
        except cv2.error:  # SOLVEPNP_ITERATIVE starts from six landmarks at least, if they are in no plane
            return None
        return turn if fine else None

    def solve(points: np.ndarray, pixels: np.ndarray) -> list[np.ndarray | None]:
        return [one(p, u) for p, u in zip(points, pixels, strict=True)]

    nothing = np.full((3, 3), np.nan)
    return solve, lambda found: np.stack([nothing if t is None else cv2.Rodrigues(t)[0] for t in found])


def solvers() -> dict[str, Solver]:
    found = {"solve_viewpoints": ours(False), "the same, squares": ours(True)}
    if cv2 is not None:
        found |= {
            "solvePnP, ITERATIVE": opencv(cv2.SOLVEPNP_ITERATIVE),
            "solvePnP, SQPNP": opencv(cv2.SOLVEPNP_SQPNP),
        }
    return found


def _angle(degrees: float) -> str:
    return "< 0.001°" if degrees < 0.001 else f"{degrees:.3g}°"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    given = Path(os.environ.get("SIGHTLINE_DATA", ROOT.parent / "shared" / "data"))
    parser.add_argument("--data", type=Path, default=given, help="folder that holds pascal3d")
    parser.add_argument("--poses", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--write", action="store_true", help=f"keep the table in {OUT.name}")
    asked = parser.parse_args()
    points, pixels, turns = problems(asked.data, asked.poses, asked.seed)
    counts = np.isfinite(pixels[..., 0]).sum(axis=1)
    rng = np.random.default_rng(asked.seed + 1)
    found = solvers()
    for solve, _ in found.values():
        solve(points[:4], pixels[:4])  # compiles
    six = counts >= 6
    rows = [f"| noise, px | {' | '.join(found)} |", "|---:|" + "---|" * len(found)]
    few = list(rows)
    medians: dict[str, list[float]] = {name: [] for name in found}
    for noise in NOISE:
        seen = pixels + noise * rng.standard_normal(pixels.shape)
        cells, short = [], []
        for name, (solve, rotation) in found.items():
            started = time.process_time()
            result = solve(points, seen)
            speed = asked.poses / (time.process_time() - started)
            gaps = np.nan_to_num(geodesic(rotation(result), turns), nan=180.0)
            (middle, most), (middle_six, most_six) = (
                np.percentile(gaps, (50, 90)),
                np.percentile(gaps[six], (50, 90)),
            )
            medians[name].append(float(middle))
            cells.append(f"{_angle(middle)} / {_angle(most)}, {speed:,.0f} a second")
            short.append(f"{_angle(middle_six)} / {_angle(most_six)}")
        rows.append(f"| {noise:g} | {' | '.join(cells)} |")
        few.append(f"| {noise:g} | {' | '.join(short)} |")
    version = "" if cv2 is None else f" OpenCV {cv2.__version__}."
    lines = [
        "Written by `python benchmarks/pose.py --write`.",
        "",
        "Median and 90th percentile of the angle between the rotation found and the true one, and poses a second,",
        f"over {asked.poses:,} views of PASCAL3D+'s CAD models from real poses, with the landmarks that are",
        f"visible ({counts.min()} to {counts.max()}, {counts.mean():.1f} on average, in no plane), at 4 to 15",
        "diagonals, focal length 3000 px, the principal point known, Gaussian noise on each coordinate. One core,",
        f"all in one run.{version} *Squares* minimises what solvePnP does; without it, equation 1 of PASCAL3D+:",
        "the sum of distances.",
        "",
        *rows,
        "",
        "SOLVEPNP_ITERATIVE cannot start from fewer than six landmarks that are not in one plane; where it gives",
        f"nothing, the angle counts as 180°. Of the {int(six.sum()):,} views with six or more:",
        "",
        *few,
    ]
    print("\n".join(lines))
    if asked.write:
        OUT.parent.mkdir(parents=True, exist_ok=True)
        OUT.write_text("\n".join(lines) + "\n", encoding="utf-8")
        drawn = bars(
            [f"{noise:g} px" for noise in NOISE[1:]], medians["solve_viewpoints"][1:], title="Degrees by noise"
        )
        OUT.with_suffix(".svg").write_text(drawn, encoding="utf-8")


if __name__ == "__main__":
    main()
