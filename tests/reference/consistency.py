"""Symmetry and transitivity by loops over pairs and triples."""

from __future__ import annotations

import itertools

CLOSER, FARTHER, SAME = 1, 2, 3
REVERSE = {0: 0, 1: 2, 2: 1, 3: 3}


def said(cluster, first, second, label, n_clusters):
    """One dict (a, b) → code a cluster."""
    answers = [{} for _ in range(n_clusters)]
    for c, a, b, code in zip(cluster, first, second, label, strict=True):
        answers[c][(a, b)] = code
    return answers


def symmetry_depth(answers):
    counts = []
    for answer in answers:
        violations = cases = 0
        for (a, b), code in answer.items():
            back = answer.get((b, a))
            if code in (CLOSER, SAME) and back in (CLOSER, FARTHER, SAME):
                cases += 1
                violations += back not in (FARTHER, SAME)
        counts.append([violations, cases])
    return counts


def symmetry_equal(answers, codes):
    """Exact reversal over the codes that count as answers."""
    counts = []
    for answer in answers:
        violations = cases = 0
        for (a, b), code in answer.items():
            back = answer.get((b, a))
            if code in codes and back in codes:
                cases += 1
                violations += back != REVERSE[code]
        counts.append([violations, cases])
    return counts


def transitivity(answers, every=False):
    """Broken triples among those with both premises, or among every triple that was answered."""
    counts = []
    for answer in answers:
        objects = sorted({x for pair in answer for x in pair})
        violations = cases = 0
        for a, b, c in itertools.permutations(objects, 3):
            premises = answer.get((a, b)) in (CLOSER, SAME) and answer.get((b, c)) in (CLOSER, SAME)
            answered = all(answer.get(pair) in (CLOSER, FARTHER, SAME) for pair in ((a, b), (b, c), (a, c)))
            cases += answered and (premises or every)
            violations += answered and premises and answer[(a, c)] == FARTHER
        counts.append([violations, cases])
    return counts
