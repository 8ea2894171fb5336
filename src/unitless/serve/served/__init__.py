"""One model in service."""
