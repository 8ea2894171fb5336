"""The paper: its algorithms as an oracle, its theory, its experiments, other learners, example data."""
