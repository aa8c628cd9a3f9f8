#!/bin/sh
# Runs the binary for Windows as if it were one for this system. What it is given keeps its name: on the drive Z, which is
# this system's root, /a/b is a path too.
for name in USERPROFILE APPDATA LOCALAPPDATA PATH; do
    eval "value=\${$name-}"
    [ -n "$value" ] && export "VECTOR_WINE_$name=$value"
done
# Wine keeps things of its own in the home folder.
export WINEHOME="$HOME" HOME="@FOLDER@"
exec "@FOLDER@/wine" "@FOLDER@/vector.exe" "$@"
