"""Screens over the planner: open, choose, export, help."""
