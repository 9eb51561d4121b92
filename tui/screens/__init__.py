"""Screens over the planner: opening, choosing, exporting, help."""
