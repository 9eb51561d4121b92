"""What single runs say: which repeat one another, which went wrong, how much two alike differ."""
