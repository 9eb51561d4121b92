"""What run tables cost the default model: processor time of a fit and of another data size.

    python benchmarks/run_tables.py TABLE.csv ... [--runs N] [--max-nodes M] [--repeat R]

One row per table, in seconds of processor time, the least and the median of R: `fit`, of N runs of
the table (always the same ones); `again`, of these with the random numbers kept. `size`: R steps of
the data size from half and from one and a half times the largest input, the first and the median of
those that follow, for all candidate types of the AWS catalog on 1 to M nodes.
"""

from __future__ import annotations

import argparse
import random
import statistics
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from timing import timed

import engine
from engine.choosing.candidate_selection import select_candidates
from engine.choosing.surface import Surface
from engine.models.laws import proposals
from engine.models.laws.model import fit_table
from engine.profile import Profile


def taken(work: Callable[[], object], repeat: int) -> str:
    """Least and median processor time."""
    found = [timed(work)[1] for _ in range(repeat)]
    return f"{min(found):8.3f}{statistics.median(found):8.3f}"


def some(profile: Profile, count: int) -> Profile:
    """So many of its runs."""
    runs = list(profile.runs)
    random.Random(0).shuffle(runs)
    return replace(profile, runs=tuple(runs[:count]))


def fitted_afresh(profile: Profile) -> object:
    """A fit with no random numbers kept from the last one."""
    proposals._cached_draw.cache_clear()
    return fit_table(profile)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tables", nargs="+", type=Path)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--max-nodes", type=int, default=64)
    parser.add_argument("--repeat", type=int, default=7)
    options = parser.parse_args()
    catalog = engine.load_catalog("aws")
    head = f"{'fit':>8}{'':8}{'again':>8}{'':8}{'of':>6}{'size x 0.5':>16}{'x 1.5':>16}"
    print(f"{'':24}{'runs':>6}{'types':>6}{head}")
    for table in options.tables:
        profile = some(engine.read(str(table)), options.runs)
        candidates = select_candidates(catalog, profile=profile)
        row = f"{table.stem:<24}{len(profile.runs):6}{len(profile.instance_types):6}"
        row += taken(partial(fitted_afresh, profile), options.repeat)
        row += taken(partial(fit_table, profile), options.repeat)
        row += f"{len(candidates.offers):6}"
        for share in (0.5, 1.5):
            build = partial(Surface.build, fit_table(profile), candidates)
            first, *following = (
                timed(build, workload=profile.workload_at(size), max_nodes=options.max_nodes)[1]
                for size in share * np.linspace(1.0, 1.1, options.repeat)
            )
            row += f"{first:8.3f}{statistics.median(following):8.3f}"
        print(row, flush=True)


if __name__ == "__main__":
    main()
