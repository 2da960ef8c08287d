"""What is made for Apple's systems, as far as it can be tried without them: SwiftPM reads the binary target, and the headers in
it are enough to compile the binding. The libraries are empty files.

usage: apple_test.py SOURCE_DIR ENTER   (ENTER: runs a program of the Swift toolchain)"""
import filecmp
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

source, enter = sys.argv[1:]
PLATFORMS = ["ios-arm64", "ios-arm64_x86_64-simulator", "macos-arm64_x86_64"]
CJSON = "/usr/include/cjson/cJSON.h"


def run(*command, cwd=None, fails=False):
    done = subprocess.run([str(word) for word in command], cwd=cwd, capture_output=True, text=True, timeout=300)
    if (done.returncode != 0) != fails:
        sys.exit(f"{command}\nended with {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def make(package, *libraries, **options):
    return run(sys.executable, package / "make_xcframework.py", f"{source}/include", CJSON, package / "CKedge.xcframework",
               *libraries, **options)


def files_of(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


with tempfile.TemporaryDirectory() as folder:
    os.environ["TMPDIR"] = folder  # the toolchain leaves folders and locks there
    package = pathlib.Path(folder, "swift")
    shutil.copytree(f"{source}/bindings/swift", package, ignore=shutil.ignore_patterns(".build", "*.xcframework"))
    manifest = package / "Package.swift"
    manifest.write_text(manifest.read_text(encoding="utf-8").replace("#if os(macOS)", "#if os(Linux)"), encoding="utf-8")
    library = pathlib.Path(folder, "empty.a")
    library.write_bytes(b"!<arch>\n")
    assert "no platform" in make(package, f"tvos-arm64={library}", fails=True)
    assert "does not contain" in run(enter, "swift-package", "describe", cwd=package, fails=True)
    make(package, *(f"{name}={library}" for name in PLATFORMS))
    assert "there already" in make(package, f"ios-arm64={library}", fails=True)
    described = run(enter, "swift-package", "describe", cwd=package)
    assert "Type: binary" in described, described
    sources = sorted((package / "Sources/Kedge").glob("*.swift"))
    headers = package / "CKedge.xcframework" / PLATFORMS[0] / "Headers"
    run(enter, "swiftc", "-swift-version", "6", "-typecheck", "-module-name", "Kedge", "-module-cache-path",
        f"{folder}/modules", "-I", headers, *sources)
    # What was compiled is what each of the others has.
    files = files_of(headers)
    for name in PLATFORMS[1:]:
        other = package / "CKedge.xcframework" / name / "Headers"
        assert files_of(other) == files, name
        same, *others = filecmp.cmpfiles(headers, other, files, shallow=False)
        assert same == files, (name, others)
    (headers / "cjson/cJSON.h").write_text("#error this one\n", encoding="utf-8")
    broken = run(enter, "swiftc", "-typecheck", "-module-name", "Kedge", "-module-cache-path", f"{folder}/modules", "-I",
                 headers, *sources, fails=True)
    assert "this one" in broken, broken
print(f"{len(PLATFORMS)} platforms have what SwiftPM and the compiler need")
