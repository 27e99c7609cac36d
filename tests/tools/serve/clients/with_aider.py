"""aider against URL: asks about a file, and ends."""
import os
import pathlib
import subprocess
import sys
import tempfile

with tempfile.TemporaryDirectory() as home:
    (pathlib.Path(home) / "a.py").write_text("def f():\n    return 1\n")
    os.environ.update(HOME=home, OPENAI_API_KEY="none", OPENAI_API_BASE=sys.argv[1] + "/v1")
    run = subprocess.run(
        [sys.executable, "-m", "aider", "--model", "openai/calling", "--yes-always", "--no-check-update", "--no-git", "--no-pretty",
         "--no-show-model-warnings", "--analytics-disable", "--chat-mode", "ask", "--message", "What is f?", "a.py"],
        cwd=home, text=True, capture_output=True)
    assert run.returncode == 0, run.stderr
    assert "~now{}" in run.stdout, run.stdout
