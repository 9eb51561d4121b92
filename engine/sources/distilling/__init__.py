"""From what a log told to runs: clusters, stages, time that counts, and what is missing."""
