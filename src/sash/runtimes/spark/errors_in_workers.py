"""What Sash raises in a Python worker, without the way to it.

PySpark prints a worker's traceback in the driver, twice. Of an error with a sentence of ours nothing in it
helps: the sentence has the line of the user's function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from typing import ParamSpec, TypeVar

from sash.errors import SashError

TaskArguments = ParamSpec("TaskArguments")
TaskItem = TypeVar("TaskItem")


def only_the_sentence(
    task: Callable[TaskArguments, Iterator[TaskItem]],
) -> Callable[TaskArguments, Iterator[TaskItem]]:
    """The same task of a worker; errors of ours leave it without their stack and cause."""

    @wraps(task)
    def run(*arguments: TaskArguments.args, **options: TaskArguments.kwargs) -> Iterator[TaskItem]:
        try:
            yield from task(*arguments, **options)
        except SashError as error:
            raise error.with_traceback(None) from None

    return run
