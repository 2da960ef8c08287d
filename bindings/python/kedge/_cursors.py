"""Cursors: items of a collection, rows of a query, edits of a list."""
import json
from typing import Any, Callable, Generic, Iterator, Tuple, TypeVar

from ._errors import call, text_of
from ._handles import Handle, Owner
from ._library import ffi, lib
from ._records import Index, Mutation, mutation_of
from ._texts import sized_text

Row = TypeVar("Row")


class Cursor(Owner, Iterator[Row], Generic[Row]):
    """An iterator on one snapshot. It is closed when it is exhausted, at the end of `with`, and with its database. Several
    threads may use it, one after the other."""

    def __init__(self, db: Any, handle: Handle) -> None:
        self._db = db  # which lives as long as its cursors
        self._handle = handle

    def __iter__(self) -> "Cursor[Row]":
        return self

    def __next__(self) -> Row:
        if not self._handle.is_open and self._is_over:
            raise StopIteration
        with self._handle as pointer:
            found = self._step(pointer)
            row = self._row(pointer) if found else None
        if found:
            return self._made(row)
        self._is_over = True
        self.close()
        raise StopIteration

    _is_over = False

    def _step(self, pointer: Any) -> bool:
        raise NotImplementedError

    def _row(self, pointer: Any) -> Any:
        raise NotImplementedError

    def _made(self, row: Any) -> Row:
        """The row as the app gets it. The handle is no longer in use: a function of the app may use or close the cursor."""
        made: Row = row
        return made


class _Cursor(Handle):
    _what = "cursor"


class Scan(Cursor[Tuple[str, Any]]):
    """The items of a collection as pairs of id and value."""

    def __init__(self, db: Any, handle: Handle, parse: Callable[[str], Any]) -> None:
        super().__init__(db, handle)
        self._parse = parse
        self._id, self._id_size = ffi.new("const char **"), ffi.new("size_t *")
        self._value, self._value_size = ffi.new("const char **"), ffi.new("size_t *")

    def _step(self, pointer: Any) -> bool:
        return call(lib.kedge_scan_next, pointer, self._id, self._id_size, self._value, self._value_size)

    def _row(self, pointer: Any) -> Tuple[str, str]:
        return sized_text(self._id[0], self._id_size[0]), sized_text(self._value[0], self._value_size[0])

    def _made(self, row: Tuple[str, str]) -> Tuple[str, Any]:
        id, text = row
        return id, self._parse(text)


class Query(Cursor[Tuple[Any, ...]]):
    """The rows of a query as tuples of None, int, float, str and bytes. `columns` has the names."""

    columns: Tuple[str, ...]

    def __init__(self, db: Any, handle: Handle) -> None:
        super().__init__(db, handle)
        self._size = ffi.new("size_t *")
        with handle as pointer:
            self.columns = tuple(text_of(lib.kedge_query_column_name(pointer, column))
                                 for column in range(lib.kedge_query_column_count(pointer)))

    def _step(self, pointer: Any) -> bool:
        return call(lib.kedge_query_next, pointer)

    def _row(self, pointer: Any) -> Tuple[Any, ...]:
        return tuple(self._value(pointer, column) for column in range(len(self.columns)))

    def _value(self, pointer: Any, column: int) -> Any:
        kind = lib.kedge_query_column_type(pointer, column)
        if kind == lib.KEDGE_COLUMN_NULL:
            return None
        if kind == lib.KEDGE_COLUMN_INTEGER:
            return lib.kedge_query_integer(pointer, column)
        if kind == lib.KEDGE_COLUMN_REAL:
            return lib.kedge_query_real(pointer, column)
        found = lib.kedge_query_text(pointer, column, self._size)
        if kind == lib.KEDGE_COLUMN_BLOB:
            return ffi.unpack(found, self._size[0]) if self._size[0] else b""
        return sized_text(found, self._size[0])


class Mutations(Cursor[Mutation]):
    """Pending or rejected edits, in order of sequence."""

    def __init__(self, db: Any, handle: Handle) -> None:
        super().__init__(db, handle)
        self._filled = ffi.new("kedge_mutation *")
        lib.init_kedge_mutation(self._filled)

    def _step(self, pointer: Any) -> bool:
        return call(lib.kedge_mutation_list_next, pointer, self._filled)

    def _row(self, pointer: Any) -> Mutation:
        return mutation_of(self._filled)


class Indexes(Cursor[Index]):
    """The declared indexes, in order of declaration."""

    def __init__(self, db: Any, handle: Handle) -> None:
        super().__init__(db, handle)
        self._filled = [ffi.new("const char **") for _ in range(3)]

    def _step(self, pointer: Any) -> bool:
        return call(lib.kedge_index_list_next, pointer, *self._filled)

    def _row(self, pointer: Any) -> Index:
        name, collection, paths = (text_of(each[0]) for each in self._filled)
        return Index(name, collection, json.loads(paths))
