"""Jobs with a topology: cells with names, versions of programs, slots of workers."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for name in ("topology", "scaled_topology"):
        op.add_column("jobs", sa.Column(name, sa.JSON(), nullable=True))
    op.add_column("jobs", sa.Column("version", sa.String(32), nullable=True))
    # Rows of roles and workers live as long as their processes, and those are stopped for an upgrade.
    op.execute("DELETE FROM roles")
    op.execute("DELETE FROM workers")
    with op.batch_alter_table("roles") as roles:
        roles.drop_column("cell")
        roles.add_column(sa.Column("cell", sa.String(32), nullable=False))
        roles.alter_column("state", type_=sa.String(), existing_type=sa.String(32), existing_nullable=False)
        roles.add_column(sa.Column("restart_requested", sa.Boolean(), nullable=False))
        roles.add_column(sa.Column("version", sa.String(32), nullable=False))
    with op.batch_alter_table("workers") as workers:
        workers.add_column(sa.Column("slots", sa.JSON(), nullable=False))


def downgrade() -> None:
    op.execute("DELETE FROM roles")
    op.execute("DELETE FROM workers")
    with op.batch_alter_table("workers") as workers:
        workers.drop_column("slots")
    with op.batch_alter_table("roles") as roles:
        roles.drop_column("version")
        roles.drop_column("restart_requested")
        roles.alter_column("state", type_=sa.String(32), existing_type=sa.String(), existing_nullable=False)
        roles.drop_column("cell")
        roles.add_column(sa.Column("cell", sa.Integer(), nullable=False))
    for name in ("version", "scaled_topology", "topology"):
        op.drop_column("jobs", name)
