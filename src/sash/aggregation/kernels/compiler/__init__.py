"""From a kernel template and a monoid to machine code, kept on disk. The steps:

compiled.py                a monoid with its kernels: where an aggregate of a user becomes fast
function_source.py         the text of its functions
specialise.py              template and monoid → the text of one module, in the words of `template_words`
numba_compilation.py       that text → a function that runs: compiled, or interpreted where it must be
machine_code_on_disk.py    what was compiled before, loaded without the compiler
"""
