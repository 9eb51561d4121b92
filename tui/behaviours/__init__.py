"""The behaviour of the planner: mixins of `PlannerApp`, one file per concern."""
