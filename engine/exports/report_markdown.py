"""The report as Markdown."""

from __future__ import annotations

import re

from engine.exports.base import Handover, spark_properties
from engine.exports.report import Report, Section, sections, title_of

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~&])")


class Markdown(Report):
    name = "markdown"
    summary = "the whole answer as a report to read"
    suffix = ".md"

    def render(self, handover: Handover) -> str:
        parts = [f"# {in_markdown(title_of(handover))}"]
        parts += [_section(section) for section in sections(handover)]
        settings = "\n".join(f"{k} {v}" for k, v in spark_properties(handover).items())
        parts.append(f"## Settings\n\n```\n{settings}\n```")
        return "\n\n".join(parts) + "\n"


def in_markdown(text: str) -> str:
    """Text with Markdown's special characters escaped; names come from logs."""
    return _SPECIAL.sub(r"\\\1", text)


def _section(section: Section) -> str:
    parts = [f"## {section.title}"]
    if section.lines:
        parts.append("\n".join(f"- {in_markdown(line)}" for line in section.lines))
    if section.table:
        head, *rows = ["| " + " | ".join(map(in_markdown, row)) + " |" for row in section.table]
        rule = "|" + " --- |" * len(section.table[0])
        parts.append("\n".join([head, rule, *rows]))
    return "\n\n".join(parts)
