"""Google's types with spot prices that are interrupted now and then, and a job that ran on them."""

from dataclasses import replace

import engine
from engine.catalog_files.reader import load_catalog

NAMES = ["n2d-standard-4", "n2d-standard-8", "n2d-highmem-4"]


def interrupted(catalog: engine.Catalog) -> engine.Catalog:
    """The catalog with types that are interrupted now and then; it does not say how often."""
    named = {
        name: replace(catalog.offer(name), interruption=told)
        for name, told in zip(NAMES, ("5-10%", ">20%", "10-15%"), strict=True)
    }
    return replace(catalog, offers={**catalog.offers, **named})


GCP = interrupted(load_catalog("gcp"))


def fitted_to_spot_types() -> engine.FittedModel:
    """60 s and 10,000 node-seconds."""
    runs = tuple(
        engine.Run(
            60.0 + 10_000.0 * scale / nodes,
            engine.Cluster.of_nodes(instance_type=name, nodes=nodes, catalog=GCP),
            engine.Workload(1e9),
        )
        for name, scale in zip(NAMES, (1.0, 0.5, 0.9), strict=True)
        for nodes in (2, 3, 4, 6, 8)
    )
    return engine.fit(engine.Profile("table", runs))
