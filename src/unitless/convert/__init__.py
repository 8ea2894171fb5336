"""From one form to another: data, models for other software, models from other software."""
