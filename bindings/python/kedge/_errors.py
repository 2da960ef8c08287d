"""Errors: one class for each status of the C library."""
import enum
from typing import Any, Dict, Type

from ._library import ffi, lib


class Status(enum.IntEnum):
    """What kind of failure an error is: kedge_status of the C library."""
    OK = lib.KEDGE_OK
    DONE = lib.KEDGE_DONE
    NOT_FOUND = lib.KEDGE_NOT_FOUND
    REJECTED = lib.KEDGE_REJECTED
    INVALID_ARGUMENT = lib.KEDGE_INVALID_ARGUMENT
    INVALID_JSON = lib.KEDGE_INVALID_JSON
    LIMIT_EXCEEDED = lib.KEDGE_LIMIT_EXCEEDED
    NO_MEMORY = lib.KEDGE_NO_MEMORY
    IO = lib.KEDGE_IO
    DISK_FULL = lib.KEDGE_DISK_FULL
    BUSY = lib.KEDGE_BUSY
    CORRUPT = lib.KEDGE_CORRUPT
    NOT_A_DATABASE = lib.KEDGE_NOT_A_DATABASE
    NEWER_DATABASE = lib.KEDGE_NEWER_DATABASE
    REGISTRY_MISMATCH = lib.KEDGE_REGISTRY_MISMATCH
    NETWORK = lib.KEDGE_NETWORK
    TIMEOUT = lib.KEDGE_TIMEOUT
    UNAUTHORIZED = lib.KEDGE_UNAUTHORIZED
    FORBIDDEN = lib.KEDGE_FORBIDDEN
    PROTOCOL = lib.KEDGE_PROTOCOL
    CONFLICT = lib.KEDGE_CONFLICT
    UNAVAILABLE = lib.KEDGE_UNAVAILABLE
    UNSUPPORTED = lib.KEDGE_UNSUPPORTED
    CANCELLED = lib.KEDGE_CANCELLED
    INTERNAL = lib.KEDGE_INTERNAL

    @property
    def word(self) -> str:
        """The status as a word, for example "disk-full"."""
        return text_of(lib.kedge_status_name(int(self)))


def text_of(pointer: Any) -> str:
    """The text at a NUL-terminated pointer. Kedge gives UTF-8."""
    data: bytes = ffi.string(pointer)
    return data.decode("utf-8", "replace")


class Error(Exception):
    """A failure that Kedge tells. `code` is stable and for programs, `message` is a sentence for people. Each status
    has a class of its own, which is an Error."""

    status = Status.INTERNAL

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message

    def __reduce__(self) -> Any:  # of an Exception it calls the class with `args`, which is one text
        return type(self), (self.code, self.message), vars(self)


class NotFound(Error, LookupError):
    """No such item, mutation, version or project."""
    status = Status.NOT_FOUND


class Rejected(Error):
    """A mutator refused; `code` is the mutator's own. When it failed with an exception, that is the `__cause__`."""
    status = Status.REJECTED


class InvalidArgument(Error, ValueError):
    """A parameter is outside of what the function allows."""
    status = Status.INVALID_ARGUMENT


class Closed(InvalidArgument):
    """A database, cursor, batch, watch or transaction was used after its end."""

    def __init__(self, what: str) -> None:
        super().__init__("closed", f"the {what} is closed")
        self._what = what

    def __reduce__(self) -> Any:
        return type(self), (self._what,), vars(self)


class InvalidJSON(Error, ValueError):
    """Text that is not I-JSON (RFC 7493)."""
    status = Status.INVALID_JSON


class LimitExceeded(Error, ValueError):
    """Over one of LIMITS."""
    status = Status.LIMIT_EXCEEDED


class NoMemory(Error, MemoryError):
    """There is no memory."""
    status = Status.NO_MEMORY


class DiskFailed(Error):
    """The disk failed."""
    status = Status.IO


class DiskFull(Error):
    """The disk is full."""
    status = Status.DISK_FULL


class Busy(Error):
    """Another process or thread holds what is needed; try again."""
    status = Status.BUSY


class Corrupt(Error):
    """A file's contents are damaged: see repair()."""
    status = Status.CORRUPT


class NotADatabase(Error):
    """The folder or file is something else."""
    status = Status.NOT_A_DATABASE


class NewerDatabase(Error):
    """Written by a newer Kedge than this one."""
    status = Status.NEWER_DATABASE


class RegistryMismatch(Error):
    """Another process opened the database with other mutators."""
    status = Status.REGISTRY_MISMATCH


class NetworkFailed(Error):
    """The server could not be reached, the connection broke, or the database is offline."""
    status = Status.NETWORK


class Timeout(Error, TimeoutError):
    """A deadline passed."""
    status = Status.TIMEOUT


class Unauthorized(Error):
    """The token is missing, expired or not accepted."""
    status = Status.UNAUTHORIZED


class Forbidden(Error):
    """The token does not give this right."""
    status = Status.FORBIDDEN


class ProtocolFailed(Error):
    """The response is not one of Kedge's protocol."""
    status = Status.PROTOCOL


class Conflict(Error):
    """A condition did not hold: another writer was first."""
    status = Status.CONFLICT


class Unavailable(Error):
    """A transient fault, or an unknown outcome; try again."""
    status = Status.UNAVAILABLE


class Unsupported(Error):
    """This build or this server cannot do it."""
    status = Status.UNSUPPORTED


class Cancelled(Error):
    """Ended by the caller or by closing."""
    status = Status.CANCELLED


class Internal(Error):
    """An invariant of Kedge itself did not hold: a bug."""
    status = Status.INTERNAL


CLASSES: Dict[int, Type[Error]] = {
    int(each.status): each for each in [
        NotFound, Rejected, InvalidArgument, InvalidJSON, LimitExceeded, NoMemory, DiskFailed, DiskFull, Busy, Corrupt,
        NotADatabase, NewerDatabase, RegistryMismatch, NetworkFailed, Timeout, Unauthorized, Forbidden, ProtocolFailed,
        Conflict, Unavailable, Unsupported, Cancelled, Internal]}


def error_of(status: int, filled: Any) -> Error:
    """The exception for a status and the kedge_error that was filled."""
    code = text_of(filled.code) or text_of(lib.kedge_status_name(status))
    return CLASSES.get(status, Internal)(code, text_of(filled.message))


def call(function: Any, *arguments: Any) -> bool:
    """Calls a function that takes its error last. False: an iteration has no more rows."""
    filled = ffi.new("kedge_error *")
    status: int = function(*arguments, filled)
    if status == lib.KEDGE_OK:
        return True
    if status == lib.KEDGE_DONE:
        return False
    raise error_of(status, filled)
