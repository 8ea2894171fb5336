"""Training on several machines, or on all cores of one: data in blocks, learned in rounds, merged in between."""
