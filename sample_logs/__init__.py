"""Bundled samples: event logs of real Spark runs and published profiles (see `index.yaml`).

Only data for importlib.resources and the scripts that made it; nothing here is imported by the
planner.
"""
