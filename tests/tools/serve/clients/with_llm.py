"""The command llm against URL: a chat, a schema, a tool, a text and a conversation that goes on."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

MODELS = """\
- model_id: pc
  model_name: calling
  api_base: {url}/v1
  supports_tools: true
  supports_schema: true
- model_id: pct
  model_name: calling
  api_base: {url}/v1
  completion: true
"""
NOW = 'def now() -> str:\n    "The time."\n    return "noon"\n'


def llm(*arguments):
    run = subprocess.run([sys.executable, "-m", "llm", *arguments, "--key", "none", "-o", "max_tokens", "400"], text=True,
                         capture_output=True)
    assert run.returncode == 0, run.stderr
    return run.stdout.strip()


with tempfile.TemporaryDirectory() as home:
    os.environ["LLM_USER_PATH"] = home
    (pathlib.Path(home) / "extra-openai-models.yaml").write_text(MODELS.format(url=sys.argv[1]))
    assert llm("-m", "pc", "Hi")
    assert llm("-c", "again")
    assert llm("-m", "pct", "Once") is not None
    assert isinstance(json.loads(llm("-m", "pc", "Hi", "--schema", "day bool"))["day"], bool)
    assert llm("-m", "pc", "What time is it?", "--functions", NOW).endswith("Yes")
