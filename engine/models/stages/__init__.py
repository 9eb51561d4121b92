"""What a log tells of an application's stages and their tasks, for every model that reads logs."""
