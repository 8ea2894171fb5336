"""Sparse learning in plain NumPy: the oracle of `sparsity` and `l2`, which are not in the paper."""

from __future__ import annotations

import numpy as np

from unitless.inputs import Float64
from unitless.paper.algorithms import Algorithm, Loss


class Sparse(Algorithm):
    """FTRL-Proximal (McMahan et al., Ad Click Prediction, 2013, Algorithm 1), normalized like NAG.

        u_i ← u_i + a g_i − (√G_i(new) − √G_i(old)) v_i
        v_i = 0 where |u_i| ≤ l1 a s_i, otherwise −(u_i − sgn(u_i) l1 a s_i)/(√G_i + l2 a s_i)

    where:
        v_i = w_i s_i is the weight without a unit.
        u is the sum of gradients g = ∂L(ŷ, y)/∂w, and G that of their squares.
        a = η √(t/N), with s, t and N as in NAG.

    u adds each gradient with the a of its own time, so that weights do not change when t/N changes; without penalties
    this is NAG without importance-aware steps. A row is predicted with the s, t and N from before the row, and values
    beyond a scale are limited to it. The first `free` features, which are the bias, have no penalty.
    """

    def __init__(
        self, eta: float = 0.5, loss: Loss | None = None, l1: float = 0.0, l2: float = 0.0, free: int = 1
    ) -> None:
        super().__init__(eta, loss, aware=False)
        self.l1, self.l2, self.free = l1, l2, free
        self.u: Float64 = np.zeros(0)

    def rate(self) -> Float64:
        return np.asarray(float(np.sqrt(self.t / self.N)) / (self.s * np.sqrt(self.G)))

    def v(self) -> Float64:
        """The weights v, which have no unit."""
        a = self.eta * (float(np.sqrt(self.t / self.N)) if self.N > 0 else 1.0)
        unit = np.where(np.arange(len(self.s)) < self.free, 0.0, a * self.s)
        beyond = np.maximum(np.abs(self.u) - self.l1 * unit, 0.0)
        root = np.sqrt(self.G) + self.l2 * unit
        return -np.sign(self.u) * np.divide(beyond, root, out=np.zeros(len(root)), where=self.G > 0)

    def learn_one(self, x: Float64, y: float, h: float = 1.0, offset: float = 0.0) -> float:
        if not len(self.s):
            self.s, self.G, self.u = np.zeros(len(x)), np.zeros(len(x)), np.zeros(len(x))
        v = self.v()
        z = np.divide(x, self.s, out=np.sign(x), where=self.s > 0)
        p = float(v @ np.clip(z, -1, 1)) + offset
        if h == 0:
            return p
        self.s = np.maximum(self.s, np.abs(x))
        there = x != 0
        self.t += h
        self.N += h * float(np.sum((x[there] / self.s[there]) ** 2))
        if self.N > 0:
            g = self.loss.slope(p, y) * x
            root = np.sqrt(self.G)
            self.G = self.G + h * g**2
            self.u = self.u + self.eta * float(np.sqrt(self.t / self.N)) * h * g - (np.sqrt(self.G) - root) * v
        self.w = np.divide(self.v(), self.s, out=np.zeros(len(x)), where=self.s > 0)
        return p
