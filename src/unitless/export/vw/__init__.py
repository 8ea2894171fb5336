"""Import models of other programs.

readable        the text format of Vowpal Wabbit's models
binary          the binary format of Vowpal Wabbit's models
names           the features of VW text, for a file that has only their hashes
feature_hash    the hash of Vowpal Wabbit's features
model           from_vw
"""
