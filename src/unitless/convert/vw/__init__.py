"""Models that others have trained, as models of ours.

readable        the text that Vowpal Wabbit writes of a model
feature_hash    where Vowpal Wabbit keeps a feature
model           from_vw
"""
