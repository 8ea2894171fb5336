"""Writes data: tables batch by batch, and lines of named features."""
