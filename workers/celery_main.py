"""Start of one Celery process: `python -m workers.celery_main worker …`, ended by the kernel with its supervisor."""

from __future__ import annotations

import logging
import sys

from backend.core import logs
from workers.processes import die_with_parent


def main() -> None:
    die_with_parent()
    logs.configure()
    logging.getLogger("celery").setLevel(logging.WARNING)
    from workers.celery_app import app

    app.worker_main(sys.argv[1:])


if __name__ == "__main__":
    main()
