#!/bin/sh
# Takes the place of the C compiler and the archiver where `npm test -- targets` checks Rust for another platform. A check
# does not link, so an empty library is enough.
for argument; do
  case $argument in
    -out:*) : >> "${argument#-out:}" ;;
    -*) ;;
    *.a | *.lib) : >> "$argument" ;;
  esac
done
