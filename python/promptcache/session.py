"""One conversation: a prompt, its answer, and what is said after it."""

from __future__ import annotations

import dataclasses
from typing import (
    TYPE_CHECKING,
    Any,
    AsyncIterator,
    Callable,
    Dict,
    Iterator,
    List,
    Mapping,
    NamedTuple,
    Optional,
    Sequence,
    Tuple,
)

from . import batch
from ._handle import Handle
from ._library import call, callback, calls, ffi, lib, make, raise_for, raise_kept, utf8
from ._options import Options, given_number
from .errors import Error
from .messages import Messages

if TYPE_CHECKING:
    import numpy
    import numpy.typing

    from .constraint import Constraint
    from .engine import Engine
    from .prompt import Prompt

__all__ = ["Session", "Stats", "Token"]

_OK, _DONE = lib.PC_OK, lib.PC_DONE
# Found once, for what runs at each token.
_next, _text, _new = lib.pc_session_next, ffi.string, tuple.__new__
_FINISH = {1: "eos", 2: "stop", 3: "length", 4: "cancelled"}
_OVERFLOW = {"stop": 0, "slide": 1}
_SESSIONS_OWN = {
    "client",
    "moves",
    "no_reuse",
    "overflow",
    "progress",
    "prompt_logprobs",
    "prompt_logprobs_from",
    "repair",
}


class Token(NamedTuple):
    """A token of an answer. `text` has the characters that became certain by it, maybe none."""

    id: int
    text: str


@dataclasses.dataclass(frozen=True)
class Stats:
    """Of a prompt, or of the turns that were appended last, and of their answer."""

    prompt_tokens: int  # cached + computed
    cached_tokens: int  # taken from modules and from kept conversations
    computed_tokens: int
    generated_tokens: int
    chained_tokens: int  # of the cached ones: of kept conversations
    repaired_tokens: int  # of the computed ones: of modules, in the place of their states
    modules_found: int
    modules_encoded: int
    ttft_us: int  # time to the first token
    prefill_us: int
    decode_us: int  # tokens after the first
    finish: Optional[str]  # "eos", "stop", "length", "cancelled"; None: not over


def _asked(values: Dict[str, Any]) -> Options:
    """pc_session_options of keyword arguments."""
    known = dict(values)
    stop, bias = known.pop("stop", None), known.pop("bias", None)
    constraint = known.pop("constraint", None)
    if known.get("overflow") is not None:
        known["overflow"] = given_number("overflow", known["overflow"], _OVERFLOW)
    options = Options("pc_session_options", known)
    if stop:
        options.struct.stop, options.struct.n_stop = options.strings(
            [stop] if isinstance(stop, str) else stop
        )
    if bias:
        pairs = options.keep(ffi.new("pc_token_bias[]", list(bias.items())))
        options.struct.bias, options.struct.n_bias = pairs, len(bias)
    if constraint is not None:
        options.struct.constraint = options.keep(constraint.handle)
    return options


def _told(progress: Optional[Callable[[int, int], None]]) -> Any:
    def tell(_: Any, done: int, total: int) -> int:
        if progress is not None:
            progress(done, total)
        return 0

    return callback("pc_session_progress", tell)


# Of all sessions with nobody to tell: the interpreter raises KeyboardInterrupt in it.
_UNTOLD = _told(None)


class Session(Handle):
    """A conversation that begins with a prompt. Used by one thread at a time; cancel() by any.

    Iterating gives the answer's text as it comes, tokens() its tokens.

    max_tokens: of an answer; by default 256, or less where the window ends before. 0: none.
    temperature, top_k, top_p, min_p, repetition_penalty, presence_penalty, frequency_penalty, seed:
        how tokens are drawn; by default the likeliest is.
    stop: strings that end the answer and are not part of it.
    bias: added to the logits of tokens, {token: bias}; -inf: it is never drawn.
    constraint: what the answer must be (Engine.json_schema, .choices, .regex, .gbnf).
    repair: which tokens of modules are computed anew: "none", "leading:16", "attended:15%", "auto".
    overflow: at the window's end, "stop", or "slide": the oldest turns go.
    progress: called with the tokens computed and all, while a prompt is computed; not by asyncio,
        whose steps are short.

    Other fields of pc_session_options are taken by their names.
    """

    _what = "session"

    def __init__(
        self,
        prompt: Prompt,
        *,
        max_tokens: Optional[int] = None,
        temperature: Optional[float] = None,
        top_k: Optional[int] = None,
        top_p: Optional[float] = None,
        min_p: Optional[float] = None,
        seed: Optional[int] = None,
        stop: Sequence[str] = (),
        bias: Optional[Mapping[int, float]] = None,
        constraint: Optional[Constraint] = None,
        repair: Optional[str] = None,
        overflow: Optional[str] = None,
        progress: Optional[Callable[[int, int], None]] = None,
        **others: Any,
    ) -> None:
        options = _asked(
            dict(
                max_tokens=max_tokens,
                temperature=temperature,
                top_k=top_k,
                top_p=top_p,
                min_p=min_p,
                seed=seed,
                stop=stop,
                bias=bias,
                constraint=constraint,
                repair=repair,
                overflow=overflow,
                **others,
            )
        )

        options.struct.progress = options.keep(_UNTOLD if progress is None else _told(progress))
        handle = make(lib.pc_session_open, "pc_session", prompt.handle, options.struct)
        self._become(handle, prompt.engine, [options])

    def _become(self, handle: Any, engine: Engine, options: List[Options]) -> None:
        self.engine = engine
        self._options = options  # what C goes on calling, in forks as well
        self.ahead: List[Token] = []  # drawn for a task that was cancelled
        self._own(handle, lib.pc_session_close)
        self._token = ffi.new("pc_token *")
        self._error = ffi.new("pc_error *")

    def __repr__(self) -> str:
        if self.is_closed:
            return "<promptcache.Session, closed>"
        s = self.stats
        return (
            f"<promptcache.Session: {s.cached_tokens} tokens reused, {s.computed_tokens} computed, "
            f"{s.generated_tokens} generated>"
        )

    # ---- The answer

    def prefill(self) -> None:
        """Finds or encodes the modules, and computes the prompt's new tokens."""
        self._call(lib.pc_session_prefill)

    def next(self) -> Optional[Token]:
        """The next token, or None when the answer is over."""
        return next(self.tokens(), None)

    def tokens(self) -> Iterator[Token]:
        """The answer's tokens; the last text may come with the id -1."""
        # What runs at each token is written out: one more call here costs what the C call does.
        token, error, ahead = self._token, self._error, self.ahead
        while True:
            if ahead:
                yield ahead.pop(0)
                continue
            status = _next(self._handle or self.handle, token, error)
            if status == _OK and token.text_bytes == len(text := _text(token.text)):
                yield _new(Token, (token.id, text.decode("utf-8", "replace")))
                continue
            raise_kept()
            drawn = self.taken(status, token, error)
            if drawn is None:
                return
            yield drawn

    def taken(self, status: int, token: Any, error: Any) -> Optional[Token]:
        """What pc_session_next or pc_batch_step gave: None where the answer is over."""
        if status != _OK and status != _DONE:
            raise_for(status, error)
        n = token.text_bytes
        if status == _DONE and n == 0:
            return None
        return Token(token.id, str(ffi.unpack(token.text, n), "utf-8", "replace") if n else "")

    def __iter__(self) -> Iterator[str]:
        return (token.text for token in self.tokens() if token.text)

    def text(self) -> str:
        """The rest of the answer."""
        return "".join(self)

    async def __aiter__(self) -> AsyncIterator[str]:
        """The answer's text as it comes, beside other work of the loop's. Sessions of an engine that
        are asked so are computed together."""
        async for token in self.atokens():
            if token.text:
                yield token.text

    async def atokens(self) -> AsyncIterator[Token]:
        """tokens(), beside other work of the loop's."""
        while True:
            token = await batch.astep(self)
            if token is None:
                return
            yield token

    async def atext(self) -> str:
        """The rest of the answer."""
        return "".join([text async for text in self])

    def cancel(self) -> None:
        """The running call raises Cancelled, or the next that computes, once; the session is then
        where it was before that call. From any thread."""
        lib.pc_session_cancel(self.handle)

    @property
    def stats(self) -> Stats:
        """What was found, computed and generated so far, in tokens and microseconds."""
        stats = ffi.new("pc_session_stats *")
        stats.struct_size = ffi.sizeof("pc_session_stats")
        lib.pc_session_get_stats(self.handle, stats)
        values = {field.name: getattr(stats, field.name) for field in dataclasses.fields(Stats)}
        values["finish"] = _FINISH.get(values["finish"])
        return Stats(**values)

    # ---- Going on

    def set_answer(self, **options: Any) -> None:
        """How answers are drawn from the next one on: max_tokens, temperature and its like, stop,
        bias, constraint; what is not given is as by default. Other options are refused."""
        own = _SESSIONS_OWN & options.keys()
        if own:
            raise TypeError(f"{', '.join(sorted(own))}: a session's own, not an answer's")
        asked = _asked(options)
        self._call(lib.pc_session_set_answer, asked.struct)
        self._options.append(asked)

    def append(self, text: Any) -> None:
        """Goes on behind the answer: a user's turn, or turns as Schema.messages has them."""
        turns = [{"role": "user", "content": text}] if isinstance(text, str) else text
        given = Messages(turns)
        self._go_on(lib.pc_session_append, given.array, given.n)

    async def aappend(self, text: Any) -> None:
        """append(), in a thread of the loop's."""
        await batch.in_thread(lambda: self.append(text))

    def append_pml(self, pml: str) -> None:
        """The same with the turns of a PML prompt, modules of the schema among them."""
        self._go_on(lib.pc_session_append_pml, *utf8(pml))

    def append_text(self, text: str) -> None:
        """Goes on behind all text, in no turn: for prompts without turns."""
        self._go_on(lib.pc_session_append_text, *utf8(text))

    def append_tokens(self, tokens: Sequence[int]) -> None:
        """The same with tokens: [n] ids below vocab_size. InvalidArgument names one that is none."""
        ids = ffi.new("int32_t[]", list(tokens))
        self._go_on(lib.pc_session_append_tokens, ids, len(tokens))

    def fork(self) -> Session:
        """Another session that has seen, said and drawn the same."""
        other = Session.__new__(Session)
        handle = make(lib.pc_session_fork, "pc_session", self.handle)
        other._become(handle, self.engine, list(self._options))
        other.ahead = list(self.ahead)
        return other

    @property
    def position(self) -> int:
        """Of the next token to be computed; rewind() goes back to it."""
        position = ffi.new("uint32_t *")
        call(lib.pc_session_position, self.handle, position)
        return int(position[0])

    def rewind(self, position: int) -> None:
        """Goes back to a position in an answer, or its first; what came behind it is forgotten."""
        self._go_on(lib.pc_session_rewind, position)

    def keep(self) -> int:
        """Puts what was computed into the store: a later prompt that begins with the same finds it,
        in any process. Gives how many of the conversation's tokens are there."""
        n = ffi.new("uint64_t *")
        self._call(lib.pc_session_keep, n)
        return int(n[0])

    def try_keep(self) -> int:
        """keep(); 0 where the store takes nothing (there is none, it is read-only or full): what was
        answered is not lost by it."""
        try:
            return self.keep()
        except Error:
            return 0

    # ---- Numbers

    def logits(self) -> numpy.typing.NDArray[numpy.float32]:
        """[vocab_size] float32 from which the latest token was drawn, or the first will be. A view
        of the session's own memory, until its next call."""
        import numpy

        out, n = ffi.new("float **"), ffi.new("size_t *")
        call(lib.pc_session_logits, self.handle, out, n)
        view = numpy.frombuffer(ffi.buffer(out[0], n[0] * 4), numpy.float32)
        view.flags.writeable = False
        return view

    def logprobs(self, top: int = 0) -> List[Tuple[int, float]]:
        """[(token, logprob)]: of the token drawn last, then of the `top` likeliest in its place."""
        drawn = ffi.new("pc_token_logprob *")
        best = ffi.new("pc_token_logprob[]", max(top, 1))
        call(lib.pc_session_logprobs, self.handle, drawn, best, top)
        return [(p.token, p.logprob) for p in [drawn, *best[0:top]]]

    def prompt_logprobs(self, index: int, top: int = 0) -> List[Tuple[int, float]]:
        """The same of the prompt's token `index`, behind those before it, where the session was
        opened with prompt_logprobs (at least `top`) and prompt_logprobs_from (at most `index`)."""
        drawn = ffi.new("pc_token_logprob *")
        best = ffi.new("pc_token_logprob[]", max(top, 1))
        call(lib.pc_session_prompt_logprobs, self.handle, index, drawn, best, top)
        return [(p.token, p.logprob) for p in [drawn, *best[0:top]]]

    def _go_on(self, function: Any, *arguments: Any) -> None:
        """What is ahead belonged to the answer that this leaves."""
        self._call(function, *arguments)
        self.ahead.clear()

    def _call(self, function: Any, *arguments: Any) -> None:
        with calls():
            call(function, self.handle, *arguments)
