"""The experiments of the STRETCH paper, Q1 to Q6, and two of our own: switches by degree, and stress.

    1  counting           wordcount and paircount: a tuple shared by its keys against one copy for each key
    2  forwarder          two inputs, nothing but sharing and sorting
    3  scalejoin          comparisons a second with one and two instances
    4  under_load         one reconfiguration under load, by the controller with thresholds
    5  controller         phases of random rates, predictive controller; 20 minutes with --long
    6  hedge              a self-join under bursts of up to 8,000 tuples per second, predictive controller
    7  reconfigurations   1 → n and n → 1 instances: time of the switch, bytes of state moved
    8  stress             abrupt changes of rate and degree: nothing lost, repeated or out of order

Gulisano, Najdataei, Nikolakopoulos, Papadopoulos, Papatriantafilou, Tsigas: 'STRETCH: Virtual
Shared-Nothing Parallelism for Scalable and Elastic Stream Processing' (IEEE TPDS, 2022). Its data
(tweets, trades) is not public here: streams of the same shape are drawn with a fixed seed.
"""
