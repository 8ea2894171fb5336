"""With a model that has been trained: predictions for any data, and why they are what they are."""
