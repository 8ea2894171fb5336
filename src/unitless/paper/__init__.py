"""The paper's experiments, recomputed."""
