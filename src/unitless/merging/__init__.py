"""Several models become one: `merge`, and the synchronization rounds of distributed training, which merge with a base.

merge        which models may be merged, and all that a merged model knows
state        what several states are together; slots, means, leaves_and_trees, mixture, information: its parts
record       what a merged model knows about its data
rounds       what partitions have added to a base becomes one model; round_*: its parts
"""
