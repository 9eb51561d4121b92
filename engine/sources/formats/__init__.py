"""File formats other than logs: run tables, profiles, resource profiles, workflow values."""
