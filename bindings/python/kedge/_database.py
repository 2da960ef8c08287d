"""A database: one folder with one project."""
import atexit
import contextlib
import json
import threading
import time
import weakref
from typing import Any, Callable, Deque, Dict, List, Optional, Sequence, Set, Tuple, Type, TypeVar, Union

from ._batch import Batch, UndoGroup, _Batch
from ._callbacks import drop, keep
from ._cursors import Indexes, Mutations, Query, Scan, _Cursor
from ._errors import Cancelled, Error, InvalidArgument, NotFound, Timeout, call, text_of
from ._handles import Handle, SharedHandle, close_forgotten, here, raise_interrupt, refuse_callback, refuse_close
from ._library import ffi, lib
from ._mutators import NOTHING, Mutator, edit
from ._records import (Change, LogLevel, Mutation, Outcome, RepairReport, ResultChanges, Stats, SyncStatus, UndoResult, UndoState,
                       numbers_of, status_of)
from ._texts import as_json, several, sized_text, terminated, terminated_or_null, utf8
from ._watches import COMMITS_MAX, Stream, Watch, query_watch_handle, sync_watch_handle, watch_handle

Token = Callable[[], str]
Dispatch = Callable[[Callable[[], None]], Any]
Log = Callable[[LogLevel, str, str], Any]
Made = TypeVar("Made")

# How long one wait in C lasts: a database that is closed ends the waits of other threads after it.
WAIT_SLICE_S = 0.5


class _Functions:
    """The app's functions that are given to kedge_open."""

    def __init__(self, token: Optional[Token], dispatch: Optional[Dispatch], log: Optional[Log]) -> None:
        self.token = token
        self.dispatch = dispatch
        self.log = log


class _DatabaseHandle(SharedHandle):
    _what = "database"


class Database:
    """An open database. Any thread may use it. Close it with close() or at the end of `with`; that closes its cursors,
    batches and watches, too, and waits for calls of other threads."""

    def __init__(self, pointer: Any, kept: Sequence[Any]) -> None:
        self._handle = _DatabaseHandle(pointer, lib.kedge_close)
        self._kept = kept  # what C refers to as long as the database is open
        self._children: Set[Handle] = set()  # that are open
        living.add(weakref.ref(self, living.discard))

    def __enter__(self) -> "Database":
        return self

    def __exit__(self, *failure: Any) -> None:
        self.close()

    def __del__(self) -> None:
        if "_children" in self.__dict__ and self._handle.is_open:
            close_forgotten(self.close)

    def close(self) -> None:
        """Closes the database; pending edits stay on the disk. Closing twice does nothing. InvalidArgument in a function
        that Kedge calls, and in a signal handler that runs in the middle of a call of this database, which would wait for
        themselves: close on a thread of the app, when the call has returned. When a KeyboardInterrupt ends the wait, the
        database is still open, and offline: close it again."""
        refuse_callback("close()")
        if self._handle.is_open:
            refuse_close("database", any(each is self._handle or each in self._children for each in here.handles))
        pointer = self._handle.stop()
        if pointer is None:
            return
        try:
            with contextlib.suppress(Error):
                call(lib.kedge_set_online, pointer, False)  # ends the syncs of other threads
            self._handle.wait_for_users()
            for child in list(self._children):
                child.close_and_wait()
        except BaseException:  # a KeyboardInterrupt while it waits
            self._handle.resume(pointer)
            raise
        end(pointer, self._kept)

    def _open(self, function: Any, kind: Type[Handle], free: Any, result: str, *arguments: Any) -> Handle:
        """What a function of C gives in its last output, as a handle that ends with the database at the latest."""
        made = ffi.new(result)
        with self._handle as db:
            make(made, free, function, db, *arguments)
            handle = kind(made[0], free)
            handle.join(self._children)
        return handle

    # Edits

    def mutate(self, name: str, args: Any) -> int:
        """Makes an edit: runs the mutator, and keeps the mutation until the server has decided it. Returns its sequence:
        1, 2, 3… When it returns, the edit is on the disk and every read shows it. `args`: any value that `json`
        writes. A str is a JSON string; JSON(text) is text that is JSON already. Rejected when the mutator refuses;
        NotFound for an unknown one."""
        data, sequence = as_json(args, "args"), ffi.new("int64_t *")
        self._edit(lib.kedge_mutate, terminated(name, "name"), data, len(data), sequence)
        return int(sequence[0])

    def _edit(self, function: Any, *arguments: Any) -> None:
        edit(self._handle, function, *arguments)

    def batch(self) -> Batch:
        """Several edits as one:

            with db.batch() as batch:
                batch.mutate("kedge.put", first)
                batch.mutate("kedge.put", second)
        """
        return Batch(self, self._open(lib.kedge_batch_begin, _Batch, lib.kedge_batch_free, "kedge_batch **"))

    def edit_text(self, collection: str, id: str, text: str, *, path: str = "", base: Optional[str] = None) -> int:
        """Makes the text at `path` (a JSON Pointer) of an item become `text`; edits of others since `base` are merged
        with it. `base` None: what is there now. Returns the sequence, 0 when nothing changed."""
        key, sequence = utf8(id, "id"), ffi.new("int64_t *")
        self._edit(lib.kedge_text_edit, terminated(collection, "collection"), key, len(key), terminated(path, "path"),
                   terminated_or_null(base, "base"), terminated(text, "text"), sequence)
        return int(sequence[0])

    def cancel(self, sequence: int) -> None:
        """Takes back an edit that was not sent. Conflict when it may have been."""
        self._edit(lib.kedge_cancel, sequence)

    def undo_group(self, label: str = "") -> UndoGroup:
        """`with db.undo_group("move the card"):` the edits of this thread in it are undone together."""
        return UndoGroup(self, label)

    def undo(self) -> UndoResult:
        """Takes back the newest group. NotFound: there is none. Conflict: others have changed all of it."""
        return self._take_back(lib.kedge_undo)

    def redo(self) -> UndoResult:
        """Takes back the newest undo."""
        return self._take_back(lib.kedge_redo)

    def _take_back(self, function: Any) -> UndoResult:
        result = ffi.new("kedge_undo_result *")
        lib.init_kedge_undo_result(result)
        self._edit(function, result)
        made: UndoResult = numbers_of(UndoResult, result)
        return made

    def undo_state(self) -> UndoState:
        """What can be undone and redone."""
        state = self._filled("kedge_undo_state", lib.kedge_get_undo_state)
        return UndoState(state.undo_count, state.redo_count, state.open, text_of(state.undo_label),
                         text_of(state.redo_label))

    def _filled(self, kind: str, function: Any) -> Any:
        filled = ffi.new(kind + " *")
        getattr(lib, "init_" + kind)(filled)
        with self._handle as db:
            call(function, db, filled)
        return filled

    # Reads

    def get(self, collection: str, id: str, default: Any = NOTHING,
            *, parse: Callable[[str], Any] = json.loads) -> Any:
        """Reads an item. Without a default, NotFound is raised when there is none. `parse` gets its canonical JSON:
        parse=str gives that text."""
        key = utf8(id, "id")
        return self._read(lib.kedge_get, default, parse, terminated(collection, "collection"), key, len(key))

    def get_project(self, default: Any = NOTHING, *, parse: Callable[[str], Any] = json.loads) -> Any:
        """Reads the project record, as get() reads an item."""
        return self._read(lib.kedge_get_project, default, parse)

    def _read(self, function: Any, default: Any, parse: Callable[[str], Any], *arguments: Any) -> Any:
        document = ffi.new("kedge_document **")
        try:
            with self._handle as db:
                call(function, db, *arguments, document)
                text = document_text(document[0])
        except NotFound:
            if default is NOTHING:
                raise
            return default
        return parse(text)

    def scan(self, collection: str, *, after: Optional[str] = None, prefix: Optional[str] = None, limit: int = 0,
             descending: bool = False, parse: Callable[[str], Any] = json.loads) -> Scan:
        """Iterates over the items of a collection, by id in byte order: pairs of id and value. `after`: after this id.
        `prefix`: only ids that start with it. `limit` 0: all. `parse` as of get()."""
        options = ffi.new("kedge_scan_options *")
        lib.init_kedge_scan_options(options)
        bounds = [None if text is None else utf8(text, what) for text, what in ((after, "id"), (prefix, "prefix"))]
        kept = [ffi.NULL if data is None else ffi.new("char[]", data) for data in bounds]
        options.after, options.prefix = kept
        options.after_size, options.prefix_size = (len(data or b"") for data in bounds)
        options.limit, options.descending = limit, descending
        handle = self._open(lib.kedge_scan_open, _Cursor, lib.kedge_scan_close, "kedge_scan **",
                            terminated(collection, "collection"), options)
        return Scan(self, handle, parse)

    def query(self, sql: str, parameters: Sequence[Any] = ()) -> Query:
        """Iterates over the rows of a read-only SELECT, as tuples. Each collection is a view with the columns `id` and
        `value` (JSON text); `kedge_items` has all of them. `parameters` are bound to ?1, ?2…"""
        text, values = utf8(sql, "SQL"), as_json(several(parameters, "parameters"), "parameters")
        handle = self._open(lib.kedge_query_open, _Cursor, lib.kedge_query_close, "kedge_query **", text, len(text),
                            values, len(values))
        return Query(self, handle)

    def declare_index(self, name: str, collection: str, paths: Sequence[str]) -> None:
        """Declares an index over members of the items of a collection, and makes it: see kedge/index.h."""
        kept = [ffi.new("char[]", terminated(path, "path")) for path in several(paths, "paths")]
        array = ffi.new("char *[]", kept)
        with self._handle as db:
            call(lib.kedge_index, db, terminated(name, "name"), terminated(collection, "collection"),
                 ffi.cast("const char *const *", array), len(kept))

    def drop_index(self, name: str) -> None:
        """Drops an index."""
        with self._handle as db:
            call(lib.kedge_index_drop, db, terminated(name, "name"))

    def indexes(self) -> Indexes:
        """Iterates over the declared indexes."""
        return Indexes(self, self._open(lib.kedge_index_list_open, _Cursor, lib.kedge_index_list_close,
                                        "kedge_index_list **"))

    def stats(self) -> Stats:
        """Counters and sizes, for monitoring."""
        stats: Stats = numbers_of(Stats, self._filled("kedge_stats", lib.kedge_get_stats))
        return stats

    # Sync

    def status(self) -> SyncStatus:
        """The state of sync, without using the network."""
        return status_of(self._filled("kedge_sync_status", lib.kedge_get_sync_status))

    def set_online(self, online: bool) -> None:
        """Switches offline or online, without waiting for a connection. Once offline, no edit is sent that was made after
        the call, and no response is taken in that comes after it."""
        with self._handle as db:
            call(lib.kedge_set_online, db, online)

    def sync(self, timeout: Optional[float] = 30.0) -> None:
        """Pushes what is pending, and pulls. When it returns, the server has decided every edit made before the call.
        `timeout` is in seconds; None: no limit. Raises Timeout, NetworkFailed and others, after which no edit is lost. A
        Ctrl-C ends the wait, and sync goes on in the background."""
        limit = milliseconds(timeout)
        self._wait(lambda: self._edit(lib.kedge_sync, limit))

    def _wait(self, work: Callable[[], Made]) -> Made:
        """Does what waits for the server. Python runs signal handlers on the main thread alone, and not in a call of C: so
        another thread waits for that one. When a handler raises, it goes on until the time is over, or until the database is
        closed. A thread that runs the loop, or is in a callback, waits itself."""
        with self._handle as db:
            has_loop = lib.kedge_loop_descriptor(db) >= 0
        if has_loop or here.callbacks or threading.current_thread() is not threading.main_thread():
            return work()
        made: List[Made] = []
        raised: List[BaseException] = []

        def wait() -> None:
            try:
                made.append(work())
            except BaseException as failure:
                raised.append(failure)

        thread = threading.Thread(target=wait, name="kedge-wait", daemon=True)
        thread.start()
        thread.join()
        if raised:
            raise raised[0]
        return made[0]

    def wait(self, sequence: int, timeout: Optional[float] = 30.0) -> Outcome:
        """Waits until the edit is decided and pulled. `timeout` is in seconds; None: no limit. Raises Timeout when the edit
        is not decided yet; Cancelled when another thread closes the database."""
        outcome = ffi.new("kedge_outcome *")
        until = None if timeout is None else time.monotonic() + timeout
        while True:
            left = WAIT_SLICE_S if until is None else until - time.monotonic()
            try:
                self._edit(lib.kedge_wait, sequence, milliseconds(max(0.0, min(left, WAIT_SLICE_S))), outcome)
                return Outcome(outcome[0])
            except Timeout:
                if left < WAIT_SLICE_S:
                    raise
                if not self._handle.is_open:
                    raise Cancelled("closing", "the database was closed") from None

    def pending(self) -> Mutations:
        """Iterates over the edits that the server has not decided."""
        return self._list(lib.kedge_pending_open)

    def rejected(self) -> Mutations:
        """Iterates over the inbox of rejected edits."""
        return self._list(lib.kedge_rejected_open)

    def _list(self, function: Any) -> Mutations:
        return Mutations(self, self._open(function, _Cursor, lib.kedge_mutation_list_close, "kedge_mutation_list **"))

    def dismiss(self, sequence: int) -> None:
        """Removes a rejected edit from the inbox."""
        with self._handle as db:
            call(lib.kedge_rejected_dismiss, db, sequence)

    def dismiss_through(self, sequence: int) -> int:
        """Removes the rejected edits up to this one of `rejected()` from the inbox. Returns how many."""
        dismissed = ffi.new("size_t *")
        with self._handle as db:
            call(lib.kedge_rejected_dismiss_through, db, sequence, dismissed)
        return int(dismissed[0])

    def resubmit(self, sequence: int) -> int:
        """Makes a rejected edit again, and removes it from the inbox. Returns the new sequence."""
        made = ffi.new("int64_t *")
        self._edit(lib.kedge_rejected_resubmit, sequence, made)
        return int(made[0])

    def history(self, before: int = 0, limit: int = 100, timeout: Optional[float] = 30.0) -> List[Dict[str, Any]]:
        """Asks the server for versions of the project, newest first. `before`: only versions below this one; 0: from the
        newest on. `limit`: 1 to 100. `timeout` is in seconds; None: as long as a request may take."""
        document, timeout_ms = ffi.new("kedge_document **"), milliseconds(timeout)

        def ask() -> str:
            with self._handle:  # until the document is freed
                self._edit(lib.kedge_history, before, limit, timeout_ms, document)
                return document_text(document[0])

        versions: List[Dict[str, Any]] = json.loads(self._wait(ask))
        return versions

    # Watches

    def watch(self, callback: Callable[[List[Change]], Any], collection: Optional[str] = None) -> Watch:
        """Calls `callback` with the changes of each commit to a collection; None: to any. An empty list means: read
        everything again. It runs on Kedge's thread, or through the dispatcher, and may not wait for the server. A watch
        runs as long as it is held."""
        return self._watch(lib.kedge_watch, lib.kedge_python_changes, callback, watch_handle, "kedge_watch_token **",
                           terminated_or_null(collection, "collection"))

    def watch_status(self, callback: Callable[[SyncStatus], Any]) -> Watch:
        """Calls `callback` with the status of now, and whenever it has changed."""
        return self._watch(lib.kedge_watch_sync_status, lib.kedge_python_sync_status, callback, sync_watch_handle,
                           "kedge_sync_watch **")

    def watch_rejected(self, callback: Callable[[Mutation], Any]) -> Watch:
        """Calls `callback` with each edit in the inbox, and each that comes."""
        return self._watch(lib.kedge_watch_rejected, lib.kedge_python_rejected, callback, sync_watch_handle,
                           "kedge_sync_watch **")

    def watch_query(self, callback: Callable[[ResultChanges], Any], sql: str, parameters: Sequence[Any] = ()) -> Watch:
        """Calls `callback` with the whole result of a query, and then with the rows that differ. The first column is the
        key of a row: it is not NULL, and another one in each row. See kedge_watch_query of kedge/watch.h."""
        text, values = utf8(sql, "SQL"), as_json(several(parameters, "parameters"), "parameters")
        return self._watch(lib.kedge_watch_query, lib.kedge_python_result, callback, query_watch_handle,
                           "kedge_query_watch **", text, len(text), values, len(values))

    def _watch(self, function: Any, trampoline: Any, callback: Any, handle_of: Callable[[Any], Handle], result: str,
               *arguments: Any) -> Watch:
        made, userdata = ffi.new(result), keep(callback)
        try:
            with self._handle as db:
                make(made, lambda pointer: handle_of(pointer).close(), function, db, *arguments, trampoline, userdata,
                     lib.kedge_python_free)
                handle = handle_of(made[0])
                handle.join(self._children)
        except Error:
            drop(userdata)
            raise
        return Watch(self, handle)

    def changes(self, collection: Optional[str] = None) -> Stream[List[Change]]:
        """The changes of each commit, for `async for`: see watch(). When 64 commits wait, they become one empty list:
        read everything again."""
        def shorten(waiting: Deque[List[Change]]) -> None:
            waiting.clear()
            waiting.append([])

        return Stream(lambda tell: self.watch(tell, collection), COMMITS_MAX, shorten)

    def results(self, sql: str, parameters: Sequence[Any] = ()) -> Stream[List[Tuple[Any, ...]]]:
        """The whole result of a query, and again whenever it has changed, for `async for`. Of several that wait only the
        last is told. What watch_query() tells as an error is logged; the next result follows it. Only "result-lost" is
        raised, and ends the stream."""
        def start(tell: Callable[[Union[List[Tuple[Any, ...]], Error]], None]) -> Watch:
            rows: List[Tuple[Any, ...]] = []
            lost = False

            def take(changes: ResultChanges) -> None:
                nonlocal lost
                if lost:
                    return  # what is told from now on does not fit to the rows
                lost = changes.is_lost
                if changes.error is None:
                    changes.apply(rows)
                    tell(list(rows))
                elif lost:
                    tell(changes.error)
                else:
                    raise changes.error

            return self.watch_query(take, sql, parameters)

        return Stream(start, 1, lambda waiting: waiting.popleft())

    def statuses(self) -> Stream[SyncStatus]:
        """The status of now and each later one, for `async for`. Of several that wait only the last is told."""
        return Stream(self.watch_status, 1, lambda waiting: waiting.popleft())

    def rejections(self) -> Stream[Mutation]:
        """Each edit of the inbox, for `async for`. Of more than 10,000 that wait the first are left out; they stay in
        the inbox."""
        return Stream(self.watch_rejected, lib.KEDGE_LIMIT_PUSH_MUTATIONS, lambda waiting: waiting.popleft())

    # The caller-driven mode

    def run_loop(self) -> float:
        """Of a database that was opened with caller_driven: does what is due, and returns after how many seconds to call
        it again at the latest, also when fileno() could not be read."""
        wait_ms = ffi.new("int32_t *")
        self._edit(lib.kedge_loop_run, wait_ms)
        return float(wait_ms[0]) / 1000

    def fileno(self) -> int:
        """The descriptor that can be read when run_loop() has something to do, for select and for event loops."""
        with self._handle as db:
            descriptor: int = lib.kedge_loop_descriptor(db)
        if descriptor < 0:
            raise InvalidArgument("not-caller-driven", "the database was not opened with caller_driven")
        return descriptor


living: Set["weakref.ref[Database]"] = set()


@atexit.register
def close_all() -> None:
    """Closes what is still open when the interpreter ends, while Kedge's threads can call functions of the app. Soon after, Python
    ends each thread that wants to run, also in the middle of a callback: a close would wait for the callback for ever."""
    for each in list(living):
        db = each()
        if db is not None:
            db.close()


def end(pointer: Any, kept: Sequence[Any]) -> None:
    """Closes a database in C, and forgets what C referred to. C refuses that in a function that it calls, where garbage
    may have been collected before the function began: then a thread does it."""
    if lib.kedge_close(pointer) == lib.KEDGE_OK:
        for each in kept:
            drop(each)
    else:
        threading.Thread(target=end, args=(pointer, kept), name="kedge-close").start()


def make(made: Any, free: Callable[[Any], Any], function: Any, *arguments: Any) -> None:
    """Calls a function that gives a pointer in its last output, `made`. A Ctrl-C may come during the call of C, and is raised
    behind it: then nobody would have the pointer."""
    try:
        try:
            call(function, *arguments, made)
        finally:
            raise_interrupt()
    except BaseException:
        if made[0] != ffi.NULL:
            free(made[0])
        raise


def document_text(document: Any) -> str:
    """The JSON of a document, which is freed."""
    size = ffi.new("size_t *")
    try:
        return sized_text(lib.kedge_document_json(document, size), size[0])
    finally:
        lib.kedge_document_free(document)


def milliseconds(seconds: Optional[float]) -> int:
    if seconds is None:
        return -1
    if not 0 <= seconds < 2**31 / 1000:
        raise InvalidArgument("timeout-invalid", "a timeout is None, or 0 to 2,147,483 seconds")
    return int(seconds * 1000)


def mutator_array(mutators: Sequence[Mutator], kept: List[Any]) -> Any:
    """The mutators for C; what it refers to is added to `kept`."""
    array = ffi.new("kedge_mutator[]", max(1, len(mutators)))
    for place, each in zip(array, mutators):
        if not isinstance(each, Mutator):
            raise InvalidArgument("mutator-invalid", f"{each!r} is no mutator: see kedge.mutator")
        userdata, name = keep(each), ffi.new("char[]", terminated(each.name, "mutator's name"))
        kept += [userdata, name]
        place.name, place.version, place.userdata = name, each.version, userdata
        place.function = lib.kedge_python_mutator
    return array


def open(path: str, *, organization: str, project: str, url: Optional[str] = None, ca_file: Optional[str] = None,
         mutators: Sequence[Mutator] = (), client_mutators: Sequence[Mutator] = (), user: Optional[str] = None,
         role: Optional[str] = None, offline: bool = False, create_project: bool = False, server_wait_ms: int = 0,
         token: Optional[Token] = None, dispatch: Optional[Dispatch] = None, log: Optional[Log] = None,
         log_level: LogLevel = LogLevel.ERROR, caller_driven: bool = False,
         schema_version: Optional[str] = None) -> Database:
    """Opens or creates the database in the folder `path`.

    `url` None: it never syncs. `mutators` are on the server, too; `client_mutators` are the app's alone. `token` gives
    the bearer token, on Kedge's thread; when it raises, the database stays offline until set_online() or the next edit,
    and `last_error` tells what it raised. `dispatch` gets a function that must be called exactly once, on a thread of
    the app's choice, such as `loop.call_soon_threadsafe`. kedge/database.h explains every option."""
    kept: List[Any] = []
    functions = keep(_Functions(token, dispatch, log))
    kept.append(functions)
    options, made = ffi.new("kedge_options *"), ffi.new("kedge_db **")
    lib.init_kedge_options(options)
    texts = {"path": path, "url": url, "ca_file": ca_file, "organization": organization, "project": project,
             "user": user, "role": role, "schema_version": schema_version}
    try:
        pointers = {name: terminated_or_null(text, name) for name, text in texts.items()}
        for name, pointer in pointers.items():
            setattr(options, name, pointer)
        arrays = mutator_array(mutators, kept), mutator_array(client_mutators, kept)
        options.mutators, options.client_mutators = arrays
        options.mutator_count, options.client_mutator_count = len(mutators), len(client_mutators)
        options.offline, options.create_project, options.caller_driven = offline, create_project, caller_driven
        options.server_wait_ms, options.log_level, options.userdata = server_wait_ms, log_level, functions
        if token is not None:
            options.token = lib.kedge_python_token
        if dispatch is not None:
            options.dispatch = lib.kedge_python_dispatch
        if log is not None:
            options.log = lib.kedge_python_log
        make(made, lambda pointer: end(pointer, kept), lib.kedge_open, options)
    except BaseException:
        if made[0] == ffi.NULL:
            for each in kept:
                drop(each)
        raise
    return Database(made[0], kept)


def repair(path: str, new_path: str) -> RepairReport:
    """Saves what can be read of a damaged folder into a new one: see kedge/repair.h."""
    report = ffi.new("kedge_repair_report *")
    lib.init_kedge_repair_report(report)
    call(lib.kedge_repair, terminated(path, "path"), terminated(new_path, "new path"), report)
    made: RepairReport = numbers_of(RepairReport, report)
    return made


def order_between(before: Optional[str], after: Optional[str], random: int = 0) -> str:
    """An order key between `before` and `after`; None is no bound. `random`: 32 random bits, so that two
    copies do not make the same key; 0 in a mutator."""
    key = ffi.new("char[]", lib.KEDGE_ORDER_KEY_SIZE)
    call(lib.kedge_order_between, terminated_or_null(before, "key"), terminated_or_null(after, "key"),
         random & 0xFFFFFFFF, key)
    return text_of(key)


def library_version() -> str:
    """The version of the C library that runs."""
    return text_of(lib.kedge_library_version())
