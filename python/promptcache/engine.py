"""An engine: a loaded model, with a store of encoded modules."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Mapping, Optional, Sequence, Union

from . import chat as chats
from ._library import (
    StrPath,
    c_text,
    call,
    callback,
    calls,
    ffi,
    filled,
    lib,
    likely_tokens,
    make,
    owned_text,
    path_bytes,
    report,
    text_of,
    tokens_of,
    utf8,
)
from ._options import Options, given_number
from ._handle import Handle
from .constraint import Constraint
from .progress import Bar, Progress
from .schema import Schema
from .tools import Tool, ToolCall, Tools

if TYPE_CHECKING:
    import numpy
    import numpy.typing

    from .prompt import Prompt

__all__ = ["Engine", "EngineFacts", "build", "inspect", "verify"]

_CACHE_MODES = {"read-write": 0, "read-only": 1, "off": 2}
_COPY_MODES = {"auto": 0, "always": 1, "never": 2}
_KV_TYPES = {"f32": 1, "bf16": 2, "q8": 3, "q4": 4}
_PRECISIONS = {"default": 0, "fast": 0, "exact": 1, "deterministic": 2}
_POOLINGS = {"model": 0, "last": 1, "mean": 2}
_OPEN_STEPS = {1: "reading weights", 2: "packing weights", 3: "checking packed weights"}


@dataclasses.dataclass(frozen=True)
class EngineFacts:
    """What an engine is, in numbers."""

    context_tokens: int  # window of a prompt and its answer
    vocab_size: int  # of logits and masks
    kv_token_bytes: int  # attention states of a token, as modules have them
    n_parameters: int
    weight_bytes: int
    bos: Optional[int]  # token
    has_chat_format: bool  # roles may be used
    store_in_use: bool  # modules are looked for, and kept unless it is read-only
    n_dimensions: int  # of a text's vector


def _engine_options(model: Optional[StrPath], options: Dict[str, Any]) -> Options:
    known = dict(options)
    known["cache_mode"] = given_number("cache", known.pop("cache", None), _CACHE_MODES)
    known["cache_copy"] = given_number("cache_copy", known.get("cache_copy"), _COPY_MODES)
    known["kv_type"] = given_number("kv_type", known.get("kv_type"), _KV_TYPES)
    known["precision"] = given_number("precision", known.get("precision"), _PRECISIONS)
    known["n_threads"] = known.pop("threads", None)
    known["model_path"] = None if model is None else path_bytes(model)
    return Options("pc_engine_options", known)


class Engine(Handle):
    """A loaded model with a store of encoded modules. May be used by any number of threads.

    model: a GGUF file, or a folder as Hugging Face lays one out.
    cache_dir: where modules are kept; by default $XDG_CACHE_HOME/promptcache, else
        ~/.cache/promptcache.
    cache: "read-write", "read-only", or "off" (modules live in memory only).
    cache_from: stores that are asked for what cache_dir does not have, and never written to (docs/SCALE.md).
    cache_copy: of what is found there: "auto" (copied if it must be, or was slow), "always", "never".
    cache_trust: files of public keys whose signature stands for files there that others may write.
    kv_type: of stored states: "bf16" (the default), "f32", "q8", "q4".
    threads: by default as many as this process may use.
    precision: "fast" (the default), "exact", "deterministic" (docs/RELIABILITY.md).
    context_tokens: the window of a prompt and its answer; by default the model's own.
    progress: called with a step's name, bytes done and all bytes, where opening takes long; True
        draws a bar (with tqdm, where that is installed).

    Other fields of pc_engine_options are taken by their names. Raises NotFound, Corrupt,
    Unsupported and others of promptcache.errors. An engine does not outlive a fork: a child of
    os.fork() gets an error from it and opens its own.
    """

    _what = "engine"

    def __init__(
        self,
        model: StrPath,
        *,
        cache_dir: Optional[StrPath] = None,
        cache: Optional[str] = None,
        cache_bytes: Optional[int] = None,
        cache_from: Union[StrPath, Sequence[StrPath]] = (),
        cache_copy: Optional[str] = None,
        cache_trust: Union[StrPath, Sequence[StrPath]] = (),
        kv_type: Optional[str] = None,
        threads: Optional[int] = None,
        context_tokens: Optional[int] = None,
        chat_template: Optional[StrPath] = None,
        backend: Optional[StrPath] = None,
        precision: Optional[str] = None,
        progress: Progress = None,
        **others: Any,
    ) -> None:
        options = _engine_options(
            model,
            dict(
                cache_dir=cache_dir,
                cache=cache,
                cache_bytes=cache_bytes,
                cache_from=cache_from,
                cache_copy=cache_copy,
                cache_trust=cache_trust,
                kv_type=kv_type,
                threads=threads,
                context_tokens=context_tokens,
                chat_template=chat_template,
                backend=backend,
                precision=precision,
                **others,
            ),
        )
        with Bar(progress, "B") as bar:

            def tell(_: Any, step: int, done: int, total: int) -> int:
                bar(_OPEN_STEPS.get(step, "opening"), done, total)
                return 0

            told = options.struct.progress = callback("pc_open_progress", tell)
            if not options.struct.text_progress:  # so that Ctrl-C ends what tokenises a long text
                options.struct.text_progress = options.keep(
                    callback("pc_text_progress", lambda user, done, total: 0)
                )
            with calls():
                handle = make(lib.pc_engine_open, "pc_engine", options.struct)
            del told
        self._become(handle, str(model), options)

    def _become(self, handle: Any, name: str, options: Options) -> None:
        self._own(handle, lib.pc_engine_close)
        self._options = options  # which C goes on calling
        self._name = name

    def __repr__(self) -> str:
        if self.is_closed:
            return f"<promptcache.Engine {self._name!r}, closed>"
        facts = self.facts
        return (
            f"<promptcache.Engine {self._name!r}: {facts.n_parameters / 1e6:.0f} M parameters, "
            f"window of {facts.context_tokens} tokens>"
        )

    # ---- What it is

    @property
    def facts(self) -> EngineFacts:
        """What it is, in numbers."""
        f = filled(lib.pc_engine_get_facts, "pc_engine_facts", self.handle)
        return EngineFacts(
            context_tokens=f.context_tokens,
            vocab_size=f.vocab_size,
            kv_token_bytes=f.kv_token_bytes,
            n_parameters=f.n_parameters,
            weight_bytes=f.weight_bytes,
            bos=None if f.bos < 0 else f.bos,
            has_chat_format=bool(f.has_chat_format),
            store_in_use=bool(f.store_in_use),
            n_dimensions=f.n_dimensions,
        )

    def describe(self) -> Dict[str, Any]:
        """Architecture, shape, weights, tokenizer, digests, backend, cache."""
        result: Dict[str, Any] = report(lib.pc_engine_describe, self.handle)
        return result

    def cache_counts(self) -> Dict[str, int]:
        """How this engine came by the modules that were asked for, and what its store did."""
        counts = filled(lib.pc_engine_get_cache_counts, "pc_cache_counts", self.handle)
        fields = ffi.typeof("pc_cache_counts").fields or ()
        return {name: getattr(counts, name) for name, _ in fields if name != "struct_size"}

    def trim(self) -> int:
        """Lets go of the modules that nothing uses now; gives their bytes. Files stay."""
        n = ffi.new("uint64_t *")
        call(lib.pc_engine_trim, self.handle, n)
        return int(n[0])

    def in_namespace(self, name: str) -> Engine:
        """The same model for another user, whose modules nobody else sees."""
        view = Engine.__new__(Engine)
        raw = c_text(name, "the namespace")
        handle = make(lib.pc_engine_in_namespace, "pc_engine", self.handle, raw)
        view._become(handle, f"{self._name}, namespace {name}", self._options)
        return view

    # ---- Tokens

    def tokenize(self, text: str, *, controls: bool = False, bos: bool = False) -> List[int]:
        """The tokens of a text. controls: spellings of control tokens are those tokens."""
        raw, n = utf8(text)
        flags = (lib.PC_TEXT_CONTROLS if controls else 0) | (lib.PC_TEXT_BOS if bos else 0)
        with calls():
            return tokens_of(
                lib.pc_tokenize_text, self.handle, raw, n, flags, likely=likely_tokens(n)
            )
        raise AssertionError("what a callback raised is raised")

    def detokenize(self, tokens: Sequence[int]) -> str:
        """The text of tokens, control tokens spelled out."""
        out, n = ffi.new("char **"), ffi.new("size_t *")
        call(lib.pc_detokenize, self.handle, list(tokens), len(tokens), out, n)
        try:
            return text_of(out[0], n[0])
        finally:
            lib.pc_free(out[0])

    # ---- Schemas and prompts

    def load_schema(self, path: StrPath) -> Schema:
        """A schema from a file; what its src= name is read beside it."""
        return Schema(make(lib.pc_schema_load, "pc_schema", self.handle, path_bytes(path)), self)

    def schema(self, pml: str, *, base_dir: Optional[StrPath] = None) -> Schema:
        """A schema from its text. base_dir: where src= is read; None: src= is an error."""
        raw, n = utf8(pml)
        where = ffi.NULL if base_dir is None else path_bytes(base_dir)
        return Schema(make(lib.pc_schema_parse, "pc_schema", self.handle, raw, n, where), self)

    def plain(self) -> Schema:
        """The schema without modules or text, for plain prompts."""
        return Schema(make(lib.pc_schema_plain, "pc_schema", self.handle), self)

    def prompt(self, pml: str) -> Prompt:
        """A prompt of no schema: <prompt>...</prompt>."""
        return self.plain().prompt(pml)

    # ---- What answers must be

    def json_schema(self, schema: Union[str, Mapping[str, Any]]) -> Constraint:
        """Answers are JSON by this schema; Unsupported names what of it cannot be enforced."""
        text = schema if isinstance(schema, str) else json.dumps(schema)
        return self._constraint(lib.pc_constraint_from_json_schema, text, "JSON Schema")

    def regex(self, pattern: str) -> Constraint:
        """Answers are texts all of which the pattern takes: what is regular of ECMA-262's."""
        return self._constraint(lib.pc_constraint_from_regex, pattern, "pattern")

    def gbnf(self, grammar: str) -> Constraint:
        """Answers are texts of a grammar in GBNF, whose first rule is "root"."""
        return self._constraint(lib.pc_constraint_from_gbnf, grammar, "grammar")

    def choices(self, texts: Sequence[str]) -> Constraint:
        """Answers are one of these texts."""
        given = [ffi.new("char[]", c_text(text, "a choice")) for text in texts]
        array = ffi.new("const char *[]", given)

        def made() -> Any:
            function = lib.pc_constraint_from_choices
            return make(function, "pc_constraint", self.handle, array, len(given))

        return Constraint(made, self, f"{len(given)} choices")

    def _constraint(self, function: Callable[..., int], text: str, kind: str) -> Constraint:
        raw, n = utf8(text)
        return Constraint(
            lambda: make(function, "pc_constraint", self.handle, raw, n), self, kind
        )

    # ---- Conversations

    def chat(
        self,
        messages: Sequence[chats.Message],
        *,
        tools: Optional[Sequence[Tool]] = None,
        tool_choice: chats.ToolChoice = "auto",
        variables: Optional[Dict[str, Any]] = None,
        response_format: Optional[Mapping[str, Any]] = None,
        keep: bool = True,
        on_text: Optional[Callable[[str], None]] = None,
        on_call: Optional[Callable[[ToolCall], None]] = None,
        **options: Any,
    ) -> chats.Reply:
        """The model's answer to a conversation, as the model's own template writes it.

        messages: dicts with "role" and "content", and whatever else the template reads; a content
            is a string or a list of parts {"type": "text", "text": ...}, where "module": True
            makes a part a module.
        tools: functions, whose signatures and docstrings describe them, or dicts as OpenAI's chat
            API has them ("module": True: likewise). Calls of them are in Reply.tool_calls.
        tool_choice: "auto"; "required" or a tool's name: the answer is held to one call that the
            tool takes; "none": calls are not read.
        response_format: as OpenAI's chat API has it: {"type": "json_schema", "json_schema":
            {"schema": {...}}}, or json_object. Beside tools the answer is that or a call.
        keep: what was computed goes into the store, so that the next request of this
            conversation computes its new text alone.
        on_text: is called with the answer's text as it comes, on_call with each call.
        options: those of Session.
        """
        asked = chats.Asked(self, tools, tool_choice, response_format)
        prompt = chats.prompt(self, messages, asked.tools, variables)
        return chats.answer(asked, prompt, keep, on_text, on_call, options)

    async def achat(
        self,
        messages: Sequence[chats.Message],
        *,
        tools: Optional[Sequence[Tool]] = None,
        tool_choice: chats.ToolChoice = "auto",
        variables: Optional[Dict[str, Any]] = None,
        response_format: Optional[Mapping[str, Any]] = None,
        keep: bool = True,
        on_text: Optional[Callable[[str], None]] = None,
        on_call: Optional[Callable[[ToolCall], None]] = None,
        **options: Any,
    ) -> chats.Reply:
        """chat(), beside other work of the loop's; conversations are computed together."""
        asked = chats.Asked(self, tools, tool_choice, response_format)
        prompt = chats.prompt(self, messages, asked.tools, variables)
        return await chats.aanswer(asked, prompt, keep, on_text, on_call, options)

    def tools(self, tools: Sequence[Tool]) -> Tools:
        """What reads calls of these tools out of answers, for whoever has a session of its own."""
        return Tools(self, tools)

    def write_chat(
        self,
        messages: Sequence[chats.Message],
        *,
        tools: Optional[Sequence[Tool]] = None,
        variables: Optional[Dict[str, Any]] = None,
    ) -> Prompt:
        """The prompt of a whole conversation, for whoever wants a session of it."""
        return chats.prompt(self, messages, tools, variables)

    def render_chat(
        self,
        messages: Sequence[chats.Message],
        *,
        tools: Optional[Sequence[Tool]] = None,
        variables: Optional[Dict[str, Any]] = None,
    ) -> str:
        """The text that the model's template makes of a conversation."""
        return chats.render(self, messages, tools, variables)

    # ---- Vectors

    def embed(
        self,
        texts: Sequence[str],
        *,
        pooling: str = "model",
        n_dimensions: Optional[int] = None,
    ) -> numpy.typing.NDArray[numpy.float32]:
        """[len(texts), n_dimensions] float32: a vector of length 1 of each text."""
        import numpy

        options = Options(
            "pc_texts_options",
            {"pooling": given_number("pooling", pooling, _POOLINGS), "n_dimensions": n_dimensions},
        )
        flags = lib.PC_TEXT_BOS | lib.PC_TEXT_END
        items, kept = ffi.new("pc_text_tokens[]", max(len(texts), 1)), []
        for item, text in zip(items, texts):
            raw, n = utf8(text)
            tokens = tokens_of(
                lib.pc_tokenize_text, self.handle, raw, n, flags, likely=likely_tokens(n)
            )
            kept.append(ffi.new("int32_t[]", tokens))
            item.tokens, item.n_tokens = kept[-1], len(tokens)
        width = n_dimensions or self.facts.n_dimensions
        vectors = numpy.empty((len(texts), width), numpy.float32)
        out = ffi.from_buffer("float[]", vectors, require_writable=True)
        told = options.struct.progress = callback("pc_texts_progress", lambda user, done, total: 0)
        with calls():
            call(lib.pc_embed, self.handle, items, len(texts), options.struct, out)
        del told
        return vectors


def inspect(model: StrPath, **options: Any) -> Dict[str, Any]:
    """What a model's files say, without opening an engine; "refused" says why one would not open."""
    asked = _engine_options(model, options)
    result: Dict[str, Any] = report(lib.pc_model_inspect, asked.struct)
    return result


def verify(model: StrPath, **options: Any) -> Dict[str, Any]:
    """Reads every byte of a model's files; "problems" lists what is wrong with them."""
    asked = _engine_options(model, options)
    asked.struct.progress = asked.keep(
        callback("pc_open_progress", lambda user, step, done, total: 0)
    )
    with calls():
        result: Dict[str, Any] = report(lib.pc_model_verify, asked.struct)
    return result


def build() -> Dict[str, Any]:
    """How the library was built: version, compiler, instruction sets, threads."""
    result: Dict[str, Any] = json.loads(owned_text(lib.pc_build_describe))
    return result
