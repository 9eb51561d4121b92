"""Client sessions and operations of a Spark server: Spark Connect, or the JDBC Thrift server.

Such an application waits for its clients. The work for one lies between two events: the start and
the end of an operation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct, field

from engine.notices import Notice

_CONNECT = b"org.apache.spark.sql.connect.service.SparkListenerConnect"
_THRIFT = b"org.apache.spark.sql.hive.thriftserver.ui.SparkListenerThriftServer"


class ConnectOperation(Struct, frozen=True, gc=False):
    """`SparkListenerConnectOperationStarted`, `...Finished`, `...Failed`, `...Canceled`."""

    operation: str = field(name="operationId")
    time_ms: int = field(name="eventTime")


class ThriftStart(Struct, frozen=True, gc=False):
    """`SparkListenerThriftServerOperationStart`."""

    operation: str = field(name="id")
    time_ms: int = field(name="startTime")


class ThriftEnd(Struct, frozen=True, gc=False):
    """`SparkListenerThriftServerOperationFinish`, `...Error`, `...Canceled`."""

    operation: str = field(name="id")
    time_ms: int = field(name="finishTime")


class Session(Struct, frozen=True, gc=False):
    """`SparkListenerConnectSessionStarted`, `SparkListenerThriftServerSessionCreated`."""

    session: str = field(name="sessionId")


class Clients:
    """The client sessions of a server; `spans` are the times (epoch ms) of their operations."""

    def __init__(self) -> None:
        self.sessions: set[str] = set()
        self.spans: list[tuple[int, int]] = []
        self._open: dict[str, int] = {}

    def session_opened(self, event: Session) -> None:
        """A client opened a session."""
        self.sessions.add(event.session)

    def operation_started(self, event: ConnectOperation | ThriftStart) -> None:
        """An operation begins."""
        self._open[event.operation] = event.time_ms

    def operation_ended(self, event: ConnectOperation | ThriftEnd) -> None:
        """An operation ended: finished, failed or cancelled."""
        start = self._open.pop(event.operation, None)
        if start is not None and start <= event.time_ms:
            self.spans.append((start, event.time_ms))

    @property
    def notice(self) -> Notice | None:
        """The notice that the log mixes the work of several clients; None for one client."""
        if len(self.sessions) < 2:
            return None
        return Notice(
            "several-clients",
            f"{len(self.sessions)} sessions of clients asked this server for work: the log "
            "counts as one job, all of their queries at the times at which they came",
            "to plan the work of one client, give the log of a server that had no other",
        )


CLIENT_EVENTS: tuple[tuple[bytes, Any, Callable[[Clients, Any], None]], ...] = (
    (_CONNECT + b"SessionStarted", Session, Clients.session_opened),
    (_CONNECT + b"OperationStarted", ConnectOperation, Clients.operation_started),
    (_CONNECT + b"OperationFinished", ConnectOperation, Clients.operation_ended),
    (_CONNECT + b"OperationFailed", ConnectOperation, Clients.operation_ended),
    (_CONNECT + b"OperationCanceled", ConnectOperation, Clients.operation_ended),
    (_THRIFT + b"SessionCreated", Session, Clients.session_opened),
    (_THRIFT + b"OperationStart", ThriftStart, Clients.operation_started),
    (_THRIFT + b"OperationFinish", ThriftEnd, Clients.operation_ended),
    (_THRIFT + b"OperationError", ThriftEnd, Clients.operation_ended),
    (_THRIFT + b"OperationCanceled", ThriftEnd, Clients.operation_ended),
)
"""Event name, its structure, and the method that handles it."""
