"""WHICH events: what window kinds share. The kinds themselves are in `operators/kinds`.

numbering.py    numbers from 0 within each key or slot
own_windows.py  an operator that answers for some of the windows of its keys; other operators, for the rest
ranges.py       what a windower answers with: ranges over a layout, one entry per window
windowers.py    from the layout of a bounded input to ranges, for all keys at once
"""
