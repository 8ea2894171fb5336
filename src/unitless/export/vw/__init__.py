"""Models that others have trained, as models of ours.

readable        the text that Vowpal Wabbit writes of a model
binary          the file that Vowpal Wabbit writes of a model
names           the features of VW text, for a file that has only their hashes
feature_hash    where Vowpal Wabbit keeps a feature
model           from_vw
"""
