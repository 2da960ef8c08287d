"""Kedge: local-first sync. An app reads and writes a local copy of a shared project, online or offline, and Kedge syncs
the copy with the server, which decides the order of all changes.

    import kedge

    with kedge.open("notes", url="http://127.0.0.1:7420", organization="demo", project="notes") as db:
        db.mutate("kedge.put", {"collection": "notes", "id": "1", "value": {"text": "hello"}})
        for id, note in db.scan("notes"):
            print(id, note["text"])
        db.sync()
"""
from types import MappingProxyType as _MappingProxyType
from typing import Mapping as _Mapping

from ._batch import Batch, UndoGroup
from ._cursors import Cursor, Indexes, Mutations, Query, Scan
from ._database import Database, library_version, open, order_between, repair
from ._errors import (Busy, Cancelled, Closed, Conflict, Corrupt, DiskFailed, DiskFull, Error, Forbidden, Internal,
                      InvalidArgument, InvalidJSON, LimitExceeded, NetworkFailed, NewerDatabase, NoMemory, NotADatabase,
                      NotFound, ProtocolFailed, RegistryMismatch, Rejected, Status, Timeout, Unauthorized, Unavailable,
                      Unsupported)
from ._library import LibraryMissing
from ._library import lib as _lib
from ._mutators import Mutator, Transaction, mutator
from ._records import (Caller, Change, Connection, Index, LogLevel, Mutation, Outcome, RepairReport, ResultChanges,
                       RowChange, RowChangeKind, Source, Stats, SyncStatus, UndoResult, UndoState)
from ._texts import JSON
from ._watches import Stream, Watch

# The limits of kedge/limits.h, by their names without KEDGE_LIMIT_.
LIMITS: _Mapping[str, int] = _MappingProxyType({
    name[len("KEDGE_LIMIT_"):]: getattr(_lib, name) for name in dir(_lib) if name.startswith("KEDGE_LIMIT_")})

__all__ = [
    "Batch", "Busy", "Caller", "Cancelled", "Change", "Closed", "Conflict", "Connection", "Corrupt", "Cursor",
    "Database", "DiskFailed", "DiskFull", "Error", "Forbidden", "Index", "Indexes", "Internal", "InvalidArgument",
    "InvalidJSON", "JSON", "LIMITS", "LibraryMissing", "LimitExceeded", "LogLevel", "Mutation", "Mutations",
    "Mutator", "NetworkFailed", "NewerDatabase", "NoMemory", "NotADatabase", "NotFound", "Outcome", "ProtocolFailed",
    "Query", "RegistryMismatch", "Rejected", "RepairReport", "ResultChanges", "RowChange", "RowChangeKind", "Scan",
    "Source", "Stats", "Status", "Stream", "SyncStatus", "Timeout", "Transaction", "Unauthorized", "Unavailable",
    "UndoGroup", "UndoResult", "UndoState", "Unsupported", "Watch", "library_version", "mutator", "open",
    "order_between", "repair"]
