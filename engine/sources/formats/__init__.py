"""Files that people write or keep: run tables, profiles, and the values of other YAML."""
