"""From predicted times to answers: candidates, limits, goals, choices, and what these hang on."""
