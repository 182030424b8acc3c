"""The `sash` command.

event_files.py          files of events as tables, for `sash why`
main.py                 the commands and their options
one_sentence_errors.py  how errors are shown
spark_session.py        the Spark of a command: its log goes to a file, not between our lines
"""

from sash.cli.main import main

__all__ = ["main"]
