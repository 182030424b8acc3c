"""The experiments of the STRETCH paper: reconfigurations, sets of keys, and a bursty self-join.

    1  reconfigurations   1 → n and n → 1 instances: time of the switch, bytes of state moved
    2  paircount          a tuple shared by its keys against one copy for each key, same degree
    3  hedge              a self-join under bursts of up to 8,000 tuples per second, predictive controller
    4  stress             abrupt changes of rate and degree: nothing lost, repeated or out of order

Gulisano, Najdataei, Nikolakopoulos, Papadopoulos, Papatriantafilou, Tsigas: 'STRETCH: Virtual
Shared-Nothing Parallelism for Scalable and Elastic Stream Processing' (IEEE TPDS, 2022). Its data
(tweets, trades) is not public here: streams of the same shape are drawn with a fixed seed.
"""
