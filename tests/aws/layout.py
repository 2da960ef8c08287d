"""A table and a bucket, read by boto3 and held to docs/reference/storage.md. Nothing here is shared with the code
that wrote them: keys, packing, hashes, canonical JSON and folding are done again, from the page alone."""
import gzip
import hashlib
import json
import re

import boto3
import botocore.config

NAME, CLIENT = r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}", r"[A-Za-z0-9_-]{1,128}"
RETIRED = "9" * 16
ITEM_INLINE, PACKED_TEXT, CHUNK = 8192, 128, 262144
OUTCOMES = {"applied": 0, "rejected": 1, "duplicate": 2}

# Sort keys of a project's partition, by what they are.
KEYS = {
    "version": rf"ProjectVersion#pv_(\d{{12}})",
    "checkpoint": rf"Collection#({NAME})#cv_(\d{{12}})#(\d{{4}})",
    "run": rf"Mutation#({CLIENT})#(\d{{16}})",
    "origin": rf"Origin#({CLIENT})#(\d{{16}})#([0-9a-f]{{32}})",
    "group": rf"Group#({CLIENT})#({CLIENT})",
    "fork": rf"Fork#pv_(\d{{12}})",
}
# Attributes: their types (P: packed), and whether they may be absent ("?").
PROJECT = {"created": "N", "lineage": "S", "inverted": "S", "forked": "S?"}
ROW = {"version": "N", "lineage": "S"}
ATTRIBUTES = {
    "version": {"format": "N", "lineage": "S", "created": "N", "project": "S?", "project_changed": "N",
                "indexed_through": "N", "retired": "S?", "forked": "S?", "collections": "P", "runs": "P",
                "recent": "P", "mutations": "P", "args": "P?", "delta": "P?", "args_parts": "S?",
                "delta_parts": "S?"},
    "checkpoint": {**ROW, "parts": "N", "items": "N", "map": "P?", "chunks": "P?"},
    "run": {**ROW, "group": "S", "subject": "S", "first": "N", "last": "N", "outcomes": "P"},
    "origin": {**ROW, "client": "S", "id": "N"},
    "group": ROW,
    "fork": ROW,
}


class Wrong(AssertionError):
    pass


def expect(condition, *what):
    if not condition:
        raise Wrong(" ".join(str(part) for part in what))


def canonical(value):
    """RFC 8785, for values whose numbers Python and ECMAScript write alike."""
    if isinstance(value, dict):
        members = sorted(value.items(), key=lambda member: member[0].encode("utf-16-be"))
        return "{" + ",".join(f"{canonical(k)}:{canonical(v)}" for k, v in members) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(canonical, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def sha256(text):
    return hashlib.sha256(text.encode()).hexdigest()


def digest(mutation, args):
    named = {"args": args, "name": mutation["name"]}
    if "uid" in mutation:
        named["uid"] = mutation["uid"]
    return sha256(canonical(named))[:32]


def once(pairs):
    """Objects as dict; a key given twice is wrong."""
    keys = [key for key, _ in pairs]
    expect(len(keys) == len(set(keys)), "a key twice among", keys)
    return dict(pairs)


def parse(text):
    return json.loads(text, object_pairs_hook=once)


class Stores:
    """Everything that a table and a bucket hold."""

    def __init__(self, table, bucket):
        path = botocore.config.Config(s3={"addressing_style": "path"})
        self.table, self.bucket = table, bucket
        self.dynamodb, self.s3 = boto3.client("dynamodb"), boto3.client("s3", config=path)
        self.records = list(self.pages("scan", ConsistentRead=True))
        self.blobs, self.texts, self.used = {}, {}, set()
        for page in self.s3.get_paginator("list_objects_v2").paginate(Bucket=bucket):
            self.blobs.update({blob["Key"]: blob["Size"] for blob in page.get("Contents", [])})

    def pages(self, operation, **arguments):
        for page in self.dynamodb.get_paginator(operation).paginate(TableName=self.table, **arguments):
            yield from page["Items"]

    def text(self, key):
        """The text of a blob, which the key's hash names."""
        if key not in self.texts:
            expect(key in self.blobs, "no blob", key)
            self.texts[key] = gzip.decompress(
                self.s3.get_object(Bucket=self.bucket, Key=key)["Body"].read()).decode()
            name = key.rsplit("/", 1)[1]
            expect(name == sha256(self.texts[key]) + ".json.gz", key, "is named by another hash than its text's")
        self.used.add(key)
        return self.texts[key]

    def partitions(self):
        """(organization, its projects' records) and (organization, project, its records)."""
        organizations, projects, listed = {}, {}, set()
        for record in self.records:
            partition, sort = record["pk"]["S"], record["sk"]["S"]
            if partition.startswith("Organizations#"):
                shard = hashlib.sha256(sort.encode()).digest()[0] % 16
                expect(partition == f"Organizations#{shard:02}", partition, "is not the shard of", sort)
                expect(re.fullmatch("[0-9a-f]{32}", attributes(record, {"token": "S"})["token"]), record)
                listed.add(sort)
                continue
            organization = re.fullmatch(rf"Org#({NAME})", partition)
            project = re.fullmatch(rf"Project#({NAME})/({NAME})", partition)
            expect(organization or project, "a partition key of no kind:", partition)
            if organization:
                expect(re.fullmatch(rf"Project#({NAME})", sort), "a sort key of no kind:", partition, sort)
                organizations.setdefault(organization[1], {})[sort[8:]] = record
            else:
                projects.setdefault(project.groups(), []).append(record)
        expect(listed == set(organizations), "the organizations with a marker are", listed)
        return organizations, projects


def attributes(record, kinds):
    """The values of a record whose attributes are exactly these."""
    values = {}
    for name, value in record.items():
        if name in ("pk", "sk"):
            continue
        expect(name in kinds, record["sk"], "has an attribute", name)
        (kind, content), = value.items()
        wanted = kinds[name].rstrip("?")
        expect(kind == wanted or (wanted == "P" and kind in "SB"), record["sk"], name, "is a", kind)
        if wanted == "P":
            values[name] = parse(unpacked(kind, content))
        elif wanted == "N":
            expect(re.fullmatch(r"0|-?[1-9]\d*", content), name, "is the number", content)
            values[name] = int(content)
        else:
            values[name] = content
    for name, kind in kinds.items():
        expect(name in values or kind.endswith("?"), record["sk"], "has no", name)
    return values


def unpacked(kind, content):
    if kind == "S":
        size = len(content.encode())
        expect(size <= PACKED_TEXT or len(gzip.compress(content.encode())) > 0.9 * size,
               "text of", size, "bytes is not packed")
        return content
    text = gzip.decompress(content).decode()
    expect(len(text.encode()) > PACKED_TEXT and len(content) < len(text.encode()), "packed without need")
    return text


class Project:
    """One project, checked while it is read. `state` is what the versions add up to."""

    def __init__(self, stores, organization, name, record, records, cadence):
        self.stores, self.cadence = stores, cadence
        self.prefix = f"{organization}/projects/{name}/"
        self.record = attributes(record, PROJECT)
        expect(self.record["inverted"] == name, "the inverted index has", self.record["inverted"])
        self.rows = {kind: {} for kind in KEYS}
        for entry in records:
            self.take(entry)
        self.state, self.at, self.runs, self.lmids, self.groups = {}, [], [], {}, {}
        self.retired, self.origins, self.collections = {}, {}, {}
        self.fold()

    def take(self, record):
        for kind, pattern in KEYS.items():
            found = re.fullmatch(pattern, record["sk"]["S"])
            if found:
                self.rows[kind][found.groups()] = attributes(record, ATTRIBUTES[kind])
                return
        raise Wrong("a sort key of no kind:", record["sk"]["S"])

    def moved(self, version, name):
        """args or delta: in the record, or in the parts that it names."""
        parts = version.get(name + "_parts")
        expect((parts is None) != (name not in version), "not exactly one of", name, "and its parts")
        if parts is None:
            return version[name]
        return parse("".join(self.stores.text(f"{self.prefix}versions/{part}.json.gz")
                             for part in parts.split(",")))

    # ---- versions ----

    def fold(self):
        numbers = sorted(int(number) for number, in self.rows["version"])
        expect(numbers == list(range(1, len(numbers) + 1)), "versions are missing:", numbers)
        lineages = {self.record["lineage"]}
        for number in numbers:
            version = self.rows["version"][(f"{number:012}",)]
            expect(re.fullmatch(r"[0-9a-f]{32}", version["lineage"]), "the lineage", version["lineage"])
            expect(version["lineage"] not in lineages, "a lineage twice")
            expect(version["format"] == 1, "format", version["format"])
            lineages.add(version["lineage"])
            self.check_project_record(number, version)
            self.check_mutations(number, version)
            self.check_recent(number, version)
            self.apply(number, version)
            self.at.append({name: dict(items) for name, items in self.state.items()})

    def check_project_record(self, number, version):
        before = self.rows["version"].get((f"{number - 1:012}",), {}).get("project")
        expect(version["project_changed"] == int(version.get("project") != before),
               "project_changed of version", number)
        if "project" in version:
            expect(canonical(parse(version["project"])) == version["project"], "no canonical project record")

    def check_mutations(self, number, version):
        args = self.moved(version, "args")
        mutations = version["mutations"]
        expect(len(args) == len(mutations), "version", number, "has", len(args), "args")
        runs = {}
        for mutation, arg in zip(mutations, args):
            client = mutation["client"]
            expect(mutation["outcome"] in OUTCOMES, "the outcome", mutation["outcome"])
            expect(mutation["digest"] == digest(mutation, arg), "the digest of", mutation)
            expect(client not in self.retired, client, "is retired")
            expect(mutation["id"] == self.lmids.get(client, 0) + 1, mutation, "does not follow its client's last")
            self.lmids[client] = mutation["id"]
            runs.setdefault(client, []).append(mutation)
            if "origin" in mutation and mutation["outcome"] != "duplicate":
                origin = mutation["origin"]
                key = (origin["client"], f"{origin['id']:016}", mutation["digest"])
                expect(key not in self.origins, "an origin twice:", key)
                self.origins[key] = (number, client, mutation["id"])
        found = {run[0]: run for run in version["runs"]}
        retired = version.get("retired")
        expect(set(found) == set(runs) | ({retired} - {None}), "the runs of version", number)
        for client, run in found.items():
            self.check_run(number, client, run, runs.get(client), client == retired)

    def check_run(self, number, client, run, mutations, retired):
        _, group, user, version, first, last, flag = run
        if retired:
            expect(mutations is None and flag == 1, "the run of a retired client", run)
            expected = (number, self.lmids.get(client, 0) + 1, self.lmids.get(client, 0))
            self.retired[client] = run
        else:
            expect(flag == 0, "a run is marked as retired", run)
            expect(all(m["user"] == user for m in mutations), "the user of", run)
            expected = (number, mutations[0]["id"], mutations[-1]["id"])
        expect((version, first, last) == expected, "the run", run, "should be", expected)
        expect(self.groups.setdefault(client, (group, number))[0] == group, client, "changed its group")
        self.runs.append((run, mutations or []))

    def check_recent(self, number, version):
        through = version["indexed_through"]
        expect(through == number if self.cadence == "seed" else 0 <= through < number, "indexed_through", through, "of version", number)
        expected = [run for run, _ in self.runs if through < run[3] < number]
        expect(sorted(version["recent"]) == sorted(expected), "recent of version", number)

    def apply(self, number, version):
        listed = [row[0] for row in version["collections"]]
        expect(listed == sorted(listed), "collections out of order", listed)
        for name, changes in self.moved(version, "delta").items():
            items = self.state.setdefault(name, {})
            expect(changes, "an empty delta of", name)
            for key, entry in changes.items():
                if entry is None:
                    expect(key in items, "version", number, "deletes", key, "which is not there")
                    del items[key]
                else:
                    expect(items.get(key) != entry, "version", number, "changes nothing in", key)
                    items[key] = entry
                    self.check_entry(name, entry)
            before = self.collections.get(name, [name, 0, 0, 0, 0])
            self.collections[name] = [name, before[1] + 1, number, before[2], len(items)]
        expect(sorted(version["collections"]) == sorted(self.collections.values()),
               "the collections of version", number, version["collections"], self.collections)

    def check_entry(self, collection, entry):
        expect(set(entry) <= {"hash", "size", "meta", "body"}, "an entry", entry)
        if "body" in entry:
            text = canonical(entry["body"])
            expect(self.cadence == "compact" and len(text.encode()) <= ITEM_INLINE and "size" not in entry,
                   "a body that should be a blob")
        else:
            text = self.stores.text(f"{self.prefix}{collection}/{entry['hash']}.json.gz")
            expect(self.cadence == "seed" or len(text.encode()) > ITEM_INLINE, "a body that should be inline")
            expect(entry["size"] == len(text.encode()), "the size of", entry["hash"])
            expect(canonical(parse(text)) == text, "no canonical body", entry["hash"])
        expect(entry["hash"] == sha256(text), "the hash of a body")
        body = parse(text)
        for field, value in entry.get("meta", {}).items():
            expect(body[field] == value, "metadata", field, "is not the body's")

    def values(self):
        """What the items are at the last version."""
        return {(name, key): entry["body"] if "body" in entry else
                parse(self.stores.text(f"{self.prefix}{name}/{entry['hash']}.json.gz"))
                for name, items in self.state.items() for key, entry in items.items()}

    # ---- what is derived ----

    def lineage(self, number):
        return self.rows["version"][(f"{number:012}",)]["lineage"]

    def check_row(self, kind, key, row, number):
        expect(row is not None, "no", kind, "row", key)
        expect((row["version"], row["lineage"]) == (number, self.lineage(number)), kind, key, "is of", row)

    def check_index(self):
        """The rows of all versions that are indexed are there, and no others than of versions."""
        last = self.rows["version"][(f"{len(self.at):012}",)]
        left = {kind: dict(self.rows[kind]) for kind in ("run", "origin", "group", "fork")}
        for run, mutations in self.runs:
            client, group, user, number, first, _, retired = run
            key = (client, RETIRED if retired else f"{first:016}")
            row = left["run"].pop(key, None)
            if row is None and number > last["indexed_through"]:
                continue
            self.check_row("run", key, row, number)
            expect((row["group"], row["subject"], row["first"], row["last"]) == (group, user, first, run[5]),
                   "the row", key, row, "of", run)
            expect(row["outcomes"] == [self.outcome(mutation) for mutation in mutations], "the outcomes of", key)
        for key, (number, client, mutation) in self.origins.items():
            row = left["origin"].pop(key, None)
            if row is not None or number <= last["indexed_through"]:
                self.check_row("origin", key, row, number)
                expect((row["client"], row["id"]) == (client, mutation), "the origin", key, row)
        for client, (group, number) in self.groups.items():
            row = left["group"].pop((group, client), None)
            if row is not None or number <= last["indexed_through"]:
                self.check_row("group", (group, client), row, number)
        expect(not any(left.values()), "rows of nothing:", left)
        return last["indexed_through"]

    @staticmethod
    def outcome(mutation):
        outcome = [mutation["digest"], OUTCOMES[mutation["outcome"]]]
        return outcome + [mutation["code"], mutation["message"]] if mutation["outcome"] == "rejected" else outcome

    def check_checkpoints(self):
        """Each one holds what the deltas up to its version add up to. Gives how many there are, and how many of
        them are chunks."""
        roots, chunked = {}, 0
        for (name, number, part), row in self.rows["checkpoint"].items():
            roots.setdefault((name, int(number)), {})[int(part)] = row
        for (name, number), parts in roots.items():
            root = parts[0]
            expect(sorted(parts) == list(range(root["parts"])), "the parts of", name, number)
            version = root["version"]
            expect(root["lineage"] == self.lineage(version), "the lineage of", name, number)
            changed = [row for row in self.rows["version"][(f"{version:012}",)]["collections"] if row[0] == name]
            expect(changed and changed[0][1:3] == [number, version], name, number, "is not of version", version)
            entries = {}
            for at in range(root["parts"]):
                row = parts[at]
                expect((row["version"], row["lineage"], row["items"], row["parts"]) ==
                       (version, root["lineage"], root["items"], root["parts"]), "a part of", name, number)
                expect(("map" in row) != ("chunks" in row), "map and chunks of", name, number)
                chunked += "chunks" in row
                for key, entry in self.entries(row):
                    expect(key not in entries, name, number, "has", key, "twice")
                    entries[key] = entry
            keys = [key.encode() for key in entries]
            expect(keys == sorted(keys), name, number, "is out of order")
            expect(entries == self.at[version - 1][name], name, number, "is not what the deltas add up to")
            expect(root["items"] == len(entries), "the items of", name, number)
        return roots, chunked

    def entries(self, row):
        if "map" in row:
            yield from row["map"].items()
            return
        for name, count in row["chunks"]:
            text = self.stores.text(f"{self.prefix}chunks/{name}.json.gz")
            chunk = parse(text)
            expect(len(chunk) == count and len(text.encode()) <= CHUNK, "the chunk", name)
            yield from chunk.items()
