"""The class-pair prior straight from its formulas, one pair at a time."""

from __future__ import annotations

import math
from collections import defaultdict

SWAP = {0: 0, 1: 2, 2: 1, 3: 3}


class SlowPrior:
    """Dictionaries of counts over (class, class, label) triples, each told in both directions."""

    def __init__(self, triples: list[tuple[str, str, int]], alpha: float = 5.0, m: float = 20.0) -> None:
        self.alpha, self.m = alpha, m
        self.pair: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0, 0, 0])
        self.alone: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
        for a, b, label in triples:
            if label < 0:
                continue
            for one, two, code in ((a, b, label), (b, a, SWAP[label])):
                self.pair[one, two][code] += 1
                self.alone[one][code] += 1

    def direction(self, a: str, b: str) -> float:
        def logit(c: str) -> float:
            wins, losses = (self.alone[c][1], self.alone[c][2]) if c in self.alone else (0, 0)
            r = (wins + self.alpha / 2) / (wins + losses + self.alpha)
            return math.log(r / (1 - r))

        p0 = 1 / (1 + math.exp(-(logit(a) - logit(b))))
        won, lost = (self.pair[a, b][1], self.pair[a, b][2]) if (a, b) in self.pair else (0, 0)
        return (won + self.m * p0) / (won + lost + self.m)

    def habit(self, a: str, b: str) -> float:
        _, won, lost, _ = self.pair.get((a, b), [0, 0, 0, 0])
        return won / (won + lost) if won + lost else 0.5

    def probabilities(self, a: str, b: str) -> list[float]:
        def kinds(counts: list[int]) -> list[int]:
            return [counts[0], counts[1] + counts[2], counts[3]]

        all_kinds = [sum(kinds(c)[k] for c in self.alone.values()) for k in range(3)]
        overall = [(n + 1) / (sum(all_kinds) + 3) for n in all_kinds]

        def alone(c: str) -> list[float]:
            own = kinds(self.alone[c]) if c in self.alone else [0, 0, 0]
            return [(n + self.alpha * o) / (sum(own) + self.alpha) for n, o in zip(own, overall, strict=True)]

        product = [x * y / o for x, y, o in zip(alone(a), alone(b), overall, strict=True)]
        seen = kinds(self.pair[a, b]) if (a, b) in self.pair else [0, 0, 0]
        kind = [(n + self.m * p / sum(product)) / (sum(seen) + self.m) for n, p in zip(seen, product, strict=True)]
        forward = self.direction(a, b)
        return [kind[0], kind[1] * forward, kind[1] * (1 - forward), kind[2]]
