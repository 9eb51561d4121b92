"""Reading and writing catalog and price list files; errors name file and line."""
