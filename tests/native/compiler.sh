#!/bin/sh
# Stands in for clang++: it copies what it "compiles" and "links", notes each call in $CALLS,
# fails for a source with the word WRONG, and once does what $CALLS.once says: TARGET ACTION.
# It does not say what it would run (-###).
if [ "$1" = --version ]; then
  echo "Stand-in clang version 19.1.7"
  exit
fi
case " $* " in
  *" -### "*) exit 1 ;;
esac
while [ $# -gt 0 ]; do
  case "$1" in
    -c) source=$2; shift ;;
    -o) target=$2; shift ;;
    tier.h) source=$1 ;;
  esac
  shift
done
echo "${source##*/} > ${target##*/}" >> "$CALLS"
if read -r name action < "$CALLS.once" && [ "$name" = "${target##*/}" ]; then
  rm "$CALLS.once"
  case "$action" in
    sleep) sleep 60 ;;
    full) echo "clang: error: cannot write: No space left on device"; exit 1 ;;
    crash) echo "1\n2\n3\n4\n5\n6"; kill -9 $$ ;;
    stale) echo "error: file 'a.h' has been modified since the precompiled header was built"; exit 1 ;;
    broken) echo "ld: error: no such library"; exit 3 ;;
  esac
fi 2> /dev/null
if [ -n "$source" ] && grep -q WRONG "$source"; then
  echo "$(sed -n 's/#line 1 "\(.*\)"/\1/p' "$source"):2:1: error: this is wrong"
  exit 1
fi
cat "${source:-/dev/null}" > "$target"
