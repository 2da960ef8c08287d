"""As hello.c, in Python: the note "py"."""
import os
import sys

import kedge

folder, url = sys.argv[1:]
with kedge.open(folder, url=url, organization="acme", project="todo", token=lambda: os.environ["KEDGE_TOKEN"]) as db:
    db.mutate("kedge.put", {"collection": "notes", "id": "py", "value": {"text": "hi"}})
    db.sync(timeout=30)
    print(db.get("notes", "py", parse=str))
