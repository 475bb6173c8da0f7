"""The secret that the roles of a job seal with what they send each other."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("jobs", sa.Column("secret", sa.LargeBinary(), nullable=True))


def downgrade() -> None:
    op.drop_column("jobs", "secret")
