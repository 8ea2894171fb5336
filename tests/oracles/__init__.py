"""Plain NumPy implementations of what the core computes. Those of the paper's algorithms are in `unitless.paper`."""
