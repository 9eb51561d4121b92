"""Nodes: relative speed, platforms and services, executor memory, disks, and measuring a host."""
