"""Real logs whose rows are grouped before they are shuffled, of which each predicts the others."""

from real_logs import log_pair, logged

from engine.models.stages.durations.task_times import StageModel
from engine.models.stages.stage_models import stage_models
from engine.profile import Run

FEW, MORE = log_pair("grouped")
WIDE = logged("grouped_wide")
"""The larger run in six tasks on six slots."""

FILES = 3.0
"""So many times the files has the larger run."""

DAYS, OWN, WORDS, WORDS_WRITTEN = range(4)
"""The stages that group the rows of files, in their order."""


def grouping(run: Run) -> list[StageModel]:
    """The stages that group rows of many groups before they hand them on."""
    return [model for model in stage_models(run, 2) if (model.stage.groups or 0.0) > 1.0]


def reader(run: Run, of: StageModel) -> StageModel:
    (found,) = (one for one in stage_models(run, 2) if one.stage.parents == (of.stage.stage_id,))
    return found
