"""Where a window operator keeps its state between two batches: growable columns in files that are mapped.

    GrowingArray    one table, in memory or in a mapped file
    Arena           tables, numbers and blobs that are changed between `begin` and `commit`
    ArenaHome       the folder of a machine that holds arenas, and what is swept from it

Nothing here knows windows, monoids or Spark. An arena is a cache of what the journal can compute again: any
doubt about one makes it an empty one. The layout of the files is in decision 28.

arena.py         an arena: tables, numbers and blobs that change together from version to version
arena_folder.py  the folder of a machine that holds arenas, one folder each
growing.py       a growable 2-D array, in memory or in a mapped file
head.py          the head of an arena: whether the tables next to it can be trusted
locked.py        a head file that only one holder at a time may read and write
memory_map.py    a file as shared memory, without a descriptor that stays open
owned_folders.py temporary folders that name their process
owners.py        whose arena it is: the JVM that a worker of Spark belongs to, or the process itself
"""

from sash.operators.arena.arena import Arena, TableSpec
from sash.operators.arena.arena_folder import ArenaHome
from sash.operators.arena.growing import GrowingArray

__all__ = ["Arena", "ArenaHome", "GrowingArray", "TableSpec"]
