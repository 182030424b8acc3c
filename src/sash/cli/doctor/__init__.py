"""`sash doctor`: what Sash needs of a machine, what is there, and the command that mends what is not.

    needed     Python, Java, the packages that Sash depends on, a disk with room, a store that works
    optional   extras, memory to spare, a Redis server

finding.py        one thing that was looked at
requirements.py   which versions will do
software.py       Python, Java, packages
surroundings.py   disk, memory, stores
report.py         all of it, told
"""

from sash.cli.doctor.report import run

__all__ = ["run"]
