"""From a kernel template and a monoid to machine code, kept on disk."""
