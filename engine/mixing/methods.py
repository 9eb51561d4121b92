"""The ways to a composition, by name; apart from all that they need, so that a command line which
only offers them stays quick."""

METHODS = ("exact", "interior-point")
"""A search over whole nodes, and OptEx's own method (V): `engine.mixing.relaxed_answer`."""
