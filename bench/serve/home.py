"""Thirty tools of a house, made up from a number: no two numbers share a tool."""

import random

THINGS = ["ceiling light", "floor lamp", "blind", "radiator", "window", "front door", "garage door",
          "oven", "dishwasher", "washing machine", "fridge", "kettle", "vacuum robot", "sprinkler",
          "pool pump", "doorbell", "camera", "smoke alarm", "speaker", "television", "projector",
          "fan", "air purifier", "humidifier", "heat pump", "water heater", "car charger",
          "solar inverter", "battery", "fire place", "aquarium", "coffee machine", "gate"]
ROOMS = ["kitchen", "bathroom", "living room", "nursery", "attic", "cellar", "hall", "study"]
VERBS = ["Sets", "Reads", "Changes", "Schedules"]
ADVICE = ["Ask before you do this at night.", "It takes a few seconds to take effect.",
          "Values out of range are cut to the nearest that is allowed.",
          "Fails where the device has no power.", "Prefer it to switching the whole circuit.",
          "The answer has the state that the device reports afterwards."]
SYSTEM = "You look after a house. Answer in one short sentence, and call a tool where one fits."
QUESTIONS = ["Is the light in the hall on?", "Make the study warmer, please.",
             "Did anybody ring while we were out?", "How full is the battery?"]


def tool(number, thing):
    """The tool of a thing; about 160 tokens."""
    draw = random.Random(f"{number} {thing}")
    code, room = draw.randrange(100, 1000), draw.choice(ROOMS)
    properties = {
        "room": {"type": "string", "enum": draw.sample(ROOMS, 4),
                 "description": f"where the {thing} is; {room} if nobody says"},
        "level": {"type": "integer", "minimum": 0, "maximum": draw.choice([10, 100, 255]),
                  "description": f"{draw.randrange(2, 9)} as a rule"},
        "until": {"type": "string", "description": "a time of day as 18:30, or empty"}}
    return {"type": "function", "function": {
        "name": f"{thing.replace(' ', '_')}_{code}",
        "description": f"{draw.choice(VERBS)} the {thing} number {code} of the {room}. "
                       + draw.choice(ADVICE),
        "parameters": {"type": "object", "properties": properties, "required": ["room"]}}}


def tools(number, count=30):
    return [tool(number, thing) for thing in THINGS[:count]]


def changed(listed, number):
    """Two swapped, one added behind them all."""
    listed = list(listed)
    listed[3], listed[20] = listed[20], listed[3]
    return listed + [tool(number, THINGS[len(listed)])]


def body(listed, question, **fields):
    return {"messages": [{"role": "system", "content": SYSTEM},
                         {"role": "user", "content": question}],
            "tools": listed, "temperature": 0, "max_tokens": 16} | fields
