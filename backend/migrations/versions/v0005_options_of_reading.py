"""How a design's files are to be read: one column for all options, in place of one for each."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("designs", sa.Column("options", sa.JSON(), server_default="{}", nullable=False))
    op.execute("""UPDATE designs SET options = '{"lock_placed": true}' WHERE lock_placed""")
    op.drop_column("designs", "lock_placed")


def downgrade() -> None:
    op.add_column("designs", sa.Column("lock_placed", sa.Boolean(), server_default=sa.false(), nullable=False))
    op.execute("""UPDATE designs SET lock_placed = TRUE WHERE CAST(options AS TEXT) LIKE '%"lock_placed": true%'""")
    op.drop_column("designs", "options")
