"""What clients asked a server of Spark for: Spark Connect's, or the Thrift server's of JDBC.

Such an application waits for its clients; what it does for one lies between two events, one when
the operation was asked for and one when it was done.
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
    """The sessions of a server, and when it did something for one; `spans` are epoch ms."""

    def __init__(self) -> None:
        self.sessions: set[str] = set()
        self.spans: list[tuple[int, int]] = []
        self._open: dict[str, int] = {}

    def came(self, event: Session) -> None:
        """A client has opened a session."""
        self.sessions.add(event.session)

    def asked(self, event: ConnectOperation | ThriftStart) -> None:
        """An operation begins."""
        self._open[event.operation] = event.time_ms

    def answered(self, event: ConnectOperation | ThriftEnd) -> None:
        """An operation has ended, in whatever way."""
        start = self._open.pop(event.operation, None)
        if start is not None and start <= event.time_ms:
            self.spans.append((start, event.time_ms))

    def notices(self) -> list[Notice]:
        """That the time of the log is that of several clients together."""
        if len(self.sessions) < 2:
            return []
        return [
            Notice(
                "several-clients",
                f"{len(self.sessions)} sessions of clients asked this server for work: the log "
                "counts as one job, all of their queries at the times at which they came",
                "to plan the work of one client, give the log of a server that had no other",
            )
        ]


CLIENT_EVENTS: tuple[tuple[bytes, Any, Callable[[Clients, Any], None]], ...] = (
    (_CONNECT + b"SessionStarted", Session, Clients.came),
    (_CONNECT + b"OperationStarted", ConnectOperation, Clients.asked),
    (_CONNECT + b"OperationFinished", ConnectOperation, Clients.answered),
    (_CONNECT + b"OperationFailed", ConnectOperation, Clients.answered),
    (_CONNECT + b"OperationCanceled", ConnectOperation, Clients.answered),
    (_THRIFT + b"SessionCreated", Session, Clients.came),
    (_THRIFT + b"OperationStart", ThriftStart, Clients.asked),
    (_THRIFT + b"OperationFinish", ThriftEnd, Clients.answered),
    (_THRIFT + b"OperationError", ThriftEnd, Clients.answered),
    (_THRIFT + b"OperationCanceled", ThriftEnd, Clients.answered),
)
"""Name of an event, its structure, and who is told of it."""
