# One image for every service of docker-compose.yml: the command decides the role.
FROM node:22-bookworm-slim AS frontend
WORKDIR /app/frontend
COPY frontend/package.json frontend/package-lock.json frontend/.npmrc ./
RUN npm ci --no-audit --no-fund
COPY frontend ./
RUN npm run build

FROM python:3.11-slim-bookworm
WORKDIR /app
ENV PYTHONUNBUFFERED=1 PLACEWRIGHT_DATA=/data NUMBA_CACHE_DIR=/app/.numba
RUN python -m pip install --no-cache-dir "uv>=0.5" && useradd --create-home --uid 1000 placewright \
    && mkdir -p /data && chown placewright /data /app
COPY requirements/run.txt requirements/run.txt
RUN uv venv --quiet --python 3.11 .venv \
    && uv pip sync --quiet --python .venv/bin/python --require-hashes requirements/run.txt
COPY pyproject.toml README.md LICENSE ./
COPY netlists netlists
COPY placement placement
COPY backend backend
COPY workers workers
COPY benchmarks benchmarks
COPY --from=frontend /app/frontend/dist frontend/dist
RUN uv pip install --quiet --python .venv/bin/python --no-deps --no-build-isolation --editable .
ENV PATH=/app/.venv/bin:$PATH
RUN placewright warm-up && chown -R placewright .numba
USER placewright
VOLUME /data
EXPOSE 8000
CMD ["placewright", "serve", "--host", "0.0.0.0", "--port", "8000"]
