"""Durations of a stage's tasks: quantile functions, warm-up, contention, launch order."""
