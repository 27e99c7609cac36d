"""A schema: a PML document laid out for one model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, Mapping, Optional, Sequence, Union

from ._handle import Handle
from ._library import callback, calls, ffi, filled, lib, make, report, utf8
from ._options import Options
from .encoding import Encoded, Pin, encode, pin
from .messages import Messages
from .progress import Bar, Progress
from .prompt import Prompt

if TYPE_CHECKING:
    from .engine import Engine

__all__ = ["Schema"]


class Schema(Handle):
    """A PML document laid out for one model: Engine.schema, Engine.load_schema. May be used by any
    number of threads."""

    _what = "schema"

    def __init__(self, handle: Any, engine: Engine) -> None:
        self._own(handle, lib.pc_schema_close)
        self.engine = engine

    def __repr__(self) -> str:
        if self.is_closed:
            return "<promptcache.Schema, closed>"
        counts = filled(lib.pc_schema_get_counts, "pc_schema_counts", self.handle)
        return (
            f"<promptcache.Schema {self.describe()['name']!r}: {counts.modules} modules, "
            f"{counts.tokens} tokens>"
        )

    def describe(self) -> Dict[str, Any]:
        """Name, modes, each module with its tokens, bytes and position; remarks."""
        result: Dict[str, Any] = report(lib.pc_schema_describe, self.handle)
        return result

    def encode(self, *, progress: Progress = None) -> Encoded:
        """Encodes every module that the store does not hold yet."""
        return encode(lib.pc_schema_encode, self.handle, progress)

    def pin(self, *, progress: Progress = None) -> Pin:
        """Finds or encodes the modules, and holds them until the pin is closed."""
        return pin(lib.pc_schema_pin, self.handle, progress)

    def prompt(self, pml: str) -> Prompt:
        """A prompt of this schema: <prompt schema="..."><user><module/>What ...?</user></prompt>."""
        raw, n = utf8(pml)
        return Prompt(make(lib.pc_prompt_parse, "pc_prompt", self.handle, raw, n), self.engine)

    def text(self, text: str) -> Prompt:
        """The prompt that is this text, in no turn, behind the schema's own."""
        raw, n = utf8(text)
        return Prompt(make(lib.pc_prompt_from_text, "pc_prompt", self.handle, raw, n), self.engine)

    def messages(self, messages: Sequence[Mapping[str, Any]]) -> Prompt:
        """The prompt of these turns: dicts with "role" and "content", which is a string or a list
        of strings (text, taken as it stands) and Use (a module)."""
        given = Messages(messages)
        made = make(lib.pc_prompt_from_messages, "pc_prompt", self.handle, given.array, given.n)
        return Prompt(made, self.engine)

    def tokens(self, tokens: Sequence[int]) -> Prompt:
        """The prompt that is these tokens as they are, control tokens included."""
        ids = ffi.new("int32_t[]", list(tokens))
        made = make(lib.pc_prompt_from_tokens, "pc_prompt", self.handle, ids, len(tokens))
        return Prompt(made, self.engine)

    def check_answers(
        self,
        prompts: Sequence[Union[str, Prompt]] = (),
        *,
        answer_tokens: Optional[int] = None,
        progress: Progress = None,
    ) -> Dict[str, Any]:
        """What reuse does to answers: of each way, how many stay the same; and a verdict.

        prompts: PML or prompts of this schema; without any, they are made from its modules."""
        made = [self.prompt(p) if isinstance(p, str) else p for p in prompts]
        handles = ffi.new("pc_prompt *[]", [p.handle for p in made])
        options = Options("pc_answers_options", {"answer_tokens": answer_tokens})
        with Bar(progress, "prompt") as bar:

            def tell(_: Any, done: int, total: int) -> int:
                bar("answering", done, total)
                return 0

            options.struct.progress = options.keep(callback("pc_answers_progress", tell))
            with calls():
                result: Dict[str, Any] = report(
                    lib.pc_schema_check_answers, self.handle, handles, len(made), options.struct
                )
                return result


