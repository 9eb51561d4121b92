"""Which run to make next, and training runs within a budget."""
