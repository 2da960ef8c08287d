"""Functions that Kedge calls, and how they reach the app's. An exception of the app never goes through C: it is logged,
and Kedge gets the status of a failure."""
import functools
import logging
import threading
from typing import Any, Callable, Dict, Optional

from ._errors import InvalidArgument, LimitExceeded, text_of
from ._handles import here, keep_interrupt, raise_interrupt
from ._library import ffi, lib
from ._records import LogLevel, change_of, lost_result, mutation_of, result_of, status_of
from ._texts import terminated

logger = logging.getLogger("kedge")
_kept: Dict[int, Any] = {}  # the userdata of C functions by address, until kedge_python_free


def keep(what: Any) -> Any:
    """A pointer that stands for an object until kedge_python_free has it."""
    handle = ffi.new_handle(what)
    _kept[int(ffi.cast("uintptr_t", handle))] = handle
    return handle


def drop(handle: Any) -> None:
    """Forgets what keep() gave."""
    _kept.pop(int(ffi.cast("uintptr_t", handle)), None)


def entered(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that C calls. All of it counts as one that Kedge calls: garbage is collected wherever memory is taken,
    and what ends there must not be closed there. See close_forgotten."""
    @functools.wraps(function)
    def enter(*arguments: Any) -> Any:
        here.callbacks += 1
        try:
            return function(*arguments)
        finally:
            here.callbacks -= 1

    return enter


def left(kind: Any, raised: BaseException, trace: Any) -> None:
    """Gets what leaves a function that C calls. A Ctrl-C may do so before the first statement."""
    keep_interrupt(raised)
    if not isinstance(raised, KeyboardInterrupt):
        logger.error("a function that Kedge calls has failed", exc_info=(kind, raised, trace))


def left_mutator(kind: Any, raised: BaseException, trace: Any) -> Optional[int]:
    """The same; the status that C gets."""
    left(kind, raised, trace)
    return int(lib.KEDGE_NO_MEMORY) if isinstance(raised, KeyboardInterrupt) else None


def called(function: Callable[..., Any], *arguments: Any) -> Any:
    """Calls a function of the app; what it raises is logged, and raised on."""
    try:
        return function(*arguments)
    except Exception:
        logger.exception("a function that Kedge calls has raised: %r", function)
        raise


def guarded(function: Callable[..., Any], *arguments: Any) -> Any:
    """Calls a function of the app. None when it has raised."""
    try:
        return called(function, *arguments)
    except Exception:
        return None


def once(function: Callable[[], Any]) -> Callable[[], None]:
    """The function, which only the first call runs, also when threads call it at the same time."""
    first = threading.Lock()

    def run() -> None:
        if first.acquire(blocking=False):
            function()
            raise_interrupt()

    return run


@ffi.def_extern(onerror=left)  # type: ignore[untyped-decorator]
@entered
def kedge_python_free(userdata: Any) -> None:
    drop(userdata)


@ffi.def_extern(error=lib.KEDGE_INTERNAL, onerror=left_mutator)  # type: ignore[untyped-decorator]
@entered
def kedge_python_mutator(tx: Any, args: Any, args_size: int, userdata: Any, error: Any) -> int:
    status: int = ffi.from_handle(userdata)(tx, args, args_size, error)
    return status


@ffi.def_extern(error=lib.KEDGE_UNAUTHORIZED, onerror=left)  # type: ignore[untyped-decorator]
@entered
def kedge_python_token(userdata: Any, buffer: Any, buffer_size: int) -> int:
    try:
        token = called(ffi.from_handle(userdata).token)
        if not isinstance(token, str):
            raise InvalidArgument("token-invalid", "the token function gave no text")
        data = terminated(token, "token") + b"\0"
        if len(data) > buffer_size:
            raise LimitExceeded("token-too-long", f"a token has at most {buffer_size - 1} bytes")
    except Exception as failure:
        logger.error("no token: %s", failure)
        why = f"error: {type(failure).__name__}: {failure}".encode(errors="replace").split(b"\0")[0]
        why = why[:buffer_size - 1] + b"\0"
        ffi.memmove(buffer, why, len(why))
        return int(lib.KEDGE_UNAUTHORIZED)
    ffi.memmove(buffer, data, len(data))
    return int(lib.KEDGE_OK)


@ffi.def_extern(onerror=left)  # type: ignore[untyped-decorator]
@entered
def kedge_python_dispatch(userdata: Any, work: Any, argument: Any) -> None:
    run = None
    try:
        run = once(functools.partial(work, argument))
        ffi.from_handle(userdata).dispatch(run)
    except BaseException as raised:  # SystemExit, too: a watch without its work would wait for ever
        keep_interrupt(raised)
        try:
            logger.exception("the dispatcher has raised; work that it has not run runs on Kedge's thread")
        finally:
            (run or functools.partial(work, argument))()  # the work must run once


@ffi.def_extern(onerror=left)  # type: ignore[untyped-decorator]
@entered
def kedge_python_log(userdata: Any, level: int, event: Any, message: Any) -> None:
    guarded(ffi.from_handle(userdata).log, LogLevel(level), text_of(event), text_of(message))


def tell(userdata: Any, make: Callable[[], Any], instead: Optional[Callable[[], Any]] = None) -> None:
    """Calls the function of a watch with what C tells. When that cannot be made, as for want of memory, the function gets
    what `instead` makes, or nothing."""
    try:
        event = make()
    except BaseException as failure:  # a KeyboardInterrupt, too: C does not tell it again
        keep_interrupt(failure)
        guarded(functools.partial(logger.error, "what Kedge tells cannot be made", exc_info=failure))
        if instead is None:
            return
        event = instead()
    guarded(ffi.from_handle(userdata), event)


@ffi.def_extern(onerror=left)  # type: ignore[untyped-decorator]
@entered
def kedge_python_changes(userdata: Any, changes: Any, count: int) -> None:
    tell(userdata, lambda: [change_of(changes[i]) for i in range(count)], list)  # an empty one: read everything again


@ffi.def_extern(onerror=left)  # type: ignore[untyped-decorator]
@entered
def kedge_python_sync_status(userdata: Any, status: Any) -> None:
    tell(userdata, lambda: status_of(status))


@ffi.def_extern(onerror=left)  # type: ignore[untyped-decorator]
@entered
def kedge_python_result(userdata: Any, changes: Any) -> None:
    tell(userdata, lambda: result_of(changes), lost_result)


@ffi.def_extern(onerror=left)  # type: ignore[untyped-decorator]
@entered
def kedge_python_rejected(userdata: Any, mutation: Any) -> None:
    tell(userdata, lambda: mutation_of(mutation))
