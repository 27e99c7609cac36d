"""Where the tests find what they test, and published data."""

import os
import sys
from pathlib import Path

SOURCE = Path(os.environ.get("PC_SOURCE_DIR") or Path(__file__).resolve().parents[2])
ANSWERS = SOURCE / "bench/answers"
DATA = Path(os.environ.get("PC_SHARED_DIR") or SOURCE / "../shared") / "assets/answers"
WITHOUT_DATA = f"no published questions: {DATA} is not there (PC_SHARED_DIR)"
sys.path.insert(0, str(ANSWERS))
