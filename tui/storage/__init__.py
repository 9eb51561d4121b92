"""Files of the user: settings, scenarios, pins, the last session."""
