"""Into how many partitions a stage is cut, for another input and on another cluster."""
