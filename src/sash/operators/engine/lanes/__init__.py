"""What is kept of each key of a bucket, in tables of an arena: rings of elements, folds, objects.

aggregate_tree.py   aggregates of a lane that are folded together
byte_heap.py        bytes of an arena that are only appended to
element_layout.py   what an element of a lane looks like: a row of words
heap_compaction.py  heaps of bytes are appended to
object_tree.py      the tree of folds of an aggregate whose elements are objects: sketches, sets, texts
ring_lane.py        a lane of rings: the elements of every key in order, and the tree of their folds
row_words.py        Arrow columns as rows of 64-bit words, and back: how keys and rows lie in an arena
running_lane.py     a lane of running folds: of a window that only grows, its fold is all that is kept
slots.py            the keys of a bucket, each with a slot: a row of words in the arena
"""
