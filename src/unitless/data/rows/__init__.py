"""Rows of a source in random order, held out or sampled, in bounded memory."""
