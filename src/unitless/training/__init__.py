"""Training: `train`, `compare` and `sweep`, with checkpoints, reports and notes."""
