"""From a kernel template and a monoid to machine code, kept on disk. The steps:

compiled.py                a monoid with its kernels: where an aggregate of a user becomes fast
function_source.py         the text of its functions
specialise.py              template and monoid → the text of one module, in the words of `template_words`
numba_compilation.py       that text → a function that runs: compiled, or interpreted where it must be
machine_code_on_disk.py    what was compiled before, loaded without the compiler

What they use:

casts.py                casts that never lose a value silently, and the writing of results
module_cache.py         modules of generated text, kept on disk so that machine code outlives its process
prefetching.py          `prefetch`: the processor begins to read a cell of a table
python_calls.py         `call_python`: machine code calls a function of Python
shape.py                the shape of a monoid's elements: which numpy columns hold them
side_by_side_source.py  several monoids at once
template_words.py       the words that kernel templates are written in
"""
