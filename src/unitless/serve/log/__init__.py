"""The durable log of a stream."""
