"""What the C library gives and takes back: used while it is open, by as many threads as it allows, freed once."""
import os
import threading
from typing import Any, Callable, List, Optional, Set, TypeVar

from ._errors import Closed, InvalidArgument


class Here(threading.local):
    """What this thread does just now."""
    callbacks = 0  # how deep it is in functions that Kedge calls
    mutators = 0  # and in mutators
    raised: Optional[BaseException] = None  # by the mutator that failed last
    interrupt: Optional[KeyboardInterrupt] = None  # that came in a function that C has called

    def __init__(self) -> None:
        self.handles: List[Handle] = []  # that this thread is in a use of: one for each use


here = Here()


def keep_interrupt(raised: BaseException) -> None:
    """A Ctrl-C comes on the main thread, also in a function that C has called there. It cannot go through C."""
    if isinstance(raised, KeyboardInterrupt):
        here.interrupt = raised


def raise_interrupt() -> None:
    """Raises what keep_interrupt() has kept, behind the call of C."""
    interrupt, here.interrupt = here.interrupt, None
    if interrupt is not None:
        raise interrupt from None


class Process:
    """This process. A child of a fork has none of its parent's threads, so it can neither use nor close what is open."""
    forks = 0  # from the first process down to this one


def count_fork() -> None:
    Process.forks += 1


os.register_at_fork(after_in_child=count_fork)


def refuse_callback(what: str) -> None:
    """Kedge waits for callbacks to end. One that waits for Kedge in turn would never do so."""
    if here.callbacks or here.mutators:
        raise InvalidArgument("called-back", f"{what} may not be called in a function that Kedge calls")


def refuse_mutator() -> None:
    """A mutator runs while Kedge holds its locks, and sees nothing but its transaction."""
    if here.mutators:
        raise InvalidArgument("called-back", "a mutator may only use its transaction")


def refuse_close(what: str, held: bool) -> None:
    """A signal handler, a __del__ or a callback of a weak reference may run in the middle of a use, on the thread of that use.
    A close there would free what the use goes on with, or wait for its end."""
    refuse_mutator()
    if held:
        raise InvalidArgument("called-back", f"the {what} cannot be closed in a call of it on the same thread, as by a signal "
                              "handler or a __del__; close it when that call has returned, or on another thread")


def close_forgotten(close: Callable[[], None]) -> None:
    """Closes what nobody holds any more. Garbage is collected on any thread, also in a function that Kedge calls or in a use
    of a handle. A close there could wait for that function, or for one that waits for the handle: then a thread does it."""
    if here.callbacks or here.mutators or here.handles:
        threading.Thread(target=close, name="kedge-close").start()
    else:
        close()


class Handle:
    """A pointer of the C library. `with handle as pointer:` is a use of it, and raises Closed after close()."""

    _what = "handle"

    def __init__(self, pointer: Any, free: Callable[[Any], Any]) -> None:
        self._pointer: Any = pointer
        self._free = free
        self._forks = Process.forks
        self._lock = threading.RLock()
        self._freed = threading.Event()
        self._siblings: Set[Handle] = set()  # of the same database, which are closed before it
        self.on_close: Optional[Callable[[], None]] = None

    def _refuse(self) -> None:
        refuse_mutator()
        if self._forks != Process.forks:
            raise InvalidArgument("forked", f"the {self._what} is its parent process's; open the database in this one, too")

    def __enter__(self) -> Any:
        self._refuse()
        here.handles.append(self)  # before the lock: what runs in between does not wait for this thread
        try:
            return self._begin()
        except BaseException:
            here.handles.remove(self)
            raise

    def __exit__(self, *failure: Any) -> None:
        try:
            self._end()
        finally:
            here.handles.remove(self)

    def _begin(self) -> Any:
        if here.handles.count(self) > 1:
            raise InvalidArgument("called-back", f"the {self._what} is in use by this thread: use it again when that call has "
                                  "returned")
        self._lock.acquire()
        if self._pointer is None:
            self._lock.release()
            raise Closed(self._what)
        return self._pointer

    def _end(self) -> None:
        self._lock.release()

    @property
    def is_open(self) -> bool:
        return self._pointer is not None and self._forks == Process.forks

    def close(self) -> None:
        """Frees what it holds. Closing twice does nothing."""
        if self.is_open:
            refuse_close(self._what, self in here.handles)
            here.handles.append(self)  # who closes the database in between would wait for the end of this
            try:
                self._close()
            finally:
                here.handles.remove(self)

    def _close(self) -> None:
        pointer = self.stop()
        if pointer is not None:
            try:
                self._free(pointer)  # without the lock: a watch waits here for its callback, which may close it, too
            finally:  # also when it ends with a KeyboardInterrupt, which comes after the call of C
                self._siblings.discard(self)
                self._freed.set()
                if self.on_close is not None:
                    self.on_close()

    def join(self, siblings: "Set[Handle]") -> None:
        """From now on it is among the open handles of a database, which holds them even when nobody else does. Weak
        references would not do: Python clears them before it runs __del__, and in between the database might be closed
        without these handles."""
        siblings.add(self)
        self._siblings = siblings

    def close_and_wait(self) -> None:
        """As close(), and waits for a thread that is closing it already."""
        self.close()
        self._freed.wait()

    def stop(self) -> Any:
        """From now on nobody may begin to use it. Returns the pointer; None: it was stopped before, or is not this
        process's."""
        if self._forks != Process.forks:
            return None  # a thread that the child does not have may hold the lock
        with self._lock:
            pointer, self._pointer = self._pointer, None
            return pointer


class SharedHandle(Handle):
    """One that several threads may use at once. close() waits for those that do."""

    def __init__(self, pointer: Any, free: Callable[[Any], Any]) -> None:
        super().__init__(pointer, free)
        self._users = 0
        self._changed = threading.Condition(self._lock)

    def _begin(self) -> Any:
        with self._lock:
            if self._pointer is None:
                raise Closed(self._what)
            self._users += 1
            return self._pointer

    def _end(self) -> None:
        with self._changed:
            self._users -= 1
            self._changed.notify_all()

    def resume(self, pointer: Any) -> None:
        """Takes a stop() back."""
        with self._lock:
            self._pointer = pointer

    def wait_for_users(self) -> None:
        here.handles.append(self)  # as long as it has the lock
        try:
            with self._changed:
                self._changed.wait_for(lambda: self._users == 0)
        finally:
            here.handles.remove(self)


Own = TypeVar("Own", bound="Owner")


class Owner:
    """A public object that owns a handle: a context manager, closed with its database at the latest."""

    _handle: Handle

    def close(self) -> None:
        """Ends it and frees what it holds. Closing twice does nothing."""
        self._handle.close()

    def __enter__(self: Own) -> Own:
        return self

    def __exit__(self, *failure: Any) -> None:
        self.close()

    def __del__(self) -> None:
        handle = getattr(self, "_handle", None)
        if handle is not None and handle.is_open:
            close_forgotten(handle.close)
