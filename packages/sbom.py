#!/usr/bin/env python3
"""What packages are made of, as SPDX 2.3 in JSON: each package with its sum, and the libraries that it needs: of Debian in
the versions that its programs were built with, of Maven in those that its pom names.

Usage: sbom.py FOLDER, which has the packages and, in maven/, the jars. SOURCE_DATE_EPOCH is the time that the document tells."""
import datetime
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
from xml.etree import ElementTree

MAVEN = {"m": "http://maven.apache.org/POM/4.0.0"}


def field(package, name):
    return subprocess.run(["dpkg-deb", "--field", package, name], capture_output=True, text=True, check=True).stdout.strip()


def installed(library):
    """The version, the architecture and the source package of a library of this machine."""
    shown = subprocess.run(["dpkg-query", "--show", "-f", "${Version} ${Architecture} ${source:Package} ${source:Version}\n",
                            library], capture_output=True, text=True, check=True).stdout
    return shown.splitlines()[0].split()


def depends(package):
    return sorted(re.findall(r"(?:^|, )([a-z0-9.+-]+)", field(package, "Depends")))


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
    return describe_own(field(path, "Package"), field(path, "Version"), path)


def describe_own(name, version, path):
    return {
        "SPDXID": identity(name), "name": name, "versionInfo": version, "packageFileName": path.name,
        "supplier": "Organization: The Kedge authors", "downloadLocation": "NOASSERTION", "filesAnalyzed": False,
        "checksums": [{"algorithm": "SHA256", "checksumValue": hashlib.sha256(path.read_bytes()).hexdigest()}],
        "licenseConcluded": "MIT", "licenseDeclared": "MIT", "copyrightText": "Copyright (c) 2026 The Kedge authors",
    }


def describe_jar(pom):
    """A jar, and the identities of what it is run with."""
    project = ElementTree.parse(pom).getroot()
    package = describe_own(maven_name(project), text(project, "version"), pom.with_suffix(".jar"))
    needed = [needs for needs in project.iterfind("m:dependencies/m:dependency", MAVEN) if text(needs, "scope") != "test"]
    return package, [describe_dependency(project, needs) for needs in needed]


def describe_dependency(project, dependency):
    version = text(dependency, "version")
    if version.startswith("${"):
        version = text(project, "properties/m:" + version[2:-1])
    name = maven_name(dependency)
    return {
        "SPDXID": identity(name), "name": name, "versionInfo": version, "supplier": "NOASSERTION",
        "downloadLocation": "NOASSERTION", "filesAnalyzed": False, "licenseConcluded": "NOASSERTION",
        "licenseDeclared": "NOASSERTION", "copyrightText": "NOASSERTION",
        "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                          "referenceLocator": f"pkg:maven/{name.replace(':', '/')}@{version}"}],
    }


def maven_name(element):
    return text(element, "groupId") + ":" + text(element, "artifactId")


def text(element, path):
    return element.findtext("m:" + path, "", MAVEN)


def relation(left, kind, right):
    return {"spdxElementId": left, "relationshipType": kind, "relatedSpdxElement": right}


def main():
    folder = pathlib.Path(sys.argv[1])
    paths = sorted(folder.glob("*.deb"))
    if not paths:
        sys.exit(f"{folder} has no packages")
    packages = [describe_package(path) for path in paths]
    jars = [describe_jar(pom) for pom in sorted(folder.glob("maven/**/*.pom"))]
    packages += [jar for jar, _ in jars]
    archive = next(folder.glob("kedge-swift-*.tar.gz"))
    swift = describe_own("kedge-swift", re.search("swift-([0-9.]+).tar", archive.name)[1], archive)
    packages.append(swift)
    own = {package["name"] for package in packages}
    relations = [relation("SPDXRef-DOCUMENT", "DESCRIBES", package["SPDXID"]) for package in packages]
    relations.append(relation(swift["SPDXID"], "DEPENDS_ON", identity("libkedge-dev")))
    libraries = {}
    for path, package in zip(paths, packages):
        for wanted in depends(path):
            relations.append(relation(package["SPDXID"], "DEPENDS_ON", identity(wanted)))
            if wanted not in own:
                libraries[wanted] = describe_library(wanted)
    for jar, dependencies in jars:
        if jar["name"] == "io.kedge:kedge":  # libkedge is in it
            relations += [relation(jar["SPDXID"], "DEPENDS_ON", identity(wanted))
                          for wanted in depends(next(folder.glob("libkedge0_*.deb")))]
        for dependency in dependencies:
            relations.append(relation(jar["SPDXID"], "DEPENDS_ON", dependency["SPDXID"]))
            if dependency["name"] not in own:
                libraries[dependency["name"]] = dependency
    packages += [library for _, library in sorted(libraries.items())]
    sums = "".join(package["checksums"][0]["checksumValue"] for package in packages if "checksums" in package)
    made = datetime.datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), datetime.timezone.utc)
    print(json.dumps({
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": "kedge",
        "documentNamespace": "https://kedge.invalid/spdx/" + hashlib.sha256(sums.encode()).hexdigest(),
        "creationInfo": {"created": made.strftime("%Y-%m-%dT%H:%M:%SZ"), "creators": ["Organization: The Kedge authors"]},
        "packages": packages, "relationships": relations}, indent=1))


if __name__ == "__main__":
    main()
