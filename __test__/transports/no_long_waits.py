"""Shortens the waits in the requests of Schemathesis, which disconnects after 10 s.

Replaces longer times of the parameters in `WAITS` by half a second. Keeps values that the tools
reject: those that are not whole numbers of milliseconds. SCHEMATHESIS_HOOKS names this module.
"""

import schemathesis

MAX_WAIT = 500
TOO_LARGE = 2**64
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
            if key in WAITS and is_whole(inner) and MAX_WAIT < inner < TOO_LARGE:
                value[key] = MAX_WAIT
            else:
                shorten(inner)


def is_whole(value):
    """Returns whether JSON Schema accepts the value as an integer: 5.0 as well as 5."""
    return isinstance(value, int) or (isinstance(value, float) and value.is_integer())
