"""The Celery application of worker processes: `celery -A workers.celery_app worker …`, started by `placewright worker`.

Settings of broker and queues are shared with the service (`backend.core.broker`). Never imports jax: a run is a fresh
interpreter of its own (a test looks at what a worker has imported).
"""

from __future__ import annotations

from backend.core.broker import make_celery
from backend.core.config import get_settings

app = make_celery(get_settings())
app.conf.update(include=["workers.tasks"])
app.set_default()
