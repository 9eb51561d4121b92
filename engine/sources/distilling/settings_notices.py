"""What the settings of a log give notice of: machines, services, memory, native engines."""

from __future__ import annotations

from collections.abc import Iterable

from engine.cluster import Cluster
from engine.machines.beside_heap import beside_heap_notice
from engine.notices import Notice, present
from engine.sources.distilling.engines import other_engine_notice
from engine.sources.distilling.other_resources import other_resources_notice
from engine.sources.distilling.services import service_notice
from engine.sources.distilling.settings import old_version_notice, type_notice
from engine.sources.logs.application import Application
from engine.sources.logs.entities import Stage
from engine.sources.logs.session_settings import EffectiveSettings


def settings_notices(
    application: Application,
    cluster: Cluster,
    settings: EffectiveSettings,
    stages: Iterable[Stage],
    *,
    early: bool,
) -> tuple[Notice, ...]:
    """Notices that hold for all runs of a log.

    Args:
        cluster: on which it ran.
        settings: of the application and its sessions.
        stages: that ran.
        early: as for `spark_version`.
    """
    notices = [
        type_notice(application, cluster),
        service_notice(application.properties, cluster),
        beside_heap_notice(cluster),
        *settings.notices,
        other_resources_notice(application, stages),
        other_engine_notice(application),
        application.clients.notice,
        old_version_notice(application, early=early),
    ]
    return present(notices)
