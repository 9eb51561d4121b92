"""Panels of the planner, one per question: pure functions of (state, answer), and their widgets."""
