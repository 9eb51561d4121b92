"""Bundled price lists (data): read them through `engine.load_catalog`."""
