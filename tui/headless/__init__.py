"""The subcommands without a terminal: each module has `configure(parser)` and `run(args) -> exit
code`."""
