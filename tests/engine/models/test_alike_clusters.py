"""Clusters with more slots than tasks are alike only once the cache has memory enough."""

import numpy as np
from cached_runs import run_of
from made_runs import BLOCK
from sparkplan_runs import fit

from engine.batch import ClusterBatch
from engine.cluster import Cluster, Workload
from engine.models.replay.model import ReplayModel

BLOCKS, HEAP = 40, 0.5
"""20 executors of two cores run every task at once; what is kept needs more than 30 of them."""


def test_more_executors_than_tasks_count_until_all_that_is_kept_fits() -> None:
    model = fit(run_of(BLOCKS, 4, heap=HEAP))
    assert isinstance(model, ReplayModel)
    executors = np.arange(20, 46)
    clusters = [
        Cluster.of_executors(executors=int(n), executor_cores=2, executor_memory_gib=HEAP)
        for n in executors
    ]
    batch, wanted = ClusterBatch.of(clusters, model.profile), Workload(BLOCKS * BLOCK)
    forecast, each = model.forecast(batch, wanted), model._forecast(batch, wanted)
    np.testing.assert_array_equal(forecast.seconds, each.seconds)
    np.testing.assert_array_equal(forecast.log_scale, each.log_scale)
    assert np.all(np.diff(each.seconds[executors <= 30]) < 0.0)
    assert len(np.unique(each.seconds[executors >= 35])) == 1
