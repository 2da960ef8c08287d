"""Puts CKedge.xcframework together, the binary target of this package on Apple's systems: static libraries that were built
elsewhere, the headers, and a list of both. It needs no Xcode, and was tried with none.

usage: make_xcframework.py KEDGE_INCLUDE CJSON_HEADER OUT PLATFORM=LIBRARY...

KEDGE_INCLUDE is the folder that has kedge/kedge.h. PLATFORM is ios-arm64, ios-arm64_x86_64-simulator or
macos-arm64_x86_64. LIBRARY is libkedge as a static library with SQLite, libcurl, cJSON and OpenSSL in it."""
import pathlib
import plistlib
import re
import shutil
import sys

LIBRARY = "libkedge.a"


def platform_of(name):
    """What Info.plist says of a platform, from its name."""
    found = re.fullmatch(r"(ios|macos)-(arm64|arm64_x86_64)(-simulator)?", name)
    if not found:
        sys.exit(f"{name} is no platform: ios-arm64, ios-arm64_x86_64-simulator, macos-arm64_x86_64")
    system, processors, variant = found.groups()
    described = {"LibraryIdentifier": name, "LibraryPath": LIBRARY, "HeadersPath": "Headers", "SupportedPlatform": system,
                 "SupportedArchitectures": ["arm64"] + (["x86_64"] if processors == "arm64_x86_64" else [])}
    return {**described, "SupportedPlatformVariant": variant[1:]} if variant else described


def copy_headers(include, cjson, folder):
    """The headers, and a module map that links nothing: the library is that of the framework."""
    here = pathlib.Path(__file__).parent / "Sources/CKedge"
    (folder / "kedge").mkdir(parents=True)
    (folder / "cjson").mkdir()
    for header in sorted(include.glob("kedge/*.h")):
        shutil.copy(header, folder / "kedge")
    shutil.copy(cjson, folder / "cjson/cJSON.h")
    shutil.copy(here / "ckedge.h", folder)
    lines = (here / "module.modulemap").read_text(encoding="utf-8").splitlines(keepends=True)
    (folder / "module.modulemap").write_text(
        "".join(line for line in lines if not line.strip().startswith("link ")), encoding="utf-8")


def make(include, cjson, out, libraries):
    if not (include / "kedge/kedge.h").exists():
        sys.exit(f"{include} has no kedge/kedge.h")
    if out.exists():
        sys.exit(f"{out} is there already")
    described = [platform_of(name) for name, _ in libraries]
    for name, library in libraries:
        copy_headers(include, cjson, out / name / "Headers")
        shutil.copy(library, out / name / LIBRARY)
    (out / "Info.plist").write_bytes(plistlib.dumps({
        "AvailableLibraries": described, "CFBundlePackageType": "XFWK", "XCFrameworkFormatVersion": "1.0"}))


if __name__ == "__main__":
    if len(sys.argv) < 5 or not all("=" in word for word in sys.argv[4:]):
        sys.exit(__doc__)
    make(*map(pathlib.Path, sys.argv[1:4]), [word.split("=", 1) for word in sys.argv[4:]])
