"""The columns of tables: inferred types, dates, text and numbers, and the features that each column becomes."""
