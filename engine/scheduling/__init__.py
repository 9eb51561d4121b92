"""When tasks, stages and jobs run on a number of slots."""
