"""Builds the extension kedge._native with cffi. Declarations, struct layouts, constants and initialisers all come from
the headers, so that nothing of them is written here.

The environment says where Kedge is: KEDGE_INCLUDE (the folder that has kedge/kedge.h) and KEDGE_LIBRARY (the file
libkedge.so.0). Without them pkg-config is asked, for an installed Kedge."""
import os
import pathlib
import re
import shlex
import subprocess
import sysconfig
import tempfile

import cffi


def pkg_config(*words):
    asked = subprocess.run(["pkg-config", *words, "kedge"], capture_output=True, text=True)
    if asked.returncode != 0:
        raise SystemExit("set KEDGE_INCLUDE and KEDGE_LIBRARY, or install Kedge with its kedge.pc: " + asked.stderr)
    return asked.stdout.strip()


def include_folder():
    return os.environ.get("KEDGE_INCLUDE") or pkg_config("--variable=includedir")


def library_file():
    return pathlib.Path(os.environ.get("KEDGE_LIBRARY") or pkg_config("--variable=libdir") + "/libkedge.so.0")


def header_texts(include):
    return [path.read_text(encoding="utf-8") for path in sorted(pathlib.Path(include, "kedge").glob("*.h"))]


def declarations(include):
    """The headers as the compiler's preprocessor leaves them. The standard's headers are empty, since cffi knows
    their types; without __GNUC__, and as if for Windows, the headers have no attributes."""
    with tempfile.TemporaryDirectory() as folder:
        for name in ("stdbool.h", "stddef.h", "stdint.h"):
            pathlib.Path(folder, name).touch()
        compiler = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")
        return subprocess.run(
            [*compiler, "-E", "-P", "-nostdinc", "-U__GNUC__", "-U__clang__", "-D_WIN32", f"-I{folder}", f"-I{include}",
             "-x", "c", "-"],
            input="#include <kedge/kedge.h>\n", capture_output=True, text=True, check=True).stdout


def constants(texts):
    """Macros that are whole numbers: cffi asks the compiler for their values."""
    names = re.findall(r"^#define (KEDGE_[A-Z0-9_]+) +(?:\d+|\([A-Z0-9_ +]+\))(?= *$| */\*)", "\n".join(texts), re.M)
    return "".join(f"#define {name} ...\n" for name in names)


def initialisers(texts):
    """A function `init_X(X *)` for each KEDGE_…_INIT, which names its type in its sizeof."""
    found = re.findall(r"#define (KEDGE_\w+_INIT)\b.*?sizeof\((\w+)\)", "\n".join(texts), re.S)
    declared = "".join(f"void init_{kind}({kind} *made);\n" for _, kind in found)
    defined = "".join(
        f"static void init_{kind}({kind} *made) {{ const {kind} fresh = {macro}; *made = fresh; }}\n"
        for macro, kind in found)
    return declared, defined


# Of cJSON and kedge/cjson.h only what Transaction uses: a tree of JSON, and the functions that take one.
CJSON = """
typedef struct cJSON cJSON;
cJSON *cJSON_ParseWithLengthOpts(const char *value, size_t buffer_length, const char **end, int terminated);
void cJSON_Delete(cJSON *item);
kedge_status kedge_tx_merge_json(kedge_tx *tx, const char *collection, const char *id, const cJSON *patch,
                                 kedge_error *error);
kedge_status kedge_tx_patch_json(kedge_tx *tx, const char *collection, const char *id, const cJSON *patch,
                                 kedge_error *error);
kedge_status kedge_tx_call_json(kedge_tx *tx, const char *name, const cJSON *args, kedge_error *error);
"""

# What Kedge calls: see kedge/_callbacks.py.
CALLBACKS = """
extern "Python" {
    kedge_status kedge_python_mutator(kedge_tx *, const char *, size_t, void *, kedge_error *);
    kedge_status kedge_python_token(void *, char *, size_t);
    void kedge_python_dispatch(void *, void (*)(void *), void *);
    void kedge_python_log(void *, kedge_log_level, const char *, const char *);
    void kedge_python_changes(void *, const kedge_change *, size_t);
    void kedge_python_sync_status(void *, const kedge_sync_status *);
    void kedge_python_result(void *, const kedge_query_changes *);
    void kedge_python_rejected(void *, const kedge_mutation *);
    void kedge_python_free(void *);
}
"""


def make():
    include, library = include_folder(), library_file()
    texts = header_texts(include)
    declared, defined = initialisers(texts)
    ffi = cffi.FFI()
    ffi.cdef(constants(texts) + declarations(include) + declared + CJSON + CALLBACKS)
    ffi.set_source(
        "kedge._native", "#include <kedge/kedge.h>\n#include <kedge/cjson.h>\n" + defined, include_dirs=[include],
        # The library lies beside the extension, where setup.py copies it.
        extra_link_args=[str(library), "-lcjson", "-Wl,-rpath,$ORIGIN"])
    return ffi


ffi = make()
