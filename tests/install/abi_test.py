#!/usr/bin/env python3
"""The binary interface of libkedge, as programs that were compiled before rely on it: exported functions, layouts of
structs, values of enumerators. Held to tests/install/abi.txt, which was made from an earlier build.

What was there must still be there, the same. A new function or enumerator is compatible, and so is a new member at the
end of a struct that says its `size`; it must be noted in the file, by --update. What is incompatible needs another
SOVERSION.

Usage: abi_test.py HEADERS LIBRARY ABI_FILE [--update]. The library has its debug information; abidw reads it. Ends
with 77 when there is no abidw."""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml


def read_library(headers, library):
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder, "abi.xml")
        subprocess.run(["abidw", "--headers-dir", headers, "--drop-private-types", "--no-show-locs",
                        "--no-corpus-path", "--no-comp-dir-path", "--out-file", out, library], check=True)
        return xml.parse(out).getroot()


class Interface:
    """Lines of text, by what they describe: {"function kedge_open": ["…"], "struct kedge_error": ["…", "…"]}."""

    def __init__(self, headers, library):
        root = read_library(headers, library)
        self.types = {node.get("id"): node for node in root.iter() if node.get("id")}
        # kedge/cjson.h has functions that are compiled into the app.
        text = "\n".join(path.read_text() for path in sorted(pathlib.Path(headers, "kedge").glob("*.h"))
                         if path.name != "cjson.h")
        text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
        defined = set(re.findall(r"\b(?:struct|enum|union) (kedge_\w+)\s*\{", text))
        exported = {node.get("name"): node.get("version") for node in root.iter("elf-symbol")}
        self.soname = root.get("soname")
        self.described = {}
        for node in root.iter("function-decl"):
            name = node.get("name")
            if name in exported:
                self.described[f"function {name}"] = [f"{self.signature(node)} @{exported.pop(name)}"]
        for node in root.iter():
            if node.get("name") not in defined or node.get("is-declaration-only"):
                continue
            if node.tag == "class-decl":
                self.described[f"struct {node.get('name')}"] = self.members(node)
            elif node.tag == "enum-decl":
                values = [f"{each.get('name')} = {each.get('value')}" for each in node.iter("enumerator")]
                if values:  # a partial view of an enumeration has none
                    self.described[f"enum {node.get('name')}"] = values
        missing = defined - {name.split()[1] for name in self.described}
        if exported or missing:
            sys.exit(f"not described: {sorted(exported)} {sorted(missing)}")

    def signature(self, node):
        given = ["..." if each.get("is-variadic") else self.type_name(each.get("type-id"))
                 for each in node.findall("parameter")]
        returned = node.find("return")
        back = "void" if returned is None else self.type_name(returned.get("type-id"))
        return f"{back} ({', '.join(given) or 'void'})"

    def type_name(self, identity):
        node = self.types[identity]
        inner = node.get("type-id")
        if node.tag == "pointer-type-def":
            return f"{self.type_name(inner)} *"
        if node.tag == "qualified-type-def":
            kept = [word for word in ("const", "volatile", "restrict") if node.get(word) == "yes"]
            return " ".join([self.type_name(inner), *kept])
        if node.tag == "array-type-def":
            return self.type_name(inner) + "".join(f"[{each.get('length')}]" for each in node.iter("subrange"))
        if node.tag == "function-type":
            return f"({self.signature(node)})"
        if node.tag == "typedef-decl" and self.types[inner].tag == "pointer-type-def":
            return self.type_name(inner)  # of a function: its name does not matter
        return node.get("name")

    def members(self, node):
        found = [f"{int(each.get('layout-offset-in-bits')) // 8}: {self.type_name(each[0].get('type-id'))}"
                 f" {each[0].get('name')}" for each in node.findall("data-member")]
        return [*found, f"{int(node.get('size-in-bits')) // 8}: end"]

    def text(self):
        lines = ["# The binary interface of libkedge; abi_test.py --update writes this file.", f"soname {self.soname}"]
        for name in sorted(self.described):
            lines += ["", name, *(f"  {line}" for line in self.described[name])]
        return "\n".join(lines) + "\n"


def parse(text):
    soname, described, name = None, {}, None
    for line in text.splitlines():
        if line.startswith("  "):
            described[name].append(line[2:])
        elif line.startswith("soname "):
            soname = line.split()[1]
        elif line and not line.startswith("#"):
            name = line
            described[name] = []
    return soname, described


def is_compatible(kind, before, now):
    if kind == "function":
        return before == now
    if kind == "enum":
        return set(before) <= set(now)
    members = before[:-1]
    says_its_size = any(re.search(r"\bsize$", member) for member in members[:2])
    grows = now[:len(members)] == members and int(now[-1].split(":")[0]) >= int(before[-1].split(":")[0])
    return now == before or (says_its_size and grows)


def compare(earlier, interface):
    """The incompatible changes, and all changes."""
    soname, before = earlier
    broken = [f"soname: {soname} became {interface.soname}"] if soname != interface.soname else []
    changed = list(broken)
    for name in sorted(before.keys() | interface.described.keys()):
        was, now = before.get(name), interface.described.get(name)
        if was == now:
            continue
        if was is None:
            changed.append(f"{name}: new")
            continue
        lost = "is gone" if now is None else "\n".join(
            [f"  - {line}" for line in was if line not in now] + [f"  + {line}" for line in now if line not in was])
        changed.append(f"{name}\n{lost}")
        if now is None or not is_compatible(name.split()[0], was, now):
            broken.append(f"{name}\n{lost}")
    return broken, changed


def self_test(text):
    """Each planted change of a file that fits is found, and judged as it should be."""
    for before, after, compatible in [
            ("  8: char const * path", "  8: void * path", False),
            ("  KEDGE_DONE = 1", "  KEDGE_DONE = 2", False),
            ("function kedge_open\n", "function kedge_old_open\n", False),
            ("function kedge_close\n  kedge_status (", "function kedge_close\n  void (", False),
            ("@KEDGE_0.1", "@KEDGE_0.0", False),
            ("struct kedge_error\n", "struct kedge_error\n  0: int before\n", False),
            ("\n  KEDGE_DONE = 1", "", True),
            ("\n  176: char const * schema_version\n  184: end", "\n  176: end", True)]:
        assert before in text, before
        soname, earlier = parse(text.replace(before, after))
        now = Interface.__new__(Interface)
        now.soname, now.described = parse(text)
        broken, changed = compare((soname, earlier), now)
        assert changed and bool(broken) != compatible, (before, broken)


def main():
    headers, library, file = sys.argv[1:4]
    if shutil.which("abidw") is None:
        print("skipped: there is no abidw (Debian: abigail-tools)")
        sys.exit(77)
    interface = Interface(headers, library)
    kept = pathlib.Path(file)
    broken, changed = compare(parse(kept.read_text()), interface) if kept.exists() else ([], ["all of it: new"])
    if "--update" in sys.argv[4:] and (not broken or "--incompatible" in sys.argv[4:]):
        kept.write_text(interface.text())
        print(f"wrote {file}: {len(changed)} changes")
    elif broken:
        sys.exit("programs that were compiled before would break:\n" + "\n".join(broken) +
                 "\nundo it, or raise SOVERSION (sdk/CMakeLists.txt) and pass --update --incompatible")
    elif changed:
        sys.exit("compatible changes that are not noted:\n" + "\n".join(changed) +
                 "\nnote them: the same command with --update")
    self_test(interface.text())
    print(f"{len(interface.described)} functions, structs and enumerations")


if __name__ == "__main__":
    main()
