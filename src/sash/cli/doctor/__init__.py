"""`sash doctor`: what Sash needs of a machine, what is there, and the command that fixes what is not.

    needed     Python, Java, the packages that Sash depends on, a disk with room, a store that works
    optional   extras, memory to spare, a Redis server

health_check.py   one check and its result
requirement_parser.py which versions will do
software.py       Python, Java, packages
disk_and_stores.py disk, memory, stores
cluster.py        a Spark cluster: its workers, and settings that cost time
all_checks.py     all checks, and how they are printed
leftovers.py      what dead processes and deleted checkpoints have left
warm_kernels.py   kernels that are compiled before the first query
"""

from sash.cli.doctor.all_checks import run

__all__ = ["run"]
