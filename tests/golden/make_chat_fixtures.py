#!/usr/bin/env python3
"""Conversations as transformers renders them, for every chat format of pml/turns/chat_template.cc.

    python tests/golden/make_chat_fixtures.py [--out FILE]

Needs transformers 5.23 (its Jinja environment, no tokenizer and no model).
Deterministic. Writes <out>:

  {"templates": [
    {"family":   "chatml",      the format that must be recognised
     "of":       "Qwen2.5",     models whose template puts out the same
     "template": "{% for ...",
     "strings":  "chatml",      the format whose strings it puts out; another than the family
                              where a user's switch chooses between them
   "bos": "<s>", "eos": "</s>",
     "loose":    false,         true: equal but for spaces next to the markers
     "conversations": [
       {"turns":    [["user", "Hello"], ...],   as a PML document has them
        "rendered": "<s>...",                   by transformers, generation prompt included
        "not_ours": ""}]}]}                     the one part of it that is not ours: what the
                                                template says where the user said nothing

The templates are written here after the publishers' documented formats: their
role markers and white space are the publishers', their code is not. Each
format stands here as its publisher spells it, in Jinja expressions with '\\n',
and where it can be said so also as plain text with real line ends.
"""

import argparse
import json
import pathlib

from transformers.utils import chat_template_utils

S = "You are a guide to the city."
CONVERSATIONS = [
    [("user", "Hello")],
    [("system", S), ("user", "Hello")],
    [("user", "Hello"), ("assistant", "Hi there."), ("user", "Where is the harbour?")],
    [("system", S), ("user", "Hello"), ("assistant", "Hi there."), ("user", "Where?")],
    [("system", "Line one.\n\nLine two: \u00fcber \u6f22\u5b57."), ("user", "a < b\n  {{ c }}"),
     ("assistant", "Yes:\n- 'so'\n- \"so\""), ("user", "And?"), ("assistant", "No."),
     ("user", "Why not?")],
]
TODAY = "26 July 2024"


class FixedTime:
    """In place of datetime behind strftime_now, so that the output is the same every day."""
    @staticmethod
    def now():
        return FixedTime()

    def strftime(self, form):
        return TODAY


chat_template_utils.datetime = FixedTime

LOOP = "{% for m in messages %}"
OPEN = "{% if add_generation_prompt %}"
# The system text apart, as `s`; the other messages as `rest`.
SPLIT = ("{% if messages[0]['role'] == 'system' %}{% set s = messages[0]['content'] %}"
         "{% set rest = messages[1:] %}{% else %}{% set rest = messages %}{% endif %}")


def spelled(system, user, assistant, opening, bos=False):
    """A template of Jinja expressions; in the arguments C is the content, EOS the token."""
    def put(text):
        parts = []
        for i, piece in enumerate(text.replace("EOS", "\0EOS\0").replace("C", "\0C\0").split("\0")):
            if piece == "EOS":
                parts.append("eos_token")
            elif piece == "C":
                parts.append("m['content']")
            elif piece:
                parts.append("'" + piece.replace("\n", "\\n") + "'")
        return "{{ " + " + ".join(parts) + " }}" if parts else ""
    return (("{{ bos_token }}" if bos else "") + LOOP
            + "{% if m['role'] == 'system' %}" + put(system)
            + "{% elif m['role'] == 'user' %}" + put(user)
            + "{% elif m['role'] == 'assistant' %}" + put(assistant)
            + "{% endif %}{% endfor %}" + OPEN + put(opening) + "{% endif %}")


def plain(system, user, assistant, opening, bos=False):
    """The same as plain text, with real line ends."""
    def put(text):
        return text.replace("EOS", "{{ eos_token }}").replace("C", "{{ m.content }}")
    return (("{{- bos_token -}}\n" if bos else "") + "{%- for m in messages -%}\n"
            + "{%- if m.role == 'system' %}" + put(system)
            + "{% elif m.role == \"user\" %}" + put(user)
            + "{% else %}" + put(assistant) + "{% endif %}\n"
            + "{%- endfor %}\n{%- if add_generation_prompt %}" + put(opening) + "{% endif %}")


def named(before, after, end, name_is_value=True):
    """One expression for all roles, with the role's name in it."""
    end = " + ".join("eos_token" if e == "EOS" else f"'{e}'" for e in end)
    return (LOOP + "{{ '" + before + "' + m['role'] + '" + after + "' + m['content'] + " + end
            + " }}{% endfor %}" + OPEN + "{{ '" + before + "assistant" + after + "' }}{% endif %}")


def template(family, of, text, bos="<s>", eos="</s>", conversations=CONVERSATIONS, written=None,
             given=None, not_ours=None, loose=False, strings=None):
    """`written`: the order in which a PML document has the turns; `given`: what the template
    gets for a message; `not_ours`: what it adds to a conversation."""
    done = []
    for turns in conversations:
        messages = [{"role": role, "content": given(role, text_) if given else text_}
                    for role, text_ in turns]
        rendered = chat_template_utils.render_jinja_template(
            [messages], chat_template=text, add_generation_prompt=True, bos_token=bos,
            eos_token=eos)[0][0]
        extra = not_ours(messages) if not_ours else ""
        assert not extra or rendered.count(extra) == 1, (of, rendered)
        done.append({"turns": written(turns) if written else turns, "rendered": rendered,
                     "not_ours": extra})
    return {"family": family, "of": of, "template": text, "strings": strings or family, "bos": bos, "eos": eos, "loose": loose,
            "conversations": done}


def both(family, of, *strings, bos="<s>", eos="</s>", with_bos=False):
    return [template(family, of, spelled(*strings, bos=with_bos), bos, eos),
            template(family, of + ", as plain text", plain(*strings, bos=with_bos), bos, eos)]


def has_system(messages):
    return messages[0]["role"] == "system"


def without_system():
    return [c for c in CONVERSATIONS if c[0][0] != "system"]


def chatml():
    turn = "<|im_start|>%s\nC<|im_end|>\n"
    strings = [turn % role for role in ("system", "user", "assistant")]
    default = "You are a helpful assistant."
    qwen = ("{%- if messages[0]['role'] != 'system' %}\n"
            "    {{- '<|im_start|>system\\n" + default + "<|im_end|>\\n' }}\n{%- endif %}\n"
            "{%- for m in messages %}\n"
            "    {{- '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>' + '\\n' }}\n"
            "{%- endfor %}\n{%- if add_generation_prompt %}\n"
            "    {{- '<|im_start|>assistant\\n' }}\n{%- endif %}\n")
    mpt_default = "A conversation between a user and an assistant."
    mpt = (SPLIT + "{% if s is not defined %}{% set s = '" + mpt_default + "' %}{% endif %}"
           "{{ '<|im_start|>system\\n' + s.strip() + '<|im_end|>' }}"
           "{% for m in rest %}{{ '\\n' + '<|im_start|>' + m['role'] + '\\n' + m['content'] "
           "+ '<|im_end|>' }}{% endfor %}"
           "{% if add_generation_prompt %}{{ '\\n' + '<|im_start|>' + 'assistant' + '\\n' }}{% endif %}")

    def injects(text):
        return lambda m: "" if has_system(m) else f"<|im_start|>system\n{text}<|im_end|>\n"
    return both("chatml", "OpenHermes", *strings, "<|im_start|>assistant\n") + [
        template("chatml", "Yi", named("<|im_start|>", "\\n", ["<|im_end|>", "\\n"])),
        template("chatml", "Qwen2.5, SmolLM2", qwen, not_ours=injects(default)),
        template("chatml", "MPT-chat", mpt, not_ours=injects(mpt_default)),
    ]


def smollm3():
    header = ("## Metadata\n\nKnowledge Cutoff Date: June 2025\nToday Date: " + TODAY
              + "\nReasoning Mode: /think\n\n## Custom Instructions\n\nYou are SmolLM.\n\n")

    def text(opening, before_answer):
        return (
            "{# thinking is on unless asked otherwise #}\n"
            "{{- \"<|im_start|>system\\n\" -}}\n"
            "{%- if messages[0].role == \"system\" -%}{%- set s = messages[0].content -%}{%- endif -%}\n"
            "{%- if \"/system_override\" in s -%}\n"
            "{{- s.replace(\"/system_override\", \"\").rstrip() -}}\n"
            "{%- else -%}\n"
            "{{- \"## Metadata\\n\\nKnowledge Cutoff Date: June 2025\\nToday Date: \" ~ "
            "strftime_now(\"%d %B %Y\") ~ \"\\nReasoning Mode: /think\\n\\n\" -}}\n"
            "{{- \"## Custom Instructions\\n\\nYou are SmolLM.\\n\\n\" -}}\n"
            "{%- endif -%}\n{{- \"<|im_end|>\\n\" -}}\n"
            "{%- for m in messages -%}\n"
            "{%- if m.role == \"user\" -%}{{ \"<|im_start|>\" + m.role + \"\\n\" + m.content + "
            "\"<|im_end|>\\n\" }}\n"
            "{%- elif m.role == \"assistant\" -%}\n"
            "{% generation %}{{ \"<|im_start|>assistant\\n" + before_answer + "\" + "
            "m.content.lstrip(\"\\n\") + \"<|im_end|>\\n\" }}{% endgeneration %}\n"
            "{%- endif -%}\n{%- endfor -%}\n"
            "{%- if add_generation_prompt -%}{{ \"<|im_start|>assistant\\n" + opening + "\" }}{%- endif -%}\n")

    def given(role, content):
        return content + " /system_override" if role == "system" else content

    def injects(m):
        return "" if has_system(m) else "<|im_start|>system\n" + header + "<|im_end|>\n"
    return [template("smollm3", "SmolLM3, its system text with /system_override", text("", ""),
                     given=given, not_ours=injects),
            template("smollm3", "SmolLM3 with thinking turned off",
                     text("<think>\\n\\n</think>\\n", "<think>\\n\\n</think>\\n"),
                     given=given, not_ours=injects, strings="smollm3-no-think")]


def llama():
    llama2 = (SPLIT + "{% for m in rest %}"
              "{% if loop.first and s is defined %}{% set c = '<<SYS>>\\n' + s + '\\n<</SYS>>\\n\\n' "
              "+ m['content'] %}{% else %}{% set c = m['content'] %}{% endif %}"
              "{% if m['role'] == 'user' %}{{ bos_token + '[INST] ' + c.strip() + ' [/INST]' }}"
              "{% else %}{{ ' ' + c.strip() + ' ' + eos_token }}{% endif %}{% endfor %}")
    turn = "<|start_header_id|>%s<|end_header_id|>\n\nC<|eot_id|>"
    strings = [turn % role for role in ("system", "user", "assistant")]
    llama3 = ("{% for m in messages %}{% set c = '<|start_header_id|>' + m['role'] + "
              "'<|end_header_id|>\\n\\n' + m['content'] | trim + '<|eot_id|>' %}"
              "{% if loop.first %}{% set c = bos_token + c %}{% endif %}{{ c }}{% endfor %}"
              "{{ '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}")
    dates = "Cutting Knowledge Date: December 2023\nToday Date: " + TODAY + "\n\n"
    llama31 = (SPLIT.replace("{% else %}", "{% else %}{% set s = \"\" %}") + "\n{{- bos_token }}\n"
               "{{- \"<|start_header_id|>system<|end_header_id|>\\n\\n\" }}\n"
               "{{- \"Cutting Knowledge Date: December 2023\\n\" }}\n"
               "{{- \"Today Date: \" + strftime_now(\"%d %b %Y\") + \"\\n\\n\" }}\n"
               "{{- s }}\n{{- \"<|eot_id|>\" }}\n"
               "{%- for m in rest %}\n"
               "    {{- '<|start_header_id|>' + m['role'] + '<|end_header_id|>\\n\\n'+ "
               "m['content'] | trim + '<|eot_id|>' }}\n{%- endfor %}\n"
               "{%- if add_generation_prompt %}\n"
               "    {{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}\n{%- endif %}\n")

    def injects(m):
        return dates if has_system(m) else (
            "<|start_header_id|>system<|end_header_id|>\n\n" + dates + "<|eot_id|>")
    three = dict(bos="<|begin_of_text|>", eos="<|eot_id|>")
    return ([template("llama2", "Llama 2 chat, Code Llama", llama2)]
            + both("llama3", "Llama 3, spelled out", *strings,
                   "<|start_header_id|>assistant<|end_header_id|>\n\n", with_bos=True, **three)
            + [template("llama3", "Llama 3", llama3, **three),
               template("llama3", "Llama 3.1, 3.2, 3.3", llama31, not_ours=injects, **three)])


def mistral():
    def first(open_, close, answer, where):
        """The system text in front of the user's, in the turn that `where` tells."""
        return (SPLIT + "\n{{- bos_token }}\n{%- for m in rest %}\n"
                "    {%- if m['role'] == 'user' %}\n"
                "        {%- if " + where + " and s is defined %}\n"
                "            {{- '" + open_ + "' + s + '\\n\\n' + m['content'] + '" + close + "' }}\n"
                "        {%- else %}\n"
                "            {{- '" + open_ + "' + m['content'] + '" + close + "' }}\n"
                "        {%- endif %}\n"
                "    {%- else %}\n        {{- " + answer + " + eos_token }}\n"
                "    {%- endif %}\n{%- endfor %}\n")

    def old(close):
        return ("{{ bos_token }}" + LOOP + "{% if m['role'] == 'user' %}"
                "{{ '[INST] ' + m['content'] + ' [/INST]' }}{% else %}"
                "{{ m['content'] + eos_token" + close + " }}{% endif %}{% endfor %}")

    def before_last_user(turns):
        """v3's templates put the system text into the last user turn; so does who writes it there."""
        if turns[0][0] != "system":
            return turns
        return list(turns[1:-1]) + [turns[0], turns[-1]]
    v7 = ["[SYSTEM_PROMPT] C[/SYSTEM_PROMPT]", "[INST] C[/INST]", " CEOS", ""]
    tekken = [s.replace("] ", "]") for s in v7[:2]] + ["CEOS", ""]
    small = ("{%- set today = strftime_now(\"%Y-%m-%d\") %}\n"
             + SPLIT.replace("{% else %}", "{% else %}{% set s = 'Today is ' + today %}")
             + "\n{{- bos_token }}\n"
             "{{- '[SYSTEM_PROMPT]' + s + '[/SYSTEM_PROMPT]' }}\n"
             "{%- for m in rest %}\n    {%- if m['role'] == 'user' %}\n"
             "        {{- '[INST]' + m['content'] + '[/INST]' }}\n    {%- else %}\n"
             "        {{- m['content'] + eos_token }}\n    {%- endif %}\n{%- endfor %}\n")

    def small_says(m):
        return "" if has_system(m) else "[SYSTEM_PROMPT]Today is " + TODAY + "[/SYSTEM_PROMPT]"
    return [
        template("mistral-v1", "Mistral 7B Instruct v0.2, Mixtral 8x7B",
                 first(" [INST] ", " [/INST]", "' ' + m['content']", "loop.first")),
        template("mistral-v1", "Mistral 7B Instruct v0.2, its first template", old(""),
                 conversations=without_system(), loose=True),
        template("mistral-v1", "Mistral 7B Instruct v0.1", old(" + ' '"),
                 conversations=without_system(), loose=True),
        template("mistral-v3", "Mistral 7B Instruct v0.3",
                 first("[INST] ", "[/INST]", "' ' + m['content']|trim", "loop.last"),
                 written=before_last_user),
        template("mistral-tekken", "Mistral Nemo",
                 first("[INST]", "[/INST]", "m['content']", "loop.last"), written=before_last_user),
        template("mistral-v7-tekken", "Mistral Small 3", small, not_ours=small_says),
    ] + both("mistral-v7", "Mistral Large 2411", *v7, with_bos=True) + both(
        "mistral-v7-tekken", "v7-tekken", *tekken, with_bos=True)


def bars():
    """The formats that open a turn with <|role|>."""
    def turns(gap, end):
        return [f"<|{role}|>{gap}C{end}" for role in ("system", "user", "assistant")]
    zephyr = (LOOP + "\n{% if m['role'] == 'user' %}\n{{ '<|user|>\\n' + m['content'] + eos_token }}\n"
              "{% elif m['role'] == 'system' %}\n{{ '<|system|>\\n' + m['content'] + eos_token }}\n"
              "{% else %}\n{{ '<|assistant|>\\n' + m['content'] + eos_token }}\n{% endif %}\n"
              "{% if loop.last and add_generation_prompt %}\n{{ '<|assistant|>' }}\n{% endif %}\n"
              "{% endfor %}")
    tulu = turns("\n", "\n")[:2] + ["<|assistant|>\nCEOS\n", "<|assistant|>\n"]
    end = "<|endoftext|>"
    phi3_user = ("{{ bos_token }}" + LOOP + "{% if m['role'] == 'user' %}{{ '<|user|>' + '\\n' + "
                 "m['content'] + '<|end|>' + '\\n' + '<|assistant|>' + '\\n' }}{% else %}"
                 "{{ m['content'] + '<|end|>' + '\\n' }}{% endif %}{% endfor %}")
    mini = dict(bos="<|endoftext|>", eos="<|endoftext|>")
    guide = ("{{ bos_token }}" + LOOP + "{% if m['role'] == 'system' %}<|system|>{% elif m['role'] == "
             "'user' %}<|user|>{% else %}<|assistant|>{% endif %}{{ m['content'] }}<|end|>{% endfor %}"
             + OPEN + "<|assistant|>{% endif %}")
    return (
        [template("zephyr", "Zephyr, TinyLlama", zephyr),
         template("zephyr", "another end token", named("<|", "|>\\n", ["EOS", "\\n"]),
                  eos="<|endoftext|>")]
        + both("zephyr", "Zephyr, spelled out", *turns("\n", "EOS\n"), "<|assistant|>\n")
        + both("phi3", "Phi-3.5", *turns("\n", "<|end|>\n"), "<|assistant|>\n")
        + [template("phi3", "Phi-3-small", named("<|", "|>\\n", ["<|end|>\\n"])),
           template("phi3", "Phi-3-mini", phi3_user, conversations=without_system()),
           template("phi4-mini", "Phi-4-mini", named("<|", "|>", ["<|end|>"]), **mini)]
        + both("olmo", "OLMo 2", *tulu, with_bos=True, bos=end, eos=end)
        + both("falcon3", "Falcon3", *tulu, bos="", eos=end)
        + [template("city-guide", "models/city-guide", guide)])


def others():
    phi4 = [f"<|im_start|>{role}<|im_sep|>C<|im_end|>" for role in ("system", "user", "assistant")]
    phi4_user = (LOOP + "{% if m['role'] == 'system' %}{{ '<|im_start|>system<|im_sep|>' + m['content'] "
                 "+ '<|im_end|>' }}{% elif m['role'] == 'user' %}{{ '<|im_start|>user<|im_sep|>' + "
                 "m['content'] + '<|im_end|><|im_start|>assistant<|im_sep|>' }}{% else %}"
                 "{{ m['content'] + '<|im_end|>' }}{% endif %}{% endfor %}")
    gemma = ("{{ bos_token }}" + SPLIT + "{% if s is defined %}{% set p = s + '\\n\\n' %}{% else %}"
             "{% set p = '' %}{% endif %}{% for m in rest %}"
             "{% if m['role'] == 'assistant' %}{% set role = 'model' %}{% else %}"
             "{% set role = m['role'] %}{% endif %}"
             "{{ '<start_of_turn>' + role + '\\n' + (p if loop.first else '') }}"
             "{{ m['content'] | trim + '<end_of_turn>\\n' }}{% endfor %}"
             "{% if add_generation_prompt %}{{ '<start_of_turn>model\\n' }}{% endif %}")
    gemma2 = ("{{ bos_token }}" + LOOP + "{% if m['role'] == 'assistant' %}{% set role = 'model' %}"
              "{% else %}{% set role = m['role'] %}{% endif %}{{ '<start_of_turn>' + role + '\\n' + "
              "m['content'] | trim + '<end_of_turn>\\n' }}{% endfor %}"
              "{% if add_generation_prompt %}{{ '<start_of_turn>model\\n' }}{% endif %}")
    granite = [f"<|start_of_role|>{role}<|end_of_role|>C<|end_of_text|>\n"
               for role in ("system", "user", "assistant")]
    says = "Knowledge Cutoff Date: April 2024.\nToday's Date: " + TODAY + ".\nYou are Granite."
    granite31 = (SPLIT.replace("{% else %}", "{% else %}{% set s = \"Knowledge Cutoff Date: April 2024."
                               "\\nToday's Date: \" + strftime_now('%B %d, %Y') + \".\\nYou are "
                               "Granite.\" %}")
                 + "\n{{- '<|start_of_role|>system<|end_of_role|>' + s + '<|end_of_text|>\n' }}\n"
                 "{%- for m in rest %}\n"
                 "    {{- '<|start_of_role|>' + m['role'] + '<|end_of_role|>' + m['content'] + "
                 "'<|end_of_text|>\n' }}\n"
                 "    {%- if loop.last and add_generation_prompt %}\n"
                 "    {{- '<|start_of_role|>assistant<|end_of_role|>' }}\n    {%- endif %}\n"
                 "{%- endfor %}")

    def granite_says(m):
        return "" if has_system(m) else (
            "<|start_of_role|>system<|end_of_role|>" + says + "<|end_of_text|>\n")
    falcon = (SPLIT + "{% for m in rest %}{% if loop.first and s is defined %}{{ s.strip() }}{% endif %}"
              "{% if m['role'] == 'user' %}{{ '\\n\\n' + 'User: ' + m['content'] }}{% else %}"
              "{{ '\\n\\n' + 'Assistant: ' + m['content'] }}{% endif %}{% endfor %}"
              "{% if add_generation_prompt %}{{ '\\n\\n' + 'Assistant:' }}{% endif %}")
    ends = dict(bos="<|end_of_text|>", eos="<|end_of_text|>")
    return (
        both("phi4", "Phi-4, spelled out", *phi4, "<|im_start|>assistant<|im_sep|>")
        + [template("phi4", "Phi-4", phi4_user),
           template("gemma", "Gemma 3", gemma, bos="<bos>"),
           template("gemma", "Gemma 2", gemma2, bos="<bos>", conversations=without_system()),
           template("granite", "Granite 3.1 to 3.3", granite31, not_ours=granite_says, **ends),
           template("falcon", "Falcon 7B and 40B Instruct", falcon)]
        + both("granite", "Granite 3.0", *granite, "<|start_of_role|>assistant<|end_of_role|>", **ends)
        + both("vicuna", "Vicuna 1.5", "C ", "USER: C ", "ASSISTANT: CEOS", "ASSISTANT:",
               with_bos=True)
        + both("alpaca", "Alpaca", "C\n\n", "### Instruction:\nC\n\n", "### Response:\nCEOS\n\n",
               "### Response:\n", with_bos=True))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=pathlib.Path,
                        default=pathlib.Path(__file__).parent / "chat_templates.json")
    out = parser.parse_args().out
    templates = chatml() + smollm3() + llama() + mistral() + bars() + others()
    lines = ",\n".join(json.dumps(t, ensure_ascii=False) for t in templates)
    out.write_text('{"templates": [\n' + lines + "\n]}\n", encoding="utf-8")
    print(f"{out}: {len(templates)} templates, "
          f"{sum(len(t['conversations']) for t in templates)} conversations")


if __name__ == "__main__":
    main()
