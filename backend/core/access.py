"""Who may come in: bearer tokens for programs, sessions in a cookie for the browser. Only SHA-256 hashes are stored.

Tokens are 256 random bits (or the setting PLACEWRIGHT_TOKEN), so a plain hash suffices and no password hash is needed.
A session is begun with a token and dies with it. A cookie is taken for a changing request only if the `Origin` header
names this very host, on top of SameSite=Strict. Answers are remembered for a few seconds: polling costs no query.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
import time
from datetime import timedelta
from urllib.parse import urlsplit

import anyio.to_thread
import sqlalchemy as sa
from fastapi import Request
from sqlalchemy.orm import Session

from backend.core.config import Settings
from backend.core.db import Database
from backend.core.errors import ForbiddenError, UnauthorizedError
from backend.core.ids import new_id
from backend.core.tables import Token

SESSION_DAYS = 30
REMEMBER_S = 5.0  # a revoked token works for at most this long
TOKENS, SESSION = ("token", "setting"), ("session",)
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


def hash_token(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


class Access:
    """The tokens and sessions of one database."""

    def __init__(self, database: Database, settings: Settings) -> None:
        self.database = database
        # Cookies know no ports: two services of one host must not overwrite each other's.
        instance = hashlib.sha256(f"{settings.data}\0{settings.database_url}".encode()).hexdigest()[:8]
        self.cookie = f"placewright_{instance}"
        self.secure_cookie = settings.behind_tls_proxy
        self._known: dict[tuple[tuple[str, ...], str], float] = {}
        self._lock = threading.Lock()

    def take_setting(self, token: str | None) -> None:
        """Accept the token of the settings from now on, and no earlier one of the settings."""

        def work(session: Session) -> None:
            digest = hash_token(token) if token else ""
            session.execute(sa.delete(Token).where(Token.kind == "setting", Token.hash != digest))
            if token and session.scalar(sa.select(Token.id).where(Token.hash == digest)) is None:
                self._add(session, "setting", digest)

        self.database.write(work)

    def first_token(self) -> str | None:
        """A new token if there is none yet, else None. It is returned this once and never stored."""
        token = secrets.token_urlsafe(32)

        def work(session: Session) -> bool:
            if session.scalar(sa.select(sa.func.count()).select_from(Token).where(Token.kind != "session")):
                return False
            self._add(session, "token", hash_token(token))
            return True

        return token if self.database.write(work) else None

    def new_token(self, *, revoke_others: bool = False) -> str:
        """A new token; the others and their sessions end if asked."""
        token = secrets.token_urlsafe(32)

        def work(session: Session) -> None:
            if revoke_others:
                session.execute(sa.delete(Token).where(Token.kind == "session"))
                session.execute(sa.delete(Token).where(Token.kind == "token"))
            self._add(session, "token", hash_token(token))

        self.database.write(work)
        return token

    def begin_session(self, token: str) -> str:
        """The secret of a new browser session. Raises UnauthorizedError for a wrong token."""
        secret = secrets.token_urlsafe(32)

        def work(session: Session) -> bool:
            row = self._find(session, hash_token(token))
            if row is None or row.kind == "session":
                return False
            now = self.database.now(session)
            session.execute(sa.delete(Token).where(Token.expires_at < now))
            self._add(session, "session", hash_token(secret), row.id, timedelta(days=SESSION_DAYS))
            return True

        if not self.database.write(work):
            raise UnauthorizedError("This token is not, or no longer, valid")
        return secret

    def end_session(self, secret: str) -> None:
        digest = hash_token(secret)
        with self._lock:
            self._known.pop((SESSION, digest), None)
        self.database.write(
            lambda session: session.execute(sa.delete(Token).where(Token.hash == digest, Token.kind == "session"))
        )

    async def check(self, request: Request) -> None:
        """Let a request pass or raise UnauthorizedError, ForbiddenError. Source of the rules: this module's header."""
        scheme, _, bearer = request.headers.get("authorization", "").partition(" ")
        cookie = request.cookies.get(self.cookie)
        if scheme.lower() == "bearer" and bearer:
            if await self._valid(hash_token(bearer.strip()), kinds=TOKENS):
                return
            raise UnauthorizedError("This token is not, or no longer, valid")
        if cookie:
            if await self._valid(hash_token(cookie), kinds=SESSION):
                if request.method not in SAFE_METHODS and not same_origin(request):
                    raise ForbiddenError(
                        "other-origin",
                        "A browser session changes things only from this service's own pages "
                        f"(Origin is {request.headers.get('origin', 'absent')})",
                    )
                return
            raise UnauthorizedError("The session has ended; open the address with the token again")
        raise UnauthorizedError("A token is needed: send 'Authorization: Bearer TOKEN'")

    async def _valid(self, digest: str, kinds: tuple[str, ...]) -> bool:
        now = time.monotonic()
        if self._known.get((kinds, digest), 0.0) > now:
            return True

        def find() -> bool:
            row = self.database.read(lambda session: self._find(session, digest))
            return row is not None and row.kind in kinds

        if not await anyio.to_thread.run_sync(find):
            return False
        with self._lock:
            self._known = {key: until for key, until in self._known.items() if until > now}
            self._known[(kinds, digest)] = now + REMEMBER_S
        return True

    def _find(self, session: Session, digest: str) -> Token | None:
        row = session.scalar(sa.select(Token).where(Token.hash == digest))
        if row is None or not hmac.compare_digest(row.hash, digest):
            return None
        if row.expires_at is not None and row.expires_at <= self.database.now(session):
            return None
        return row

    def _add(
        self,
        session: Session,
        kind: str,
        digest: str,
        parent_id: str | None = None,
        lifetime: timedelta | None = None,
    ) -> None:
        now = self.database.now(session)
        expires_at = now + lifetime if lifetime else None
        session.add(
            Token(id=new_id(), kind=kind, hash=digest, parent_id=parent_id, created_at=now, expires_at=expires_at)
        )


def same_origin(request: Request) -> bool:
    """Whether the browser says that the page asking is one of this host."""
    origin = request.headers.get("origin")
    return origin is not None and urlsplit(origin).netloc == request.headers.get("host")
