"""The solver of latent and structured SVMs: no gap between primal and dual, and the same as a general optimiser."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from sightline.training.dpm.solver import Constraint, solve


def dense(one: Constraint, size: int) -> np.ndarray:
    whole = np.zeros(size)
    for first, values in one.pieces:
        whole[first : first + len(values)] += values
    return whole


def primal(weights: np.ndarray, constraints: list[Constraint], cost: float) -> float:
    slack: dict[tuple[object, ...], float] = {}
    for one in constraints:
        short = one.margin - float(dense(one, len(weights)) @ weights)
        slack[one.group] = max(slack.get(one.group, 0.0), short)
    return 0.5 * float(weights @ weights) + cost * sum(slack.values())


def dual(constraints: list[Constraint], size: int, cost: float) -> float:
    total = sum((one.weight * cost * dense(one, size) for one in constraints), np.zeros(size))
    return sum(one.weight * cost * one.margin for one in constraints) - 0.5 * float(total @ total)


def random_constraints(rng: np.random.Generator, *, groups: int, each: int) -> list[Constraint]:
    """Over two sets of four weights: a piece in one of them, or in both."""
    made = []
    for group in range(groups):
        for _ in range(rng.integers(1, each + 1)):
            where = [0] if rng.random() < 0.4 else [4] if rng.random() < 0.5 else [0, 4]
            pieces = tuple((first, rng.normal(size=4).astype(np.float32)) for first in where)
            made.append(Constraint((group,), float(rng.uniform(0.1, 1.0)), pieces))
    return made


@given(
    seed=st.integers(0, 2**31),
    groups=st.integers(1, 12),
    each=st.integers(1, 4),
    cost=st.sampled_from([0.01, 0.3, 5.0]),
)
@settings(max_examples=25)
def test_primal_and_dual_meet(seed, groups, each, cost):
    constraints = random_constraints(np.random.default_rng(seed), groups=groups, each=each)
    weights = solve(constraints, 8, cost, passes=5000, tolerance=1e-4).astype(np.float64)
    shares: dict[tuple[object, ...], float] = {}
    for one in constraints:
        assert one.weight >= 0.0
        shares[one.group] = shares.get(one.group, 0.0) + one.weight
    assert max(shares.values()) <= 1.0 + 1e-6
    high, low = primal(weights, constraints, cost), dual(constraints, 8, cost)
    assert low <= high + 1e-4
    assert high - low <= 2e-3 * max(1.0, cost * groups)


@pytest.mark.parametrize("seed", range(3))
def test_bounded_weights_are_those_of_a_general_optimiser(seed):
    rng = np.random.default_rng(seed)
    constraints = [
        Constraint((i,), 1.0, ((0, (sign * (rng.normal(size=4) + 0.3 * sign)).astype(np.float32)),))
        for i, sign in enumerate([1.0, -1.0] * 6)
    ]
    floors = np.array([-np.inf, 0.4, -np.inf, 0.4], dtype=np.float32)
    weights = solve(constraints, 4, 0.5, floors=floors, passes=20000, tolerance=1e-5)
    rows = np.stack([dense(one, 4) for one in constraints])
    # weights and slacks together, as a smooth programme
    found = minimize(
        lambda x: 0.5 * x[:4] @ x[:4] + 0.5 * x[4:].sum(),
        np.concatenate([np.full(4, 0.5), np.ones(12)]),
        jac=lambda x: np.concatenate([x[:4], np.full(12, 0.5)]),
        constraints=[{"type": "ineq", "fun": lambda x: rows @ x[:4] - 1.0 + x[4:]}],
        bounds=[(None, None), (0.4, None), (None, None), (0.4, None), *[(0.0, None)] * 12],
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-12},
    )
    np.testing.assert_allclose(weights, found.x[:4], atol=2e-3)


def test_a_solution_is_gone_on_with():
    constraints = random_constraints(np.random.default_rng(9), groups=10, each=3)
    first = solve(constraints, 8, 0.3, passes=20000, tolerance=1e-5)
    again = solve(constraints, 8, 0.3, passes=1, tolerance=1e-5)
    np.testing.assert_allclose(again, first, atol=1e-3)
