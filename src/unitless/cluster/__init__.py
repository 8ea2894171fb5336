"""Training on several machines, or on all cores of one.

Partitions learn blocks of the data, and are merged after each round.
"""
