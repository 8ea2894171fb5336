"""Several models become one: `ul.merge`, with or without a base, and synchronization rounds of distributed training.

There is one way. Models may have a *base*, the model that all of them were continued from; a model that has learned
nothing stands for it otherwise. Every number of a state is of one of these kinds:

- *Added*: counts of rows, losses of rates, masses behind means, squared gradients H, evidence and rows of leaves; and
  the information of second-order engines. What all models have from the base counts once.
- *Averaged*: weights of features and of leaves, each by the evidence behind it in its model, in units of the largest
  scale; their running averages; and mixtures, by rows. So models that know a feature well decide about its weight.
- *Rebuilt*: scales (the largest), means of centered columns and the labels' center (those of all rows; biases take up
  the difference), curves (laid over each other), trees (each is one model's, with the mean weights of all).

A synchronization round is this merge with one difference: the base stands for the rows of one partition, and so does
the merged model. Nothing is taken off for the base, and what was added is divided by the number of partitions.

merge        `ul.merge`: which models may be merged;          record       columns and labels of a merged model
gathered     all of a model, engine by engine;                rounds       what partitions become
engine       one engine: its lanes                            totals, slots, means, scores, layout: parts of it
information  second-order engines;                            mixture      the combination of members
curves       curves, from leaves;                             trees        trees, from leaves and forest
"""
