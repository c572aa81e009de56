"""SORNet's forward pass from the text: token by token, with the whole attention mask, in double precision."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Weights = Mapping[str, NDArray[np.floating]]


def forward(
    weights: Weights,
    images: NDArray[np.uint8],
    queries: NDArray[np.uint8],
    views: Sequence[int],
    heads: int,
    depth: int,
) -> Array:
    """Logits (n, n, predicates) of one scene: images (V, H, W, 3), queries (n, side, side, 3)."""
    w = {name: value.astype(np.float64) for name, value in weights.items()}
    return readout(w, embeddings(w, images, queries, views, heads, depth))


def embeddings(
    w: Mapping[str, Array],
    images: NDArray[np.uint8],
    queries: NDArray[np.uint8],
    views: Sequence[int],
    heads: int,
    depth: int,
) -> Array:
    """One row a query."""
    side, n = queries.shape[1], len(queries)
    tokens = []
    for image, view in zip(images, views, strict=True):
        for at, patch in enumerate(cut(image, side)):
            tokens.append(embedded(w, view, patch) + w["positions"][view, at])
    tokens += [embedded(w, 0, query) + w["query"] for query in queries]
    allowed = mask(len(tokens) - n, n)
    stream = np.array([normed(w, "first", token) for token in tokens] if published(w) else tokens)
    for b in range(depth):
        stream = block(w, f"blocks.{b}", stream, allowed, heads)
    return np.array([normed(w, "last", token) for token in stream[len(tokens) - n :]])


def cut(image: NDArray[np.uint8], side: int) -> list[NDArray[np.uint8]]:
    """Patches, row by row."""
    rows, columns = image.shape[0] // side, image.shape[1] // side
    return [
        image[r * side : (r + 1) * side, c * side : (c + 1) * side] for r in range(rows) for c in range(columns)
    ]


def embedded(w: Mapping[str, Array], view: int, patch: NDArray[np.uint8]) -> Array:
    """The patch embedding of a view, of pixels brought to [−2, 2]; the published one has no bias."""
    if published(w):
        mean, spread = np.array([0.48145466, 0.4578275, 0.40821073]), np.array([0.26862954, 0.26130258, 0.27577711])
        return w[f"patches.{view}.weight"] @ ((patch.astype(np.float64) / 255.0 - mean) / spread).ravel()
    pixels = (patch.astype(np.float64) / 255.0 - 0.5) / 0.25
    return w[f"patches.{view}.weight"] @ pixels.ravel() + w[f"patches.{view}.bias"]


def published(w: Mapping[str, Array]) -> bool:
    """Whether the weights are those of the network as its authors built it: only that has a first norm."""
    return "first.weight" in w


def mask(seen: int, n: int) -> NDArray[np.bool_]:
    """May the token of the row look at that of the column? (T + N) × (T + N)."""
    allowed = np.zeros((seen + n, seen + n), dtype=bool)
    for i in range(seen + n):
        for j in range(seen + n):
            to_image, to_itself = j < seen, j == i
            allowed[i, j] = to_image or to_itself
    return allowed


def block(w: Mapping[str, Array], name: str, stream: Array, allowed: NDArray[np.bool_], heads: int) -> Array:
    """Attention, then a perceptron; each on the normed stream and added to it."""
    length, width = stream.shape
    size = width // heads
    triples = [linear(w, f"{name}.qkv", normed(w, f"{name}.before_attention", token)) for token in stream]
    q, k, v = (np.array([t[part * width : (part + 1) * width] for t in triples]) for part in range(3))
    taken = np.zeros_like(stream)
    for h in range(heads):
        own = slice(h * size, (h + 1) * size)
        for i in range(length):
            scores = np.array(
                [q[i, own] @ k[j, own] / math.sqrt(size) if allowed[i, j] else -math.inf for j in range(length)]
            )
            share = np.exp(scores - scores.max())
            taken[i, own] = (share / share.sum()) @ v[:, own]
    out = []
    for token, mixed in zip(stream, taken, strict=True):
        token = token + linear(w, f"{name}.mix", mixed)
        active = (lambda x: x / (1.0 + math.exp(-1.702 * x))) if published(w) else gelu
        wide = [active(x) for x in linear(w, f"{name}.widen", normed(w, f"{name}.before_widening", token))]
        out.append(token + linear(w, f"{name}.narrow", np.array(wide)))
    return np.array(out)


def readout(w: Mapping[str, Array], rows: Array) -> Array:
    """A perceptron a predicate on [subject, object]; its first layer is stored as its two halves."""
    predicates, hidden = w["readout.weight"].shape
    logits = np.zeros((len(rows), len(rows), predicates))
    for p in range(predicates):
        own = slice(p * hidden, (p + 1) * hidden)
        first = np.hstack((w["readout.subject.weight"][own], w["readout.object.weight"][own]))
        for i, subject in enumerate(rows):
            for j, other in enumerate(rows):
                units = first @ np.concatenate((subject, other)) + w["readout.subject.bias"][own]
                logits[i, j, p] = w["readout.weight"][p] @ np.maximum(units, 0.0) + w["readout.bias"][p]
    return logits


def linear(w: Mapping[str, Array], name: str, token: Array) -> Array:
    return w[f"{name}.weight"] @ token + w[f"{name}.bias"]


def normed(w: Mapping[str, Array], name: str, token: Array) -> Array:
    spread = math.sqrt(((token - token.mean()) ** 2).mean() + 1e-5)
    return (token - token.mean()) / spread * w[f"{name}.weight"] + w[f"{name}.bias"]


def gelu(x: float) -> float:
    return 0.5 * x * (1.0 + math.erf(x / math.sqrt(2.0)))
