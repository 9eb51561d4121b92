"""SimCost: costs of compute, read, write and shuffle, learnt from simulations on small samples."""
