"""What the tests of the package share: the demo model, which is small enough for each of them."""

import os
import pathlib
import sys

import hypothesis
import pytest

import promptcache

# An example takes as long as a busy machine makes it; and it is the same each time, since what is
# found should be the change's, but at night.
hypothesis.settings.register_profile(
    "promptcache", deadline=None, derandomize="PC_RANDOM_EXAMPLES" not in os.environ
)
hypothesis.settings.load_profile("promptcache")

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests/tools/serve"))
import calling_model  # noqa: E402: found by the line before


@pytest.fixture(scope="session")
def root():
    return ROOT


@pytest.fixture(scope="session")
def shared():
    """Data beside the repository."""
    folder = pathlib.Path(os.environ.get("PC_SHARED_DIR", ROOT / ".." / "shared"))
    if not folder.is_dir():
        pytest.skip(f"{folder} is not here: data that is no part of the repository")
    return folder


@pytest.fixture(scope="session")
def cache_dir(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="session")
def engine(cache_dir):
    with promptcache.Engine(
        ROOT / "models/city-guide", cache_dir=cache_dir, threads=2
    ) as opened:
        yield opened


@pytest.fixture(scope="module")
def caller(tmp_path_factory, cache_dir):
    """Calls now() behind a user's turn, and says Yes behind a result."""
    folder = tmp_path_factory.mktemp("caller")
    calling_model.write(folder)
    with promptcache.Engine(folder, cache_dir=cache_dir, threads=1) as opened:
        yield opened


@pytest.fixture(scope="session")
def guide(engine):
    return engine.load_schema(ROOT / "examples/city-guide/city-guide.pml")


def question(city="oslo", text="What do people like?"):
    return f'<prompt schema="city-guide"><{city}/>Question: {text}\nAnswer:</prompt>'


@pytest.fixture(scope="session")
def ask():
    return question
