"""A learning server that loses nothing."""
