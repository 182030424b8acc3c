"""Where a window operator keeps its state between two batches: growable columns in files that are mapped.

    GrowingArray    one table, in memory or in a mapped file
    Arena           tables, numbers and blobs that are changed between `begin` and `commit`
    ArenaHome       the folder of a machine that holds arenas, and what is swept from it

Nothing here knows windows, monoids or Spark. An arena is a cache of what the journal can compute again: any
doubt about one makes it an empty one. The layout of the files is in decision 28.
"""

from sash.operators.arena.arena import Arena, TableSpec
from sash.operators.arena.arena_folder import ArenaHome
from sash.operators.arena.growing import GrowingArray

__all__ = ["Arena", "ArenaHome", "GrowingArray", "TableSpec"]
