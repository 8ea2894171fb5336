"""Replicas that predict only, and data from brokers."""
