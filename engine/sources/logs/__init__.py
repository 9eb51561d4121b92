"""Reading a Spark event log: its events, decoded, and the application state they describe."""
