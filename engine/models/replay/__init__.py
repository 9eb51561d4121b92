"""Replay of logged runs on another cluster or input: how sparkplan predicts from event logs."""
