#!/usr/bin/env python3
"""The playground in a browser: that it works, by keyboard too, reads well where it is narrow or dark,
and asks nobody but its own server.

Prints "SKIPPED: " and why where Playwright (scripts/clients) or Chromium (scripts/deps test) is
missing.
"""
import hashlib
import http.server
import json
import shutil
import sys
import tempfile
import threading
import unittest

from server import MODEL, PATIENCE, Server, ServeTest

CHROMIUM = shutil.which("chromium")
try:
    from playwright.sync_api import expect, sync_playwright
except ImportError as missing:
    print(f"SKIPPED: {missing}; scripts/clients installs Playwright")
    sys.exit(0)
if not CHROMIUM:
    print("SKIPPED: there is no chromium; scripts/deps test installs it")
    sys.exit(0)

STORY = "The harbour lies in the south, and the tower stands on the hill above it. " * 8
VIEWS = ("chat", "compare", "schema", "store", "metrics")
# Elements that are seen and stand out of the window, but for what scrolls in itself.
BESIDE_THE_PAGE = """() => [...document.body.querySelectorAll("*")]
  .filter((e) => !e.closest(".bar, .sheet") && e.checkVisibility())
  .filter((e) => e.getBoundingClientRect().right > innerWidth + 0.5)
  .map((e) => `${e.tagName} ${e.className}`)"""
SCHEMA = {"object": "pml.schema", "name": "harbour", "description": {
    "name": "harbour", "tokens": 12, "bytes": 2048, "remarks": ["a remark"],
    "modules": [{"path": "ferry", "tokens": 12, "position": 0, "bytes": 2048, "parameters": []}]}}
RUNS = [
    {"position": 0, "tokens": 20, "kind": "cached", "label": "ferry", "state": "hit", "exact": True, "bytes": 2048,
     "text": "The ferry leaves at ten."},
    {"position": 20, "tokens": 9, "kind": "cached", "label": "tower", "state": "miss", "why": "not encoded yet",
     "exact": False, "repair": "none", "bytes": 2048, "text": "The tower has thirty floors."},
    {"position": 40, "tokens": 5, "kind": "text", "label": "", "state": "fresh", "text": "When?"},
]
EXPLAINED = {"prompt_tokens": 34, "cached_tokens": 29, "computed_tokens": 5, "end": 45, "context_tokens": 4096,
             "runs": RUNS, "chain": [], "remarks": []}


MARKDOWN = """# Of *boats*

A **bold** word, an _oblique_ one, `code <b>`, ~~old~~ and snake_case_name; 2 * 3 * 4 and \\*no mark\\*.
See [the port](https://port.example/a_(b)?x=1&y=2 "title") or https://quay.example/x.

1. first
   - inner **one**
   - inner two

2. second
3) third

```python
def f(x):
    return x  # **not bold**

# no heading
```
| Boat | Seats |
|:-----|------:|
| *Ida* | 3 |
| a \\| b |

> Said
> by many
---
The end"""
HOSTILE = """<script>alert(1)</script><img src=x onerror=alert(1)>

[a](javascript:alert(1)) [b](JaVaScRiPt:alert(1)) [c](data:text/html,x) [d](/metrics) [e]( vbscript:x )
![p](https://elsewhere.example/p.png) <javascript:alert(1)> <b onclick=alert(1)>**x**</b>

| <img src=x onerror=alert(1)> | b |
|---|---|
| <iframe src=//x></iframe> | [z](file:///etc/passwd) |

```"><script>alert(1)</script>
</code></pre><script>alert(1)</script>
```"""


def streamed(*pieces, name="content", usage=True):
    """The body of a stream of a chat whose deltas are these pieces, or (name, piece)."""
    deltas = [piece if isinstance(piece, tuple) else (name, piece) for piece in pieces]
    chunks = [{"choices": [{"index": 0, "delta": {name: piece}, "finish_reason": None}]} for name, piece in deltas]
    chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    if usage:
        chunks.append({"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": len(deltas)}})
    return "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"


def setUpModule():
    global driver, browser
    driver = sync_playwright().start()
    browser = driver.chromium.launch(executable_path=CHROMIUM)
    expect.set_options(timeout=PATIENCE * 1000)


def tearDownModule():
    browser.close()
    driver.stop()


class PlaygroundTest(ServeTest):
    def open(self, width=1200, height=800, address="", **options):
        """The page, whose console, errors and requests are kept."""
        context = browser.new_context(viewport={"width": width, "height": height}, **options)
        self.addCleanup(context.close)
        page = context.new_page()
        page.set_default_timeout(PATIENCE * 1000)
        self.complaints, self.requested = [], []
        page.on("console", lambda message: message.type in ("error", "warning") and
                self.complaints.append(message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self.requested.append(request.url))
        page.goto(self.server.url + "/" + address)
        expect(page.locator("#model")).to_contain_text("tiny-model")
        expect(page.locator("#chat .bar .segment").first).to_be_visible()
        return page

    def mock(self, page, path, status=200, body=None):
        page.route("**" + path, lambda route: route.fulfill(status=status, json=body))


class Keyed(PlaygroundTest):
    """Where the server has keys the page asks for one."""

    @classmethod
    def setUpClass(cls):
        file = tempfile.NamedTemporaryFile("w", delete=False)
        with file:
            file.write("ann " + hashlib.sha256(b"secret").hexdigest())
        cls.ARGUMENTS = ("--keys", file.name)
        super().setUpClass()

    def test_the_page_asks_for_a_key_and_uses_it(self):
        context = browser.new_context()
        self.addCleanup(context.close)
        page = context.new_page()
        page.goto(self.server.url + "/")
        page.get_by_label("Key").fill("wrong")
        page.keyboard.press("Tab")
        expect(page.locator("#model")).to_contain_text("key")
        page.get_by_label("Key").fill("secret")
        page.keyboard.press("Tab")
        expect(page.locator("#model")).to_contain_text("tiny-model")


class Proxy:
    """Passes requests on to a server under its own address: Host is not what the browser asked for."""

    def __init__(self):
        class Handler(http.server.BaseHTTPRequestHandler):
            def pass_on(handler):
                n = int(handler.headers.get("content-length") or 0)
                headers = {k: v for k, v in handler.headers.items() if k.lower() not in ("host", "connection")}
                status, answered, body = self.server.ask(handler.command, handler.path, handler.rfile.read(n), headers)
                handler.send_response(status)
                for name in ("content-type", "content-security-policy"):
                    if answered[name]:
                        handler.send_header(name, answered[name])
                handler.send_header("content-length", len(body))
                handler.end_headers()
                handler.wfile.write(body)

            do_GET = do_POST = pass_on

            def log_message(handler, *_):
                pass
        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.origin = f"http://localhost:{self.http.server_port}"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def close(self):
        self.http.shutdown()
        self.http.server_close()


class Proxied(PlaygroundTest):
    """Behind a proxy that changes Host the server takes its own page for a foreign one."""

    def through(self, proxy, server):
        proxy.server = server
        self.addCleanup(proxy.close)
        context = browser.new_context()
        self.addCleanup(context.close)
        page = context.new_page()
        page.goto(proxy.origin + "/")
        return page

    def test_the_page_says_what_the_server_wants(self):
        proxy = Proxy()
        page = self.through(proxy, self.server)
        expect(page.locator("#refused")).to_be_visible()
        expect(page.locator("#refused")).to_contain_text(f"--allow-origin {proxy.origin}")
        expect(page.locator("#refused")).to_contain_text("--allow-host localhost")
        expect(page.locator("#model")).not_to_contain_text("asking")

    def test_with_that_it_works(self):
        proxy = Proxy()
        server = Server("--allow-origin", proxy.origin)
        self.addCleanup(server.close)
        page = self.through(proxy, server)
        expect(page.locator("#model")).to_contain_text("tiny-model")
        expect(page.locator("#refused")).to_be_hidden()
        page.fill("#question", "Hi")
        page.press("#question", "Control+Enter")
        expect(page.locator("#chat .took")).to_have_count(1)


class Models(PlaygroundTest):
    """Where several models answer the reader chooses."""
    ARGUMENTS = ("--add-model", f"other={MODEL}")

    def test_the_chosen_model_answers(self):
        page = self.open()
        page.locator("#model-choice").select_option("other")
        expect(page.locator("#model")).to_contain_text("other")
        with page.expect_request("**/v1/chat/completions") as sent:
            page.fill("#question", STORY)
            page.press("#question", "Control+Enter")
        self.assertEqual(sent.value.post_data_json["model"], "other")
        expect(page.locator("#chat .took")).to_have_count(1)
        with page.expect_request("**/pml/schemas?model=other"):
            page.click("#tab-schema")
        self.assertEqual(self.complaints, [])


class Page(PlaygroundTest):
    def test_it_complains_of_nothing_and_asks_no_other_host(self):
        page = self.open()
        self.mock(page, "/pml/schemas", body={"object": "list", "data": []})
        for view in VIEWS:
            page.click(f"#tab-{view}")
            expect(page.locator(f"#{view}")).to_be_visible()
        page.locator("#metrics .facts").first.wait_for()
        self.assertEqual(self.complaints, [])
        self.assertTrue(all(url.startswith(self.server.url + "/") for url in self.requested), self.requested)

    def test_tabs_go_by_arrow_keys(self):
        page = self.open()
        page.focus("#tab-chat")
        for key, view in (("ArrowRight", "compare"), ("End", "metrics"), ("ArrowRight", "chat"),
                          ("ArrowLeft", "metrics"), ("Home", "chat")):
            page.keyboard.press(key)
            expect(page.locator(f"#tab-{view}")).to_be_focused()
            expect(page.locator(f"#{view}")).to_be_visible()
            self.assertEqual(page.locator("[role=tabpanel]:visible").count(), 1)

    def test_nothing_is_wider_than_a_narrow_page(self):
        page = self.open(width=360, height=640)
        self.mock(page, "/pml/schemas", body={"object": "list", "data": [SCHEMA]})
        self.mock(page, "/pml/explain", body=EXPLAINED)
        self.ask(page, STORY)
        page.click("#chat details:not(.thoughts) summary")
        for view in VIEWS:
            page.click(f"#tab-{view}")
            if view == "schema":
                page.click("#schema [name=explain]")
                page.click("#schema summary")
            page.wait_for_timeout(100)
            self.assertLessEqual(page.evaluate("document.documentElement.scrollWidth"), 360, view)
            self.assertEqual(page.evaluate(BESIDE_THE_PAGE), [], view)

    def test_a_narrow_page_opens_at_its_title_with_room_for_the_conversation(self):
        for width, height in ((360, 640), (768, 1024), (1280, 800)):
            for address in ("", "#chat", "#/chat", "#/nothing"):
                page = self.open(width, height, address=address)
                page.wait_for_load_state("load")
                page.wait_for_timeout(200)
                self.assertEqual(page.evaluate("scrollY"), 0, (width, address))
                expect(page.get_by_role("heading", name="promptcache", exact=True)).to_be_in_viewport()
                expect(page.locator("#question")).to_be_in_viewport(ratio=1)
                log = page.locator("#chat .log").bounding_box()
                self.assertGreaterEqual(log["height"], 0.4 * height, width)
                page.context.close()

    def test_the_address_keeps_the_view(self):
        page = self.open(360, 640)
        page.click("#tab-store")
        page.reload()
        expect(page.locator("#store")).to_be_visible()
        self.assertEqual(page.evaluate("scrollY"), 0)
        page.evaluate("location.hash = '/compare'")
        expect(page.locator("#compare")).to_be_visible()
        expect(page.locator("#store")).to_be_hidden()

    def test_it_is_dark_where_that_is_wanted(self):
        def lightness(scheme):
            page = self.open(color_scheme=scheme)
            ink, paper = (page.evaluate(f"getComputedStyle(document.body).{name}") for name in
                          ("color", "backgroundColor"))
            return [sum(map(int, text.strip("rgb()").split(","))) for text in (ink, paper)]
        ink, paper = lightness("light")
        self.assertLess(ink, paper)
        ink, paper = lightness("dark")
        self.assertGreater(ink, paper)

    def ask(self, page, question):
        page.fill("#question", question)
        page.press("#question", "Control+Enter")
        expect(page.locator("#chat .took")).to_have_count(1)


class Chat(PlaygroundTest):
    def open(self, **options):
        page = super().open(**options)
        page.locator("#chat [name=max_tokens]").fill("8")
        return page

    def ask(self, page, question):
        n = page.locator("#chat .took").count()
        page.fill("#question", question)
        page.press("#question", "Control+Enter")
        expect(page.locator("#chat .took")).to_have_count(n + 1)
        return page.locator("#chat .took").last.inner_text()

    def fact(self, box, name):
        return box.locator(f"dt:text-is('{name}') + dd").inner_text()

    def test_a_second_question_finds_the_first(self):
        page = self.open()
        self.ask(page, STORY)
        last = page.locator("#chat .took").last
        self.assertLess(int(self.fact(last, "Reused").split()[0]), 256)
        self.ask(page, "And the tower?")
        self.assertGreaterEqual(int(self.fact(last, "Reused").split()[0]), 512)
        self.assertEqual(page.locator("#chat article").count(), 4)
        self.assertEqual(self.complaints, [])

    def test_enter_sends_and_not_amid_a_line_or_a_composition(self):
        page = self.open()
        page.focus("#question")
        page.keyboard.type("One")
        page.keyboard.press("Shift+Enter")
        page.keyboard.type("two")
        expect(page.locator("#question")).to_have_value("One\ntwo")
        for fields in ("isComposing: true", "keyCode: 229"):
            is_prevented = page.evaluate(f"""!document.querySelector("#question").dispatchEvent(new KeyboardEvent(
                "keydown", {{key: "Enter", bubbles: true, cancelable: true, {fields}}}))""")
            self.assertFalse(is_prevented, fields)
        self.assertEqual(page.locator("#chat article").count(), 0)
        page.keyboard.press("Enter")
        expect(page.locator("#chat .took")).to_have_count(1)
        self.assertEqual(page.locator("#chat .user .text").inner_text(), "One\ntwo")

    def test_it_asks_so_that_small_models_do_not_repeat_themselves(self):
        page = self.open()
        with page.expect_request("**/v1/chat/completions") as sent:
            page.fill("#question", "Hi")
            page.press("#question", "Enter")
        body = sent.value.post_data_json
        self.assertGreater(body["temperature"], 0)
        self.assertGreater(body["repeat_penalty"], 1)
        expect(page.locator("#chat .took")).to_have_count(1)

    def test_escape_stops_an_answer(self):
        def endless(route):
            body = json.loads(route.request.post_data) | {"max_tokens": 3000, "logit_bias": {"257": -100}}
            route.continue_(post_data=json.dumps(body))
        page = self.open()
        page.route("**/v1/chat/completions", endless)
        line = page.context.new_cdp_session(page)  # the tiny model answers faster than anybody reads
        limits = {"offline": False, "latency": 0, "downloadThroughput": 10000, "uploadThroughput": -1}
        line.send("Network.emulateNetworkConditions", limits)
        page.fill("#question", "Go on.")
        page.press("#question", "Control+Enter")
        text = page.locator("#chat .assistant .text")
        expect(text).not_to_be_empty()
        expect(page.locator("#chat [name=stop]")).to_be_enabled()
        page.keyboard.press("Escape")
        expect(page.locator("#chat .assistant").first).to_contain_text("stopped")
        expect(page.locator("#chat [name=stop]")).to_be_disabled()
        said = text.inner_text()
        page.unroute("**/v1/chat/completions")
        line.send("Network.emulateNetworkConditions", limits | {"downloadThroughput": -1})
        self.ask(page, "And now?")
        self.assertEqual(page.locator("#chat .assistant .text").first.inner_text(), said)

    def test_what_the_server_refuses_is_said_and_nothing_is_lost(self):
        page = self.open()
        page.locator("#chat [name=temperature]").fill("9")
        page.fill("#question", "Hm?")
        page.click("#chat .primary")
        expect(page.locator("#chat [role=alert]")).to_contain_text("temperature")
        expect(page.locator("#question")).to_have_value("Hm?")

    def answer(self, page, *pieces):
        """The last answer's box, once the server has said so."""
        page.route("**/v1/chat/completions", lambda route: route.fulfill(
            content_type="text/event-stream", body=streamed(*pieces)))
        self.ask(page, "Hm?")
        return page.locator("#chat .assistant .text").last

    def test_an_answer_is_shown_as_markdown(self):
        for pieces in ([MARKDOWN], list(MARKDOWN), MARKDOWN.splitlines(keepends=True)):
            page = self.open()
            text = self.answer(page, *pieces)
            expect(text.get_by_role("heading", name="Of boats")).to_be_visible()
            self.assertEqual(text.locator("em").all_inner_texts(), ["boats", "oblique", "Ida"])
            self.assertEqual(text.locator("strong").all_inner_texts(), ["bold", "one"])
            self.assertEqual(text.locator("p code, del").all_inner_texts(), ["code <b>", "old"])
            expect(text).to_contain_text("snake_case_name; 2 * 3 * 4 and *no mark*.")
            self.assertEqual([a.get_attribute("href") for a in text.locator("a").all()],
                             ["https://port.example/a_(b)?x=1&y=2", "https://quay.example/x"])
            self.assertEqual(text.locator("a").first.get_attribute("rel"), "noopener noreferrer")
            self.assertEqual(text.locator("ol > li").count(), 3)
            self.assertEqual(text.locator("ol > li > ul > li").all_inner_texts(), ["inner one", "inner two"])
            self.assertEqual(text.locator("pre").text_content(),
                             "def f(x):\n    return x  # **not bold**\n\n# no heading\n")
            self.assertEqual([row.locator("th, td").all_inner_texts() for row in text.locator("tr").all()],
                             [["Boat", "Seats"], ["Ida", "3"], ["a | b", ""]])
            self.assertEqual(text.locator("blockquote").inner_text(), "Said\nby many")
            self.assertEqual(text.locator("hr + p").inner_text(), "The end")
            self.assertEqual(self.complaints, [])
            page.context.close()

    def test_a_hostile_answer_stays_text(self):
        for pieces in ([HOSTILE], list(HOSTILE)):
            page = self.open()
            page.on("dialog", lambda dialog: self.fail("a script ran"))
            text = self.answer(page, *pieces)
            self.assertEqual(page.locator("#chat .log :is(script, img, iframe, b, [onerror], [onclick])").count(), 0)
            self.assertEqual([a.get_attribute("href") for a in text.locator("a").all()],
                             ["https://elsewhere.example/p.png"])
            for words in ("<script>alert(1)</script><img src=x onerror=alert(1)>", "[a](javascript:alert(1))",
                          "</code></pre><script>", "[d](/metrics)", "[z](file:///etc/passwd)"):
                expect(text).to_contain_text(words)
            self.assertTrue(all(url.startswith(self.server.url) for url in self.requested), self.requested)
            page.context.close()

    def test_thoughts_are_folded_and_not_sent_back(self):
        page = self.open()
        thoughts = [("reasoning_content", "First <b>this</b>, "), ("reasoning_content", "then **that**.")]
        text = self.answer(page, *thoughts, "It is *seven*.")
        self.assertEqual(text.inner_text(), "It is seven.")
        words = page.locator("#chat .thoughts .thinking")
        expect(words).to_be_hidden()
        page.locator("#chat .thoughts summary", has_text="Thoughts").focus()
        page.keyboard.press("Enter")
        expect(words).to_have_text("First <b>this</b>, then **that**.")
        expect(words).to_be_visible()
        with page.expect_request("**/v1/chat/completions") as sent:
            self.ask(page, "Why?")
        self.assertEqual(sent.value.post_data_json["messages"][1], {"role": "assistant", "content": "It is *seven*."})

    def test_an_answer_without_thoughts_has_none_to_unfold(self):
        page = self.open()
        self.answer(page, "Yes.")
        expect(page.locator("#chat .thoughts")).to_be_hidden()

    def test_what_came_of_a_stopped_answer_is_in_the_next_question(self):
        page = self.open()
        page.evaluate("""() => { const real = window.fetch; window.fetch = (path, options) => {
            if (!path.endsWith("chat/completions")) return real(path, options);
            window.fetch = real;
            const event = {choices: [{index: 0, delta: {content: "Half an answer"}}]};
            const body = new ReadableStream({start(it) {
              it.enqueue(new TextEncoder().encode(`data: ${JSON.stringify(event)}\\n\\n`));
              options.signal.addEventListener("abort", () => it.error(new DOMException("left", "AbortError")));
            }});
            return Promise.resolve(new Response(body)); }; }""")
        page.fill("#question", "Go on.")
        page.press("#question", "Enter")
        expect(page.locator("#chat .assistant .text")).to_have_text("Half an answer")
        page.click("#chat [name=stop]")
        expect(page.locator("#chat .assistant")).to_contain_text("stopped")
        expect(page.locator("#chat [name=stop]")).to_be_disabled()
        with page.expect_request("**/v1/chat/completions") as sent:
            self.ask(page, "And?")
        self.assertEqual(sent.value.post_data_json["messages"][1]["content"], "Half an answer")

    def test_a_long_answer_is_not_made_again(self):
        page = self.open()
        made = page.evaluate("""async () => {
          const {Markdown} = await import("/playground/markdown.js");
          const box = document.querySelector("#chat .log"), shown = new Markdown(box);
          const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
          let nAdded = 0;
          const count = (records) => { for (const {addedNodes} of records) nAdded += addedNodes.length; };
          const observer = new MutationObserver(count);
          observer.observe(box, {subtree: true, childList: true});
          shown.append("A paragraph.\\n\\n```\\n");
          await frame();
          const [first, code] = [box.querySelector("p:last-of-type"), box.querySelector("pre")];
          const before = nAdded;
          for (let i = 0; i < 200; ++i) {
            shown.append(`line ${i}\\n`.repeat(50));
            await frame();
          }
          const inCode = nAdded - before;
          shown.append("```\\n");
          for (let i = 0; i < 200; ++i) {
            shown.append(`Paragraph **${i}**.\\n\\n`);
            await frame();
          }
          shown.append("*".repeat(50000) + "[".repeat(50000) + "`_".repeat(25000));
          await frame();
          shown.end();
          count(observer.takeRecords());
          return {inCode, all: nAdded, isSame: first.isConnected && code.isConnected,
                  code: code.textContent.length, strong: box.querySelectorAll("strong").length};
        }""")
        self.assertTrue(made["isSame"])
        self.assertEqual(made["inCode"], 0)
        self.assertEqual(made["code"], sum(50 * len(f"line {i}\n") for i in range(200)))
        self.assertEqual(made["strong"], 200)
        self.assertLess(made["all"], 1000)  # of 200 paragraphs

    def test_markup_in_an_answer_is_text(self):
        page = self.open()
        self.ask(page, "<img src=x onerror=alert(1)><b>bold</b>")
        self.assertEqual(page.locator("#chat article :is(img, b)").count(), 0)
        self.assertIn("<b>bold</b>", page.locator("#chat .user .text").inner_text())

    def test_the_map_shows_what_the_next_question_would_find(self):
        page = self.open()
        self.ask(page, "The map. " + STORY)
        kept = page.locator("#chat .bar .segment[data-source=conversation][data-reused]")
        expect(kept).not_to_have_count(0)
        page.fill("#question", "A new question")
        last = page.locator("#chat .bar .segment[data-source=text]").last
        expect(last).to_contain_text("A new question")
        kept.first.focus()
        tip = page.locator("#chat [role=tooltip]")
        expect(tip).to_contain_text("found in the store")
        self.assertEqual(kept.first.get_attribute("aria-describedby"), tip.get_attribute("id"))
        page.keyboard.press("End")
        expect(page.locator("#chat .bar .segment").last).to_be_focused()
        page.keyboard.press("ArrowLeft")
        expect(last).to_be_focused()
        expect(tip).to_contain_text("A new question")
        expect(tip).to_contain_text("computed")
        page.keyboard.press("Escape")
        expect(tip).to_be_hidden()
        page.click("#chat details:not(.thoughts) summary")
        n = page.locator("#chat .bar .segment").count()
        expect(page.locator("#chat details tbody tr")).to_have_count(n)


class Compare(PlaygroundTest):
    def test_both_answers_are_shown_and_equal(self):
        page = self.open()
        page.click("#tab-compare")
        page.locator("#compare [name=max_tokens]").fill("12")
        page.fill("#compare-question", STORY)
        page.press("#compare-question", "Control+Enter")
        expect(page.locator("#compare .verdict")).to_contain_text("Both answers are equal.")
        reused, computed = (page.locator("#compare dt:text-is('Reused') + dd").all_inner_texts())
        self.assertGreater(int(reused.split()[0]), 256)
        self.assertEqual(int(computed.split()[0]), 0)
        texts = page.locator("#compare .card .text").all_inner_texts()
        self.assertEqual(texts[0], texts[1])
        self.assertEqual(self.complaints, [])


    def test_reuse_that_gained_nothing_is_not_called_fast(self):
        page = self.open()
        for times, words in (((8, 2), "no sooner"), ((2, 8), "4 times as fast")):
            left = list(times)

            def answer(route):
                last = {"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 1},
                        "prompt_cache": {"first_token_ms": left.pop(0)}}
                route.fulfill(content_type="text/event-stream",
                              body=streamed("Ten.", usage=False).replace("data: [DONE]", f"data: {json.dumps(last)}"))
            page.route("**/v1/chat/completions", answer)
            page.click("#tab-compare")
            page.click("#compare .primary")
            expect(page.locator("#compare .verdict")).to_contain_text(words)

    def test_an_example_is_filled_in_and_runs(self):
        page = self.open()
        page.click("#tab-compare")
        page.locator("#compare [name=max_tokens]").fill("4")
        page.click("#compare .primary")
        expect(page.locator("#compare .verdict")).to_contain_text("Both answers are equal.")
        reused = page.locator("#compare dt:text-is('Reused') + dd").first.inner_text()
        self.assertGreater(int(reused.split()[0]), 256)


class Schema(PlaygroundTest):
    def open(self, **options):
        page = super().open(**options)
        self.mock(page, "/pml/schemas", body={"object": "list", "data": [SCHEMA]})
        page.click("#tab-schema")
        expect(page.locator("#schema .loaded")).to_contain_text("harbour")
        return page

    def test_an_error_stands_at_its_line(self):
        page = self.open()
        error = {"message": "an unknown element <modul>", "type": "invalid_request_error", "param": "schema",
                 "code": None, "line": 3, "column": 5}
        self.mock(page, "/pml/schemas", 400, {"error": error})
        area = page.get_by_label("Schema in PML")
        area.fill("<schema name=\"x\">\n  <system>é</system>\n  <modul/>\n</schema>")
        page.keyboard.press("Control+Enter")
        expect(page.locator("#schema [name=schema] .numbers .wrong")).to_have_text("3")
        expect(page.locator("#schema [name=schema] .band")).to_contain_text("unknown element <modul>")
        line = page.locator("#schema [name=schema] .numbers span").nth(2).bounding_box()
        band = page.locator("#schema [name=schema] .band").bounding_box()
        self.assertLess(abs(line["y"] - band["y"]), 3)
        page.click("#schema .outcome button")
        expect(area).to_be_focused()
        self.assertEqual(area.evaluate("area => area.value.slice(area.selectionStart)"), "modul/>\n</schema>"[1:])
        page.keyboard.type("x")
        expect(page.locator("#schema [name=schema] .band")).to_be_hidden()

    def test_a_schema_is_described(self):
        page = self.open()
        self.mock(page, "/pml/schemas", body=SCHEMA | {"data": [SCHEMA]})
        page.click("#schema [name=schema] .primary")
        expect(page.locator("#schema .description table")).to_contain_text("ferry")
        expect(page.locator("#schema .description .remark")).to_have_text("a remark")

    def test_a_prompt_is_drawn_with_what_is_approximate(self):
        page = self.open()
        self.mock(page, "/pml/explain", body=EXPLAINED)
        page.click("#schema [name=explain]")
        segments = page.locator("#schema .bar .segment")
        expect(segments).to_have_count(4)
        self.assertEqual([segment.get_attribute("data-source") for segment in segments.all()],
                         ["module", "module", "gap", "text"])
        segments.nth(1).hover()
        tip = page.locator("#schema [role=tooltip]")
        for words in ("tower", "20 to 28", "not encoded yet", "approximate", "2 KiB", "thirty floors"):
            expect(tip).to_contain_text(words)
        self.assertIsNone(segments.nth(1).get_attribute("data-reused"))

    def test_every_kind_of_box_is_in_the_legend(self):
        page = self.open()
        self.mock(page, "/pml/explain", body=EXPLAINED)
        page.click("#schema [name=explain]")
        expect(page.locator("#schema .bar .segment")).to_have_count(4)
        look = """e => { const s = getComputedStyle(e);
                         return [s.borderStyle, s.borderColor, s.backgroundColor].join(" "); }"""
        legend = {item.evaluate(look) for item in page.locator("#schema .legend .segment").all()}
        boxes = {box.get_attribute("aria-label"): box.evaluate(look)
                 for box in page.locator("#schema .bar .segment").all()}
        hollow = page.locator("#schema .legend .segment:not([data-reused])").first
        ground = hollow.evaluate("e => getComputedStyle(e).backgroundColor")
        page.mouse.move(0, 0)
        card = page.locator("#schema .bar .segment[data-source=text]").evaluate(
            "e => getComputedStyle(e).backgroundColor")
        for label, seen in boxes.items():
            self.assertIn(seen.replace(card, ground), legend, label)
        expect(page.locator("#schema .legend")).to_contain_text("dashed: positions without tokens")

    def test_what_is_said_of_a_segment_covers_nothing_and_moves_nothing(self):
        for width in (360, 1200):
            page = self.open(width=width)
            self.mock(page, "/pml/explain", body=EXPLAINED)
            page.click("#schema [name=explain]")
            places = """() => [...document.querySelectorAll("#schema :is(button, summary, textarea, .legend li)")]
                .map((e) => { const r = e.getBoundingClientRect(); return [r.x, r.y, r.width, r.height]; })"""
            page.locator("#schema .bar .segment").nth(3).scroll_into_view_if_needed()
            before = page.evaluate(places)
            for i in range(4):
                page.locator("#schema .bar .segment").nth(i).dispatch_event("pointerenter")
                expect(page.locator("#schema [role=tooltip]")).to_be_visible()
                self.assertEqual(page.evaluate(places), before)
                tip = page.locator("#schema .tip-box").bounding_box()
                for x, y, w, h in before:
                    is_apart = (x + w <= tip["x"] + 1 or x >= tip["x"] + tip["width"] - 1 or
                                y + h <= tip["y"] + 1 or y >= tip["y"] + tip["height"] - 1)
                    self.assertTrue(is_apart, (x, y, w, h, tip))
            page.context.close()

    def test_a_server_without_pml_says_so(self):
        page = super().open()
        self.mock(page, "/pml/schemas", 404, {"error": {"message": "no route"}})
        page.click("#tab-schema")
        expect(page.locator("#schema .notice")).to_contain_text("no routes for PML")


class Pml(PlaygroundTest):
    def test_a_schema_is_loaded_and_a_prompt_of_it_run(self):
        if self.server.ask("GET", "/pml/schemas")[0] == 404:
            self.skipTest("this server has no routes for PML")
        page = self.open()
        page.click("#tab-schema")
        page.click("#schema [name=encode]")
        expect(page.locator("#schema [name=schema] .outcome .good")).to_contain_text("harbour: 6 modules")
        expect(page.locator("#schema .loaded")).to_contain_text("harbour")
        page.click("#schema [name=prompt] .primary")
        expect(page.locator("#schema .answer .took")).to_be_visible()
        expect(page.locator("#schema .bar .segment[data-source=module][data-reused]")).not_to_have_count(0)
        page.click("#schema [name=compare]")
        expect(page.locator("#schema .answer .verdict")).to_be_visible()
        page.get_by_label("Prompt in PML").fill("<prompt schema=\"harbour\">\n  <nobody/>\n</prompt>")
        page.click("#schema [name=explain]")
        expect(page.locator("#schema [name=prompt] .numbers .wrong")).to_have_text("2")
        page.click("#schema .loaded button")
        expect(page.locator("#schema .loaded")).to_have_text("None.")


class Numbers(PlaygroundTest):
    def test_the_store_is_listed(self):
        self.server.json("POST", "/v1/prompt_cache/prewarm",
                         {"messages": [{"role": "user", "content": STORY}], "max_tokens": 1})
        store = self.server.json("GET", "/v1/prompt_cache/store")
        page = self.open()
        page.click("#tab-store")
        expect(page.locator("#store tbody tr")).to_have_count(store["n_files"])
        expect(page.locator("#store tbody")).to_contain_text(store["files"][0]["key"][:12])

    def test_files_of_the_store_have_words_and_a_model(self):
        page = self.open()
        page.locator("#chat [name=max_tokens]").fill("1")
        page.fill("#question", "Herons nest by the weir. " + STORY)
        page.press("#question", "Enter")
        expect(page.locator("#chat .bar .segment[data-source=conversation][data-reused]")).not_to_have_count(0)
        page.click("#tab-store")
        row = page.locator("#store tbody tr", has_text="Herons nest by the weir.").first
        for words in ("conversation", "tiny-model", "just now", "KiB"):
            expect(row).to_contain_text(words)

    def test_modules_of_the_store_have_their_names(self):
        key = "ab" * 32
        file = {"key": key, "bytes": 2048, "tokens": 12, "kv_type": "bf16", "model": "cd" * 32, "pinned": True,
                "last_used_ms": 1}
        other = {**file, "key": "ef" * 32}
        damaged = {"key": "01" * 32, "bytes": 5, "last_used_ms": 1, "pinned": False, "why": "is cut short"}
        page = self.open()
        self.mock(page, "/v1/prompt_cache/store", body={
            "object": "prompt_cache.store", "in_use": True, "mode": "read-write", "directory": "/d", "n_files": 3,
            "budget_bytes": 9999, "total_bytes": 4101, "files": [file, other, damaged]})
        described = SCHEMA["description"] | {"modules": [SCHEMA["description"]["modules"][0] | {"key": key}]}
        self.mock(page, "/pml/schemas", body={"object": "list", "data": [SCHEMA]})
        self.mock(page, "/pml/schemas/harbour", body=SCHEMA | {"description": described})
        page.click("#tab-store")
        expect(page.locator("#store tbody tr")).to_have_count(3)
        cells = [row.locator("td").all_inner_texts() for row in page.locator("#store tbody tr").all()]
        self.assertEqual(cells[0][:5], ["ferry", "harbour", "tiny-model", "2 KiB", "12"])
        self.assertEqual(cells[1][:3], ["not of what this page has asked", "", "tiny-model"])
        self.assertEqual(cells[2][:3], ["is cut short", "", ""])

    def test_the_metrics_are_live(self):
        page = self.open()
        page.click("#tab-metrics")
        answers = page.locator("#metrics dt:text-is('Answers') + dd")
        n = int(answers.inner_text())
        self.chat("Hi")
        expect(answers).to_have_text(str(n + 1))
        expect(page.locator("#metrics tbody")).to_contain_text("/v1/chat/completions")
        self.assertGreaterEqual(page.locator("#metrics .chart rect").count(), 2)


class NoStore(PlaygroundTest):
    ARGUMENTS = ("--no-cache",)

    def test_it_says_that_nothing_is_kept(self):
        page = self.open()
        page.click("#tab-store")
        expect(page.locator("#store .content")).to_contain_text("without a store")


if __name__ == "__main__":
    unittest.main(argv=[__file__], verbosity=1)
