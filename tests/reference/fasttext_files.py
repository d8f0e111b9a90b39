"""fastText's model files, written from the layout that its program reads: dense and product-quantised."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

CENTROIDS = 256


def model_bytes(
    loss: int, words: list[str], labels: list[str], quantised: bool = False, seed: int = 0
) -> tuple[bytes, dict[str, Any]]:
    """A small model with random weights, word bigrams and subwords of 2 to 3 characters; its matrices."""
    rng = np.random.default_rng(seed)
    dim, bucket = 4, 50
    given = rng.normal(size=(len(words) + bucket, dim)).astype("<f4")
    output = rng.normal(size=(len(labels), dim)).astype("<f4")
    content = struct.pack("<2i", 793712314, 12)
    content += struct.pack("<12id", dim, 5, 5, 1, 5, 2, loss, 3, bucket, 2, 3, 100, 1e-4)
    content += struct.pack("<3i2q", len(words) + len(labels), len(words), len(labels), 100, -1)
    for k, word in enumerate([*words, *labels]):
        content += word.encode() + b"\0" + struct.pack("<qb", 50 - k, int(k >= len(words)))
    if quantised:
        given = _append_quantised(parts := [content], given.shape[0], dim, rng)
        content = b"".join(parts)
    else:
        content += b"\0" + struct.pack("<2q", *given.shape) + given.tobytes()
    content += b"\0" + struct.pack("<2q", *output.shape) + output.tobytes()
    return content, {"input": given, "output": output}


def _append_quantised(parts: list[bytes], m: int, dim: int, rng: np.random.Generator) -> Any:
    """A matrix of m rows in sub-vectors of two numbers, with quantised norms; the matrix that it stands for."""
    codes = rng.integers(CENTROIDS, size=(m, dim // 2)).astype("u1")
    centroids = rng.normal(size=(dim // 2, CENTROIDS, 2)).astype("<f4")
    norm_codes = rng.integers(CENTROIDS, size=m).astype("u1")
    norms = rng.uniform(0.5, 2.0, size=CENTROIDS).astype("<f4")
    parts += [b"\1\1", struct.pack("<2qi", m, dim, codes.size), codes.tobytes()]
    parts += [struct.pack("<4i", dim, dim // 2, 2, 2), centroids.tobytes()]
    parts += [norm_codes.tobytes(), struct.pack("<4i", 1, 1, 1, 1), norms.tobytes()]
    rows = np.concatenate([centroids[k][codes[:, k]] for k in range(dim // 2)], axis=1)
    return rows * norms[norm_codes][:, None]


def fasttext_files() -> dict[str, bytes]:
    """A file of every kind, by name."""
    words, labels = ["</s>", "the", "film", "was"], [f"__label__{c}" for c in "abc"]
    losses = {"hierarchical": 1, "negative": 2, "softmax": 3, "ova": 4}
    files = {name: model_bytes(loss, words, labels)[0] for name, loss in losses.items()}
    return files | {"quantised": model_bytes(3, words, labels, quantised=True)[0]}
