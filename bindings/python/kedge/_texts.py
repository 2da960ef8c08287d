"""Texts and JSON on their way into the C library and back."""
import json
import re
from typing import Any, Dict, List, Optional, Sequence, Tuple

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


def several(values: Sequence[Any], what: str) -> List[Any]:
    """The values as a list. A text is a sequence, too, of its characters, which nobody means."""
    if isinstance(values, (str, bytes)):
        raise TypeError(f"the {what} must be a list, not {type(values).__name__}")
    return list(values)


def has_json(value: Any) -> bool:
    """Whether there is a JSON inside of a value, which has no circles."""
    left = [value]
    while left:
        each = left.pop()
        if isinstance(each, JSON):
            return True
        if isinstance(each, dict):
            left += each.values()
        elif isinstance(each, (list, tuple)):
            left += each
    return False


def with_what_json_holds(value: Any) -> Any:
    """The value, with what each JSON inside of it stands for in its place."""
    if isinstance(value, JSON):
        return json.loads(value, object_pairs_hook=object_of)
    if isinstance(value, dict):
        return {name: with_what_json_holds(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [with_what_json_holds(each) for each in value]
    return value


def object_of(members: List[Tuple[str, Any]]) -> Dict[str, Any]:
    made = dict(members)
    if len(made) < len(members):
        raise ValueError("an object has a member twice")
    return made


def dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def as_json(value: Any, what: str) -> bytes:
    """A value as JSON."""
    if isinstance(value, JSON):
        return utf8(value, what)
    try:
        made = dumped(value)
        if has_json(value):  # json wrote it as a string
            made = dumped(with_what_json_holds(value))
    except TypeError as failure:
        raise InvalidJSON("json-invalid", f"the {what} cannot be written as JSON: {failure}") from failure
    except (ValueError, RecursionError) as failure:
        raise InvalidJSON("json-invalid", f"the {what} is no JSON: {failure}") from failure
    return utf8(made, what)


# What decides in a string of JSON: a quote, the escape of a NUL, any other escape, a control character.
MARKS = re.compile(rb'"|\\u0000|\\.|[\x00-\x1f]', re.DOTALL)


def check_strings(data: bytes) -> None:
    """cJSON cuts a string at an escaped NUL, and takes control characters in it. kedge_tx_put refuses both, and so does
    this, in the same words."""
    inside = False
    for mark in MARKS.finditer(data):
        where, found = f"JSON is invalid at byte {mark.start()}", mark.group()
        if found == b'"':
            inside = not inside
        elif inside and found == b"\\u0000":
            raise InvalidJSON("json-nul", f"{where}: a NUL is not allowed")
        elif inside and found < b" ":
            raise InvalidJSON("json-syntax", f"{where}: a control character stands in a string")


def sized_text(pointer: Any, size: int) -> str:
    """The text of `size` bytes, copied once. It may have NULs inside."""
    return str(ffi.buffer(pointer, size), "utf-8") if size else ""
