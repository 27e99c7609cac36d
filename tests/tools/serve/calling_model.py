"""A model that calls a tool: tiny_model.py's shape with weights that are written down.

    write(FOLDER)

Each token's successor is fixed, whatever stands before it. Behind a user's turn it calls the tool
"now", which takes no arguments, with the text ~now{}; behind a tool's result it says "Yes". Its
template writes calls in that way, so that a server learns to read them.
"""
import pathlib
import struct
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent))
import tiny_model  # noqa: E402: found by the line before

CALL, SAID = "~now{}", "Yes"
TEMPLATE = ("{% for tool in tools or [] %}{{ '<tool>' + tool.function.name + '</tool>\n' }}{% endfor %}"
            "{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' + m.content }}"
            "{% for call in m.tool_calls or [] %}"
            "{{ '~' + call.function.name + call.function.arguments | tojson }}{% endfor %}"
            "{{ '<|im_end|>\n' }}{% endfor %}"
            "{% if add_generation_prompt %}{{ '<|im_start|>assistant' }}"
            "{{ ':' if messages[-1].role == 'tool' else '\n' }}{% endif %}")


def successors():
    """What follows each token that an answer goes through; anything else ends it."""
    follows = {}
    for text in ("\n" + CALL, ":" + SAID):
        tokens = [*text.encode(), tiny_model.EOS]
        follows |= dict(zip(tokens, tokens[1:]))
    return follows


def tensor(name, shape, follows):
    """Attention and MLP add nothing, so that a token's embedding alone decides."""
    rows, columns = shape[0], shape[-1]
    if len(shape) == 1:
        return [1.0] * rows
    values = [0.0] * (rows * columns)
    for column, token in enumerate(follows):
        if name == "model.embed_tokens.weight":
            values[token * columns + column] = 1.0
        elif name == "lm_head.weight":
            values[follows[token] * columns + column] = 4.0  # of 8, which the norm makes of 1
    return values


def safetensors():
    names, follows = sorted(tiny_model.tensor_shapes().items()), successors()
    header, data = {}, bytearray()
    for name, shape in names:
        values = tensor(name, shape, follows)
        header[name] = {"dtype": "F32", "shape": list(shape), "data_offsets": [len(data), len(data) + 4 * len(values)]}
        data += struct.pack(f"<{len(values)}f", *values)
    text = tiny_model.json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + bytes(data)


# Words of these templates are control tokens.
CONTROLS = {"[TOOL_CALLS]": 259, "[ARGS]": 260}
CONTROL_TEMPLATE = TEMPLATE.replace("'~' + call.function.name + ", "'[TOOL_CALLS]' + call.function.name + '[ARGS]' + ")


# Parameter by parameter, as Qwen3-Coder's does it, between control tokens, as GLM's.
PARAMETER_CONTROLS = {"<call>": 259, "</call>": 260, "</value>": 261}
PARAMETER_TEMPLATE = TEMPLATE.replace(
    "{{ '~' + call.function.name + call.function.arguments | tojson }}",
    "{{ '<call>\n' + call.function.name + '\n' }}{% for key, value in call.function.arguments | items %}"
    "{{ '<key>' + key + '</key>\n' + (value if value is string else value | tojson) + '</value>\n' }}{% endfor %}"
    "{{ '</call>' }}")


# It tells how calls are written, and writes none.
# Messages in channels, as gpt-oss writes them: an answer ends by <|return|> or <|call|>.
CHANNEL_CONTROLS = {"<|channel|>": 259, "<|message|>": 260, "<|call|>": 261, "<|return|>": 262, "<|end|>": 263,
                    "<|start|>": 264}
CHANNEL_TEMPLATE = (
    "{% for m in messages %}{% if m.role == 'assistant' and m.tool_calls %}"
    "{{ '<|start|>assistant to=functions.' + m.tool_calls[0].function.name + '<|channel|>commentary json<|message|>' }}"
    "{{ m.tool_calls[0].function.arguments | tojson }}{{ '<|call|>' }}"
    "{% elif m.role == 'assistant' %}{% if m.thinking and loop.last and not add_generation_prompt %}"
    "{{ '<|start|>assistant<|channel|>analysis<|message|>' + m.thinking + '<|end|>' }}{% endif %}"
    "{{ '<|start|>assistant<|channel|>final<|message|>' + m.content }}"
    "{{ '<|return|>' if loop.last and not add_generation_prompt else '<|end|>' }}"
    "{% else %}{{ '<|start|>' + m.role + '<|message|>' + m.content + '<|end|>' }}{% endif %}{% endfor %}"
    "{% for tool in tools or [] %}{{ tool.function.name + '\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|start|>assistant' }}{% endif %}")


TOLD_CONTROLS = {"<call>": 259, "</call>": 260}
TOLD_TEMPLATE = (
    "{% if tools %}Write <call>\n{\"name\": <name>, \"arguments\": <arguments>}\n</call>\n"
    "{% for tool in tools %}{{ tool.function.name + '\n' }}{% endfor %}{% endif %}"
    "{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}")


def write_with_controls(folder, template=CONTROL_TEMPLATE, controls=CONTROLS):
    """Its weights are random: only a grammar has it call a tool."""
    tiny_model.CHAT_TEMPLATE = template
    tiny_model.CONTROLS = controls
    tiny_model.main(folder)


def write(folder):
    tiny_model.CHAT_TEMPLATE = TEMPLATE
    tiny_model.main(folder)
    (pathlib.Path(folder) / "model.safetensors").write_bytes(safetensors())
