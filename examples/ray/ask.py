#!/usr/bin/env python3
"""ask.py [URL]: a conversation of three turns by OpenAI's own client, and how much of each prompt was found."""

import sys

import openai

GUIDE = "You answer from these notes. The tram of Vienna costs six euros. The museum of Oslo opens at ten. " * 20


def main():
    url = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8000/v1"
    client = openai.OpenAI(base_url=url, api_key="none")
    model = client.models.list().data[0].id
    messages = [{"role": "system", "content": GUIDE}]
    for question in ("What does the tram of Vienna cost?", "When does the museum of Oslo open?", "And the tram?"):
        messages.append({"role": "user", "content": question})
        answer = client.chat.completions.create(model=model, messages=messages, max_tokens=32, temperature=0)
        messages.append({"role": "assistant", "content": answer.choices[0].message.content})
        found = answer.usage.prompt_tokens_details.cached_tokens
        print(f"{answer.usage.prompt_tokens} tokens, {found} of them found: {answer.choices[0].message.content!r}")


if __name__ == "__main__":
    main()
