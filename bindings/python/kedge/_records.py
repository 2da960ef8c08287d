"""What Kedge tells, as plain values."""
import dataclasses
import enum
import json
from typing import Any, List, Optional, Tuple

from ._errors import Error, NoMemory, error_of, text_of
from ._library import ffi, lib
from ._texts import sized_text


class Connection(enum.IntEnum):
    """How a database stands to its server."""
    OFFLINE = lib.KEDGE_OFFLINE
    FOLLOWER = lib.KEDGE_FOLLOWER
    CONNECTING = lib.KEDGE_CONNECTING
    ONLINE = lib.KEDGE_ONLINE
    STOPPED = lib.KEDGE_STOPPED


class Outcome(enum.IntEnum):
    """What became of an edit."""
    PENDING = lib.KEDGE_OUTCOME_PENDING
    APPLIED = lib.KEDGE_OUTCOME_APPLIED
    REJECTED = lib.KEDGE_OUTCOME_REJECTED


class Source(enum.IntEnum):
    """Where a change comes from."""
    LOCAL = lib.KEDGE_CHANGE_LOCAL
    PULLED = lib.KEDGE_CHANGE_PULLED
    OTHER_PROCESS = lib.KEDGE_CHANGE_OTHER_PROCESS


class LogLevel(enum.IntEnum):
    """How important a line of the log is."""
    ERROR = lib.KEDGE_LOG_ERROR
    WARNING = lib.KEDGE_LOG_WARNING
    INFO = lib.KEDGE_LOG_INFO
    DEBUG = lib.KEDGE_LOG_DEBUG


@dataclasses.dataclass(frozen=True)
class SyncStatus:
    """The state of sync: see kedge_sync_status of kedge/sync.h. `last_error` is None when the last request succeeded."""
    connection: Connection
    resyncing: bool
    version: int
    pending: int
    rejected: int
    withheld: int
    unrecovered: int
    client: str
    last_error: Optional[Error]


@dataclasses.dataclass(frozen=True)
class Mutation:
    """A pending edit, or one in the inbox of rejected edits, with the code and message of the rejection.
    `args_json` is canonical JSON; `args` is what it holds."""
    sequence: int
    timestamp_ms: int
    sent: bool
    withheld: bool
    name: str
    args_json: str
    code: str
    message: str

    @property
    def args(self) -> Any:
        return json.loads(self.args_json)


@dataclasses.dataclass(frozen=True)
class Change:
    """One key that has another value. `collection` is "" for the project record. `old_json` and `new_json` are None where
    there is no item; `old` and `new` are what they hold."""
    collection: str
    id: str
    old_json: Optional[str]
    new_json: Optional[str]
    source: Source

    @property
    def old(self) -> Any:
        return None if self.old_json is None else json.loads(self.old_json)

    @property
    def new(self) -> Any:
        return None if self.new_json is None else json.loads(self.new_json)


class RowChangeKind(enum.IntEnum):
    """What became of a row of a watched result."""
    ADDED = lib.KEDGE_ROW_ADDED
    CHANGED = lib.KEDGE_ROW_CHANGED
    REMOVED = lib.KEDGE_ROW_REMOVED


@dataclasses.dataclass(frozen=True)
class RowChange:
    """One row that differs: kedge_row_change of kedge/watch.h. A row is a tuple; None where there is none, with the
    position -1."""
    kind: RowChangeKind
    key: str
    old: Optional[Tuple[Any, ...]]
    old_position: int
    new: Optional[Tuple[Any, ...]]
    new_position: int


@dataclasses.dataclass(frozen=True)
class ResultChanges:
    """How the result of a watched query differs: kedge_query_changes of kedge/watch.h. With an `error` the result could
    not be read; Kedge tries again. With one whose code is "result-lost" the rows could not be made, as for want of memory,
    and those that are told later do not fit: close the watch, and begin it again."""

    rows: List[RowChange]
    row_count: int
    first: bool
    local: bool
    pulled: bool
    other_process: bool
    error: Optional[Error]

    @property
    def is_lost(self) -> bool:
        """Whether the error is "result-lost"."""
        return self.error is not None and self.error.code == "result-lost"

    def apply(self, rows: List[Tuple[Any, ...]]) -> None:
        """Brings `rows` up to date, a list of the rows of the result before these changes, in their order."""
        for change in sorted(self.rows, key=lambda change: -change.old_position):
            if change.old is not None:
                del rows[change.old_position]
        for change in sorted(self.rows, key=lambda change: change.new_position):
            if change.new is not None:
                rows.insert(change.new_position, change.new)


@dataclasses.dataclass(frozen=True)
class Caller:
    """Who makes a mutation; `now_ms` is the mutation's own timestamp, in milliseconds since 1970."""
    user: str
    role: str
    client: str
    now_ms: int


@dataclasses.dataclass(frozen=True)
class Index:
    """A declared index."""
    name: str
    collection: str
    paths: List[str]


@dataclasses.dataclass(frozen=True)
class UndoResult:
    """What an undo or redo did: `sequence` is that of the edit that it is; `restored` counts places that have their old
    value again, `kept` those that somebody had changed since, and that stay."""
    sequence: int
    restored: int
    kept: int


@dataclasses.dataclass(frozen=True)
class UndoState:
    """What can be undone and redone, for an app's menu. A label is "" when there is none."""
    undo_count: int
    redo_count: int
    open: bool
    undo_label: str
    redo_label: str


@dataclasses.dataclass(frozen=True)
class RepairReport:
    """How many edits a repair found: see kedge_repair_report of kedge/repair.h."""
    pending: int
    rejected: int
    confirmed: int
    damaged: int
    missing: int


@dataclasses.dataclass(frozen=True)
class Stats:
    """Counters since the database was opened, and sizes of its files in bytes: see kedge/stats.h."""
    edits: int
    edits_refused: int
    requests: int
    request_bytes: int
    responses: int
    response_bytes: int
    failures: int
    pokes: int
    pulls: int
    outbox_bytes: int
    outbox_wal_bytes: int
    cache_bytes: int
    cache_wal_bytes: int


def numbers_of(kind: Any, filled: Any) -> Any:
    """A value of whole numbers from the struct with the same members."""
    return kind(**{field.name: getattr(filled, field.name) for field in dataclasses.fields(kind)})


def status_of(filled: Any) -> SyncStatus:
    failed = filled.last_error.status != lib.KEDGE_OK
    return SyncStatus(
        Connection(filled.connection), filled.resyncing, filled.version, filled.pending, filled.rejected, filled.withheld,
        filled.unrecovered, text_of(filled.client),
        error_of(filled.last_error.status, filled.last_error) if failed else None)


def mutation_of(filled: Any) -> Mutation:
    return Mutation(filled.sequence, filled.timestamp_ms, filled.sent, filled.withheld, text_of(filled.name),
                    sized_text(filled.args, filled.args_size), text_of(filled.code), text_of(filled.message))


def row_of(text: Any, size: int) -> Optional[Tuple[Any, ...]]:
    return None if text == ffi.NULL else tuple(json.loads(sized_text(text, size)))


def row_change_of(filled: Any) -> RowChange:
    return RowChange(RowChangeKind(filled.kind), sized_text(filled.key, filled.key_size),
                     row_of(filled.old_row, filled.old_size), filled.old_position,
                     row_of(filled.new_row, filled.new_size), filled.new_position)


def result_of(filled: Any) -> ResultChanges:
    return ResultChanges(
        [row_change_of(filled.rows[i]) for i in range(filled.count)], filled.row_count, filled.first, filled.local,
        filled.pulled, filled.other_process,
        None if filled.error == ffi.NULL else error_of(filled.error.status, filled.error))


def lost_result() -> ResultChanges:
    """What is told when a result cannot be made."""
    return ResultChanges([], 0, False, False, False, False, NoMemory(
        "result-lost", "the rows of a watched result could not be made: begin the watch again"))


def change_of(filled: Any) -> Change:
    return Change(
        text_of(filled.collection), sized_text(filled.id, filled.id_size),
        None if filled.old_value == ffi.NULL else sized_text(filled.old_value, filled.old_size),
        None if filled.new_value == ffi.NULL else sized_text(filled.new_value, filled.new_size), Source(filled.source))
