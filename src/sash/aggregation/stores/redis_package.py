"""The package redis, for whatever uses a server: whether it is there, its errors, an address to show."""

from __future__ import annotations

from typing import Any

from sash.errors import MissingDependency


def redis_package(user: str) -> Any:
    """The package; MissingDependency in one sentence where it is not installed."""
    try:
        import redis
    except ImportError as error:
        raise MissingDependency(
            f"{user} needs the package redis: pip install redis", name="redis"
        ) from error
    return redis


def unreachable(redis: Any) -> tuple[type[Exception], ...]:
    """What is raised while a server does not answer."""
    return redis.ConnectionError, redis.TimeoutError, redis.BusyLoadingError


def address_of(url: str) -> str:
    """Host and port, without the password that a URL may hold.

    >>> address_of("redis://:secret@host:6379/0")
    'host:6379/0'
    """
    return url.partition("://")[2].rpartition("@")[2]
