"""The size of the errors of expected rewards, and whether it has changed."""

from __future__ import annotations

from dataclasses import dataclass

_MEMORY = 1000  # errors
_FEWEST = 100  # errors before any of them counts as far
_FAR = 16.0  # a squared error beyond so many times the usual one is far; in the long run, less than 1/16 of them are
_SHARE, _SHORT = 0.4, 50  # the rewards have changed if this share of about so many errors are far


@dataclass
class Errors:
    """The mean squared error of about the last thousand expected rewards, as of the time of the decision.

    Args:
        count: the number of errors.
        mean: the mean squared error.
        usual: the same, but far errors count as the nearest one that is not far.
        far: the share of far errors among the last ones.
    """

    count: int = 0
    mean: float = 0.0
    usual: float = 0.0
    far: float = 0.0

    def add(self, error: float) -> bool:
        """Count an error; returns whether the rewards have changed, such as prices in another currency."""
        squared, limit = error * error, _FAR * self.usual
        is_far = self.count >= _FEWEST and squared > limit
        self.count += 1
        weight = 1.0 / min(self.count, _MEMORY)
        self.mean += weight * (squared - self.mean)
        self.usual += weight * ((limit if is_far else squared) - self.usual)
        self.far += (is_far - self.far) / _SHORT
        return self.far > _SHARE
