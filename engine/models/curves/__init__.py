"""Curves over machines and size: what OptEx, Ernest and SimCost fit to run times alone."""
