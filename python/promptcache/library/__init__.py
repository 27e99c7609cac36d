"""A library of documents: folders of text, Markdown, HTML and PDF that answer questions.

    with promptcache.Engine("model.gguf") as engine, promptcache.Library("notes.library", engine) as library:
        library.add("notes/")
        answer = library.ask("Where do herons nest?")
        print(answer, *answer.cited, sep="\\n")

What questions find is read as modules, so that a second question about the same text computes
little more than its own words. docs/PYTHON.md, "A library of documents"; docs/adr/0047-library.md.
"""

from .answer import Answer, Source
from .library import Document, Library
from .reading import Changes

__all__ = ["Answer", "Changes", "Document", "Library", "Source"]
