#!/usr/bin/env python3
"""What packages are made of, as SPDX 2.3 in JSON: each package with its sum, and the libraries of Debian that its
programs are linked with, in the versions that they were built with.

Usage: sbom.py FOLDER, which has the packages. SOURCE_DATE_EPOCH is the time that the document tells."""
import datetime
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys


def field(package, name):
    return subprocess.run(["dpkg-deb", "--field", package, name], capture_output=True, text=True, check=True).stdout.strip()


def installed(library):
    """The version, the architecture and the source package of a library of this machine."""
    shown = subprocess.run(["dpkg-query", "--show", "-f", "${Version} ${Architecture} ${source:Package} ${source:Version}\n",
                            library], capture_output=True, text=True, check=True).stdout
    return shown.splitlines()[0].split()


def identity(name):
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", name)


def describe_library(name):
    version, architecture, source, source_version = installed(name)
    return {
        "SPDXID": identity(name), "name": name, "versionInfo": version, "supplier": "Organization: Debian",
        "downloadLocation": "NOASSERTION", "filesAnalyzed": False, "licenseConcluded": "NOASSERTION",
        "licenseDeclared": "NOASSERTION", "copyrightText": "NOASSERTION",
        "sourceInfo": f"built from the source package {source} {source_version}",
        "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                          "referenceLocator": f"pkg:deb/debian/{name}@{version}?arch={architecture}"}],
    }


def describe_package(path):
    name, version = field(path, "Package"), field(path, "Version")
    return {
        "SPDXID": identity(name), "name": name, "versionInfo": version, "packageFileName": path.name,
        "supplier": "Organization: The Kedge authors", "downloadLocation": "NOASSERTION", "filesAnalyzed": False,
        "checksums": [{"algorithm": "SHA256", "checksumValue": hashlib.sha256(path.read_bytes()).hexdigest()}],
        "licenseConcluded": "MIT", "licenseDeclared": "MIT", "copyrightText": "Copyright (c) 2026 The Kedge authors",
    }


def relation(left, kind, right):
    return {"spdxElementId": left, "relationshipType": kind, "relatedSpdxElement": right}


def main():
    folder = pathlib.Path(sys.argv[1])
    paths = sorted(folder.glob("*.deb"))
    if not paths:
        sys.exit(f"{folder} has no packages")
    packages = [describe_package(path) for path in paths]
    own = {package["name"] for package in packages}
    relations = [relation("SPDXRef-DOCUMENT", "DESCRIBES", package["SPDXID"]) for package in packages]
    libraries = set()
    for path, package in zip(paths, packages):
        for wanted in sorted(re.findall(r"(?:^|, )([a-z0-9.+-]+)", field(path, "Depends"))):
            relations.append(relation(package["SPDXID"], "DEPENDS_ON", identity(wanted)))
            if wanted not in own:
                libraries.add(wanted)
    packages += [describe_library(name) for name in sorted(libraries)]
    sums = "".join(package["checksums"][0]["checksumValue"] for package in packages if "checksums" in package)
    made = datetime.datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), datetime.timezone.utc)
    print(json.dumps({
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": "kedge",
        "documentNamespace": "https://kedge.invalid/spdx/" + hashlib.sha256(sums.encode()).hexdigest(),
        "creationInfo": {"created": made.strftime("%Y-%m-%dT%H:%M:%SZ"), "creators": ["Organization: The Kedge authors"]},
        "packages": packages, "relationships": relations}, indent=1))


if __name__ == "__main__":
    main()
