"""The planner's inputs as text: parsers of what people type, and their inverses. One module per
kind of input; shared by typed commands, scenario files and the command line."""
