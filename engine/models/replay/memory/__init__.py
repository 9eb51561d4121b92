"""What a replayed run keeps in memory, what does not fit elsewhere, and what that costs."""
