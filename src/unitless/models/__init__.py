"""The models: what they share, what they are in files, how they are merged, what they know by feature."""
