#!/usr/bin/env python3
"""Holds the tree to its own rules: which folder may include which, how long files, functions and
lines may be, what no code may call, how every file opens, and that links in the docs lead somewhere.

Usage: check_style.py ROOT [--self-test]. Prints one line a finding; exits 1 when there is any."""
import pathlib
import re
import subprocess
import sys
import tempfile



def stack(under, below, rooms):
    """Rooms that stand on each other: each may include those in front of it, and `below`."""
    paths = [f"{under}/{room}" for room in rooms]
    return {path: below + paths[:i] for i, path in enumerate(paths)}


VERSIONED = ["backend/base", "backend/versioned/model", "backend/versioned/usage", "backend/versioned/versions",
             "backend/versioned/state", "backend/versioned/index", "backend/versioned/commit",
             "backend/versioned/projects"]
# Folder -> folders whose headers it may include (besides its own and <kedge/…>).
ARROWS = {
    "common": [],
    "http": ["common"],
    "mutate": ["common"],
    "wire": ["common"],
    "sdk/core": ["common"],
    "sdk/store": ["common", "mutate", "sdk/core", "wire"],
    "sdk/net": ["common", "http", "sdk/core", "wire"],
    "sdk/driver": ["common", "http", "mutate", "sdk/core", "sdk/store", "sdk/net", "wire"],
    "sdk/runtime": ["common", "http", "mutate", "sdk/core", "sdk/store", "sdk/net", "sdk/driver", "wire"],
    "backend/ports": ["common"],
    "backend/memory": ["common", "backend/ports"],
    "backend/sqlite": ["common", "backend/ports"],
    "backend/embedded": ["common", "backend/ports", "backend/sqlite"],
    **stack("backend", ["common", "mutate", "wire", "backend/ports"], [
        "base", "versioned/model", "versioned/usage", "versioned/versions", "versioned/state", "versioned/index",
        "versioned/commit", "versioned/projects"]),
    "backend/log": ["common", "backend/ports", "backend/base"],
    "backend/resource": ["common", "backend/ports", "backend/base"],
    "backend/logged": ["common", "mutate", "wire", "backend/ports", *VERSIONED[:-1], "backend/log"],
    "backend/api": ["common", "mutate", "wire", "backend/ports", *VERSIONED, "backend/log",
                    "backend/resource", "backend/logged"],
    "backend/effects": ["common", "mutate", "backend/ports", *VERSIONED, "backend/log", "backend/logged"],
    "backend/queued": ["common", "wire", "backend/ports", *VERSIONED, "backend/api"],
    "backend/plugin": ["common", "mutate", "backend/ports"],
    "backend/aws": ["common", "http", "backend/ports"],
    "backend/stores": ["common", "backend/ports", "backend/embedded", "backend/aws"],
    "backend/jobs": ["common", "mutate", "backend/ports", *VERSIONED, "backend/log", "backend/resource"],
    "backend/auth": ["common", "backend/base"],
    "backend/front": ["common", "wire", "mutate", "backend/ports", "backend/base", "backend/log", "backend/effects", "backend/api",
                      "backend/queued"],
    "backend/http": ["common", "wire", "http", "mutate", "backend/ports", "backend/base", "backend/log", "backend/effects",
                     "backend/api", "backend/queued", "backend/embedded", "backend/auth", "backend/front",
                     "backend/plugin", "backend/stores"],
    "backend/lambda": ["common", "wire", "http", "mutate", "backend/ports", "backend/base", "backend/log",
                       "backend/effects", "backend/aws", "backend/api", "backend/queued", "backend/auth", "backend/front", "backend/plugin",
                       "backend/stores"],
    "backend/admin": ["common", "mutate", "wire", "backend/ports", *VERSIONED, "backend/log", "backend/api", "backend/effects",
                      "backend/queued", "backend/embedded", "backend/auth", "backend/front", "backend/jobs", "backend/plugin",
                      "backend/stores"],
    "examples": [],
}
# System headers of libraries -> the only folders that may use them.
LIBRARIES = {
    "sqlite3.h": ["sdk/store", "backend/sqlite", "bench", "tests"],
    "curl/": ["http", "tests"],
    "openssl/": ["common", "tests"],
    "zlib.h": ["common", "tests"],
    "cjson/": ["mutate", "include", "examples", "docs", "bench", "tests"],
    "microhttpd.h": ["backend/http"],
    "gnutls/": ["backend/http"],
    "rhonabwy.h": ["backend/auth", "tests"],
    "expat.h": ["backend/aws"],
}
BANNED = ["strcpy", "strcat", "sprintf", "vsprintf", "gets", "strtok", "atoi", "atol", "atof",
          "alloca", "rand", "srand", "tmpnam", "mktemp"]
BANNED_IN_TESTS = ["sleep", "usleep", "nanosleep"]
# A bug on purpose is a patch of tests/planted; no file that ships knows of one.
PRODUCTION = ["common", "http", "include", "mutate", "wire", "sdk", "backend"]
FILE_LINES, FUNCTION_LINES, COLUMNS = 600, 70, 100


def folder_of(path):
    parts = path.parts[:-1]
    for size in (3, 2, 1):
        name = "/".join(parts[:size])
        if name in ARROWS:
            return name
    return parts[0] if parts else ""


def without_comments(text):
    blank = lambda match: re.sub(r"[^\n]", " ", match.group(0))
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', blank, text, flags=re.S)


def check_includes(path, text):
    folder = folder_of(path)
    for number, line in enumerate(text.split("\n"), 1):
        match = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line)
        if not match:
            continue
        quote, name = match.groups()
        if quote == "<":
            for library, folders in LIBRARIES.items():
                if name.startswith(library) and not any(
                        folder == f or str(path).startswith(f + "/") for f in folders):
                    yield number, f"<{name}> may be included only in {', '.join(folders)}"
        elif folder in ARROWS:
            target = folder_of(pathlib.Path(name)) if "/" in name else folder
            if target != folder and target not in ARROWS[folder]:
                yield number, f'"{name}" points against the arrows: {folder} may include ' + (
                    ", ".join(ARROWS[folder]) or "only itself and <kedge/…>")


def check_lengths(path, text):
    lines = text.split("\n")
    if len(lines) - 1 > FILE_LINES:
        yield 1, f"the file has {len(lines) - 1} lines; the limit is {FILE_LINES}"
    start = None
    for number, line in enumerate(lines, 1):
        if len(line) > COLUMNS:
            yield number, f"the line has {len(line)} columns; the limit is {COLUMNS}"
        if line != line.rstrip() or "\t" in line:
            yield number, "white space at the end of the line, or a tab"
        if line == "{" and path.suffix in (".c", ".h"):  # in C++ it may be that of a namespace
            start = number
        elif line.startswith("}") and start:
            if number - start - 1 > FUNCTION_LINES:
                yield start, f"the function has {number - start - 1} lines; the limit is {FUNCTION_LINES}"
            start = None


def found_in(text, pattern):
    """Pairs of a line's number and what the pattern matches there."""
    return [(text.count("\n", 0, match.start()) + 1, match) for match in re.finditer(pattern, text)]


def check_calls(path, text):
    banned = BANNED + (BANNED_IN_TESTS if path.parts[0] == "tests" else [])
    for number, match in found_in(without_comments(text), rf"\b(?<![.>])({'|'.join(banned)})\s*\("):
        yield number, f"{match[1]}() is banned"
    for number, _ in found_in(text, r"\b(TODO|FIXME|XXX|HACK)\b"):
        yield number, "a left-over mark"


def check_opening(path, text):
    if not text.startswith("/*"):
        yield 1, "the file does not open with a comment that says what it is"


def check_public_docs(path, text):
    """A KEDGE_API function is documented when a comment stands above its block of declarations."""
    if path.parts[:2] != ("include", "kedge"):
        return
    documented = False
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith(("/*", " *")) or line.endswith("*/"):
            documented = True
        elif not line.strip():
            documented = False
        if line.startswith("KEDGE_API") and not documented:
            yield number, "a public function without a comment above it"


def check_homes(root):
    """What include/kedge/x.h declares is defined in sdk/runtime/x.c or a file x_….c beside it."""
    for header in sorted((root / "include/kedge").glob("*.h")):
        homes = [*(root / "sdk/runtime").glob(f"{header.stem}.c"), *(root / "sdk/runtime").glob(f"{header.stem}_*.c")]
        defined = "\n".join(home.read_text(encoding="utf-8") for home in homes)
        text = header.read_text(encoding="utf-8")
        for name in re.findall(r"^KEDGE_API\b[^;(]*?\b(\w+)\(", text, re.M) if homes else []:
            if not re.search(rf"^[a-z][^;]*?\b{name}\([^;{{]*\)\n{{", defined, re.M):
                yield f"{header.relative_to(root)}: {name} is not defined in sdk/runtime/{header.stem}.c or _*.c"


def check_types(root, files):
    """A type's name means one thing: it is defined in one header."""
    homes = {}
    for path in files:
        if path.suffix != ".h" or path.parts[0] in ("tests", "bench", "examples"):
            continue
        text = (root / path).read_text(encoding="utf-8")
        named = re.findall(r"^\} (kedge_\w+);|^typedef (?:struct|enum) \w+ (kedge_\w+);", text, re.MULTILINE)
        for name in {one or other for one, other in named}:
            if name in homes:
                yield f"{path}:1: {name} is defined in {homes[name]}, too"
            homes[name] = path


def check_planted(path, text):
    if path.parts[0] not in PRODUCTION:
        return
    for number, line in enumerate(text.split("\n"), 1):
        if "planted" in (str(path) + line).lower():
            yield number, "a planted bug; bugs are patches in tests/planted"
            return


def anchors_of(text):
    """The anchors of a page's headings, as GitHub makes them; code in between has none."""
    anchors, code = set(), False
    for line in text.split("\n"):
        code ^= line.startswith("```")
        heading = re.match(r"#{1,6} (.*)", line)
        if heading and not code:
            words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading.group(1).strip().lower())
            anchor = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
            again = 0
            while (anchor if not again else f"{anchor}-{again}") in anchors:
                again += 1
            anchors.add(anchor if not again else f"{anchor}-{again}")
    return anchors


def check_links(root, path, text):
    for number, line in enumerate(text.split("\n"), 1):
        for target, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)", line):
            if re.match(r"[a-z]+:", target):
                continue
            page = root / path.parent / target if target else root / path
            if not page.exists():
                yield number, f"the link {target} leads nowhere"
            elif anchor and page.suffix == ".md" and anchor not in anchors_of(page.read_text(encoding="utf-8")):
                yield number, f"{page.name} has no heading #{anchor}"


def check_examples(root, path):
    """A page quotes the example beside it whole: what is read is what is compiled and run."""
    page = path.with_suffix(".md")
    if path.parts[0] == "docs" and (root / page).exists() and (path.suffix == ".c" or path.parts[1] == "how-to"):
        if (root / path).read_text(encoding="utf-8") not in (root / page).read_text(encoding="utf-8"):
            yield 1, f"{page.name} does not quote this file as it is"


# A page that quotes sources of the examples whole.
QUOTED = {"docs/tutorial/desktop.md": ["examples/desktop/dispatch.c"]}


def check_quoted(root, path, text):
    for source in QUOTED.get(str(path), []):
        if not (root / source).exists() or (root / source).read_text(encoding="utf-8") not in text:
            yield 1, f"it does not quote {source} as it is"


def check_index(root, path):
    """A reader finds every page from README.md."""
    readme = root / "README.md"
    if path.parts[0] == "docs" and readme.exists() and f"({path})" not in readme.read_text(encoding="utf-8"):
        yield 1, "README.md has no link to this page"


# Codes that no app sees: they end inside of the library, or are of requests that the server reads.
CLIENT_ROOMS = ("common", "http", "mutate", "sdk", "wire")
HIDDEN_CODES = {"gzip-damaged", "gzip-too-large", "header-invalid", "too-many-headers", "too-many-requests", "invalid-escape",
                "invalid-utf8", "invalid-resource-id", "resource-id-too-long", "invalid-client-id", "client-id-too-long",
                "not-staged", "stream-closed", "query-invalid"}


# What looks like a code in these rooms and is none: an operation of the wire.
NO_CODES = {"put-project"}
# Codes of the server that no operator sees: a caller decides by them, or a request's response has another one.
OPERATOR_ROOMS = tuple(f"backend/{room}" for room in ("admin", "auth", "aws", "embedded", "front", "http", "lambda", "plugin",
                                                      "stores"))
HIDDEN_SERVER_CODES = {"aws-request-invalid", "blob-changes", "blob-removed", "blob-too-large", "cancelled", "condition-failed",
                       "frame-too-large", "invalid-prefix", "invalid-tag", "key-too-large", "message-too-large", "read-failed",
                       "record-not-found", "record-too-large", "too-many-tags", "xml-invalid"}


def with_strings(text):
    """The text without its comments, but with what stands in quotes."""
    keep = lambda match: match[1] or re.sub(r"[^\n]", " ", match[0])
    return re.sub(r'''("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+')|/\*.*?\*/|//[^\n]*''', keep, text, flags=re.S)


def arguments_of(text, start):
    """The arguments of a call whose opening parenthesis stands in front of `start`, without those behind the first five."""
    found, depth, at, begin = [], 0, start, start
    while at < len(text) and len(found) < 5:
        if text[at] in "\"'":
            end = re.compile(r'(?:\\.|[^\\' + text[at] + r'])*' + text[at]).match(text, at + 1)
            at = end.end() if end else len(text)
            continue
        if text[at] in "([{":
            depth += 1
        elif text[at] in ")]}":
            depth -= 1
        if depth < 0 or (depth == 0 and text[at] == ","):
            found.append(text[begin:at].strip())
            begin = at + 1
        if depth < 0:
            break
        at += 1
    return found


def failures_in(text):
    """Codes of calls of kedge_fail, also chosen ones, and those that stand behind their status, as in a table."""
    for call in re.finditer(r"\bkedge_fail\(", text):
        parts = arguments_of(text, call.end())
        if len(parts) > 2 and parts[1] != "KEDGE_INTERNAL":
            yield from ((call.start(), code) for code in re.findall(r'"([a-z0-9-]+)"', parts[2]))
    for found in re.finditer(r'\bKEDGE_(?!LOG_|INTERNAL|LIMIT_(?!EXCEEDED))[A-Z_]+,\s*"([a-z0-9-]+)"', text):
        yield found.start(), found[1]


def words_in(text):
    """Whatever looks like a code of two words or more, wherever it stands: it may be a parameter, or the result of a
    function. Names of steps for the tests, events of the log and codes of bugs are none."""
    for found in re.finditer(r'"([a-z0-9]+(?:-[a-z0-9]+)+)"', text):
        before = text[:found.start()].rstrip()
        if not re.search(r"(\bkedge_store_phase\(\w+,|\bKEDGE_LOG_[A-Z]+,|\bKEDGE_INTERNAL,|\[KEDGE_[A-Z_]+\] =)$", before):
            yield found.start(), found[1]


def codes_on(pages):
    return {code for page in pages if page.exists() for code in re.findall(r"`([a-z0-9-]+)`", page.read_text(encoding="utf-8"))}


def check_codes(root, files):
    """Every code of an error that an app or an operator may see is on a page of the reference."""
    reference = root / "docs/reference"
    if not (reference / "errors.md").exists():
        return
    listed = codes_on(reference / name for name in ("errors.md", "mutators.md", "wire.md", "json.md", "kedge.md"))
    told = codes_on(reference.glob("*.md"))
    used = set()
    for path in files:
        client = path.parts[0] in CLIENT_ROOMS
        if path.suffix != ".c" or not (client or "/".join(path.parts[:2]) in OPERATOR_ROOMS):
            continue
        text = with_strings((root / path).read_text(encoding="utf-8"))
        codes = set(failures_in(text)) | (set(words_in(text)) if client else set())
        fine = listed | HIDDEN_CODES | NO_CODES if client else told | HIDDEN_SERVER_CODES
        page = "docs/reference/errors.md" if client else "any page of docs/reference"
        for line, code in sorted({(text.count("\n", 0, at) + 1, code) for at, code in codes if code not in fine}):
            yield f"{path}:{line}: {code} is not in {page}"
        if client:
            used |= set(re.findall(r'"([a-z0-9-]+)"', text))
    for number, line in enumerate((reference / "errors.md").read_text(encoding="utf-8").split("\n"), 1):
        for code in re.findall(r"`([a-z0-9-]+)`", line.split("|")[1] if line.startswith("| `") else ""):
            if code not in used:
                yield f"docs/reference/errors.md:{number}: no source has {code}"


def check_places(path, text, files):
    """An explanation names files by their path, or by its end: `sdk/store/scan.c`, `scan.c`."""
    if path.parts[:2] != ("docs", "explanation"):
        return
    for number, line in enumerate(text.split("\n"), 1):
        for name in re.findall(r"`([a-z][\w./-]*\.(?:c|h|py|sh|mjs|yaml))`", line):
            if "NAME" not in name and not any(file.endswith(f"/{name}") for file in files):
                yield number, f"there is no file {name}"


def check_labels(path, text):
    """Every unit test comes from kedge_test or kedge_unit_test, which see to its threads."""
    for number, line in enumerate(text.split("\n"), 1):
        if re.search(r'\bLABELS\s+[^A-Z)]*\b(unit|threads)\b', line):
            yield number, "the label of a unit test; kedge_test and kedge_unit_test give it"


def tracked(root):
    listed = subprocess.run(["git", "-C", str(root), "ls-files", "-z", "-co", "--exclude-standard"],
                            capture_output=True, text=True)
    if listed.returncode == 0 and listed.stdout:
        names = listed.stdout.split("\0")
    else:
        names = [str(p.relative_to(root)) for p in root.rglob("*") if "build" not in p.parts]
    return [pathlib.Path(n) for n in names if n and (root / n).is_file()]


def check_tree(root):
    findings = []
    files = tracked(root)
    places = [f"/{path}" for path in files]
    for path in files:
        checks = []
        if path.suffix in (".c", ".cc", ".py", ".swift", ".java", ".kt"):
            findings += [f"{path}:{number}: {what}" for number, what in check_examples(root, path)]
        if path.suffix in (".c", ".h"):
            text = (root / path).read_text(encoding="utf-8")
            checks = [check_includes, check_lengths, check_calls, check_opening, check_public_docs,
                      check_planted]
            found = [f for check in checks for f in check(path, text)]
        elif path.suffix in (".cc", ".hpp"):
            text = (root / path).read_text(encoding="utf-8")
            found = [*check_lengths(path, text), *check_calls(path, text)]
        elif path.suffix in (".swift", ".java", ".kt"):
            found = [*check_lengths(path, (root / path).read_text(encoding="utf-8"))]
        elif path.suffix == ".md":
            text = (root / path).read_text(encoding="utf-8")
            found = [*check_links(root, path, text), *check_index(root, path), *check_quoted(root, path, text),
                     *check_places(path, text, places)]
        elif path.name == "CMakeLists.txt":
            found = list(check_labels(path, (root / path).read_text(encoding="utf-8")))
        else:
            continue
        findings += [f"{path}:{number}: {what}" for number, what in found]
    return findings + list(check_types(root, files)) + list(check_codes(root, files)) + list(check_homes(root))


def check_format(root):
    sources = [str(root / p) for p in tracked(root) if p.suffix in (".c", ".h", ".cc", ".hpp")]
    found = []
    for i in range(0, len(sources), 50):
        done = subprocess.run(["clang-format", "--dry-run", *sources[i:i + 50]],
                              capture_output=True, text=True)
        found += [line.replace(f"{root}/", "") for line in done.stderr.split("\n")
                  if "warning:" in line]
    return found[:40]


def self_test():
    """Every rule is seen to fail on a file that breaks it."""
    bad = {
        "mutate/a.c": '/* a */\n#include "sdk/store/store.h"\n',
        "backend/api/b.c": "/* b */\n#include <sqlite3.h>\n",
        "common/c.c": "/* c */\nvoid f(void)\n{\n" + "    x();\n" * 71 + "}\n",
        "common/d.c": "/* d */\n" + "int x;\n" * 600,
        "common/e.c": "/* e */\nint f(char *a) { return atoi(a); }\n",
        "tests/f.c": "/* f */\nvoid f(void) { sleep(1); }\n",
        "common/g.c": "int x;\n",
        "common/h.c": "/* h */\nint " + "x" * 100 + ";\n",
        "include/kedge/i.h": "/* i */\n\nKEDGE_API void f(void);\n",
        "docs/j.md": "[gone](nowhere.md)\n",
        "docs/q.md": "## Some (words) here\n[there](#some-words-here) [gone](#elsewhere)\n",
        "docs/explanation/p.md": "`sdk/store/gone.c`\n",
        "docs/how-to/r.md": "# Not in README.md\n",
        "common/k.c": "/* TO" + "DO */\n",
        "sdk/store/l.c": "/* l */\nbool late = KEDGE_PLANTED_BUG(1);\n",
        "backend/planted.h": "/* m */\n",
        "include/kedge/o.h": "/* o */\n\n/* f */\nKEDGE_API void f(void);\n",
        "tests/p/CMakeLists.txt": 'set_tests_properties(p PROPERTIES LABELS "sim;unit" TIMEOUT 9)\n',
        "include/r.hpp": "/* r */\nint " + "x" * 100 + ";\n",
        "tests/r.cc": "/* r */\nint f(char *a) { return atoi(a); }\n",
        "bindings/r.java": "/* r */\nlong " + "x" * 100 + ";\n",
        "bindings/r.swift": "// r\nlet x = " + "x" * 100 + "\n",
        "docs/q.c": '/* q */\n',
        "docs/how-to/q.py": '"""q"""\n',
        "docs/tutorial/desktop.md": "# Without the source\n",
        "wire/t.c": '/* t */\nint a = f(KEDGE_IO, "not-listed") + f(KEDGE_IO, "listed");\n',
        "wire/u.c": '/* "no-code" */\nint a = kedge_fail(error, status(1, 2), b ? "listed" : "hidden");\n',
        "wire/v.c": '/* v */\nint a = g(KEDGE_INTERNAL, "a-bug") + g("of-a-parameter", KEDGE_IO, "listed");\n',
        "backend/http/w.c": '/* w */\nint a = kedge_fail(error, KEDGE_IO, b ? "listed" : "not-told") + f("no-code");\n',
        "docs/reference/errors.md": "| `used-nowhere` | |\n",
        "wire/s.h": "/* s */\ntypedef struct kedge_s {\n    int s;\n} kedge_s;\n",
        "sdk/driver/n.c": '/* n */\n#include "sdk/runtime/db.h"\n',
    }
    for name, text in bad.items():
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / name).parent.mkdir(parents=True)
            (root / name).write_text(text)
            if name in ("docs/q.c", "docs/how-to/q.py"):
                (root / name).with_suffix(".md").write_text("```c\n/* another */\n```\n")
            if name == "docs/how-to/r.md":
                (root / "README.md").write_text("# Kedge\n")
            if pathlib.Path(name).stem in ("t", "u", "v", "w") and name.endswith(".c"):
                (root / "docs/reference").mkdir(parents=True)
                (root / "docs/reference/errors.md").write_text(f"{'' if name.startswith('backend') else '| '}`listed` | |\n")
            if name == "wire/s.h":
                (root / "http").mkdir()
                (root / "http/s.h").write_text("/* s */\ntypedef struct kedge_s kedge_s;\n")
            if name == "include/kedge/o.h":
                (root / "sdk/runtime").mkdir(parents=True)
                (root / "sdk/runtime/o.c").write_text("/* o */\n")
            if len(check_tree(root)) != 1:
                sys.exit(f"self-test: {name} should give one finding, gave {check_tree(root)}")
    good = '/* ok */\n#include "common/bytes.h"\nint strcpy_like; /* strcpy( in a comment */\n'
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "mutate").mkdir()
        (root / "mutate/a.c").write_text(good)
        if check_tree(root):
            sys.exit(f"self-test: a good file gave {check_tree(root)}")
    print(f"self-test: {len(bad)} rules seen failing")


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    self_test()
    findings = check_tree(root) + check_format(root)
    for finding in findings:
        print(finding)
    print(f"{len(findings)} findings in {len(tracked(root))} files")
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()
