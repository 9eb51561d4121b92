"""Widgets of the terminal interface: chart, Gantt chart, slider, table.

They know nothing of Spark nor of the engine: numbers and text come in, cells and messages go out.
"""
