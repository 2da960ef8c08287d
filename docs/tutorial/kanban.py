"""The board of kanban.c in Python: the same commands and folders."""
import os
import random
import sys

import kedge


def put(db, collection, id, value):
    db.mutate("kedge.put", {"collection": collection, "id": id, "value": value})


def last_place(db):
    """A place after everything that is there. Two copies never make the same one."""
    [[last]] = db.query("SELECT max(value ->> 'order') FROM kedge_items")
    return kedge.order_between(last, None, random.getrandbits(32))


def column(db, id, title):
    put(db, "columns", id, {"text": title, "order": last_place(db)})


def card(db, id, column, title):
    put(db, "cards", id, {"in": column, "text": title, "order": last_place(db)})


def label(db, card, name):
    db.mutate("kedge.merge", {"collection": "cards", "id": card, "patch": {"labels": {name: True}}})


def comment(db, card, words):
    key = last_place(db)
    put(db, "comments", key, {"in": card, "text": words, "order": key})


def move(db, card, column):
    """The server rejects it when somebody else has moved the card meanwhile."""
    db.mutate("kedge.patch", {"collection": "cards", "id": card, "patch": [
        {"op": "test", "path": "/in", "value": db.get("cards", card)["in"]},
        {"op": "replace", "path": "/in", "value": column},
        {"op": "replace", "path": "/order", "value": last_place(db)}]})


def delete(db, card):
    """A card and its comments go as one."""
    with db.batch() as batch:
        for collection, id in db.query("SELECT collection, id FROM kedge_items WHERE id = ?1 OR value ->> 'in' = ?1",
                                       [card]):
            batch.mutate("kedge.delete", {"collection": collection, "id": id})


def show(db, level=0, parent=""):
    """Columns, their cards, and the comments of each."""
    levels = ["columns", "cards", "comments"]
    if level == len(levels):
        return
    for id, line in db.query("SELECT id, value ->> 'text' || coalesce(' ' || (value ->> 'labels'), '') FROM "
                             "kedge_items WHERE collection = ?1 AND coalesce(value ->> 'in', '') = ?2 "
                             "ORDER BY value ->> 'order', id", [levels[level], parent]):
        print("  " * level + line)
        show(db, level + 1, id)


def inbox(db):
    """Edits that the server rejected, with the reason."""
    for edit in db.rejected():
        print(f"{edit.name}, {edit.code}: {edit.message}")


def sync(db):
    db.set_online(True)
    db.sync(timeout=10)


def main(folder="board", command="show", *given):
    commands = [column, card, label, comment, move, delete, show, inbox, sync]
    try:
        with kedge.open(folder, url=os.environ.get("KANBAN_URL"), organization="demo", project="board",
                        offline=True) as db:
            {each.__name__: each for each in commands}[command](db, *given)
    except kedge.Error as failure:
        sys.exit(str(failure))


main(*sys.argv[1:])
