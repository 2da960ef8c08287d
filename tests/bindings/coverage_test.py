"""Each binding has the whole public API: it calls every function that include/kedge declares, and names every member of the
structs that begin with a KEDGE_…_INIT, but for those that are named here with the reason.

usage: coverage_test.py SOURCE_DIR"""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])


HEADERS = "\n".join(path.read_text(encoding="utf-8") for path in sorted((root / "include/kedge").glob("*.h")))


def declared():
    """The functions of the headers; a declaration may run over lines."""
    return set(re.findall(r"^KEDGE_API\b[^;(]*?\b(kedge_\w+)\(", HEADERS, re.M))


def members():
    """struct -> its members, but those that its initialiser sets."""
    found = {}
    for name in re.findall(r"^#define KEDGE_(\w+)_INIT\b", HEADERS, re.M):
        struct = f"kedge_{name.lower()}"
        body = re.search(rf"^typedef struct {struct} \{{(.*?)^\}} {struct};", HEADERS, re.M | re.S)[1]
        body = re.sub(r"/\*.*?\*/", "", body, flags=re.S)
        body = re.sub(r"\(\*(?:KEDGE_NULLABLE )?(\w+)\)\([^;]*", r"\1", body)
        found[struct] = set(re.findall(r"(\w+)(?:\[\w+\])?\s*;", body)) - {"size", "version"}
    return found


FUNCTIONS = declared()
MEMBERS = members()
TREES = "Python has values of its own in the place of cJSON's trees"
OTHERS = "an app in Java has a JSON library of its own in the place of cJSON's trees"
VALUES = "Swift has values that are encoded and decoded in the place of cJSON's trees"
# Language -> its files, what a call looks like in them, and what it leaves out with the reason.
BINDINGS = {
    "C++": ("include/kedge/*.hpp", r"\b(kedge_\w+)", {}),
    "Python": ("bindings/python/kedge/*.py", r"\blib\.(kedge_\w+)", {
        **{name: TREES for name in FUNCTIONS if name.startswith("kedge_member_")},
        **dict.fromkeys(["kedge_json_mutate", "kedge_tx_get_json", "kedge_tx_put_json", "kedge_tx_edit_json"], TREES),
        **dict.fromkeys(["kedge_args_text", "kedge_args_integer"], "args are Python's values"),
        "kedge_document_id": "who reads an item has given the id",
    }),
    "Swift": ("bindings/swift/Sources/Kedge/*.swift bindings/swift/Sources/CKedge/*.h", r"\b(kedge_\w+)", {
        **{name: VALUES for name in FUNCTIONS if name.startswith("kedge_member_")},
        **dict.fromkeys(["kedge_json_mutate", "kedge_tx_get_json", "kedge_tx_put_json", "kedge_tx_edit_json"], VALUES),
        **dict.fromkeys(["kedge_args_text", "kedge_args_integer"], "args are decoded"),
        "kedge_document_id": "who reads an item has given the id",
    }),
    "Java": ("bindings/java/native/*.c bindings/java/src/**/*.java", r"\b(kedge_\w+)\(", {
        **{name: OTHERS for name in FUNCTIONS if name.startswith("kedge_member_")},
        **dict.fromkeys(["kedge_json_mutate", "kedge_tx_get_json", "kedge_tx_put_json", "kedge_tx_edit_json"], OTHERS),
        "kedge_document_id": "who reads an item has given the id",
    }),
}
# Kotlin calls C through Java: see java_findings for what it calls of Java.
BINDINGS["Kotlin"] = ("bindings/kotlin/src/**/*.kt " + BINDINGS["Java"][0], *BINDINGS["Java"][1:])


def text_of(files):
    """The text of all files of some globs, with spaces between them."""
    return "\n".join(path.read_text(encoding="utf-8") for glob in files.split() for path in sorted(root.glob(glob)))


def findings(functions, files, call, left_out):
    text = text_of(files)
    used = set(re.findall(call, re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.S)))
    yield from (f"does not call {name}" for name in sorted(functions - used - set(left_out)))
    yield from (f"calls {name}, which it is said to leave out" for name in sorted(set(left_out) & used))
    yield from (f"leaves out {name}, which is not there" for name in sorted(set(left_out) - functions))


def missing_members(structs, files, left_out):
    text = text_of(files)
    words = set(re.findall(r"\w+", re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.S)))
    for struct, names in sorted(structs.items()):
        yield from (f"has no {struct}.{name}" for name in sorted(names - words - set(left_out)))


def table_findings(page, functions):
    """docs/reference/other-languages.md has each function of C, and what it calls by name in a language is there."""
    rows = [line.split("|")[1:2 + len(BINDINGS)] for line in page.split("\n") if line.startswith("| `")]
    found = set(re.findall(r"`(kedge_\w+)`", "".join(row[0] for row in rows)))
    yield from (f"has no row of {name}" for name in sorted(functions - found))
    yield from (f"has a row of {name}, which is not there" for name in sorted(found - functions))
    for column, language in enumerate(BINDINGS, 1):
        text = text_of(BINDINGS[language][0])
        for row in rows:
            if not row[column].strip():
                yield f"has no {language} in the row of {row[0].strip()}"
            for name in re.findall(r"(?:\.|::)(\w+)(?:\(|`)", row[column]):
                if not re.search(rf"\b{name}(?:<[^(]*>)? *[(:]", text):
                    yield f"names {name}, which {language} has not"


def java_findings(kotlin):
    """Kotlin calls every public method of a database of Java, but for those whose work another does."""
    java = text_of("bindings/java/src/main/java/io/kedge/Database.java")
    methods = set(re.findall(r"^    public (?!static|final)[\w<>\[\], ]+ (\w+)\(", java, re.M))
    left_out = {"getBytes": "a typed item is made of its text", "loop": "its caller is a thread: db.blocking { loop() }"}
    for name in sorted(methods - set(left_out)):
        if not re.search(rf"(?<!fun )(?<!> )\b{name} *[({{]", kotlin):
            yield f"does not call {name} of Java's Database"


PAGE = "docs/reference/other-languages.md"


def self_test():
    """What is not called, is called all the same, or is not there, is found."""
    files, call, _ = BINDINGS["Python"]
    left_out = {"kedge_mutate": "", "kedge_gone": ""}
    found = list(findings({"kedge_planted", "kedge_mutate"}, files, call, left_out))
    found += missing_members({"kedge_planted": {"not_a_member", "project"}}, files, {})
    found += table_findings("| `kedge_gone` | `db.not_there()` | `db.not_there` | | `db.notThere()` | |\n", {"kedge_planted"})
    found += list(java_findings(""))[:1]
    if len(found) != 12:
        sys.exit(f"self-test: {found}")


if len(FUNCTIONS) < 80:
    sys.exit(f"only {len(FUNCTIONS)} functions were found in the headers")
self_test()
found = [f"{language} {what}" for language, of in BINDINGS.items() for what in findings(FUNCTIONS, *of)]
OWNED = {"userdata_free": "the database of the binding owns its functions"}
# In C++ an app reads the structs of C that Kedge fills.
found += [f"C++ {what}" for what in
          missing_members({"kedge_options": MEMBERS["kedge_options"]}, "include/kedge/*.hpp", OWNED)]
found += [f"Python {what}" for what in
          missing_members(MEMBERS, "bindings/python/kedge/*.py", {**OWNED, "allocator": "Python's memory is that of malloc"})]
found += [f"{PAGE} {what}" for what in table_findings((root / PAGE).read_text(encoding="utf-8"), FUNCTIONS)]
found += [f"Swift {what}" for what in
          missing_members(MEMBERS, "bindings/swift/Sources/Kedge/*.swift",
                          {**OWNED, "allocator": "Swift's memory is that of malloc"})]
found += [f"Java {what}" for what in
          missing_members(MEMBERS, "bindings/java/native/*.c", {"allocator": "what Java gives and takes is copied"})]
found += [f"Kotlin {what}" for what in java_findings(text_of("bindings/kotlin/src/**/*.kt"))]
for what in found:
    print(what)
print(f"{len(FUNCTIONS)} functions, {len(BINDINGS)} bindings, {len(found)} findings")
sys.exit(1 if found else 0)
