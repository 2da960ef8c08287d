"""A shopping list that works offline: shopping FOLDER list|add|take|inbox|sync [WHAT]."""
import os
import sys

import kedge


@kedge.mutator("list.take")
def take(tx, args):
    """Takes a thing, unless somebody else has taken it."""
    if tx.get("things", args["id"]) != "wanted":
        tx.reject("taken", "somebody has taken it")
    tx.put("things", args["id"], "taken")


def run(db, command, what):
    if command == "list":
        for id, state in db.scan("things", parse=str):
            print(f"{id}: {state}")
    elif command == "inbox":
        for edit in db.rejected():
            print(edit.args_json, edit.message)
    elif command == "sync":
        db.set_online(True)
        db.sync(timeout=10)
    elif command == "take":
        db.mutate("list.take", {"id": what})
    else:
        db.mutate("kedge.put", {"collection": "things", "id": what, "value": "wanted"})


def main(folder="list", command="list", what=""):
    with kedge.open(folder, url=os.environ.get("SHOPPING_URL"), organization="demo", project="shopping", offline=True,
                    client_mutators=[take]) as db:  # the server needs no code
        try:
            run(db, command, what)
        except kedge.Error as failure:
            print(failure)


main(*sys.argv[1:])
