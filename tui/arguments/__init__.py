"""The arguments of the command line, parsed once and turned into values of the engine."""
