"""The charts of the planner as files."""
