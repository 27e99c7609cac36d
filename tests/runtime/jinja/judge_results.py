"""What our interpreter makes of cases, and whether that is what the judge says."""
import json
import subprocess
import sys

REFUSES = "the chat template refuses the conversation: "


def ours(program, cases):
    """What render_cases.cc, started by the command line `program`, makes of the cases."""
    some = 1000  # a document of JSON has its limits
    return [result for first in range(0, len(cases), some) for result in _ours(program, cases[first:first + some])]


def _ours(program, cases):
    done = subprocess.run(program, input=json.dumps(cases), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{program} ended with {done.returncode}: {done.stderr[:2000]}")
    results = [json.loads(line) for line in done.stdout.split("\n") if line]
    for result in results:
        if result.get("error", "").startswith(REFUSES):
            result["raised"] = result.pop("error")[len(REFUSES):]
    return results


def agree(theirs, mine):
    """Equal texts, equal refusals in the template's own words, or errors of whatever words."""
    if "error" in theirs:
        return "error" in mine
    return all(theirs.get(key) == mine.get(key) for key in ("text", "raised"))
