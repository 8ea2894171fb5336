"""Inference with a trained model: predictions, evaluation and explanation."""
