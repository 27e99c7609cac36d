"""The notebooks of examples/python run from their first cell to their last."""

import os
import tempfile

import pytest

nbclient = pytest.importorskip("nbclient", reason="scripts/python installs nbclient")
nbformat = pytest.importorskip("nbformat", reason="scripts/python installs nbclient")
config = pytest.importorskip("traitlets.config", reason="scripts/python installs nbclient")
pytest.importorskip("ipykernel", reason="scripts/python installs ipykernel")


def outputs(cell):
    for output in cell.get("outputs", ()):
        yield from output.get("data", {}).items()
        yield "text", output.get("text", "")


@pytest.mark.parametrize("name", ["city-guide"])
def test_notebook(name, root, tmp_path, monkeypatch):
    path = root / "examples" / "python" / f"{name}.ipynb"
    notebook = nbformat.read(path, as_version=4)
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in notebook.cells)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    # Over sockets that are files: of five ports that are found free one may be taken a second later.
    with tempfile.TemporaryDirectory(prefix="pc.") as runtime:  # of a short name, as these must be
        monkeypatch.setenv("JUPYTER_RUNTIME_DIR", runtime)
        files = config.Config({"KernelManager": {"transport": "ipc", "ip": f"{runtime}/socket"}})
        nbclient.NotebookClient(
            notebook, timeout=120, kernel_name="python3", config=files,
            resources={"metadata": {"path": str(path.parent)}},
        ).execute()  # fmt: skip
    shown = [pair for cell in notebook.cells for pair in outputs(cell)]
    assert any(kind == "text/html" and "oslo" in text for kind, text in shown)
    assert any("tokens were there" in text for _, text in shown)
    assert any('<schema name="flags">' in text for _, text in shown)
    assert os.listdir(tmp_path / "cache") == ["promptcache"]
