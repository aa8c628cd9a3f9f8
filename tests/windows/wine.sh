#!/bin/sh
# Runs a program for Windows in the prefix of the tests.
export WINEPREFIX="@FOLDER@/prefix" WINEDEBUG=-all
exec @WINE@ "$@"
