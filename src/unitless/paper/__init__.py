"""The paper: its algorithms as a reference for tests, its theory and experiments, other learners, example data."""
