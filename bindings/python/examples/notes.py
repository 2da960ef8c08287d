"""Notes in a terminal, which work offline.

    python notes.py FOLDER [--url URL] [--project NAME] COMMAND

    list                    all notes
    add TEXT                a new note; prints its id
    edit ID TEXT            what others write in the same note is merged with it
    delete ID
    pending                 edits that the server has not decided
    inbox                   edits that it has rejected, with the reason
    dismiss SEQUENCE        forgets one of them
    sync                    sends and fetches, and says what came of it
    live                    syncs, and shows each change as it comes, until a note with the text "bye"

Every command but `sync` and `live` works without a network.
"""
import argparse
import asyncio
import sys
import uuid

import kedge

COLLECTION = "notes"


def show_list(db):
    for id, text in db.query("SELECT id, value ->> 'text' FROM notes ORDER BY value ->> 'text'"):
        print(f"{id}  {text}")


def add(db, text):
    id = uuid.uuid4().hex[:8]
    db.mutate("kedge.put", {"collection": COLLECTION, "id": id, "value": {"text": text}})
    print(id)


def edit(db, id, text):
    db.edit_text(COLLECTION, id, text, path="/text")


def delete(db, id):
    db.mutate("kedge.delete", {"collection": COLLECTION, "id": id})


def show_pending(db):
    for mutation in db.pending():
        if mutation.name != "kedge.noop":  # what a cancelled edit has become
            print(mutation.sequence, mutation.name, mutation.args["id"])


def show_inbox(db):
    for mutation in db.rejected():
        print(mutation.sequence, mutation.name, f"{mutation.code}: {mutation.message}")


def dismiss(db, sequence):
    db.dismiss(int(sequence))


def sync(db):
    db.set_online(True)
    db.sync(timeout=10)
    status = db.status()
    print(f"version {status.version}, {status.pending} pending, {status.rejected} rejected")


async def show_live(db):
    db.set_online(True)
    async with db.changes(COLLECTION) as changes:
        await asyncio.to_thread(db.sync, 10)
        print("live", flush=True)
        async for commit in changes:
            if not commit:  # more than is listed: read everything again
                show_list(db)
            for change in commit:
                text = change.new["text"] if change.new else "(deleted)"
                print(change.source.name.lower(), change.id, text, flush=True)
                if text == "bye":
                    return


COMMANDS = {"list": show_list, "add": add, "edit": edit, "delete": delete, "pending": show_pending, "inbox": show_inbox,
            "dismiss": dismiss, "sync": sync, "live": lambda db: asyncio.run(show_live(db))}


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("folder")
    parser.add_argument("--url")
    parser.add_argument("--project", default="notes")
    parser.add_argument("command", choices=COMMANDS)
    parser.add_argument("words", nargs="*")
    given = parser.parse_args()
    try:
        with kedge.open(given.folder, url=given.url, organization="demo", project=given.project, offline=True) as db:
            COMMANDS[given.command](db, *given.words)
    except kedge.Error as failure:
        sys.exit(str(failure))


if __name__ == "__main__":
    main()
