"""What an optimisation minimises, by name; apart from all that it needs, so that a command line
which only offers the names stays quick."""

OBJECTIVES = ("cost", "time", "resource-time")

OBJECTIVE_SYNONYMS = {"runtime": "time", "throughput": "time"}
"""Objectives by the names of SimCost 4.3, and what is minimised for each: for a given input, most
throughput means least runtime."""
