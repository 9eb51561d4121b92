"""Text that people write becomes values: cells of tables, and YAML whose keys know their lines.
Names become a line of text."""
