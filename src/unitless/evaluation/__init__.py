"""How good predictions were: metrics over a stream, their intervals and their history."""
