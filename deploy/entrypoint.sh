#!/bin/sh
# Run matchbandit with the database password from a file, such as a Docker secret, so that no setting holds it.
set -eu
if [ -n "${PGPASSWORD_FILE:-}" ]; then
    PGPASSWORD="$(cat "$PGPASSWORD_FILE")"
    export PGPASSWORD
fi
exec matchbandit "$@"
