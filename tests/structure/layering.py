#!/usr/bin/env python3
"""The rules of the house that no compiler checks.

    layering.py ROOT          prints each violation as FILE:LINE: sentence; status 1 if any
    layering.py --self-test   plants every kind of violation in a scratch tree and
                              fails unless each one, and nothing else, is reported

Rules: who includes whom, no circles of includes inside a folder or room (a header
and its source are one), one home file for each third-party header, at most ten
headers in base/, at most 25 files in a room, no printing, aborting, exiting or throwing in the libraries,
no strerror, no file over 500 lines, no function over 70, a contract at the top of each header,
no path of somebody's machine, the CUDA plug-in's list of sources complete, docs/ARCHITECTURE.md's tables as the
arrows here. The reasons: docs/ARCHITECTURE.md.
"""
import collections
import os
import re
import sys
import tempfile

LIBRARIES = ("base", "pml", "modules", "simd", "runtime", "cuda")
CODE = LIBRARIES + ("include", "tools", "tests", "bench", "examples")
SOURCE = (".h", ".hpp", ".c", ".cc", ".cu")
TEXT = SOURCE + (".py", ".cmake", ".txt", ".md", ".json", ".in", "")  # "": scripts

# Folder or room -> the folders, rooms or single files whose headers it may include; none: all of its files
# stand in its rooms, and its name stands for all of them. A folder that has files itself stands for these alone.
# Folders that are not here (tests, bench) may include anything of ours.
ARROWS = {
    "include": ("promptcache",),
    "simd": ("simd", "simd/blocks"),
    # What blocks of codebooks and tables mean, of no instruction set.
    "simd/blocks": ("simd/blocks", "simd/types.h", "simd/scalar_quant.h"),
    "simd/packed": ("simd/packed", "simd", "simd/blocks"),  # of packed weights; the table of all loops is below it
    "base": ("base",),
    # The language, from what is written to what is computed.
    "pml": (),
    "pml/syntax": ("pml/syntax", "base"),
    "pml/turns": ("pml/turns", "pml/syntax", "base"),
    "pml/layout": ("pml/layout", "pml/turns", "pml/syntax", "base"),
    "pml/plan": ("pml/plan", "pml/layout", "pml/turns", "pml/syntax", "base"),
    "modules": ("modules", "modules/store", "modules/tiers", "base"),
    "modules/tiers": ("modules/tiers", "modules/store", "base"),  # stores behind the store, which may not answer
    "modules/store": ("modules/store", "base"),  # the file cache: of its tenants it knows nothing
    # The rooms of runtime/, each above those that it names. What a prompt asks (engine and above) and
    # what computes (cpu) meet in the seam (backend) alone.
    "runtime": (),
    "runtime/json": ("runtime/json", "base"),
    # What holds answers to schemas and grammars, of no engine: the command's server has it as well.
    "runtime/constrain": (),
    "runtime/constrain/automata": ("runtime/constrain/automata", "base"),
    "runtime/constrain/schemas": ("runtime/constrain/schemas", "runtime/constrain/automata", "runtime/json", "base"),
    "runtime/constrain/grammar": ("runtime/constrain/grammar", "runtime/constrain/schemas",
                                  "runtime/constrain/automata", "runtime/json", "base"),
    # How models write calls of tools, of no engine: the command's server has it as well.
    "runtime/calls": (),
    "runtime/calls/shape": ("runtime/calls/shape", "runtime/json"),
    "runtime/calls/reading": ("runtime/calls/reading", "runtime/calls/shape", "runtime/json"),
    "runtime/calls/writing": ("runtime/calls/writing", "runtime/calls/reading", "runtime/calls/shape",
                              "runtime/constrain/grammar", "runtime/json", "base"),
    "runtime/checkpoint": ("runtime/checkpoint", "runtime/json", "base", "simd/types.h"),
    "runtime/tokenizer": (),
    "runtime/tokenizer/text": ("runtime/tokenizer/text", "runtime/json", "base", "pml/turns/text_encoder.h"),
    "runtime/tokenizer/bpe": ("runtime/tokenizer/bpe", "runtime/tokenizer/text", "runtime/json", "base",
                              "pml/turns/text_encoder.h"),
    "runtime/tokenizer/sentencepiece": ("runtime/tokenizer/sentencepiece", "runtime/tokenizer/text", "base"),
    "runtime/tokenizer/files": ("runtime/tokenizer", "runtime/checkpoint", "runtime/json", "base"),
    # An interpreter of Jinja, which knows nothing of chats.
    "runtime/jinja": (),
    "runtime/jinja/values": ("runtime/jinja/values", "base"),
    "runtime/jinja/library": ("runtime/jinja/library", "runtime/jinja/values", "runtime/json", "base"),
    "runtime/jinja/syntax": ("runtime/jinja/syntax", "runtime/jinja/library", "runtime/jinja/values", "base"),
    "runtime/jinja/interpreter": ("runtime/jinja/interpreter", "runtime/jinja/syntax", "runtime/jinja/library",
                                  "runtime/jinja/values", "base"),
    "runtime/chat": (),
    "runtime/chat/program": ("runtime/chat/program", "runtime/jinja", "runtime/json", "base",
                             "pml/turns/chat_template.h"),
    "runtime/chat/turns": ("runtime/chat/turns", "runtime/chat/program", "runtime/jinja/values", "base",
                           "pml/syntax/schema.h", "pml/turns/text_encoder.h"),
    "runtime/chat/whole": ("runtime/chat/whole", "runtime/chat/program", "runtime/jinja/library",
                           "runtime/jinja/values", "base", "pml/turns/text_encoder.h"),
    "runtime/backend": ("runtime/backend", "base", "modules", "simd"),
    "runtime/model/hybrids": ("runtime/model/hybrids", "runtime/model/families", "runtime/model/shape", "runtime/json", "base"),
    "runtime/model": ("runtime/model", "runtime/model/shape", "runtime/model/families", "runtime/backend",
                      "runtime/checkpoint", "runtime/json", "base", "modules/store", "simd"),
    "runtime/model/shape": ("runtime/model/shape", "runtime/backend", "runtime/checkpoint", "runtime/json", "base",
                            "simd/kernels.h", "simd/types.h"),
    "runtime/model/families": ("runtime/model/families", "runtime/model/shape", "runtime/json", "base"),
    "runtime/packed": ("runtime/packed", "runtime/backend", "base", "modules", "modules/store", "simd",
                       "simd/packed"),
    # What any backend does with a step: the CPU's, and plug-ins, which have it inside.
    "runtime/step": ("runtime/step", "runtime/backend/backend.h", "base/function_ref.h", "base/progress.h",
                     "base/status.h"),
    "runtime/cpu": ("runtime/cpu", "runtime/cpu/attention", "runtime/cpu/layers", "runtime/cpu/products", "runtime/cpu/states",
                    "runtime/step", "runtime/backend", "runtime/packed", "base", "modules", "simd", "simd/packed"),
    "runtime/cpu/layers": ("runtime/cpu/layers", "runtime/cpu/products", "runtime/backend", "base", "simd"),
    "runtime/cpu/products": ("runtime/cpu/products", "runtime/backend", "runtime/packed", "base", "simd", "simd/packed"),
    "runtime/cpu/attention": ("runtime/cpu/attention", "runtime/cpu/states", "runtime/backend", "base", "modules",
                              "simd"),
    "runtime/cpu/states": ("runtime/cpu/states", "runtime/backend", "base", "modules", "simd"),
    "runtime/scheduler": ("runtime/scheduler", "runtime/backend", "base", "modules", "modules/store"),
    "runtime/engine": ("runtime/engine", "runtime/scheduler", "runtime/backend", "runtime/model", "runtime/tokenizer",
                       "runtime/chat", "runtime/calls/writing", "runtime/calls/shape", "runtime/constrain/grammar",
                       "runtime/json", "base", "pml/turns", "modules"),
    "runtime/schema": ("runtime/schema", "runtime/engine", "runtime/scheduler", "runtime/backend", "base", "pml",
                       "modules", "modules/store", "simd"),
    "runtime/prompt": ("runtime/prompt", "runtime/schema", "runtime/engine", "runtime/scheduler", "runtime/backend",
                       "runtime/chat/whole", "base", "pml", "modules"),
    "runtime/sampling": ("runtime/sampling", "runtime/scheduler", "base", "pml/turns/text_encoder.h"),
    "runtime/conversation": ("runtime/conversation", "runtime/prompt", "runtime/schema", "runtime/engine",
                             "runtime/backend/backend_handle.h", "base", "pml", "modules"),
    "runtime/session": ("runtime/session", "runtime/conversation", "runtime/sampling", "runtime/prompt",
                        "runtime/schema", "runtime/engine", "runtime/scheduler", "runtime/backend",
                        "runtime/tokenizer/text", "runtime/constrain/grammar", "base", "pml", "modules", "simd"),
    "runtime/checks": ("runtime/checks", "runtime/session", "runtime/sampling", "runtime/prompt", "runtime/schema",
                       "runtime/engine", "runtime/jinja/values/unicode.h", "base", "pml", "modules"),
    "runtime/reports": ("runtime/reports", "runtime/checks", "runtime/session", "runtime/sampling", "runtime/prompt", "runtime/schema",
                        "runtime/engine", "runtime/cpu", "runtime/cpu/products", "runtime/packed", "runtime/model", "runtime/model/shape",
                        "runtime/tokenizer", "runtime/chat", "runtime/backend", "runtime/checkpoint", "runtime/json",
                        "base", "pml", "modules", "modules/store", "simd"),
    "runtime/api": ("runtime/api", "runtime/reports", "runtime/checks", "runtime/session", "runtime/prompt", "runtime/schema",
                    "runtime/engine", "runtime/scheduler", "runtime/packed", "runtime/calls", "runtime/constrain/grammar",
                    "runtime/json", "base", "modules"),
    # The CUDA plug-in, from the device up to the seam; its tests on the host include no more than it does.
    "cuda": (),
    "cuda/device": ("cuda/device", "cuda/standin/standin.h", "base/status.h"),
    "cuda/products": ("cuda/products", "cuda/device", "base/status.h", "runtime/backend/backend.h"),
    "cuda/states": ("cuda/states", "cuda/device", "base/status.h", "runtime/backend/backend.h"),
    "cuda/attention": ("cuda/attention", "cuda/states", "cuda/device", "base/status.h"),
    "cuda/backend": ("cuda/backend", "cuda/attention", "cuda/states", "cuda/products", "cuda/device",
                     "base/status.h", "runtime/backend/backend.h", "runtime/step"),
    "cuda/standin": ("cuda/standin", "cuda/device/numbers.h", "base"),
    # The rooms of the command, from what it prints up to its line; its verbs know nothing of each other.
    "tools": (),
    "tools/output": ("tools/output", "runtime/json/json_value.h", "promptcache"),
    "tools/opening": ("tools/opening", "tools/output", "promptcache"),
    "tools/answers": ("tools/answers", "tools/opening", "tools/output", "promptcache"),
    "tools/chat": ("tools/chat", "tools/answers", "tools/opening", "tools/output", "promptcache"),
    "tools/bench": ("tools/bench", "tools/bench/machine", "tools/opening", "tools/output", "promptcache"),
    "tools/bench/machine": ("tools/bench/machine", "tools/output", "promptcache"),
    # Two reports, ours or llama-bench's: it reads files, and measures nothing.
    "tools/bench/compare": ("tools/bench/compare", "tools/bench/bench_case.h", "tools/bench/samples.h",
                            "tools/opening", "tools/output", "promptcache"),
    "tools/exchange": ("tools/exchange", "tools/opening", "tools/output", "promptcache"),
    "tools/verbs": ("tools/exchange", "tools/answers", "tools/opening", "tools/output", "promptcache"),
    "tools/command": ("tools/command", "tools/opening", "tools/output", "promptcache", "pml/syntax/names.h"),
    "tools/manual": ("tools/manual", "tools/command", "tools/output"),
    # The rooms of the server, each above those that it names: from sockets up to the command's verb.
    "tools/serve": (),
    "tools/serve/http": ("tools/serve/http", "tools/output/json.h", "base/mutex.h"),
    "tools/serve/request": ("tools/serve/request", "tools/serve/http/http.h", "tools/output/json.h", "promptcache"),
    "tools/serve/models": ("tools/serve/models", "tools/serve/request", "runtime/calls",
                           "runtime/constrain", "tools/output/json.h", "tools/opening/window_fit.h", "base/mutex.h",
                           "base/status.h", "promptcache"),
    "tools/serve/answer": ("tools/serve/answer", "tools/serve/models", "tools/serve/request",
                           "tools/serve/http/http.h", "runtime/calls", "runtime/constrain", "tools/output/json.h", "base/status.h",
                           "promptcache"),
    "tools/serve/raw": ("tools/serve/raw", "tools/serve/request", "tools/output/json.h"),
    "tools/serve/texts": ("tools/serve/texts", "tools/serve/raw", "tools/serve/models", "tools/serve/request",
                          "tools/output/json.h", "promptcache"),
    "tools/serve/openai": ("tools/serve/openai", "tools/serve/raw", "tools/serve/answer", "tools/serve/models",
                           "tools/serve/request", "tools/serve/http", "tools/output/json.h", "base/mutex.h"),
    "tools/serve/llama": ("tools/serve/llama", "tools/serve/raw", "tools/serve/answer", "tools/serve/models",
                          "tools/serve/request", "tools/serve/http", "tools/output/json.h"),
    "tools/serve/ollama": ("tools/serve/ollama", "tools/serve/raw", "tools/serve/answer", "tools/serve/request",
                           "tools/output/json.h"),
    "tools/serve/anthropic": ("tools/serve/anthropic", "tools/serve/answer",
                              "tools/serve/models", "tools/serve/request", "tools/serve/http", "tools/output/json.h"),
    "tools/serve/service": ("tools/serve/service", "tools/serve/answer", "tools/serve/models", "tools/serve/request",
                            "tools/serve/http/http.h", "tools/serve/http/body_coding.h",
                            "tools/serve/http/request_log.h", "base/mutex.h", "promptcache"),
    "tools/serve/routes": ("tools/serve/routes", "tools/serve/service", "tools/serve/openai", "tools/serve/anthropic",
                           "tools/serve/llama", "tools/serve/ollama", "tools/serve/texts",
                           "tools/serve/answer", "tools/serve/models", "tools/serve/request", "tools/serve/http",
                           "tools/output/json.h", "promptcache"),
    "tools/serve/app": ("tools/serve", "tools/opening", "tools/output", "promptcache"),
    "examples": ("promptcache",),
}
# Files that may include more than their folder.
ARROWS_OF_FILES = {
    "runtime/api/c_api.cc": ("promptcache",),
    "runtime/api/c_api_conversation.h": ("promptcache",),
    "runtime/api/c_api_messages.h": ("promptcache",),
    "runtime/api/c_api_handles.h": ("promptcache",),
    "runtime/api/c_api_answers.cc": ("promptcache",),
    "runtime/api/c_api_calls.cc": ("promptcache",),
    "runtime/api/c_api_chat.cc": ("promptcache",),
    "runtime/api/c_api_constraint.cc": ("promptcache",),
    "runtime/api/c_api_modules.cc": ("promptcache",),
    "runtime/api/c_api_prompt.cc": ("promptcache",),
    "runtime/api/c_api_session.cc": ("promptcache",),
    "runtime/api/c_api_support.h": ("promptcache",),
    "runtime/api/c_api_fields.h": ("promptcache",),
    "runtime/api/c_api_text.h": ("promptcache",),
    "runtime/api/c_api_texts.cc": ("promptcache",),
}

# Third-party and system headers that one file wraps for everybody else.
HOMES = {
    r"expat\.h": ("pml/syntax/xml_reader.cc",),
    r"sentencepiece.*": ("runtime/tokenizer/sentencepiece/sentencepiece_tokenizer.cc",),
    r"dnnl.*|oneapi/.*": ("runtime/cpu/products/onednn_products.cc",),
    r"omp\.h": ("base/parallel.cc",),
    r"hwy/.*": ("simd/hwy_kernels.cc", "simd/attend-inl.h", "simd/attend_multiply-inl.h", "simd/attend_quads-inl.h",
                 "simd/attend_tiles-inl.h", "simd/elements-inl.h", "simd/exp-inl.h", "simd/matmul-inl.h", "simd/quant-inl.h",
                 "simd/quantise-inl.h"),
    r"nlohmann/.*": ("runtime/json/json.cc", "runtime/json/json_value.cc", "runtime/json/json_value.h"),
    r"openssl/.*|xxhash\.h": ("base/hash.cc", "modules/tiers/signature.cc", "tools/serve/service/api_keys.cc"),
    r"histedit\.h": ("tools/chat/line_editor.cc",),
    r"sys/un\.h": ("tools/serve/http/http_server.cc",),
    r"boost/.*": ("tools/serve/http/http_connection.h", "tools/serve/http/http_connection.cc", "tools/serve/http/http_server.cc", "tools/serve/http/body_coding.cc"),
    r"pcre2\.h": ("runtime/tokenizer/bpe/regex.cc",),
    r"utf8proc\.h": ("runtime/tokenizer/text/text_normalizer.cc", "runtime/jinja/values/unicode.cc"),
    r"dlfcn\.h": ("runtime/engine/backend_loader.cc",),
    r"cublas.*|cuda.*\.h": ("cuda/device/device.h",),
    r"sys/mman\.h": ("base/mapped_file.cc", "base/mapping_guard.cc", "base/aligned_buffer.cc", "cuda/standin/fiber.cc", "tools/bench/machine/machine.cc"),
    r"cpuid\.h": ("simd/packed/packed_amx.cc",),
    r"sys/auxv\.h": ("simd/select.cc",),
    r"sys/sysmacros\.h": ("modules/store/lock_holder.cc",),
    r"sys/vfs\.h": ("modules/tiers/tier_listing.cc",),
    r"sys/prctl\.h": ("tools/exchange/curl.cc",),
}
# Headers without a single home, by folder. Tests and benches are free.
CPP_STANDARD = r"[a-z_]+"
C_STANDARD = r"(assert|errno|float|limits|math|signal|stddef|stdint|stdio|stdlib|string|time)\.h"
POSIX = (r"(dirent|fcntl|poll|pthread|sched|unistd)\.h|linux/fs\.h"
         r"|sys/(file|ioctl|resource|stat|syscall|time|types|wait)\.h")
FREE = {
    "simd": CPP_STANDARD + r"|[a-z0-9]*intrin\.h|arm_(neon|sve)\.h",
    "tools": "|".join((CPP_STANDARD, C_STANDARD, POSIX, r"CLI/.*", r"promptcache/.*")),
    "include": "|".join((CPP_STANDARD, C_STANDARD, r"promptcache/.*")),
    "examples": "|".join((CPP_STANDARD, C_STANDARD, r"promptcache/.*")),
}
FREE_ELSEWHERE = "|".join((CPP_STANDARD, C_STANDARD, POSIX))

FORBIDDEN = re.compile(
    r"#\s*include\s*<(?P<stream>iostream|print)>"
    r"|\b(?P<call>v?f?printf|puts|fputs|putchar|perror|abort|exit|_exit|quick_exit|terminate)\s*\("
    r"|\b(?P<word>throw)\b|\bstd::(?P<out>cout|cerr|clog)\b")
# (file, word): why it may stand there.
ALLOWED = {
    ("base/aligned_buffer.h", "throw"): "std::bad_alloc, as operator new does",
    ("base/hash.cc", "throw"): "std::bad_alloc: OpenSSL's only way to fail here",
    ("runtime/cpu/states/kv_page.cc", "throw"): "std::bad_alloc, which a step makes its item's error",
    ("runtime/engine/engine_calls.cc", "throw"): "std::bad_alloc passes through std::call_once to the C API, which names it",
    ("runtime/cpu/products/onednn_products.cc", "throw"): "std::bad_alloc passes through to the C API, which names it",
}

BASE_HEADERS = 10
ROOM_FILES = 25
# Rooms that have more, and why: each is one trade.
CROWDED_ROOMS = {
    "cuda/standin": "one runtime, as CUDA has it",
}
FILE_LINES = 500
# A public header is one file, whatever the API has.
LONGER_FILES = {"include/promptcache/promptcache.h": 1150, "include/promptcache/promptcache.hpp": 810}
FUNCTION_LINES = 70
MACHINE_PATH = re.compile(r"(?<![\w.$}~*/])/(home|Users|root|work|mnt)/[\w.-]+")

INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)')
TOKEN = re.compile(
    r'R"(?P<tag>[^()\s]{0,16})\(.*?\)(?P=tag)"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\''
    r"|//[^\n]*|/\*.*?\*/", re.S)


def without_comments_and_strings(text):
    """Same line structure; "" for strings, nothing for comments; includes stay."""
    def blank(match):
        token = match.group(0)
        line_start = text.rfind("\n", 0, match.start()) + 1
        if token[0] == '"' and text[line_start:match.start()].lstrip().startswith("#"):
            return token
        return ('""' if token[0] in "R\"'" else "") + "\n" * token.count("\n")
    return TOKEN.sub(blank, text)


def files(root, folders, endings):
    for folder in folders:
        for path, names, leaves in os.walk(os.path.join(root, folder)):
            names[:] = sorted(n for n in names if n not in ("__pycache__", "golden", "corpus"))
            for leaf in sorted(leaves):
                if os.path.splitext(leaf)[1] in endings:
                    yield os.path.relpath(os.path.join(path, leaf), root)


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
        return file.read()


def place_of(path):
    """The innermost room, or else the folder, that a file stands in."""
    parts = path.split("/")
    rooms = ("/".join(parts[:n]) for n in range(len(parts) - 1, 1, -1))
    return next((room for room in rooms if room in ARROWS), parts[0])


def allows(name, target):
    """A folder that has files itself stands for these; one that has rooms alone, for all of them."""
    inside = target.startswith(name + "/")
    return target == name or inside and (not ARROWS.get(name) or place_of(target) == name)


def check_own_include(path, target):
    folder = place_of(path)
    if folder not in ARROWS:
        return None
    allowed = ARROWS[folder] + ARROWS_OF_FILES.get(path, ())
    if not allowed:
        return f"{folder}/ has rooms; this file stands in none of them"
    if "/" not in target:
        return f'"{target}": include paths start at the root of the repository'
    if any(allows(name, target) for name in allowed):
        return None
    return f'"{target}": {folder}/ may include only {", ".join(allowed)}'


def check_foreign_include(path, target):
    folder = path.split("/")[0]
    for pattern, homes in HOMES.items():
        if re.fullmatch(pattern, target):
            if path in homes or folder in ("tests", "bench"):
                return None
            return f"<{target}>: its home is {' or '.join(homes)}; use what that file offers"
    if folder in ("tests", "bench") or re.fullmatch(FREE.get(folder, FREE_ELSEWHERE), target):
        return None
    return f"<{target}>: no home known; wrap it in one file and name that in tests/structure/layering.py"


def check_includes(path, lines):
    for number, line in enumerate(lines, 1):
        match = INCLUDE.match(line)
        if match:
            own, foreign = match.groups()
            sentence = check_own_include(path, own) if own else check_foreign_include(path, foreign)
            if sentence:
                yield number, sentence


def includes_inside(path, lines):
    """The files without their endings that this one includes from its own folder or room."""
    for number, line in enumerate(lines, 1):
        match = INCLUDE.match(line)
        target = os.path.splitext(match.group(1) or "")[0] if match else ""
        if target and target != os.path.splitext(path)[0] and place_of(target) == place_of(path):
            yield target, f"{path}:{number}"


def circles(includes):
    """Circles of pairs; `includes`: pair -> pair that it includes -> FILE:LINE of that.

    Depth first: an arrow back to a pair on the way closes a circle.
    """
    done = set()
    for start in sorted(includes):
        way, arrows = [start], [iter(sorted(includes[start]))]
        while way:
            target = next(arrows[-1], None)
            if target is None:
                done.add(way.pop())
                arrows.pop()
            elif target in way:
                circle = way[way.index(target):] + [target]
                yield f"{includes[way[-1]][target]}: closes a circle of includes: {' -> '.join(circle)}"
            elif target in includes and target not in done:
                way.append(target)
                arrows.append(iter(sorted(includes[target])))


def check_manners(path, lines):
    if path.split("/")[0] not in LIBRARIES:
        return
    for number, line in enumerate(lines, 1):
        for match in FORBIDDEN.finditer(line):
            word = next(g for g in match.groups() if g)
            if (path, word) not in ALLOWED:
                yield number, f"{word}: a library does not print, abort, exit or throw; return a Status"


def check_threads(path, lines):
    if path.split("/")[0] not in LIBRARIES + ("tools",):
        return
    for number, line in enumerate(lines, 1):
        if re.search(r"\bstrerror\s*\(", line):
            yield number, "strerror: several threads may fail at once; std::generic_category().message()"


def check_contract(path, text):
    if path.endswith((".h", ".hpp")) and not text.lstrip().startswith(("//", "/*")):
        yield 1, "a header opens with its contract, before the first line of code"


def check_functions(path, lines):
    """A body that closes in the first column began at the last line there before it."""
    if path.split("/")[0] not in LIBRARIES + ("tools",):
        return
    start = None
    for number, line in enumerate(lines, 1):
        if re.match(r"[A-Za-z_\[]", line):
            start = number
        elif line.startswith("}") and start:
            first = lines[start - 1]
            if (number - start + 1 > FUNCTION_LINES
                    and not re.match(r"(typedef )?(namespace|struct|class|enum|union|extern)\b", first)):
                yield start, f"a function of {number - start + 1} lines; {FUNCTION_LINES} are the most"
            start = None


def check_length(path, lines):
    most = LONGER_FILES.get(path, FILE_LINES)
    if len(lines) > most:
        yield len(lines), f"{len(lines)} lines; {most} are the most a file may have"


def check_machine_paths(text):
    for number, line in enumerate(text.split("\n"), 1):
        match = MACHINE_PATH.search(line)
        if match:
            yield number, f"{match.group(0)}: a path of somebody's machine"


def check_base_headers(root):
    headers = [p for p in files(root, ("base",), (".h",))]
    if len(headers) > BASE_HEADERS:
        yield f"base/: {len(headers)} headers; {BASE_HEADERS} are the most"


def check_rooms(root):
    counts = collections.Counter(place_of(path) for path in files(root, CODE, SOURCE))
    for room, n in sorted(counts.items()):
        if room in ARROWS and room not in CROWDED_ROOMS and n > ROOM_FILES:
            yield f"{room}/: {n} files; {ROOM_FILES} are the most a room may have: it has two trades"


def check_cuda_list(root):
    """The plug-in's list of sources: most builds never read it, and its tests on the host take every file."""
    lists = "cuda/CMakeLists.txt"
    if not os.path.exists(os.path.join(root, lists)):
        return
    listed = set(re.findall(r"^ +([\w/-]+\.cu)$", read(root, lists), re.M))
    there = {os.path.relpath(path, "cuda") for path in files(root, ("cuda",), (".cu",))}
    for name in sorted(there - listed):
        yield f"cuda/{name}:1: not listed in {lists}"
    for name in sorted(listed - there):
        yield f"{lists}:1: {name} is listed and not there"


def check_decisions(root):
    folder = os.path.join(root, "docs/adr")
    index = read(root, "docs/adr/README.md") if os.path.isdir(folder) else ""
    for name in sorted(os.listdir(folder)) if index else ():
        if re.match(r"\d{4}-", name) and f"]({name})" not in index:
            yield f"docs/adr/{name}:1: not listed in docs/adr/README.md"


def rows_of_map(text):
    """(line, rooms, rooms inside of them, what they stand on) of each row of the map's tables. A row's rooms are
    those of the folder whose rooms the words before the table announce."""
    parent = ""
    for number, line in enumerate(text.split("\n"), 1):
        if found := re.search(r"[Tt]he rooms of `([\w/]+)/`", line):
            parent = found[1] + "/"
        cells = line.split("|")[1:-1] if line.startswith("| `") else ()
        if len(cells) == 3:
            rooms = [parent + name for name in re.findall(r"`([\w/]+)/`", cells[0])]
            inside = [f"{room}/{name}" for room in rooms for name in re.findall(r"`(\w+)/`", cells[1])]
            words = re.findall(r"\w+", cells[2])
            yield number, rooms, inside, [name for word in words for name in (parent + word, word) if name in ARROWS]


def stands_on(room, below):
    """Does an arrow lead from a room, or one inside of it, to another or into it?"""
    mine = [place for place in ARROWS if place == room or place.startswith(room + "/")]
    return any((target + "/").startswith(below + "/") for place in mine for target in ARROWS[place])


def check_map(root):
    """The map in words has every room of ARROWS, no other, and no arrow that is not there."""
    path, named = "docs/ARCHITECTURE.md", set()
    text = read(root, path) if os.path.exists(os.path.join(root, path)) else ""
    for number, rooms, inside, below in rows_of_map(text):
        named.update(rooms + inside)
        for room in rooms:
            if room not in ARROWS and room.split("/")[0] not in ("include", "tests", "bench"):
                yield f"{path}:{number}: {room}/ is no room of tests/structure/layering.py"
        for name in below:
            if not any(stands_on(room, name) for room in rooms):
                yield f"{path}:{number}: {', '.join(rooms)}: may not include {name}/, says tests/structure/layering.py"
    for room in ARROWS if text else ():
        if room not in named and room not in ("include", "examples"):
            yield f"{path}:1: no row names {room}/"


def violations(root):
    found = list(check_base_headers(root)) + list(check_rooms(root)) + list(check_decisions(root))
    found += list(check_cuda_list(root)) + list(check_map(root))
    includes = {}
    for path in files(root, CODE, SOURCE):
        text = read(root, path)
        lines = without_comments_and_strings(text).split("\n")
        for check in (check_includes(path, lines), check_manners(path, lines), check_threads(path, lines),
                      check_contract(path, text), check_functions(path, lines),
                      check_length(str(path), text.splitlines())):
            found += [f"{path}:{number}: {sentence}" for number, sentence in check]
        if place_of(path) in ARROWS:
            pair = includes.setdefault(os.path.splitext(path)[0], {})
            for target, line in includes_inside(path, lines):
                pair.setdefault(target, line)
    found += circles(includes)
    for path in files(root, CODE + ("cmake", "docs", "scripts", "models", ".ci"), TEXT):
        found += [f"{path}:{number}: {sentence}"
                  for number, sentence in check_machine_paths(read(root, path))]
    return found


# ---- self-test

CONTRACT = "// What it is.\n"
# The map in words: a row for each folder and room, and two that stand on what the arrows say.
MAP = "".join(f"| `{room}/` | what it holds | |\n" for room in ARROWS) + (
    "The rooms of `runtime/`:\n\n| `model/` | `shape/` of models | checkpoint, the cache |\n"
    "| `chat/` | templates: `program/`, `turns/` | jinja |\n")
SOUND = {
    "base/good.h": CONTRACT + '#include <vector>\n#include "base/status.h"\n',
    "pml/syntax/good.cc": '#include "base/good.h"\n#include "pml/syntax/good.h"\n',
    "pml/syntax/xml_reader.cc": "#include <expat.h>\n",
    "pml/syntax/branch.h": CONTRACT,
    "pml/syntax/branch.cc": '#include "pml/syntax/branch.h"\n#include "pml/syntax/leaf.h"\n',
    "pml/syntax/leaf.h": CONTRACT + '#include "pml/syntax/vein.h"\n',
    "pml/syntax/vein.h": CONTRACT,
    "tests/pml/circle.h": CONTRACT + '#include "tests/pml/circle_too.h"\n',
    "tests/pml/circle_too.h": CONTRACT + '#include "tests/pml/circle.h"\n',
    "runtime/cpu/good.cc": '#include "simd/kernels.h"\n#include "modules/kv.h"\n'
                       '// printf("in a comment"); throw\nconst char* s = "throw abort() /*";\n'
                       'std::snprintf(b, n, "%d", 1);\n',
    "modules/good.cc": '#include "modules/store/good.h"\n#include "base/good.h"\n',
    "modules/store/good.cc": '#include "modules/store/good.h"\n#include "base/good.h"\n',
    "runtime/api/c_api.cc": '#include "promptcache/promptcache.h"\n',
    "runtime/chat/program/good.cc": '#include "runtime/chat/program/good.h"\n#include "runtime/json/json.h"\n#include "base/good.h"\n',
    "tools/command/good.cc": "#include <CLI/CLI.hpp>\n#include <promptcache/promptcache.h>\n#include <iostream>\n",
    "tests/good_test.cc": '#include "runtime/model/model.h"\n#include <sys/mman.h>\n',
    "cuda/CMakeLists.txt": "add_library(pc_cuda OBJECT\n  states/good.cu\n)\n",
    "cuda/states/good.cu": '#include "cuda/states/good.h"\n#include "cuda/device/good.h"\n',
    "docs/ARCHITECTURE.md": MAP,
    "docs/adr/README.md": "| [0001](0001-right.md) | right |\n",
    "docs/adr/0001-right.md": "# Right\n",
    "runtime/cpu/wide.h": CONTRACT + "namespace pc {\n" + "\n" * 400 + "}  // namespace pc\n",
}
PLANTED = {
    "simd/above.cc": '#include "simd/packed/packed.h"\n',
    "simd/wrong.cc": '#include "base/status.h"\n',
    "base/wrong.cc": '#include "pml/plan/plan.h"\n',
    "pml/syntax/wrong.cc": '\n#include "modules/kv.h"\n',
    "modules/wrong.cc": '#include "runtime/model/model.h"\n',
    "runtime/engine/inner_room.cc": '#include "modules/store/use_stamp.h"\n',
    "modules/store/wrong.cc": '#include "modules/module_key.h"\n',
    "runtime/engine/wrong.cc": '#include "promptcache/promptcache.h"\n',
    "runtime/cpu/wrong.cc": '#include "runtime/engine/engine.h"\n',
    "runtime/engine/around_the_seam.cc": '#include "runtime/cpu/attention/attention.h"\n',
    "pml/no_room.cc": '#include "base/good.h"\n',
    "pml/turns/wrong.cc": '#include "pml/layout/layout.h"\n',
    "tools/verbs/other.cc": '#include "tools/chat/conversation.h"\n',
    "runtime/no_room.cc": '#include "base/good.h"\n',
    "runtime/chat/program/wrong.cc": '#include "runtime/engine/engine.h"\n',
    "runtime/engine/relative.cc": '#include "model.h"\n',
    "cuda/backend/wrong.h": CONTRACT + '#include "runtime/model/model.h"\n',
    "cuda/states/wrong.h": CONTRACT + '#include "cuda/attention/attention.h"\n',
    "cuda/no_room.h": CONTRACT + '#include "cuda/device/good.h"\n',
    "runtime/step/wrong.cc": '#include "runtime/cpu/executor.h"\n',
    "tools/serve/no_room.cc": '#include "tools/output/json.h"\n',
    "tools/serve/http/wrong.cc": '#include "tools/serve/request/fields.h"\n',
    "runtime/calls/reading/wrong.cc": '#include "runtime/calls/writing/told_calls.h"\n',
    "tools/verbs/wrong.cc": '#include "runtime/engine/engine.h"\n',
    "examples/wrong.c": '#include "base/status.h"\n',
    "pml/syntax/leaf.cc": '#include "pml/syntax/leaf.h"\n#include "pml/syntax/branch.h"\n',
    "pml/syntax/vein.cc": '#include "pml/syntax/vein.h"\n#include "pml/syntax/branch.h"\n',
    "modules/foreign.cc": "#include <expat.h>\n",
    "runtime/cpu/second_home.cc": "#include <dnnl.hpp>\n",
    "runtime/cpu/unknown.cc": "#include <curl/curl.h>\n",
    "simd/posix.cc": "#include <unistd.h>\n",
    "runtime/cpu/stream.cc": "#include <iostream>\n",
    "runtime/cpu/print.cc": 'void f() { std::fprintf(stderr, "x"); }\n',
    "pml/syntax/abort.cc": "void f() { std::abort(); }\n",
    "modules/shared_text.cc": 'auto f(int e) { return std::strerror(e); }\n',
    "modules/throw.cc": 'void f() { throw 1; }\n',
    "base/bare.h": "#pragma once\n",
    "runtime/cpu/long.cc": "// line\n" * (FILE_LINES + 1),
    "runtime/cpu/tall.cc": "int f() {\n" + "  g();\n" * FUNCTION_LINES + "}\n",
    "docs/adr/0002-forgotten.md": "# Forgotten\n",
    "docs/ARCHITECTURE.md": MAP.replace("| `runtime/step/` |", "| the driver of steps |"),
    "cuda/states/forgotten.cu": '#include "cuda/states/good.h"\n',
    "cuda/CMakeLists.txt": "add_library(pc_cuda OBJECT\n  states/good.cu\n  states/gone.cu\n)\n",
    "scripts/machine": "cd " + "/".join(("", "home", "somebody")) + "\n",
}


def report_of(tree):
    with tempfile.TemporaryDirectory() as root:
        for path, text in tree.items():
            os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
            with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                file.write(text)
        return violations(root)


def self_test():
    wrong = [f"sound code is reported: {v}" for v in report_of(SOUND)]
    for path, text in PLANTED.items():
        found = report_of({**SOUND, path: text})
        if len(found) != 1 or not found[0].startswith(path + ":"):
            wrong.append(f"planted {path}: expected one report of it, got {found}")
    headers = {f"base/h{i}.h": CONTRACT for i in range(BASE_HEADERS + 1)}
    if not any(v.startswith("base/: ") for v in report_of(headers)):
        wrong.append(f"{BASE_HEADERS + 1} headers in base/ are not reported")
    for row in ("| `cellar/` | a room of nothing | |\n", "| `json/` | values | jinja |\n"):
        found = report_of({**SOUND, "docs/ARCHITECTURE.md": MAP + row})
        if len(found) != 1 or not found[0].startswith("docs/ARCHITECTURE.md:"):
            wrong.append(f"planted in the map: {row!r}: expected one report of it, got {found}")
    room = {f"tools/serve/http/f{i}.h": CONTRACT for i in range(ROOM_FILES + 1)}
    if not any(v.startswith("tools/serve/http/: ") for v in report_of(room)):
        wrong.append(f"{ROOM_FILES + 1} files in a room are not reported")
    return wrong


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    found = self_test() if sys.argv[1] == "--self-test" else violations(sys.argv[1])
    print("\n".join(found) if found else "nothing to report")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
