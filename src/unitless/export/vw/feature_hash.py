"""The hash of Vowpal Wabbit's features: 32-bit MurmurHash3 (Austin Appleby, public domain) of the name.

A name of digits is its own hash, unless `--hash all` was used. A namespace's hash is the seed for its features.
"""

from __future__ import annotations

_WORD = 0xFFFFFFFF
CONSTANT = 11650396  # the feature that is 1 in every example


def feature_hash(name: str, seed: int = 0, *, digits_too: bool = False) -> int:
    """The hash of `feature`, or of `namespace^feature`.

    >>> [feature_hash(name) % 2**18 for name in ("a", "foo^a", "bar^7", "7")]
    [92594, 72148, 170388, 7]
    """
    namespace, caret, feature = name.partition("^")
    if not caret:
        namespace_hash = murmur3(b"", seed) if seed else 0
        return _hash(name, namespace_hash, digits_too)
    return _hash(feature, _hash(namespace, seed, digits_too), digits_too)


def _hash(text: str, seed: int, digits_too: bool) -> int:
    if text and text.isascii() and text.isdigit() and not digits_too:
        return int(text) + seed
    return murmur3(text.encode(), seed)


def murmur3(data: bytes, seed: int) -> int:
    """The 32-bit hash of bytes."""
    h = seed & _WORD
    for start in range(0, len(data), 4):
        word = data[start : start + 4]
        k = (int.from_bytes(word, "little") * 0xCC9E2D51) & _WORD
        k = (_rotated(k, 15) * 0x1B873593) & _WORD
        h ^= k
        if len(word) == 4:
            h = (_rotated(h, 13) * 5 + 0xE6546B64) & _WORD
    h ^= len(data)
    h = ((h ^ (h >> 16)) * 0x85EBCA6B) & _WORD
    h = ((h ^ (h >> 13)) * 0xC2B2AE35) & _WORD
    return h ^ (h >> 16)


def _rotated(x: int, by: int) -> int:
    return ((x << by) | (x >> (32 - by))) & _WORD
