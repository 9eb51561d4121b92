"""The terminal interface of sparkplan: a Textual app over the public API of `engine`."""
