"""A logged run once more, on another cluster or input: what sparkplan answers from event logs."""
