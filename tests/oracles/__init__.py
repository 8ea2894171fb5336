"""What the core must compute, in plain NumPy. The oracles of the paper's algorithms are in `unitless.paper`."""
