"""What an optimisation minimises and how it searches, by name; apart from all that it needs, so
that a command line which only offers the names stays quick."""

OBJECTIVES = ("cost", "time", "resource-time")

OBJECTIVE_SYNONYMS = {"runtime": "time", "throughput": "time"}
"""Objectives by the names of SimCost 4.3, and what is minimised for each: for a given input, most
throughput means least runtime."""

METHODS = ("exact", "interior-point")
"""A search over whole nodes, and OptEx's own method (V): `engine.mixing.relaxed_answer`."""
