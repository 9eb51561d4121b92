"""What an event log tells as it is read: its events, and what they say of one application."""
