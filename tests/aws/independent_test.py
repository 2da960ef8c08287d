#!/usr/bin/env python3
"""kedge-server takes a workload on DynamoDB and S3, in both cadences; then an independent client, boto3, reads all
of the table and the bucket and finds what docs/reference/storage.md says (layout.py), and what was pushed.

Usage: independent_test.py SERVER_PROGRAM PLUGIN. The environment names the engines and, in KEDGE_PYTHON_TOOLS, the
folder of a Python that has boto3. Ends with 77 when they are not there, or fails with KEDGE_ENGINES=required."""
import copy
import gzip
import json
import os
import pathlib
import random
import re
import secrets
import sys
import unittest

sys.dont_write_bytecode = True


def missing(what):
    required = os.environ.get("KEDGE_ENGINES") == "required"
    print(f"{'failed' if required else 'skipped'}: {what}")
    sys.exit(1 if required else 77)


for variable in ("AWS_ENDPOINT_URL_DYNAMODB", "AWS_ENDPOINT_URL_S3"):
    if not os.environ.get(variable):
        missing(f"{variable} is not set")
try:
    import boto3
except ImportError:
    tools = pathlib.Path(os.environ.get("KEDGE_PYTHON_TOOLS", "/nowhere")) / "python"
    if os.environ.get("KEDGE_SECOND_PYTHON") or not tools.exists():
        missing("there is no boto3; KEDGE_PYTHON_TOOLS names no Python that has it")
    os.environ["KEDGE_SECOND_PYTHON"] = "1"
    os.execv(tools, [str(tools), *sys.argv])

sys.path[:0] = [str(pathlib.Path(__file__).parent), str(pathlib.Path(__file__).parent.parent / "server")]
from layout import Project, Stores, Wrong, attributes, canonical, expect  # noqa: E402
from peers import Server  # noqa: E402

ODD_IDS = ["", "a/b", "ä", "\U0001f600", "\uffff", "\x01\x1f\x7f", "\"\\\n", "%2F", "a b+c", "#", "x" * 512]


class Workload:
    """Pushes to one project, and what its items must be in the end."""

    def __init__(self, server, organization, project):
        self.server, self.base = server, f"/v1/orgs/{organization}/projects/{project}"
        self.items, self.project, self.ids, self.outcomes = {}, {}, {}, {}
        self.random = random.Random(project)

    def request(self, path, body):
        status, _, response = self.server.request("POST", self.base + path, body, timeout=60)
        expect(status == 200, path, status, response)
        return response

    def push(self, client, *mutations, repeat=False, **extra):
        """Each mutation is (name, args); pushed as one body, twice with `repeat`."""
        first = self.ids.get(client, 0) + 1
        sent = [{"clientID": client, "id": first + i, "name": name, "args": args, "timestamp": 1700000000000 + i,
                 "uid": f"{self.random.getrandbits(128):032x}", **extra}
                for i, (name, args) in enumerate(mutations)]
        self.ids[client] = first + len(mutations) - 1
        body = {"pushVersion": 1, "clientGroupID": "g-" + client, "profileID": "", "schemaVersion": "",
                "kedge": {"client": client}, "mutations": sent}
        for _ in range(2 if repeat else 1):
            self.request("/push", body)

    def put(self, collection, key, value):
        self.items[collection, key] = value
        return "kedge.put", {"collection": collection, "id": key, "value": value}

    def delete(self, collection, key):
        self.items.pop((collection, key), None)
        return "kedge.delete", {"collection": collection, "id": key}

    def change(self, collection, key, **fields):
        self.items[collection, key] = {**self.items[collection, key], **fields}
        return "kedge.merge", {"collection": collection, "id": key, "patch": fields}

    def declare(self, **fields):
        self.project.update(fields)
        return "kedge.project", fields

    def text(self, size):
        """Letters that do not compress well."""
        return "".join(self.random.choices("abcdefghijklmnopqrstuvwxyz0123456789", k=size))

    def run(self):
        self.push("ann", self.declare(**{"name": "Größe", "kedge.meta": {"notes": ["title"]}}),
                  self.put("notes", "first", {"title": "One", "text": "short"}))
        self.push("bob", *[self.put("odd", key, {"id": key, "n": n}) for n, key in enumerate(ODD_IDS)])
        self.push("ann", self.put("notes", "large", {"title": "Two", "text": self.text(30000)}),
                  self.put("notes", "list", [1, 1.5, None, True, "\u2028"]), repeat=True)
        self.push("bob", ("no.such.mutator", {"x": 1}), ("kedge.patch", {"collection": "notes", "id": "gone",
                                                                          "patch": []}),
                  ("kedge.noop", None), self.change("notes", "first", text="longer", title="Eins"))
        # Edits of one collection that make a checkpoint due, and one large enough for chunks.
        self.push("cat", *[self.put("many", f"item-{n:04}", {"n": n, "text": self.text(400)}) for n in range(400)])
        for n in range(150):
            self.push("cat", self.change("many", f"item-{n % 90:04}", n=n, text=self.text(300)))
        # Versions whose args and delta do not fit their record.
        self.push("dan", *[self.put("wide", f"w{n}", {"text": self.text(6000)}) for n in range(90)])
        self.push("dan", self.put("wide", "huge", self.text(1200000)))
        self.push("ann", *[self.delete("many", f"item-{n:04}") for n in range(0, 400, 7)],
                  self.delete("odd", ODD_IDS[0]))
        # A collection whose map is long, for the cadence that writes it with each version.
        ids = [f"{n:04}" + "x" * 480 for n in range(700)]
        self.push("fay", *[self.put("long", key, 1) for key in ids])
        self.push("fay", self.put("long", ids[350], 2))
        self.rename()
        self.push("ann", self.put("notes", "last", 1), self.declare(name="small"), repeat=True)

    def rename(self):
        """A client is retired, and what it had not pushed comes under another id, twice."""
        self.push("eve", self.put("notes", "eve", {"title": "E"}))
        self.request("/clients/eve/retire", {"clientGroupID": "g-eve", "lowest_pending": 1})
        self.push("eve2", self.put("notes", "eve", {"title": "E2"}), origin={"client": "eve", "id": 2})


# ---- damages: each changes the records of acme/notes, or the blobs ----


def record_of(records, prefix, number=0):
    return sorted((r for r in records if r["sk"]["S"].startswith(prefix)), key=lambda r: r["sk"]["S"])[number]


def plain(record, name):
    content = record.get(name, {"S": ""})
    return content["S"].encode() if "S" in content else gzip.decompress(content["B"])


def rewrite(record, name, change):
    """Changes a packed attribute."""
    value = json.loads(plain(record, name))
    text = json.dumps(change(value) or value, ensure_ascii=False, separators=(",", ":"))
    record[name] = {"S": text} if len(text.encode()) <= 128 else {"B": gzip.compress(text.encode())}


def a_version_is_missing(records, stores):
    records.remove(record_of(records, "ProjectVersion#", 3))


def a_lineage_stands_twice(records, stores):
    record_of(records, "ProjectVersion#", 3)["lineage"] = record_of(records, "ProjectVersion#", 2)["lineage"]


def a_hash_is_another(records, stores):
    def change(delta):
        delta["notes"]["first"]["hash"] = "0" * 64
    rewrite(record_of(records, "ProjectVersion#"), "delta", change)


def a_deletion_is_lost(records, stores):
    def change(delta):
        delta["many"].pop("item-0007")
    deleting = next(r for r in records if b'"item-0007":null' in plain(r, "delta"))
    rewrite(deleting, "delta", change)


def args_are_others(records, stores):
    def change(args):
        args[0]["name"] = "other"
    rewrite(record_of(records, "ProjectVersion#"), "args", change)


def a_mutation_is_missing(records, stores):
    rewrite(record_of(records, "ProjectVersion#", 1), "mutations", lambda mutations: mutations[1:])


def a_count_is_wrong(records, stores):
    def change(collections):
        collections[0][4] += 1
    rewrite(record_of(records, "ProjectVersion#", -1), "collections", change)


def a_run_is_forgotten(records, stores):
    through = record_of(records, "ProjectVersion#", -1)
    through["indexed_through"] = {"N": str(int(through["indexed_through"]["N"]) - 1)}


def a_row_is_missing(records, stores):
    records.remove(record_of(records, "Mutation#ann#"))


def a_row_is_of_nothing(records, stores):
    row = copy.deepcopy(record_of(records, "Group#g-ann#"))
    row["sk"]["S"] += "x"
    records.append(row)


def a_row_has_another_lineage(records, stores):
    record_of(records, "Group#g-ann#")["lineage"] = {"S": "0" * 32}


def an_outcome_is_another(records, stores):
    def change(outcomes):
        outcomes[0][1] = 2
    rewrite(record_of(records, "Mutation#bob#"), "outcomes", change)


def a_checkpoint_is_old(records, stores):
    root = record_of(records, "Collection#many#", -1)
    root["items"] = {"N": str(int(root["items"]["N"]) - 1)}


def a_checkpoint_is_anothers(records, stores):
    record_of(records, "Collection#many#")["version"] = {"N": "1"}


def an_attribute_is_unknown(records, stores):
    record_of(records, "ProjectVersion#")["more"] = {"S": "x"}


def a_number_is_text(records, stores):
    record_of(records, "ProjectVersion#")["created"] = {"S": "1"}


def a_key_is_of_no_kind(records, stores):
    record_of(records, "ProjectVersion#")["sk"] = {"S": "ProjectVersion#1"}


def a_body_is_missing(records, stores):
    gone = next(key for key in stores.blobs if key.startswith("acme/projects/notes/notes/"))
    del stores.blobs[gone], stores.texts[gone]


def a_body_is_another(records, stores):
    changed = next(key for key in stores.blobs if key.startswith("acme/projects/notes/notes/"))
    stores.texts[changed] += " "


DAMAGES = [value for name, value in list(globals().items()) if re.match(r"(a|an|args)_", name)]


class Independent(unittest.TestCase):
    def check(self, cadence):
        name = "kedge-independent-" + secrets.token_hex(6)
        server = Server(["--table", name, "--bucket", name, "--create"], "--open", "--cadence", cadence)
        try:
            loads = [Workload(server, "acme", "notes"), Workload(server, "zeta", "notes"),
                     Workload(server, "acme", "small")]
            loads[0].run()
            for load in loads[1:]:
                load.push("ann", load.put("notes", "n", {"org": load.base}))
            self.assertEqual(server.stop(), 0, server.logged())
            stores = Stores(name, name)
            self.read(stores, loads, cadence)
            self.damage(stores, cadence)
        finally:
            server.stop()
            server.log.close()
            remove(name)

    def read(self, stores, loads, cadence):
        self.check_table(stores)
        organizations, records = stores.partitions()
        self.assertEqual({o: set(p) for o, p in organizations.items()}, {"acme": {"notes", "small"}, "zeta": {"notes"}})
        self.assertEqual(set(records), {("acme", "notes"), ("acme", "small"), ("zeta", "notes")})
        self.check_inverted(stores, organizations)
        for load in loads:
            organization, name = load.base.split("/")[3::2]
            project = Project(stores, organization, name, organizations[organization][name],
                              records[organization, name], cadence)
            indexed = project.check_index()
            roots, chunked = project.check_checkpoints()
            self.compare(project.values(), load.items)
            self.assertEqual(project.lmids, load.ids)
            if load is loads[0]:
                self.check_workload(project, load, indexed, roots, chunked, cadence)
        # Nothing stands in the bucket that no record leads to.
        self.assertEqual(set(stores.blobs) - stores.used, set())

    def compare(self, found, expected):
        """Without the text of a whole project in the message."""
        wrong = [key for key in set(found) | set(expected) if found.get(key, self) != expected.get(key, self)]
        self.assertEqual(wrong, [])

    def check_workload(self, project, load, indexed, roots, chunked, cadence):
        """The workload reached what it is there for."""
        versions = [project.rows["version"][(f"{n + 1:012}",)] for n in range(len(project.at))]
        self.assertEqual(versions[-1]["project"], canonical(load.project))
        self.assertEqual(set(project.retired), {"eve"})
        self.assertEqual(len(project.origins), 1)
        self.assertTrue(any("args_parts" in version for version in versions))
        if cadence == "seed":
            self.assertEqual(indexed, len(project.at))
            changes = sum(row[2] == n + 1 for n, version in enumerate(versions) for row in version["collections"])
            self.assertEqual(len(roots), changes)
            self.assertTrue(any(root[0]["parts"] > 1 for root in roots.values()))
        else:
            self.assertTrue(any("delta_parts" in version for version in versions))
            self.assertGreater(indexed, 100)
            self.assertGreater(chunked, 0)

    def damage(self, stores, cadence):
        """Every kind of damage is noticed: the checks are seen failing."""
        _, records = stores.partitions()
        whole, blobs, texts = records["acme", "notes"], dict(stores.blobs), dict(stores.texts)
        for damage in DAMAGES:
            damaged = copy.deepcopy(whole)
            organizations, _ = stores.partitions()
            damage(damaged, stores)
            with self.subTest(damage.__name__), self.assertRaises(Wrong):
                project = Project(stores, "acme", "notes", organizations["acme"]["notes"], damaged, cadence)
                project.check_index()
                project.check_checkpoints()
            stores.blobs, stores.texts = dict(blobs), dict(texts)

    def check_table(self, stores):
        table = stores.dynamodb.describe_table(TableName=stores.table)["Table"]
        keys = [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}]
        self.assertEqual(table["KeySchema"], keys)
        self.assertEqual({a["AttributeName"]: a["AttributeType"] for a in table["AttributeDefinitions"]},
                         {"pk": "S", "sk": "S", "inverted": "S"})
        self.assertEqual(table["BillingModeSummary"]["BillingMode"], "PAY_PER_REQUEST")
        (index,) = table["GlobalSecondaryIndexes"]
        self.assertEqual(index["IndexName"], "inverted")
        self.assertEqual(index["KeySchema"], [{"AttributeName": "inverted", "KeyType": "HASH"},
                                              {"AttributeName": "pk", "KeyType": "RANGE"}])
        self.assertEqual(index["Projection"]["ProjectionType"], "ALL")

    def check_inverted(self, stores, organizations):
        """The index leads from a project's name to its organizations, and holds nothing else."""
        indexed = list(stores.pages("scan", IndexName="inverted"))
        expected = [record for projects in organizations.values() for record in projects.values()]
        order = lambda record: (record["pk"]["S"], record["sk"]["S"])
        self.assertEqual(sorted(indexed, key=order), sorted(expected, key=order))
        found = list(stores.pages("query", IndexName="inverted", KeyConditionExpression="inverted = :name",
                                  ExpressionAttributeValues={":name": {"S": "notes"}}))
        self.assertEqual([record["pk"]["S"] for record in found], ["Org#acme", "Org#zeta"])

    def test_the_compact_cadence_is_as_the_page_says(self):
        self.check("compact")

    def test_the_seed_cadence_is_as_the_page_says(self):
        self.check("seed")


def remove(name):
    """The table and the bucket of a test, however far it came."""
    dynamodb, s3 = boto3.client("dynamodb"), boto3.resource("s3")
    if name in dynamodb.list_tables()["TableNames"]:
        dynamodb.delete_table(TableName=name)
    for bucket in s3.buckets.all():
        if bucket.name == name:
            bucket.objects.delete()
            bucket.delete()


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
