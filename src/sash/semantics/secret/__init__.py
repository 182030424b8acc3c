"""SECRET: why engines answer the same window query differently, as parameters, and what each would report.

    reports  =  Pick( Report( Content( Scope(t) ) ) )   for the instants t of every Tick

`simulate` answers with what an engine would print, `profile` and `names` look engines up, and a `Profile`
of one's own describes any other. The model, in the reading under which every published result comes out:

- Time is discrete. Count windows number the events from 1 and read 'event number' for 'application time'.
- An arrival may *tick*. A tick evaluates the instants since the previous tick, that one included and the
  current one excluded; the first tick begins at the origin t0. A tick at the time of the previous one (only
  tuple- and batch-driven engines have it) evaluates that time itself.
- The *scope* at t is (t0 + n·β, t] with n = max(0, ⌈(t − t0 − ω)/β⌉); there is nothing before t0.
- *Content* is what lies in the scope and arrived strictly before the arrival that ticks. So the last time
  of an input only closes what lies before it.
- *Report* is a conjunction. Window-close needs t before the position of the arrival that ticks, so the
  second of two simultaneous events closes nothing. Content-change compares with the last *reported*
  content, and with the empty one before the first report: an engine without non-empty may report an empty
  window, once, after one with events.
- For time windows every instant is an evaluation of its own. A tick of count windows is one evaluation of
  all its numbers: content-change and non-empty are about the content at the number that *Pick* takes of
  them, the latest; window-close and periodic select numbers, and Pick takes the one that is reported of
  those. With gaps between windows (β > ω) a window that ended before the gap is hidden by it.

An example by hand: times 30, 31, 36 with ω = 5, β = 1 in STREAM. t0 = 30 − 5 = 25.

    tick   instants     scope         content   reported
    30     25 … 29      (25, 25] …    nothing   no
    31     30           (25, 30]      t1        yes
    36     31           (26, 31]      t1 t2     yes
           32, 33, 34   (27, 32] …    t1 t2     no: as reported last
           35           (30, 35]      t2        yes

>>> simulate("stream", [30, 31, 36], 5, 1)
[[0], [0, 1], [1]]

arrivals.py      the input of the simulator: timed arrivals in batches, checked once and never again
engine_state.py  a key's reports in pieces: the simulator for unbounded streams
model.py         the model, step by step, as small pure functions
parameters.py    the parameters of an engine: a profile is data
profiles.py      the engines whose SECRET parameters are known
scope.py         scope: which interval an engine looks at
simulator.py     simulate an engine: events in, the reports that it would print out
"""

from sash.semantics.secret.model import Reported
from sash.semantics.secret.parameters import AtGap, Pick, Profile, Report, Tick
from sash.semantics.secret.profiles import PROFILES, names, profile
from sash.semantics.secret.scope import ORIGINS, Axis, Origin, Scope
from sash.semantics.secret.simulator import simulate, trace

__all__ = [
    "ORIGINS",
    "PROFILES",
    "AtGap",
    "Axis",
    "Origin",
    "Pick",
    "Profile",
    "Report",
    "Reported",
    "Scope",
    "Tick",
    "names",
    "profile",
    "simulate",
    "trace",
]
