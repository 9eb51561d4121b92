"""OptEx: job profiles and the closed form over their phases."""
