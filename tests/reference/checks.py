"""Slow and obvious: figures of variations, calibration and samples, straight from their definitions."""

from __future__ import annotations

import math
from collections.abc import Sequence


def variation(
    as_is: Sequence[tuple[str, bool]], variants: Sequence[Sequence[tuple[str, bool]]]
) -> tuple[float, ...]:
    """(consistency, right, right under all, mean change of right) of lined-up (answer, right) pairs."""
    n = len(as_is)
    same = [sum(a[0] == b[0] for a, b in zip(as_is, of, strict=True)) / n for of in variants]
    right = sum(r for _, r in as_is) / n
    under_all = sum(all([as_is[i][1], *(of[i][1] for of in variants)]) for i in range(n)) / n
    varied = sum(sum(r for _, r in of) / n for of in variants) / len(variants)
    return sum(same) / len(same), right, under_all, varied - right


def calibration_error(confidence: Sequence[float], right: Sequence[bool], bins: int) -> float:
    """Gap of mean confidence and share right in each bin of equal width, weighted by its judgements."""
    total = 0.0
    for b in range(bins):
        inside = [i for i, c in enumerate(confidence) if min(math.floor(c * bins), bins - 1) == b]
        if inside:
            gap = sum(confidence[i] for i in inside) / len(inside) - sum(right[i] for i in inside) / len(inside)
            total += abs(gap) * len(inside)
    return total / len(confidence)


def brier(confidence: Sequence[float], right: Sequence[bool]) -> float:
    """Mean squared gap of confidence and right."""
    return sum((c - r) ** 2 for c, r in zip(confidence, right, strict=True)) / len(confidence)


def mean_risk(confidence: Sequence[float], right: Sequence[bool]) -> float:
    """Mean over judgements of the share wrong among all that are at least as sure."""
    risks = []
    for c in confidence:
        kept = [r for other, r in zip(confidence, right, strict=True) if other >= c]
        risks.append(sum(not r for r in kept) / len(kept))
    return sum(risks) / len(risks)


def kappa(truth: Sequence[str], answer: Sequence[str]) -> float:
    """Cohen's κ."""
    n = len(truth)
    agreed = sum(t == a for t, a in zip(truth, answer, strict=True)) / n
    alike = sum(truth.count(w) * answer.count(w) for w in set(truth) | set(answer)) / n**2
    return math.nan if alike == 1 else (agreed - alike) / (1 - alike)


def samples(drawn: Sequence[Sequence[str]], truth: Sequence[str]) -> dict[str, float]:
    """Mean over questions of single, majority, worst, best and agreement."""
    single = [sum(a == t for a in of) / len(of) for of, t in zip(drawn, truth, strict=True)]
    worst = [all(a == t for a in of) for of, t in zip(drawn, truth, strict=True)]
    best = [any(a == t for a in of) for of, t in zip(drawn, truth, strict=True)]
    majority = []
    for of, t in zip(drawn, truth, strict=True):
        most = max(of.count(a) for a in of)
        majority.append(next(a for a in of if of.count(a) == most) == t)
    pairs = [
        [of[i] == of[j] for i in range(len(of)) for j in range(len(of)) if i != j] for of in drawn if len(of) > 1
    ]
    means = {"single": single, "majority": majority, "worst": worst, "best": best}
    document = {key: sum(of) / len(of) for key, of in means.items()}
    shares = [sum(of) / len(of) for of in pairs]
    return document | {"agreement": sum(shares) / len(shares) if shares else math.nan}
