"""Catalogs and price lists as files: read with a line for every fault, written, refreshed."""
