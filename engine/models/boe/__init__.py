"""BOE: bottlenecks of tasks that run side by side, and the state-based estimate of DAGs of jobs."""
