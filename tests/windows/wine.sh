#!/bin/sh
# Runs a program for Windows in the prefix of the tests.
# Without a locale, Wine reads arguments as ASCII.
export LC_ALL=C.UTF-8
export WINEPREFIX="@FOLDER@/prefix" WINEDEBUG=-all
exec @WINE@ "$@"
