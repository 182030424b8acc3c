"""What is done to a running program and to the server that it keeps state in, and what it may end of.

    kill_everything      nothing is left that could go on
    kill_workers         tasks are tried again
    pause_workers        up to a minute
    pause_everything     a minute or more: JVM and timers too, as of a machine that was suspended
    pause_shortly        the same for a few seconds
    lose_the_server      it is back within seconds

A program goes on after all but the first, with two exceptions: a query whose state is in the server may
fail with it, as queries do when a store is not there; and Spark gives up on a worker that does not start
within ten seconds, which is little on a busy machine. Then it is started again.
"""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Callable

from tests.aggregation.conftest import RedisServer
from tests.faults.victim import Victim

Harm = Callable[[Victim, RedisServer, random.Random], None]

MINUTE = 60.0
SOON = 2.0
"""Seconds: about a batch."""
GAVE_UP = "Python worker failed to connect back"
"""Spark waits ten seconds for a process to start, which is not much on a busy machine."""


def kill_everything(victim: Victim, server: RedisServer, choice: random.Random) -> None:
    assert victim.kill() >= 1


def kill_workers(victim: Victim, server: RedisServer, choice: random.Random) -> None:
    victim.kill_workers()
    time.sleep(choice.uniform(0, SOON))


def pause_workers(victim: Victim, server: RedisServer, choice: random.Random) -> None:
    _pause(victim.signal_workers, choice.uniform(1, MINUTE), choice)


def pause_everything(victim: Victim, server: RedisServer, choice: random.Random) -> None:
    _pause(victim.signal, choice.uniform(MINUTE, 1.2 * MINUTE), choice)


def pause_shortly(victim: Victim, server: RedisServer, choice: random.Random) -> None:
    _pause(victim.signal, choice.uniform(SOON, 2 * SOON), choice)


def _pause(signalled: Callable[[signal.Signals], int], seconds: float, choice: random.Random) -> None:
    signalled(signal.SIGSTOP)
    time.sleep(seconds)
    signalled(signal.SIGCONT)
    time.sleep(choice.uniform(0, SOON))


def lose_the_server(victim: Victim, server: RedisServer, choice: random.Random) -> None:
    server.kill()
    time.sleep(choice.uniform(0, SOON))
    server.start()


SURVIVED: tuple[Harm, ...] = (kill_workers, pause_workers, pause_everything, lose_the_server)


def plan(harms: int, choice: random.Random) -> list[tuple[Harm, bool]]:
    """So many harms, each kind at least once, and whether the program must go on after it: after half of
    those that it can survive, and after the last."""
    kinds = [kill_everything, *SURVIVED]
    drawn = kinds + choice.choices(kinds, k=harms - len(kinds) - 1)
    choice.shuffle(drawn)
    drawn.append(choice.choice(SURVIVED))
    survived = [number for number, harm in enumerate(drawn[:-1]) if harm in SURVIVED]
    going_on = {len(drawn) - 1, *choice.sample(survived, len(survived) // 2)}
    return [(harm, number in going_on) for number, harm in enumerate(drawn)]
