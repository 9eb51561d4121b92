"""How long the tasks of a stage take: known ones, first ones, and those of other inputs."""
