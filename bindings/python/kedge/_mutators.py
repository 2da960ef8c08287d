"""Mutators: functions that make changes, and the transaction that they see."""
import json
from typing import Any, Callable, Iterator, NoReturn, Optional, Tuple

from ._callbacks import logger
from ._errors import Closed, Error, NoMemory, NotFound, Rejected, call, text_of
from ._handles import Handle, here, keep_interrupt, raise_interrupt
from ._library import ffi, lib
from ._records import Caller
from ._texts import as_json, check_strings, sized_text, terminated, utf8

NOTHING: Any = object()  # no default was given


class Transaction:
    """The state of one project as a mutator sees it, until the mutator returns. A mutator must be deterministic: its
    only inputs are the transaction, the args and the caller."""

    def __init__(self, pointer: Any) -> None:
        self._pointer = pointer
        self._failure: Optional[Error] = None  # of the call that failed last

    def _end(self) -> None:
        self._pointer = None

    def _call(self, function: Any, *arguments: Any) -> bool:
        if self._pointer is None:
            raise Closed("transaction")
        try:
            return call(function, self._pointer, *arguments)
        except Error as failure:
            self._failure = failure
            raise

    @property
    def caller(self) -> Caller:
        """Who makes the mutation, and when."""
        if self._pointer is None:
            raise Closed("transaction")
        found = lib.kedge_tx_caller(self._pointer)
        return Caller(text_of(found.user), text_of(found.role), text_of(found.client), found.now_ms)

    def get(self, collection: str, id: str, default: Any = NOTHING,
            *, parse: Callable[[str], Any] = json.loads) -> Any:
        """Reads an item. Without a default, NotFound is raised when there is none."""
        value, size = ffi.new("const char **"), ffi.new("size_t *")
        key = utf8(id, "id")
        try:
            self._call(lib.kedge_tx_get, terminated(collection, "collection"), key, len(key), value, size)
        except NotFound:
            if default is NOTHING:
                raise
            return default
        return parse(sized_text(value[0], size[0]))

    def items(self, collection: str, after: Optional[str] = None,
              *, parse: Callable[[str], Any] = json.loads) -> Iterator[Tuple[str, Any]]:
        """The items of a collection, by id in byte order; those after `after`. The mutator may write meanwhile."""
        name = terminated(collection, "collection")
        id, id_size = ffi.new("const char **"), ffi.new("size_t *")
        value, size = ffi.new("const char **"), ffi.new("size_t *")
        last = None if after is None else utf8(after, "id")
        while self._call(lib.kedge_tx_next, name, ffi.NULL if last is None else last, len(last or b""), id, id_size,
                         value, size):
            last = bytes(ffi.buffer(id[0], id_size[0]))
            yield last.decode(), parse(sized_text(value[0], size[0]))

    def put(self, collection: str, id: str, value: Any) -> None:
        """Writes an item: any JSON value."""
        key, data = utf8(id, "id"), as_json(value, "value")
        self._call(lib.kedge_tx_put, terminated(collection, "collection"), key, len(key), data, len(data))

    def delete(self, collection: str, id: str) -> None:
        """Deletes an item. One that is absent stays absent."""
        key = utf8(id, "id")
        self._call(lib.kedge_tx_delete, terminated(collection, "collection"), key, len(key))

    def get_project(self, default: Any = NOTHING, *, parse: Callable[[str], Any] = json.loads) -> Any:
        """Reads the project record. Without a default, NotFound is raised when it was never set."""
        value, size = ffi.new("const char **"), ffi.new("size_t *")
        try:
            self._call(lib.kedge_tx_get_project, value, size)
        except NotFound:
            if default is NOTHING:
                raise
            return default
        return parse(sized_text(value[0], size[0]))

    def put_project(self, value: Any) -> None:
        """Replaces the project record, a JSON object of at most 1,536 bytes."""
        data = as_json(value, "value")
        self._call(lib.kedge_tx_put_project, data, len(data))

    def merge(self, collection: str, id: str, patch: Any) -> None:
        """Merges a JSON Merge Patch (RFC 7396) into an item, as the built-in kedge.merge."""
        self._with_tree(lib.kedge_tx_merge_json, patch, "patch", terminated(collection, "collection"),
                        terminated(id, "id"))

    def patch(self, collection: str, id: str, patch: Any) -> None:
        """Applies a JSON Patch (RFC 6902) to an item, as the built-in kedge.patch."""
        self._with_tree(lib.kedge_tx_patch_json, patch, "patch", terminated(collection, "collection"),
                        terminated(id, "id"))

    def call(self, name: str, args: Any) -> None:
        """Calls a built-in mutator, for example "kedge.increment", inside of this one."""
        self._with_tree(lib.kedge_tx_call_json, args, "args", terminated(name, "name"))

    def _with_tree(self, function: Any, value: Any, what: str, *arguments: Any) -> None:
        data = as_json(value, what)

        def with_tree(tx: Any, error: Any) -> int:
            check_strings(data)
            # Up to the NUL that Python has after the bytes, so that nothing may follow the value.
            tree = lib.cJSON_ParseWithLengthOpts(data, len(data) + 1, ffi.NULL, 1)
            try:  # Kedge refuses NULL, which comes of what is no JSON, with a sentence
                return int(function(tx, *arguments, tree, error))
            finally:
                lib.cJSON_Delete(tree)

        self._call(with_tree)

    def reject(self, code: str, message: str) -> NoReturn:
        """Refuses the mutation: raises Rejected. `code` matches [a-z0-9-]{1,63}; `message` is for people."""
        self._call(lib.kedge_tx_reject, terminated(code, "code"), terminated(message, "message"))
        raise AssertionError("kedge_tx_reject returned without a failure")


class Mutator:
    """A function as a mutator: its name, its version, and what Kedge calls."""

    def __init__(self, name: str, version: int, function: Callable[[Transaction, Any], None]) -> None:
        self.name = name
        self.version = version
        self.function = function
        self.__doc__ = function.__doc__

    def __call__(self, tx: Any, args: Any, args_size: int, error: Any) -> int:
        transaction = Transaction(tx)
        here.mutators += 1
        try:
            self.function(transaction, json.loads(sized_text(args, args_size)))
        except BaseException as raised:  # none may go through C; edit() raises it again
            keep_interrupt(raised)
            here.raised = raised
            return self._refuse(transaction, raised, error)
        finally:
            here.mutators -= 1
            transaction._end()
        return int(lib.KEDGE_OK)

    def _refuse(self, transaction: Transaction, raised: BaseException, error: Any) -> int:
        """A failure of a call on the transaction is passed on. Any other exception is the mutator's mistake, but for one
        for want of memory and for a Ctrl-C, which reject nothing: the mutator may be one of a pending edit that runs again."""
        if isinstance(raised, Error) and raised is transaction._failure:
            return _give(error, raised.status, raised.code, raised.message)
        if isinstance(raised, (MemoryError, KeyboardInterrupt)):
            return _give(error, lib.KEDGE_NO_MEMORY, "out-of-memory", "the mutator has no memory")
        logger.warning("the mutator %r has raised", self.name, exc_info=raised)
        message = f"{type(raised).__name__}: {raised}".encode("utf-8", "replace").replace(b"\0", b" ")
        return int(lib.kedge_tx_reject(transaction._pointer, b"mutator-failed", message, error))


def edit(handle: Handle, function: Any, *arguments: Any) -> None:
    """Calls a function that makes an edit, or one that runs the loop. It runs mutators on this thread: what one of them raised
    is the cause of the failure. A Ctrl-C in a function that it has called is raised here."""
    here.raised = None
    try:
        with handle as pointer:
            call(function, pointer, *arguments)
    except (Rejected, NoMemory) as failure:
        raised, here.raised = here.raised, None
        if raised is not None and not isinstance(raised, Exception):
            raise raised from None  # SystemExit and the like
        if isinstance(raised, Error):
            raise failure from None
        raise failure from raised
    finally:
        raise_interrupt()


def _give(error: Any, status: int, code: str, message: str) -> int:
    if error != ffi.NULL:
        error.status = status
        for place, text in ((error.code, code), (error.message, message)):
            data = text.encode() + b"\0"
            ffi.memmove(place, data, min(len(data), len(place)))
    return int(status)


def mutator(name: str, version: int = 1) -> Callable[[Callable[[Transaction, Any], None]], Mutator]:
    """Makes a mutator of a function of a Transaction and the args:

        @kedge.mutator("stock.take", version=1)
        def take(tx, args):
            shelf = tx.get("shelves", args["id"])
            if shelf["count"] < args["count"]:
                tx.reject("not-enough", "there are not that many pieces")
            tx.put("shelves", args["id"], {**shelf, "count": shelf["count"] - args["count"]})

    It may run any number of times, on any thread, and must do the same each time. An exception rejects the edit: one that
    a call on `tx` raised with its own code, any other with the code "mutator-failed". A MemoryError rejects nothing: the
    call that makes the edit raises kedge.NoMemory."""
    return lambda function: Mutator(name, version, function)


__all__ = ["Mutator", "Rejected", "Transaction", "mutator"]
