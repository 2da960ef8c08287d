#!/usr/bin/env python3
"""Prints on which addresses processes listen, as the kernel tells: one line "ADDRESS PORT" each, * for every
interface.

Usage: listeners.py PID…"""
import ipaddress
import os
import pathlib
import re
import sys

LISTENS = "0A"


def sockets_of(pid):
    found = set()
    for entry in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        try:
            match = re.fullmatch(r"socket:\[(\d+)\]", os.readlink(entry))
        except FileNotFoundError:
            continue
        if match:
            found.add(match.group(1))
    return found


def address_of(hexadecimal):
    """The kernel prints addresses as words in the machine's byte order."""
    words = re.findall("........", hexadecimal)
    raw = b"".join(int(word, 16).to_bytes(4, sys.byteorder) for word in words)
    address = ipaddress.ip_address(raw)
    if address.version == 6 and address.ipv4_mapped:
        address = address.ipv4_mapped
    return "*" if address.is_unspecified else str(address)


def listeners(pid):
    sockets = sockets_of(pid)
    for table in ("tcp", "tcp6"):
        for line in pathlib.Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == LISTENS and fields[9] in sockets:
                address, port = fields[1].split(":")
                yield address_of(address), int(port, 16)


if __name__ == "__main__":
    for pid in sys.argv[1:]:
        for address, port in sorted(set(listeners(pid))):
            print(address, port)
