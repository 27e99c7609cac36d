"""A prompt, resolved against its schema: what is taken from modules, and what is computed."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Dict, List

from ._handle import Handle
from ._library import call, filled, lib, owned_text, report, tokens_of
from .encoding import Encoded, Pin, encode, pin
from .progress import Progress
from .session import Session

if TYPE_CHECKING:
    from .engine import Engine

__all__ = ["Counts", "Prompt"]


@dataclasses.dataclass(frozen=True)
class Counts:
    """What a session of a prompt would find and compute now."""

    tokens: int
    module_tokens: int  # from modules, found or to be encoded first
    approximate_tokens: int  # of these: of modules that saw something else than what stands before
    chained_tokens: int  # from kept conversations
    computed_tokens: int  # the rest
    modules: int
    modules_missing: int  # to be encoded first
    repaired_tokens: int  # of the approximate ones: computed anew


class Prompt(Handle):
    """A prompt of a schema: Schema.prompt, .messages, .text; or a whole conversation's. May be used
    by any number of threads, and asked any number of times."""

    _what = "prompt"

    def __init__(self, handle: Any, engine: Engine) -> None:
        self.engine = engine
        self._own(handle, lib.pc_prompt_close)

    def __repr__(self) -> str:
        if self.is_closed:
            return "<promptcache.Prompt, closed>"
        c = self.counts
        return (
            f"<promptcache.Prompt: {c.tokens} tokens, {c.module_tokens} from {c.modules} modules, "
            f"{c.chained_tokens} from kept conversations, {c.computed_tokens} to compute>"
        )

    def _repr_html_(self) -> str:
        from .notebook import position_map

        return position_map(self.explain())

    @property
    def counts(self) -> Counts:
        """How many of its tokens are where, and what would be computed now."""
        counts = filled(lib.pc_prompt_get_counts, "pc_prompt_counts", self.handle)
        return Counts(*(getattr(counts, field.name) for field in dataclasses.fields(Counts)))

    @property
    def token_ids(self) -> List[int]:
        """All tokens, in order, those of modules and turns included."""
        return tokens_of(lib.pc_prompt_tokens, self.handle)

    @property
    def remarks(self) -> List[str]:
        """What its author may not have meant: sentences."""
        return owned_text(lib.pc_prompt_remarks, self.handle).splitlines()

    def explain(self) -> Dict[str, Any]:
        """Each run of tokens: its place, where it comes from, and why; computes nothing."""
        result: Dict[str, Any] = report(lib.pc_prompt_explain, self.handle)
        return result

    def encode(self, *, together: bool = False, progress: Progress = None) -> Encoded:
        """Encodes the modules that this prompt uses and the store does not hold yet. together: all
        of them once more, each seeing those before it, so that prompts made from then on that
        import the same ones in the same order are as exact as a full prefill."""
        function = lib.pc_prompt_encode_together if together else lib.pc_prompt_encode
        return encode(function, self.handle, progress)

    def prefetch(self) -> None:
        """It will be asked soon: its modules are read ahead. Encodes nothing."""
        call(lib.pc_prompt_prefetch, self.handle)

    def pin(self, *, progress: Progress = None) -> Pin:
        """Finds or encodes the modules, and holds them until the pin is closed."""
        return pin(lib.pc_prompt_pin, self.handle, progress)

    def session(self, **options: Any) -> Session:
        """A conversation that begins with this prompt. options: those of Session."""
        return Session(self, **options)

    def generate(self, **options: Any) -> str:
        """The whole answer."""
        with self.session(**options) as session:
            return "".join(session)
