"""Jobs with a budget of work, and jobs that ignore the given positions."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("jobs", sa.Column("trials", sa.BigInteger(), nullable=True))
    op.add_column("jobs", sa.Column("from_scratch", sa.Boolean(), server_default=sa.false(), nullable=False))


def downgrade() -> None:
    op.drop_column("jobs", "from_scratch")
    op.drop_column("jobs", "trials")
