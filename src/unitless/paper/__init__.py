"""The paper's experiments: its datasets, tables and figures."""
