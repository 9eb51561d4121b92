"""The number and size of a stage's partitions at another input and on another cluster."""
