"""What is kept between sessions: settings, scenarios, pins, the last session."""
