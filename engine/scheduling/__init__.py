"""Scheduling of tasks, stages and jobs on a number of slots."""
