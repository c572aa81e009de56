"""Inventing scenes: shapes, placement, predicates, cameras, bias. Runs with numpy, numba and yaml alone."""
