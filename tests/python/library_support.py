"""What the tests of libraries share: an engine on the demo model, documents, made files."""

import contextlib
import os
from pathlib import Path

import promptcache
from promptcache.library import Library

ROOT = Path(__file__).resolve().parents[2]
MODEL = ROOT / "models" / "city-guide"
OLD = 1_500_000_000  # seconds: a time of change that a file system's clock is past


@contextlib.contextmanager
def engine_in(folder, **options):
    with promptcache.Engine(MODEL, cache_dir=folder / "cache", threads=1, **options) as engine:
        yield engine


@contextlib.contextmanager
def library_in(folder, engine=None, **options):
    options.setdefault("dense", False)
    with Library(folder / "library", engine, **options) as library:
        yield library


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def settled(path, text=None, at=OLD):
    if text is not None:
        write(path, text)
    os.utime(path, (at, at))
    return path


def towns(folder, n):
    """n documents, each of a town with a mayor of its own."""
    for i in range(n):
        write(folder / f"town{i}.md", f"# Town{i}\n\nThe mayor of Town{i} is Ann{i} Lee. They eat plums.\n")
    return folder


def pdf(pages, title=None):
    """The bytes of a PDF whose pages are lines of text."""
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", b"", b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"]
    kids = []
    for lines in pages:
        shown = b"\n".join(b"(%s) Tj 0 -14 Td" % line.encode("latin-1") for line in lines)
        stream = b"BT /F1 12 Tf 72 720 Td\n" + shown + b"\nET"
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream))
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R "
            b"/Resources << /Font << /F1 3 0 R >> >> >>" % len(objects)
        )
        kids.append(b"%d 0 R" % len(objects))
    objects[1] = b"<< /Type /Pages /Count %d /Kids [%s] >>" % (len(kids), b" ".join(kids))
    trailer = b"/Size %d /Root 1 0 R" % (len(objects) + 1)
    if title is not None:
        objects.append(b"<< /Title (%s) >>" % title.encode("latin-1"))
        trailer = b"/Size %d /Root 1 0 R /Info %d 0 R" % (len(objects) + 1, len(objects))
    out = bytearray(b"%PDF-1.4\n")
    places = []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % place for place in places)
    out += b"trailer\n<< %s >>\nstartxref\n%d\n%%%%EOF\n" % (trailer, table)
    return bytes(out)
