"""The views of the planner, one module each: pure functions of (state, answer), and their
widgets."""
