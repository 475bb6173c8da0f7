#!/usr/bin/env bash
# Installs the locked Python packages into .venv: `setup.sh run` what running needs, `setup.sh dev` what
# testing needs; `setup.sh node` brings Node into .tools/.
# Uses uv from the PATH, else brings it by pip into .tools/ (nothing is installed outside this folder).
set -euo pipefail
cd "$(dirname "$0")/.."
group=${1:-run}

find_uv() {
    if command -v uv; then return; fi
    if [ ! -x .tools/uv/bin/uv ]; then
        local python
        for python in python3.11 python3; do
            if "$python" -m pip --version >/dev/null 2>&1; then
                "$python" -m pip install --quiet --disable-pip-version-check --target .tools/uv 'uv>=0.5' >&2 && break
            fi
        done
    fi
    if [ -x .tools/uv/bin/uv ]; then echo "$PWD/.tools/uv/bin/uv"; return; fi
    echo "setup: neither uv nor pip found. Install one of them: 'apt install python3-pip', or uv itself." >&2
    exit 1
}

uv=$(find_uv)
if [ ! -x .venv/bin/python ]; then
    "$uv" venv --quiet --python 3.11 .venv || {
        echo "setup: no Python 3.11 found. Install it (package python3.11 or python3 on Debian 12), or give uv one." >&2
        exit 1
    }
fi
echo "setup: installing locked packages ($group)" >&2
if [ "$group" = node ]; then
    exec "$uv" pip install --quiet --python .venv/bin/python --target .tools/node-wheel --require-hashes -r requirements/node.txt
fi
# `pip sync`, not `pip install`: it takes the lock file as it is, and the lock overrides one bound that TensorFlow states
# (pyproject.toml, [tool.uv]).
"$uv" pip sync --quiet --python .venv/bin/python --require-hashes "requirements/$group.txt"
"$uv" pip install --quiet --python .venv/bin/python --no-deps --no-build-isolation --editable .
