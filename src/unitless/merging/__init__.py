"""Merging several models into one: `ul.merge`, with or without a base, and the rounds of distributed training.

All merges use one algorithm. Models may have a *base*, the model that all of them were continued from; otherwise an
empty model takes its place. Every number of a state belongs to one of these kinds:

- *Added*: counts of rows, losses of rates, weights behind means, squared gradients H, evidence and rows of leaves; and
the information of second-order engines. Sums that all models have from the base count once.
- *Averaged*: weights of features and of leaves, weighted by the squared gradients in each model, in units of the
largest scale; running averages of weights; and mixtures, weighted by rows.
- *Rebuilt*: scales (the largest), means of centered columns and the labels' center (those of all rows; biases are
corrected), curves (with the cuts of all models), trees (each from one model, with averaged weights).

A synchronization round is this merge with one difference: the base stands for the rows of one partition, and so does
the merged model. Nothing is subtracted for the base, and sums are divided by the number of partitions.

merge        `ul.merge`: which models may be merged;          record       columns and labels of a merged model
gathered     all of a model, engine by engine;                rounds       what partitions become
engine       one engine: its lanes                            totals, slots, means, scores, layout: parts of it
information  second-order engines;                            mixture      the combination of members
curves       curves, from leaves;                             trees        trees, from leaves and forest
"""
