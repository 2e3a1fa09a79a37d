"""For Schemathesis, which hangs up after 10 s: what asks a tool to wait for days is made to ask for half a second.

What is no number of milliseconds that a tool takes stays as it is, to be refused.

Loaded by the name in SCHEMATHESIS_HOOKS; knows the names of what the tools wait by, and nothing else.
"""

import schemathesis

LONGEST = 500
NONE_TAKEN = 2**64
WAITS = ("timeout", "time", "delay")


@schemathesis.hook
def before_call(context, case, kwargs):
    shorten(case.body)


def shorten(value):
    if isinstance(value, list):
        for inner in value:
            shorten(inner)
    elif isinstance(value, dict):
        for key, inner in value.items():
            if key in WAITS and is_whole(inner) and LONGEST < inner < NONE_TAKEN:
                value[key] = LONGEST
            else:
                shorten(inner)


def is_whole(value):
    """What JSON Schema takes for an integer: 5.0 as well as 5."""
    return isinstance(value, int) or (isinstance(value, float) and value.is_integer())
