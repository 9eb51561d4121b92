"""Properties of observed runs: configurations, outliers, noise, carried settings, stage labels."""
