"""What the columns hold: types inferred from the first rows, dates, text and numbers, and how each becomes features."""
