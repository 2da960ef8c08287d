"""What the tests of the template need of this machine, and what happens when it is not there."""
import importlib.util
import os
import pathlib
import sys


def missing(what):
    """Skips the test, unless the run has promised what is missing."""
    required = os.environ.get("KEDGE_ENGINES") == "required" or os.environ.get("KEDGE_PYTHON_TOOLS")
    print(f"{'failed' if required else 'skipped'}: {what}")
    sys.exit(1 if required else 77)


def use_python_with(*modules):
    """Goes on under the Python of KEDGE_PYTHON_TOOLS when this one lacks a module."""
    absent = [module for module in modules if importlib.util.find_spec(module) is None]
    if not absent:
        return
    tools = pathlib.Path(os.environ.get("KEDGE_PYTHON_TOOLS", "/nowhere")) / "python"
    if os.environ.get("KEDGE_SECOND_PYTHON") or not tools.exists():
        missing(f"there is no {absent[0]}; KEDGE_PYTHON_TOOLS names no Python that has it")
    os.environ["KEDGE_SECOND_PYTHON"] = "1"
    os.execv(tools, [str(tools), *sys.argv])
