"""Several edits as one, and groups of edits that are undone together."""
import contextlib
from typing import Any, Optional

from ._errors import Error, call
from ._handles import Handle, Owner
from ._library import ffi, lib
from ._mutators import edit
from ._texts import as_json, terminated


class _Batch(Handle):
    _what = "batch"


class Batch(Owner):
    """Edits that are made together, or not at all. `with` makes them at its end, unless an exception leaves it.
    `sequence` is then the batch's; it is None before, and of a batch without edits."""

    def __init__(self, db: Any, handle: Handle) -> None:
        self._db = db
        self._handle = handle
        self._count = 0
        self.sequence: Optional[int] = None

    def mutate(self, name: str, args: Any) -> None:
        """Adds an edit, which does not run before the batch is committed."""
        data = as_json(args, "args")
        with self._handle as batch:
            call(lib.kedge_batch_add, batch, terminated(name, "name"), data, len(data))
            self._count += 1

    def commit(self) -> int:
        """Makes the edits, and returns the sequence. The batch is then empty, and may be filled again."""
        sequence = ffi.new("int64_t *")
        edit(self._handle, lib.kedge_batch_commit, sequence)
        self._count = 0
        self.sequence = int(sequence[0])
        return self.sequence

    def __exit__(self, kind: Any = None, *failure: Any) -> None:
        try:
            if kind is None and self._count:
                self.commit()
        finally:
            self.close()


class UndoGroup:
    """The edits that this thread makes inside of `with` are undone together. They stand when an exception leaves it, which
    goes before what the end of the group raises."""

    def __init__(self, db: Any, label: str) -> None:
        self._db = db
        self._label = terminated(label, "label")

    def __enter__(self) -> None:
        with self._db._handle as db:
            call(lib.kedge_undo_begin, db, self._label)

    def __exit__(self, kind: Any = None, *failure: Any) -> None:
        with contextlib.nullcontext() if kind is None else contextlib.suppress(Error), self._db._handle as db:
            call(lib.kedge_undo_end, db)
