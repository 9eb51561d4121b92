"""Parametric laws of run time and their posterior given the runs: the default model (sparkplan)
on run tables."""
