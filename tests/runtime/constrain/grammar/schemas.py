"""Schemas for the tests of constrained output: such as programs send, and random ones."""

WEATHER = {
    "type": "object",
    "properties": {
        "location": {"type": "string", "description": "City and country, e.g. Bogotá, Colombia"},
        "units": {"type": ["string", "null"], "enum": ["celsius", "fahrenheit", None]},
    },
    "required": ["location", "units"],
    "additionalProperties": False,
}
SEND_EMAIL = {
    "type": "object",
    "properties": {
        "to": {"type": "array", "items": {"type": "string", "format": "email"}, "minItems": 1, "maxItems": 5},
        "subject": {"type": "string", "maxLength": 78},
        "body": {"type": "string"},
        "send_at": {"anyOf": [{"type": "string", "format": "date-time"}, {"type": "null"}], "default": None},
    },
    "required": ["to", "subject", "body"],
    "additionalProperties": False,
}
SEARCH = {
    "type": "object",
    "properties": {
        "query": {"type": "string", "minLength": 1},
        "options": {
            "type": "object",
            "properties": {
                "num_results": {"type": "integer", "minimum": 1, "maximum": 50},
                "domain_filter": {"type": ["string", "null"]},
                "sort_by": {"type": ["string", "null"], "enum": ["relevance", "date", "popularity", None]},
                "threshold": {"type": "number", "minimum": 0, "maximum": 1},
            },
            "required": ["num_results", "domain_filter", "sort_by"],
            "additionalProperties": False,
        },
    },
    "required": ["query", "options"],
    "additionalProperties": False,
}
MATH = {  # steps to a solution
    "type": "object",
    "properties": {
        "steps": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"explanation": {"type": "string"}, "output": {"type": "string"}},
                "required": ["explanation", "output"],
                "additionalProperties": False,
            },
        },
        "final_answer": {"type": "string"},
    },
    "required": ["steps", "final_answer"],
    "additionalProperties": False,
}
USER_INTERFACE = {  # refers to itself
    "$defs": {
        "element": {
            "type": "object",
            "properties": {
                "type": {"type": "string", "enum": ["div", "button", "header", "section", "field", "form"]},
                "label": {"type": "string"},
                "children": {"type": "array", "items": {"$ref": "#/$defs/element"}},
                "attributes": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {"name": {"type": "string"}, "value": {"type": "string"}},
                        "required": ["name", "value"],
                        "additionalProperties": False,
                    },
                },
            },
            "required": ["type", "label", "children", "attributes"],
            "additionalProperties": False,
        }
    },
    "$ref": "#/$defs/element",
}
LINKED_LIST = {
    "type": "object",
    "properties": {"linked_list": {"$ref": "#/$defs/node"}},
    "$defs": {
        "node": {
            "type": "object",
            "properties": {"value": {"type": "number"}, "next": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]}},
            "required": ["value", "next"],
            "additionalProperties": False,
        }
    },
    "required": ["linked_list"],
    "additionalProperties": False,
}
MODEL_OF_PYDANTIC = {  # as its models say it: titles, defaults, a union with a discriminator, a dict
    "$defs": {
        "Cat": {
            "properties": {
                "kind": {"const": "cat", "title": "Kind", "type": "string"},
                "lives": {"default": 9, "maximum": 9, "minimum": 0, "title": "Lives", "type": "integer"},
            },
            "required": ["kind"],
            "title": "Cat",
            "type": "object",
        },
        "Dog": {
            "properties": {
                "kind": {"const": "dog", "title": "Kind", "type": "string"},
                "good": {"title": "Good", "type": "boolean"},
            },
            "required": ["kind", "good"],
            "title": "Dog",
            "type": "object",
        },
        "Colour": {"enum": ["red", "green"], "title": "Colour", "type": "string"},
    },
    "properties": {
        "id": {"format": "uuid", "title": "Id", "type": "string"},
        "born": {"format": "date", "title": "Born", "type": "string"},
        "pet": {
            "discriminator": {"mapping": {"cat": "#/$defs/Cat", "dog": "#/$defs/Dog"}, "propertyName": "kind"},
            "oneOf": [{"$ref": "#/$defs/Cat"}, {"$ref": "#/$defs/Dog"}],
            "title": "Pet",
        },
        "colour": {"allOf": [{"$ref": "#/$defs/Colour"}], "default": "red"},
        "scores": {"additionalProperties": {"type": "number"}, "title": "Scores", "type": "object"},
        "pair": {
            "maxItems": 2, "minItems": 2, "title": "Pair", "type": "array",
            "prefixItems": [{"type": "integer"}, {"type": "string"}],
        },
        "tag": {"anyOf": [{"pattern": "^[a-z][a-z0-9_]{0,15}$", "type": "string"}, {"type": "null"}], "default": None},
    },
    "required": ["id", "born", "pet", "scores", "pair"],
    "title": "Owner",
    "type": "object",
}
FILE_EDITS = {  # of a tool that changes files: alternatives that begin alike
    "type": "object",
    "properties": {
        "path": {"type": "string", "pattern": "^/[^\\0]*$"},
        "edits": {
            "type": "array",
            "minItems": 1,
            "items": {
                "anyOf": [
                    {"type": "object", "properties": {"line": {"type": "integer", "minimum": 1}, "insert": {"type": "string"}},
                     "required": ["line", "insert"], "additionalProperties": False},
                    {"type": "object", "properties": {"line": {"type": "integer", "minimum": 1}, "delete": {"const": True}},
                     "required": ["line", "delete"], "additionalProperties": False},
                    {"type": "object", "properties": {"line": {"type": "integer", "minimum": 1}, "replace": {"type": "string"},
                                                      "count": {"type": "integer", "exclusiveMinimum": 0}},
                     "required": ["line", "replace"], "additionalProperties": False},
                ]
            },
        },
    },
    "required": ["path", "edits"],
}
EXPRESSION = {  # each operand may be any of them, and what tells them apart comes last
    "$defs": {
        "expression": {
            "anyOf": [
                {"type": "number"},
                {"type": "object", "properties": {"left": {"$ref": "#/$defs/expression"},
                                                  "right": {"$ref": "#/$defs/expression"}, "op": {"const": "+"}},
                 "required": ["left", "right", "op"], "additionalProperties": False},
                {"type": "object", "properties": {"left": {"$ref": "#/$defs/expression"},
                                                  "right": {"$ref": "#/$defs/expression"}, "op": {"enum": ["-", "*"]}},
                 "required": ["left", "right", "op"], "additionalProperties": False},
            ]
        }
    },
    "$ref": "#/$defs/expression",
}
INVOICE = {
    "type": "object",
    "properties": {
        "number": {"type": "string", "pattern": "^(INV|CR)-\\d{4}-\\d{3,6}$"},
        "issued": {"type": "string", "format": "date"},
        "due_in": {"type": "string", "format": "duration"},
        "currency": {"enum": ["EUR", "USD", "GBP"]},
        "lines": {"type": "array", "minItems": 1, "items": {
            "type": "object",
            "properties": {"text": {"type": "string", "minLength": 1, "maxLength": 40},
                           "amount": {"type": "number", "minimum": -1000, "maximum": 99999.99},
                           "quantity": {"type": "integer", "minimum": 1}},
            "required": ["text", "amount"]}},
        "paid": {"type": "boolean"},
        "notes": {},
    },
    "required": ["number", "issued", "lines"],
}
REAL = {
    "weather": WEATHER, "e-mail": SEND_EMAIL, "search": SEARCH, "math": MATH, "user interface": USER_INTERFACE,
    "linked list": LINKED_LIST, "pydantic": MODEL_OF_PYDANTIC, "file edits": FILE_EDITS, "expression": EXPRESSION,
    "invoice": INVOICE, "any object": {"type": "object"}, "no parameters": {"type": "object", "properties": {}},
}

# One keyword, or a few that bear on each other.
SMALL = [
    {}, True,
    *({"type": name} for name in ("null", "boolean", "string", "integer", "number", "array", "object")),
    {"type": ["integer", "string", "array"]},
    {"enum": ["a", "ab", 1, 1.5, None, True, {"a": ["é\n\"", {}]}, []]},
    {"type": ["string", "null"], "enum": ["a", None, 3]},
    {"const": {"b": 1, "a": [1, 2]}},
    {"type": "string", "minLength": 3}, {"type": "string", "maxLength": 2}, {"type": "string", "minLength": 2, "maxLength": 4},
    {"type": "string", "pattern": "^[a-c]{2,3}$"}, {"type": "string", "pattern": "x\\d"}, {"type": "string", "pattern": "^\\S+$"},
    {"type": "string", "pattern": "^[^a-z\\d]*$"}, {"type": "string", "pattern": "^(a|b.)*c?$"}, {"type": "string", "pattern": "\\W$"},
    {"type": "string", "pattern": "^\\w+[\\s.]\\D$"}, {"type": "string", "pattern": "^.{3}$", "maxLength": 3},
    {"type": "string", "pattern": "[éà-ü\\u2028-]"}, {"type": "string", "pattern": "a", "minLength": 3, "maxLength": 5},
    *({"type": "string", "format": name} for name in ("date", "time", "date-time", "duration", "uuid", "email", "hostname",
                                                       "ipv4", "uri")),
    {"type": "integer", "minimum": 5}, {"type": "integer", "maximum": -5}, {"type": "integer", "minimum": -12, "maximum": 105},
    {"type": "integer", "exclusiveMinimum": 99, "exclusiveMaximum": 101}, {"type": "integer", "minimum": 0.5, "maximum": 2.5},
    {"type": "number", "minimum": 0}, {"type": "number", "maximum": 0}, {"type": "number", "minimum": -1.25, "maximum": 3.75},
    {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 0.001}, {"type": "number", "minimum": 1e-7, "maximum": 1e20},
    {"type": "number", "exclusiveMaximum": 1234567.1}, {"minimum": 7}, {"type": "number", "minimum": 1e16},
    {"type": "array", "items": {"type": "boolean"}, "minItems": 2, "maxItems": 3}, {"items": {"type": "null"}},
    {"type": "array", "prefixItems": [{"const": 1}, {"type": "string"}]},
    {"type": "array", "prefixItems": [{"const": 1}], "items": {"type": "null"}, "minItems": 2},
    {"type": "array", "prefixItems": [{"const": 1}], "items": False}, {"type": "array", "maxItems": 0},
    {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string"}, "ab": {}}, "required": ["b"]},
    {"properties": {"a": {"type": "integer"}}, "additionalProperties": {"type": "string"}},
    {"type": "object", "additionalProperties": {"type": "integer"}, "minProperties": 1},
    {"type": "object", "properties": {"a": {"const": 1}}, "required": ["a", "z"], "additionalProperties": True},
    {"type": "object", "properties": {"a": {}, "b": {}}, "minProperties": 1, "maxProperties": 2},
    {"type": "object", "properties": {"a": False, "b": {"type": "null"}}},
    {"anyOf": [{"type": "integer", "maximum": 3}, {"type": "string", "maxLength": 1}, {"type": "array"}]},
    {"oneOf": [{"type": "integer"}, {"type": "string"}, {"enum": [None, True]}]},
    {"allOf": [{"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
               {"properties": {"a": {"minimum": 3}, "b": {"type": "null"}}, "required": ["b"]}]},
    {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
     "anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
    {"type": ["array", "integer"], "items": {"$ref": "#"}, "maxItems": 2},
    {"$ref": "#/$defs/a", "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/b"}, {"type": "null"}]},
                                    "b": {"type": "object", "properties": {"x": {"$ref": "#/$defs/a"}}, "required": ["x"]}}},
    {"type": "object", "properties": {"a": {"$ref": "#", "minProperties": 1}, "b": {"type": "null"}}},
    {"not": {"type": "object"}}, {"type": "string", "not": {"enum": ["a", "ab", ""]}},
    {"type": "string", "maxLength": 3, "not": {"pattern": "a|b"}}, {"type": "number", "not": {"enum": [0, 1, 2.5]}},
    {"type": "array", "items": {"type": "integer"}, "not": {"items": {"minimum": 5}}},
    {"type": "object", "properties": {"a": {"enum": [1, 2]}, "b": {"type": "null"}},
     "not": {"required": ["a"], "properties": {"a": {"const": 1}}}},
    {"type": "object", "properties": {"a": {"enum": [1, 2, 3]}, "b": {"type": "null"}},
     "if": {"properties": {"a": {"const": 1}}, "required": ["a"]}, "then": {"required": ["b"]}, "else": {"properties": {"b": False}}},
    {"oneOf": [{"type": "integer", "maximum": 9}, {"type": "number", "minimum": 5}, {"type": "string"}]},
    {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
     "oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
    {"type": "object", "properties": {"a": {}, "b": {"type": "null"}, "c": {"type": "null"}},
     "dependentRequired": {"a": ["b"], "b": ["c"]}, "dependentSchemas": {"c": {"required": ["b"]}}},
    {"type": "object", "patternProperties": {"^a": {"type": "integer"}, "b$": {"maximum": 3}}},
    {"type": "object", "patternProperties": {"^[a-c]": {"type": "integer"}}, "additionalProperties": {"type": "null"},
     "properties": {"a": {"minimum": 2}, "z": {"type": "null"}}, "required": ["z"]},
    {"type": "object", "propertyNames": {"pattern": "^[a-z]{1,3}$"}, "additionalProperties": {"type": "integer"}},
    {"type": "array", "contains": {"type": "null"}, "minContains": 2, "maxContains": 2},
    {"type": "array", "uniqueItems": True, "items": {"enum": ["a", 1, None, True]}, "minItems": 2, "maxItems": 3},
    {"type": "array", "uniqueItems": True}, {"type": "integer", "multipleOf": 6, "minimum": -100, "maximum": 1000},
    {"type": "number", "multipleOf": 0.5}, {"type": "object", "properties": {"a": {"type": "null"}}, "unevaluatedProperties": False},
    *({"type": "string", "format": name} for name in ("ipv6", "json-pointer", "uri-reference", "regex", "idn-email")),
]


def random_schema(chance, depth=3):
    """A schema of keywords that are enforced, which need not fit each other."""
    def part():
        return random_schema(chance, depth - 1)

    def maybe(share=0.5):
        return chance.random() < share

    kinds = ["string", "pattern", "integer", "number", "enum", "simple"]
    if depth > 0:
        kinds += ["object", "object", "array", "any", "all", "mixed", "not", "if", "one", "names"]
    kind = chance.choice(kinds)
    if kind == "not":
        return part() | {"not": part()}
    if kind == "if":
        return part() | {"if": part(), "then": part(), "else": part()}
    if kind == "one":
        return {"oneOf": [part() for _ in range(chance.randrange(2, 4))]}
    if kind == "names":
        return {"type": "object", "patternProperties": {name: part() for name in chance.sample(["^a", "b", "[0-9]$", "^.$"], 2)}}
    least, most = sorted(chance.randrange(4) for _ in range(2))
    if kind == "string":
        return {"type": "string"} | ({"minLength": least} if maybe() else {}) | ({"maxLength": most} if maybe() else {})
    if kind == "pattern":
        atoms = ["a", "[a-f]", "\\d", "\\w", ".", "[^x]", "(ab|c)", "\\s", "é", "\\\\", "\"", "[\\w-]"]
        text = "".join(chance.choice(atoms) + chance.choice(["", "", "*", "+", "?", "{2}", "{1,3}"])
                       for _ in range(chance.randrange(1, 5)))
        return {"type": "string", "pattern": chance.choice(["", "^"]) + text + chance.choice(["", "$"])}
    if kind in ("integer", "number"):
        scale = chance.choice([1, 1, 0.5, 100, 1e-3, 12345.678])
        low, high = sorted(chance.randrange(-50, 51) * scale for _ in range(2))
        return ({"type": kind} | ({chance.choice(["minimum", "exclusiveMinimum"]): low} if maybe() else {})
                | ({chance.choice(["maximum", "exclusiveMaximum"]): high + scale * 2} if maybe() else {}))
    if kind == "enum":
        return {"enum": chance.sample(["a", "b", "", "a\"b", 0, -1, 2.5, None, True, [], [1], {"a": 1}], chance.randrange(1, 5))}
    if kind == "simple":
        return {"type": chance.sample(["null", "boolean", "string", "integer", "array", "object"], chance.randrange(1, 3))}
    if kind == "array":
        schema = {"type": "array", "minItems": least}
        schema |= {"items": part()} if maybe(0.7) else {}
        schema |= {"prefixItems": [part() for _ in range(chance.randrange(1, 3))]} if maybe(0.3) else {}
        return schema | ({"maxItems": most} if maybe() else {})
    if kind == "any":
        return {chance.choice(["anyOf", "anyOf", "oneOf"]): [part() for _ in range(chance.randrange(1, 4))]}
    if kind == "all":
        return {"allOf": [part() for _ in range(chance.randrange(1, 3))]}
    names = chance.sample(["a", "b", "ab", "c d", "é", "\"", ""], chance.randrange(0, 4))
    schema = {"properties": {name: part() for name in names}}
    schema |= {"type": "object"} if kind == "object" else {"type": ["object", "null"]}
    schema |= {"required": chance.sample(names, chance.randrange(len(names) + 1))} if maybe(0.7) else {}
    schema |= {"additionalProperties": chance.choice([False, True, part()])} if maybe() else {}
    if kind == "mixed":
        schema |= {chance.choice(["anyOf", "allOf"]): [part() for _ in range(2)]}
    return schema
