"""Watches: callbacks, and streams for asyncio."""
import asyncio
import collections
import contextlib
import weakref
from typing import Any, AsyncIterator, Callable, Deque, Generic, Optional, TypeVar, Union

from ._errors import Error
from ._handles import Handle, Owner
from ._library import lib

Event = TypeVar("Event")
Stream_ = TypeVar("Stream_", bound="Stream[Any]")

# As many commits of others as Kedge keeps for a callback.
COMMITS_MAX = 64


class _Watch(Handle):
    _what = "watch"


class Watch(Owner):
    """A watch with a callback, which runs until close(), the end of `with`, or the end of this object."""

    def __init__(self, db: Any, handle: Handle) -> None:
        self._db = db
        self._handle = handle


def later(loop: asyncio.AbstractEventLoop, method: "weakref.WeakMethod[Any]", *arguments: Any) -> None:
    """Calls a method in the event loop, when both are still there."""
    function = method()
    if function is not None:
        with contextlib.suppress(RuntimeError):  # the event loop is closed: nobody reads the stream any more
            loop.call_soon_threadsafe(function, *arguments)


class Stream(AsyncIterator[Event], Generic[Event]):
    """What a watch tells, for `async for`. It begins when it is made, in a running event loop, and ends with `async with`,
    aclose() or close(), and with an Error, which is raised after what waits. At most `limit` events wait: `shorten` leaves
    some out when one more comes."""

    def __init__(self, start: Callable[[Callable[[Union[Event, Error]], None]], Watch], limit: int,
                 shorten: Callable[[Deque[Event]], Any]) -> None:
        loop = asyncio.get_running_loop()
        self._waiting: Deque[Event] = collections.deque()
        self._limit = limit
        self._shorten = shorten
        self._news = asyncio.Event()
        self._failure: Optional[Error] = None
        # The watch knows the stream weakly: a stream that nobody holds any more ends.
        take, end = weakref.WeakMethod(self._take), weakref.WeakMethod(self._end)
        self._watch: Optional[Watch] = start(lambda event: later(loop, take, event))
        self._watch._handle.on_close = lambda: later(loop, end)

    def _take(self, event: Union[Event, Error]) -> None:
        if isinstance(event, Error):
            self._failure = event
        else:
            self._waiting.append(event)
            if len(self._waiting) > self._limit:
                self._shorten(self._waiting)
        self._news.set()

    def _end(self) -> None:
        self._watch = None
        self._news.set()

    def __aiter__(self: Stream_) -> Stream_:
        return self

    async def __anext__(self) -> Event:
        while not self._waiting:
            if self._failure is not None:
                failure, self._failure = self._failure, None
                self.close()
                raise failure
            if self._watch is None:
                raise StopAsyncIteration
            self._news.clear()
            await self._news.wait()
        return self._waiting.popleft()

    def close(self) -> None:
        """Ends the watch. What waits may still be read; then the iteration ends."""
        watch = self._watch
        self._end()
        if watch is not None:
            watch.close()

    async def aclose(self) -> None:
        """As close()."""
        self.close()

    async def __aenter__(self: Stream_) -> Stream_:
        return self

    async def __aexit__(self, *failure: Any) -> None:
        self.close()


def watch_handle(pointer: Any) -> Handle:
    return _Watch(pointer, lib.kedge_watch_free)


def query_watch_handle(pointer: Any) -> Handle:
    return _Watch(pointer, lib.kedge_query_watch_free)


def sync_watch_handle(pointer: Any) -> Handle:
    return _Watch(pointer, lib.kedge_sync_watch_free)
