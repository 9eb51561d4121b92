"""Inputs as people type them, and what is said of them: one file for each kind of input."""
