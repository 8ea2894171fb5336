"""Replicas that only predict, and messages of brokers."""
