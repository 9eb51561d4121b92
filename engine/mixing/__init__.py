"""The best composition of several types of node: bounds, branch and bound, what to say of it."""
