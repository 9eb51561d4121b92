"""Stages of logged runs and their tasks: growth, partitions and durations, for all models of
logs."""
