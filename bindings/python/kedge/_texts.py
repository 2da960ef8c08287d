"""Texts and JSON on their way into the C library and back."""
import json
from typing import Any, Optional

from ._errors import InvalidArgument, InvalidJSON
from ._library import ffi


class JSON(str):
    """Text that is JSON already. It is given to Kedge as it is, wherever a value may stand."""


def utf8(text: str, what: str) -> bytes:
    """The bytes of a text. Python's strings may hold lone surrogates, which are no UTF-8."""
    if not isinstance(text, str):
        raise TypeError(f"the {what} must be a str, not {type(text).__name__}")
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as failure:
        raise InvalidArgument("text-invalid", f"the {what} is no UTF-8: {failure}") from None


def terminated(text: str, what: str) -> bytes:
    """The same for a parameter that ends with a NUL: one inside would cut it without a word."""
    data = utf8(text, what)
    if b"\0" in data:
        raise InvalidArgument("text-invalid", f"the {what} has a NUL inside")
    return data


def terminated_or_null(text: Optional[str], what: str) -> Any:
    return ffi.NULL if text is None else ffi.new("char[]", terminated(text, what))


def as_json(value: Any, what: str) -> bytes:
    """A value as JSON."""
    if isinstance(value, JSON):
        return utf8(value, what)
    try:
        made = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except TypeError as failure:
        raise InvalidJSON("json-invalid", f"the {what} cannot be written as JSON: {failure}") from failure
    except (ValueError, RecursionError) as failure:
        raise InvalidJSON("json-invalid", f"the {what} is no JSON: {failure}") from failure
    return utf8(made, what)


def sized_text(pointer: Any, size: int) -> str:
    """The text of `size` bytes, copied once. It may have NULs inside."""
    return str(ffi.buffer(pointer, size), "utf-8") if size else ""
