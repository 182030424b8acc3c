"""Where a query runs: in process over Arrow, or on Spark. The type of the input decides.

connector_packages.py   what has to be added to Spark for formats that do not come with it
ddl.py                  result schemas as users write them: Spark's DDL, read without Spark
flat_window_columns.py  the window of a report as plain columns instead of one struct
folder_paths.py         a folder under one name, however its path is written
interrupts.py           Ctrl-C as a request, not as an exception in the middle of something
observed_counts.py      the counts of queries in Spark's progress reports
progress_bar.py         a bar for runs that take long, where somebody can see it
trigger.py              when a query over a stream takes what has arrived
worker_daemon.py        the process that Spark forks its Python workers from, made ready first
"""
