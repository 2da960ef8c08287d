"""The board of kanban.c in Python: the same commands and folders, on the shared library with ctypes."""
import ctypes
import json
import os
import random
import sys

kedge = ctypes.CDLL("libkedge.so.0")
text, pointer = ctypes.c_char_p, ctypes.c_void_p


# Structs carry their size, so their first members are enough here.
class Options(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32), ("size", ctypes.c_uint32), ("path", text), ("url", text),
                ("ca_file", text), ("organization", text), ("project", text), ("mutators", pointer),
                ("mutator_count", ctypes.c_size_t), ("user", text), ("role", text),
                ("offline", ctypes.c_bool)]


class Mutation(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint32), ("sequence", ctypes.c_int64), ("timestamp_ms", ctypes.c_int64),
                ("sent", ctypes.c_bool), ("withheld", ctypes.c_bool), ("name", text),
                ("args", text), ("args_size", ctypes.c_size_t), ("code", text), ("message", text)]


class Error(ctypes.Structure):
    _fields_ = [("status", ctypes.c_int), ("code", ctypes.c_char * 64),
                ("message", ctypes.c_char * 256)]


def call(name, *arguments):
    """Calls a function that takes its error last. True: it is done, False: there are no more rows."""
    error = Error()
    status = getattr(kedge, name)(*arguments, ctypes.byref(error))
    if status not in (OK, DONE):
        sys.exit(f"{error.code.decode()}: {error.message.decode()}")
    return status == OK


OK, DONE = 0, 1
kedge.kedge_query_text.restype = text
db = pointer()


def sized(value):
    """A text and its size, as most functions take them."""
    data = value.encode()
    return data, ctypes.c_size_t(len(data))


def edit(mutator, args):
    call("kedge_mutate", db, mutator.encode(), *sized(json.dumps(args)), None)


def rows(sql, *parameters, columns=1):
    query = pointer()
    call("kedge_query_open", db, *sized(sql), *sized(json.dumps(parameters)), ctypes.byref(query))
    while call("kedge_query_next", query):
        yield [(kedge.kedge_query_text(query, i, None) or b"").decode() for i in range(columns)]
    kedge.kedge_query_close(query)


def last_place():
    """A place behind everything that is there. Two copies never make the same one."""
    [[last]] = rows("SELECT max(value ->> 'order') FROM kedge_items")
    key = ctypes.create_string_buffer(KEY_SIZE)
    call("kedge_order_between", last.encode(), None, ctypes.c_uint32(random.getrandbits(32)), key)
    return key.value.decode()


KEY_SIZE = 256


def column(id, title):
    edit("kedge.put", {"collection": "columns", "id": id, "value": {"text": title, "order": last_place()}})


def card(id, column, title):
    value = {"in": column, "text": title, "order": last_place()}
    edit("kedge.put", {"collection": "cards", "id": id, "value": value})


def label(card, name):
    edit("kedge.merge", {"collection": "cards", "id": card, "patch": {"labels": {name: True}}})


def comment(card, words):
    key = last_place()
    edit("kedge.put", {"collection": "comments", "id": key, "value": {"in": card, "text": words, "order": key}})


def move(card, column):
    """The server rejects it when somebody else has moved the card meanwhile."""
    found = [row[0] for row in rows("SELECT value ->> 'in' FROM kedge_items WHERE id = ?1", card)]
    edit("kedge.patch", {"collection": "cards", "id": card, "patch": [
        {"op": "test", "path": "/in", "value": found[0] if found else ""},
        {"op": "replace", "path": "/in", "value": column},
        {"op": "replace", "path": "/order", "value": last_place()}]})


def delete(card):
    """A card and its comments go as one."""
    batch = pointer()
    call("kedge_batch_begin", db, ctypes.byref(batch))
    for [args] in rows("SELECT json_object('collection', collection, 'id', id) FROM kedge_items "
                       "WHERE id = ?1 OR value ->> 'in' = ?1", card):
        call("kedge_batch_add", batch, b"kedge.delete", *sized(args))
    call("kedge_batch_commit", batch, None)
    kedge.kedge_batch_free(batch)


def show(level=0, parent=""):
    """Columns, their cards, and the comments of each."""
    levels = ["columns", "cards", "comments"]
    if level == len(levels):
        return
    for id, line in rows("SELECT id, value ->> 'text' || coalesce(' ' || (value ->> 'labels'), '') FROM "
                         "kedge_items WHERE collection = ?1 AND coalesce(value ->> 'in', '') = ?2 "
                         "ORDER BY value ->> 'order', id", levels[level], parent, columns=2):
        print("  " * level + line)
        show(level + 1, id)


def inbox():
    """Edits that the server rejected, with the reason."""
    rejected, row = pointer(), Mutation(size=ctypes.sizeof(Mutation))
    call("kedge_rejected_open", db, ctypes.byref(rejected))
    while call("kedge_mutation_list_next", rejected, ctypes.byref(row)):
        print(f"{row.name.decode()}, {row.code.decode()}: {row.message.decode()}")
    kedge.kedge_mutation_list_close(rejected)


def sync():
    call("kedge_set_online", db, ctypes.c_bool(True))
    call("kedge_sync", db, 10000)


def main(folder="board", command="show", *given):
    commands = [column, card, label, comment, move, delete, show, inbox, sync]
    url = os.environ.get("KANBAN_URL")
    options = Options(version=1, size=ctypes.sizeof(Options), path=folder.encode(),
                      url=url.encode() if url else None, organization=b"demo", project=b"board",
                      offline=True)
    call("kedge_open", ctypes.byref(options), ctypes.byref(db))
    {each.__name__: each for each in commands}[command](*given)
    kedge.kedge_close(db)


main(*sys.argv[1:])
