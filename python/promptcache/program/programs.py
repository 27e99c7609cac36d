"""Programs as their users have them: the decorator, a program, a call of it."""

from __future__ import annotations

import functools
import types
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Mapping, Optional, TypeVar, overload

from . import vocabulary
from .definition import Defined, Definition, Options
from .names import pml_name
from .pieces import Tree
from .prompt_writer import imports_of, paths_of, write_prompt
from .schema_writer import write_schema
from .statements import read_program

if TYPE_CHECKING:
    from ..engine import Engine
    from ..prompt import Prompt
    from ..schema import Schema

Made = TypeVar("Made")

__all__ = ["Bound", "Call", "Program", "program"]


class Program(Defined):
    """A function whose source is a schema and whose calls are prompts. May be used by many threads.

    It is compiled when its schema or a prompt is first asked for; ProgramError says what cannot be.
    In another program, a call of it is a module in that one's schema.
    """

    def __init__(self, definition: Definition) -> None:
        super().__init__(definition)
        functools.update_wrapper(self, definition.function)

    def __repr__(self) -> str:
        return f"<promptcache.program.Program {self.definition.name!r}>"

    @functools.cached_property
    def tree(self) -> Tree:
        return self._made(lambda: read_program(self.definition))

    @functools.cached_property
    def _pml(self) -> str:
        return self._made(lambda: write_schema(self.tree))

    def _made(self, make: Callable[[], Made]) -> Made:
        try:
            return make()
        except RecursionError:  # that no statement could tell of
            source = self.definition.source
            sentence = f"{self.definition.name}() is nested deeper than Python goes from here"
            raise source.error(source.node, f"{sentence}; make parts of it flat") from None

    def schema(self) -> str:
        """The PML of the schema, the same in every process."""
        return self._pml

    @property
    def folder(self) -> str:
        """Where doc() finds its files: that of the file in which the program is written."""
        return self.definition.source.folder

    def load(self, engine: Engine) -> Schema:
        """The schema, laid out for the engine's model."""
        return engine.schema(self.schema(), base_dir=self.folder)

    def bind(self, engine: Engine) -> Bound:
        """The program with an engine: its calls are prompts of the engine."""
        return Bound(self, self.load(engine))

    def __call__(self, *args: Any, **kwargs: Any) -> Call:
        """A prompt. In a program that is run, it says its text there."""
        call = Call(self, self.definition.bind(*args, **kwargs))
        run = vocabulary.running()
        if run is not None:
            call.run_in(run)
        return call

    def messages(self, *args: Any, **kwargs: Any) -> List[Dict[str, Any]]:
        """Runs the function, and gives what it says: dicts with "role" (None: in no turn) and
        "content". Nothing is compiled; the prompt of the same arguments has the same text."""
        call = Call(self, self.definition.bind(*args, **kwargs))
        with vocabulary.started() as run:
            call.run_in(run)
        return run.messages


class Call:
    """A program with its arguments: a prompt of its schema."""

    def __init__(self, program: Program, arguments: Mapping[str, Any]) -> None:
        self.program = program
        self.arguments = arguments

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in self.arguments.items())
        return f"{self.program.definition.name}({given})"

    @property
    def pml(self) -> str:
        """The prompt's PML, for Schema.prompt of the program's schema. TypeError where a text is said
        that was left out, ValueError where one has a character that XML cannot write."""
        tree = self.program.tree
        try:
            return write_prompt(tree.name, imports_of(tree.pieces, self.arguments))
        except (TypeError, ValueError) as error:
            raise type(error)(f"{self.program.definition.name}(): {error}") from None

    @property
    def modules(self) -> List[str]:
        """The paths of the modules that it imports."""
        return paths_of(imports_of(self.program.tree.pieces, self.arguments))

    def run_in(self, run: vocabulary.Run) -> None:
        """Runs the function there."""
        function = self.program.definition.function
        doc = self.program.definition.docstring
        run.folders.append(self.program.folder)
        try:
            if doc:
                run.say(vocabulary.cleaned(doc))
            function(**self.arguments)
        finally:
            run.folders.pop()


class Bound:
    """A program with an engine: bound(place="oslo").generate(max_tokens=64)."""

    def __init__(self, program: Program, schema: Schema) -> None:
        self.program = program
        self.schema = schema

    def __repr__(self) -> str:
        return f"<promptcache.program.Bound {self.program.definition.name!r}: {self.schema!r}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Prompt:
        return self.schema.prompt(self.program(*args, **kwargs).pml)


@overload
def program(function: Callable[..., None]) -> Program: ...


@overload
def program(
    *,
    name: Optional[str] = None,
    lengths: Optional[Mapping[str, int]] = None,
    attend: Optional[str] = None,
    positions: Optional[str] = None,
    repair: Optional[str] = None,
    cache: bool = True,
) -> Callable[[Callable[..., None]], Program]: ...


def program(
    function: Optional[Callable[..., None]] = None,
    *,
    name: Optional[str] = None,
    lengths: Optional[Mapping[str, int]] = None,
    attend: Optional[str] = None,
    positions: Optional[str] = None,
    repair: Optional[str] = None,
    cache: bool = True,
) -> Any:
    """Makes a function a Program: @program, or @program(attend="self").

    name: of the schema, and of the module where another program calls it; by default the function's.
    lengths: parameters that are texts of at most so many tokens, as Annotated[str, Len(8)] says.
    attend, positions, repair: those of <schema>. repair, cache: those of <module>.
    """

    def decorate(decorated: Callable[..., None]) -> Program:
        if not isinstance(decorated, types.FunctionType):
            raise TypeError(f"a program is a function, not {decorated!r}")
        options = Options(attend, positions, repair, cache)
        named = pml_name(name or decorated.__name__)
        return Program(Definition(decorated, named, options, dict(lengths or {})))

    return decorate if function is None else decorate(function)
