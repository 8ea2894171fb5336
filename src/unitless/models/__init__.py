"""The models: learners, model files, and reading a model's weights and importance by feature."""
