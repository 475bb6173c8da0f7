#!/usr/bin/env bash
# Makes the lock files anew from pyproject.toml (needs uv and a package registry): `bash requirements/lock.sh`.
# They pin every version by hash and name no registry, so that they install from any mirror (docs/decisions).
set -euo pipefail
cd "$(dirname "$0")/.."
uv lock
export_lock() { uv export --quiet --format requirements.txt --no-header --no-emit-project --output-file "requirements/$1.txt" "${@:2}"; }
export_lock run --no-default-groups
export_lock dev --group dev
export_lock node --only-group node
