"""Memory of a replayed run: cached data and execution memory, and the cost of misses and spills."""
