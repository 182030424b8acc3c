"""Sash: every sliding window that streaming research knows, for PySpark."""

from sash._version import __version__

__all__ = ["__version__"]
