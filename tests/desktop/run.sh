#!/bin/sh
# Runs desktop_test.py with a session bus of its own, through which it reads the window. Ends 77 when something that it
# needs is not installed (install_desktop of scripts/lib.sh installs it).
python=/usr/bin/python3 # Debian's, which has the module gi
for tool in Xvfb xdotool import dbus-run-session "$python"; do
  command -v "$tool" >/dev/null || { echo "there is no $tool"; exit 77; }
done
"$python" -c 'import gi; gi.require_version("Atspi", "2.0")' 2>/dev/null || { echo "there is no Atspi for $python"; exit 77; }
# What the session bus and its services print is not the test's.
exec 3>&1 >&2
exec dbus-run-session -- sh -c 'exec "$@" >&3 3>&-' sh "$python" "$(dirname "$0")/desktop_test.py" "$@"
