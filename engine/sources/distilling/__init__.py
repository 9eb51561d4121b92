"""Turns the state of an application, read from its log, into runs with cluster and stages."""
