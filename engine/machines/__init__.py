"""Nodes: how fast one is, what runs the executors on it, and what its memory and disks hold."""
