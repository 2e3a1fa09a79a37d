"""For Schemathesis, which hangs up after 10 s: what asks a tool to wait for days is made to ask for half a second.

Loaded by the name in SCHEMATHESIS_HOOKS; knows the names of what the tools wait by, and nothing else.
"""

import schemathesis

LONGEST = 500
WAITS = ("timeout", "time", "delay")


@schemathesis.hook
def before_call(context, case, kwargs):
    shorten(case.body)


def shorten(value):
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        if key in WAITS and isinstance(inner, (int, float)) and inner > LONGEST:
            value[key] = LONGEST
        else:
            shorten(inner)
