"""PERIDOT: stage groups of two small runs, and what they say of any cores and any input."""
