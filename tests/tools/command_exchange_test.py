#!/usr/bin/env python3
"""Modules of other stores: --cache-from, cache push, cache pull, cache sign."""
import fcntl
import functools
import http.server
import os
import pathlib
import shutil
import subprocess
import sys
import threading
import time
import unittest

from command import CommandTest, MODEL


class Handler(http.server.SimpleHTTPRequestHandler):
    """A web server as people have one: it serves a folder, in parts too, and takes files by PUT."""

    def log_message(self, *_):
        pass

    def do_PUT(self):
        path = pathlib.Path(self.translate_path(self.path))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(201)
        self.end_headers()

    def do_GET(self):
        begin = self.headers.get("Range", "")
        path = pathlib.Path(self.translate_path(self.path))
        self.server.asked.append((self.path, begin))
        if self.server.hangs_at in self.path:
            self.server.released.wait(60)
        if not begin or not path.is_file() or not self.server.has_ranges:
            return super().do_GET()
        data = path.read_bytes()[int(begin.removeprefix("bytes=").rstrip("-")):]
        if not data:
            return self.send_error(416)
        self.send_response(206)
        size = path.stat().st_size
        self.send_header("Content-Range", f"bytes {size - len(data)}-{size - 1}/{size}")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
        return None


class ExchangeTest(CommandTest):
    def setUp(self):
        super().setUp()
        self.verb("encode")
        self.keys = sorted(f["key"] for f in self.json("cache", "ls")["files"])
        self.shared, self.other = self.dir / "shared", self.dir / "other"

    def in_other(self, *arguments, **options):
        return self.json(*arguments, "--cache-dir", str(self.other), **options)

    def objects(self, store):
        return sorted(p.name.removesuffix(".module") for p in (store / "v3/objects").glob("*.module"))

    def signing_keys(self):
        key, pub = self.dir / "key.pem", self.dir / "key.pub"
        subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", key], check=True)
        subprocess.run(["openssl", "pkey", "-in", key, "-pubout", "-out", pub], check=True)
        return str(key), str(pub)


class Tiers(ExchangeTest):
    def hits(self, *arguments):
        report = self.verb_json("explain", self.prompt, *arguments)
        return sum(module["state"] == "hit" for module in report["modules"])

    def found(self, *arguments):
        return self.hits("--cache-dir", str(self.other), *arguments)

    def found_in_own(self):
        n = self.hits()
        self.assertGreater(n, 0)
        return n

    def test_what_another_store_has_is_not_computed_again(self):
        self.assertEqual(self.found(), 0)
        self.assertEqual(self.found("--cache-from", str(self.cache)), self.found_in_own())
        self.assertEqual(self.objects(self.other), [])
        self.verb("run", "-n", "4", self.prompt)
        expected = self.out
        self.verb("run", "-n", "4", self.prompt, "--cache-dir", str(self.other), "--cache-from", str(self.cache),
                  "--cache-copy", "always")
        self.assertEqual(self.out, expected)
        self.assertTrue(set(self.objects(self.other)) & set(self.keys))

    def test_a_store_that_is_not_there_costs_a_remark(self):
        self.verb("run", "-n", "4", self.prompt, "--cache-from", str(self.dir / "none"))
        self.assertIn(str(self.dir / "none"), self.err)
        self.verb("run", "-n", "4", self.prompt, "--cache-from", str(self.dir / "none"), "--require-cache", expect=4)

    def test_several_by_the_environment(self):
        self.environment["PROMPTCACHE_CACHE_FROM"] = f"{self.dir / 'none'}:{self.cache}"
        self.assertEqual(self.found(), self.found_in_own())

    def test_a_damaged_file_behind_is_computed_and_said(self):
        for path in (self.cache / "v3/objects").iterdir():
            path.chmod(0o600)
            path.write_bytes(path.read_bytes()[:-1] + b"x")
        self.verb("run", "-n", "4", self.prompt, "--cache-dir", str(self.other), "--cache-from", str(self.cache))
        self.assertIn("behind this one", self.err)
        self.verb("run", "-n", "4", self.prompt, "--cache-dir", str(self.other), "--no-cache", "--cache-from",
                  str(self.cache), expect=2)

    def test_others_may_write_it_so_a_signature_decides(self):
        key, pub = self.signing_keys()
        (self.cache / "v3/objects").chmod(0o722)
        behind = ("--cache-from", str(self.cache))
        self.assertEqual(self.found(*behind), 0)
        (self.cache / "v3/objects").chmod(0o700)
        self.command("cache", "sign", "--key", key)
        (self.cache / "v3/objects").chmod(0o722)
        self.assertEqual(self.found(*behind), 0)
        self.assertGreater(self.found(*behind, "--cache-trust", pub), 0)


class Folders(ExchangeTest):
    def test_push_takes_what_is_named(self):
        self.command("cache", "push", str(self.shared), expect=2)
        self.command("cache", "push", str(self.shared), self.keys[0][:16])
        self.assertEqual(self.objects(self.shared), self.keys[:1])
        report = self.json("cache", "push", str(self.shared), "--all")
        self.assertEqual((report["copied"], report["there"]), (len(self.keys) - 1, 1))
        self.assertEqual(self.objects(self.shared), self.keys)
        self.command("cache", "push", str(self.shared), "nothing", expect=4)

    def test_push_by_last_use(self):
        old = self.cache / "v3/used" / self.keys[0]
        os.utime(self.cache / "v3/objects" / f"{self.keys[0]}.module", (0, 0))
        os.utime(old, (0, 0))
        self.command("cache", "push", str(self.shared), "--used-days", "1")
        self.assertEqual(self.objects(self.shared), self.keys[1:])

    def test_push_of_nothing_pushes_nothing(self):
        for key in self.keys:
            os.utime(self.cache / "v3/objects" / f"{key}.module", (0, 0))
            os.utime(self.cache / "v3/used" / key, (0, 0))
        self.command("cache", "push", str(self.shared), "--used-days", "1")
        self.assertEqual(self.objects(self.shared), [])

    def test_push_by_schema(self):
        other = self.write("other.pml", '<schema name="other"><module name="a">Another text.</module></schema>')
        self.command("encode", "-m", MODEL, "-s", other)
        self.command("cache", "push", str(self.shared), "-m", MODEL, "-s", self.schema)
        self.assertTrue(set(self.objects(self.shared)) <= set(self.keys))
        self.assertNotEqual(self.objects(self.shared), [])

    def test_pull_goes_on_where_it_was(self):
        self.other.mkdir()
        self.in_other("cache", "pull", str(self.cache), self.keys[1])
        report = self.in_other("cache", "pull", str(self.cache), "--all")
        self.assertEqual((report["copied"], report["there"]), (len(self.keys) - 1, 1))
        self.assertEqual(self.in_other("cache", "verify")["bad"], 0)

    def test_a_damaged_module_is_named_and_the_rest_comes(self):
        bad = self.cache / "v3/objects" / f"{self.keys[0]}.module"
        bad.chmod(0o600)
        bad.write_bytes(bad.read_bytes()[:-1] + b"x")
        self.other.mkdir()
        report = self.in_other("cache", "pull", str(self.cache), "--all", expect=4)
        self.assertEqual([f["key"] for f in report["failed"]], self.keys[:1])
        self.assertEqual(self.objects(self.other), self.keys[1:])

    def test_a_store_that_is_not_there_yet_is_made(self):
        self.in_other("cache", "pull", str(self.cache), "--all")
        self.assertEqual(self.objects(self.other), self.keys)
        self.assertEqual(self.other.stat().st_mode & 0o777, 0o700)
        self.command("cache", "export", "--all", str(self.dir / "file"))
        third = self.dir / "deep" / "er"
        self.command("cache", "import", str(self.dir / "file"), "--cache-dir", str(third))
        self.assertEqual(self.objects(third), self.keys)
        self.environment |= {"XDG_CACHE_HOME": str(self.dir / "home")}
        for name in [name for name in self.environment if name == "PROMPTCACHE_CACHE_DIR"]:
            del self.environment[name]
        self.command("cache", "pull", str(self.cache), "--all")
        self.assertEqual(self.objects(self.dir / "home/promptcache"), self.keys)

    def test_a_place_that_can_be_no_store_is_said(self):
        file = self.write("file", "")
        for place in (file, file + "/below"):
            self.command("cache", "push", place, "--all", expect=4)
            self.assertIn(file, self.err)
            self.command("cache", "pull", str(self.cache), "--all", "--cache-dir", place, expect=4)
            self.assertIn(file, self.err)
        for verb in ("push", "pull"):
            self.command("cache", verb, "", "--all", expect=2)

    def test_no_key_by_its_name_and_no_signature_lost_without_a_word(self):
        key, pub = self.signing_keys()
        self.command("cache", "sign", "--key", key)
        signed = (self.cache / "v3/manifest").read_text()
        self.command("cache", "sign", "--key", "", expect=2)
        self.command("cache", "sign", expect=2)
        self.assertIn("--key", self.err)
        self.assertEqual((self.cache / "v3/manifest").read_text(), signed)
        self.command("cache", "push", str(self.shared), "--all", "--sign-key", "", expect=2)
        (self.cache / "v3/manifest").unlink()
        self.command("cache", "sign")

    def test_a_pull_by_signature_takes_what_was_signed_alone(self):
        key, pub = self.signing_keys()
        self.other.mkdir()
        pull = ("cache", "pull", str(self.shared), "--all", "--cache-trust", pub, "--cache-dir", str(self.other))
        self.command("cache", "push", str(self.shared), self.keys[0])
        self.command(*pull, expect=4)
        self.command("cache", "sign", "--key", key, "--cache-dir", str(self.shared))
        self.command("cache", "push", str(self.shared), self.keys[1])
        self.command(*pull)
        self.assertEqual(self.objects(self.other), self.keys[:1])
        self.command("cache", "sign", "--key", pub, "--cache-dir", str(self.shared), expect=2)


@unittest.skipUnless(shutil.which("curl"), "the program curl is not here")
class Addresses(ExchangeTest):
    def setUp(self):
        super().setUp()
        self.shared.mkdir()
        handler = functools.partial(Handler, directory=str(self.shared))
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.server.handle_error = lambda *_: None  # of clients that leave
        self.server.asked, self.server.has_ranges = [], True
        self.server.hangs_at, self.server.released = "nowhere", threading.Event()
        self.addCleanup(self.server.released.set)
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/"
        self.other.mkdir()

    def incoming(self, store):
        return store / "incoming" / "".join(c if c.isalnum() else "_" for c in self.url)

    def test_a_store_goes_to_a_web_server_and_comes_back(self):
        key, pub = self.signing_keys()
        self.assertEqual(self.json("cache", "push", self.url, self.keys[0], "--sign-key", key)["copied"], 1)
        report = self.json("cache", "push", self.url, "--all", "--sign-key", key)
        self.assertEqual((report["copied"], report["there"]), (len(self.keys) - 1, 1))
        report = self.in_other("cache", "pull", self.url, "--all", "--cache-trust", pub)
        self.assertEqual(report["copied"], len(self.keys))
        self.assertEqual(self.objects(self.other), self.keys)
        self.assertEqual(self.in_other("cache", "verify")["bad"], 0)
        self.assertEqual(list((self.other / "incoming").iterdir()), [])
        for wanted in ("--all", self.keys[0]):
            again = self.in_other("cache", "pull", self.url, wanted, "--cache-trust", pub)
            self.assertEqual((again["copied"], again["there"]), (0, len(self.keys) if wanted == "--all" else 1))

    def test_a_file_that_came_in_part_goes_on(self):
        self.command("cache", "push", self.url, "--all")
        whole = (self.cache / "v3/objects" / f"{self.keys[0]}.module").read_bytes()
        name = "".join(c if c.isalnum() else "_" for c in self.url)
        incoming = self.other / "incoming" / name / "v3/objects"
        incoming.mkdir(parents=True)
        (incoming / f"{self.keys[0]}.module.part").write_bytes(whole[:1000])
        self.server.asked.clear()
        self.in_other("cache", "pull", self.url, "--all")
        self.assertIn((f"/v3/objects/{self.keys[0]}.module", "bytes=1000-"), self.server.asked)
        self.assertEqual(self.in_other("cache", "verify")["bad"], 0)
        self.assertEqual(self.objects(self.other), self.keys)

    def test_a_part_that_is_whole_or_more_is_no_end_of_all_pulls(self):
        self.command("cache", "push", self.url, "--all")
        incoming = self.incoming(self.other) / "v3/objects"
        incoming.mkdir(parents=True)
        for key, more in zip(self.keys, (b"", b"x" * 1000)):
            whole = (self.cache / "v3/objects" / f"{key}.module").read_bytes()
            (incoming / f"{key}.module.part").write_bytes(whole + more)
        self.in_other("cache", "pull", self.url, "--all")
        self.assertEqual(self.objects(self.other), self.keys)

    def test_what_is_longer_than_it_may_be_is_left(self):
        self.command("cache", "push", self.url, "--all")
        (self.shared / "v3/objects" / f"{self.keys[0]}.module").write_bytes(b"x" * (1 << 24))
        report = self.in_other("cache", "pull", self.url, "--all", expect=4)
        self.assertEqual([f["key"] for f in report["failed"]], self.keys[:1])
        self.assertEqual(self.objects(self.other), self.keys[1:])
        with open(self.shared / "v3/manifest", "r+b") as manifest:
            manifest.truncate((64 << 20) + 1)
        self.command("cache", "pull", self.url, "--all", "--cache-dir", str(self.other), expect=4)
        self.assertIn("is longer than 67108864 bytes", self.err)
        self.assertLess(sum(p.stat().st_size for p in self.other.rglob("*")), 1 << 20)

    def test_a_pull_that_is_ended_ends_what_fetches_for_it(self):
        self.command("cache", "push", self.url, "--all")
        self.server.hangs_at = self.keys[0]
        self.server.asked.clear()
        pull = self.start("cache", "pull", self.url, "--all", "--cache-dir", str(self.other))
        while not any(self.keys[0] in path for path, _ in self.server.asked):
            time.sleep(0.01)
        children = pathlib.Path(f"/proc/{pull.pid}/task/{pull.pid}/children").read_text().split()
        self.assertEqual(len(children), 1)
        pull.kill()
        pull.communicate()
        deadline = time.monotonic() + 60
        while pathlib.Path("/proc", children[0], "exe").exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        self.assertFalse(pathlib.Path("/proc", children[0], "exe").exists())
        self.server.released.set()
        self.in_other("cache", "pull", self.url, "--all")
        self.assertEqual(self.objects(self.other), self.keys)

    def test_a_list_that_somebody_else_wrote_is_not_signed(self):
        key, _ = self.signing_keys()
        (self.shared / "v3").mkdir()
        forged = f"promptcache manifest 1\n{'ab' * 32} 4096 {'cd' * 32}\n"
        (self.shared / "v3/manifest").write_text(forged)
        self.command("cache", "push", self.url, "--all", "--sign-key", key, expect=4)
        self.assertIn("no signature of", self.err)
        self.assertEqual((self.shared / "v3/manifest").read_text(), forged)

    def test_a_signed_list_does_not_lose_its_signature_by_the_way(self):
        key, _ = self.signing_keys()
        self.command("cache", "push", self.url, self.keys[0], "--sign-key", key)
        signed = (self.shared / "v3/manifest").read_text()
        self.command("cache", "push", self.url, "--all", expect=2)
        self.assertIn("--sign-key", self.err)
        self.assertEqual((self.shared / "v3/manifest").read_text(), signed)

    def test_one_address_is_asked_by_one_process_at_a_time(self):
        self.command("cache", "push", self.url, "--all")
        name = "".join(c if c.isalnum() else "_" for c in self.url)
        incoming = self.other / "incoming" / name
        incoming.mkdir(parents=True)
        held = os.open(incoming, os.O_RDONLY)
        fcntl.flock(held, fcntl.LOCK_EX)
        pull = ("cache", "pull", self.url, "--all", "--cache-dir", str(self.other))
        self.command(*pull, expect=4)
        self.assertIn("under way", self.err)
        os.close(held)
        self.command(*pull)

    def test_a_push_says_what_it_could_not_send(self):
        bad = self.cache / "v3/objects" / f"{self.keys[0]}.module"
        bad.chmod(0o600)
        bad.write_bytes(bad.read_bytes()[:-1] + b"x")
        report = self.json("cache", "push", self.url, "--all", expect=4)
        self.assertEqual([f["key"] for f in report["failed"]], self.keys[:1])
        self.assertEqual(self.objects(self.shared), self.keys[1:])
        self.assertNotIn(self.keys[0], (self.shared / "v3/manifest").read_text())

    def test_a_push_lists_what_it_sent_alone(self):
        name = "".join(c if c.isalnum() else "_" for c in self.url)
        left = self.cache / "incoming" / name / "v3/objects"  # of a push that was ended
        left.mkdir(parents=True)
        shutil.copy(self.cache / "v3/objects" / f"{self.keys[1]}.module", left)
        self.command("cache", "push", self.url, self.keys[0])
        self.assertNotIn(self.keys[1], (self.shared / "v3/manifest").read_text())

    def test_files_that_others_of_the_group_may_write_are_nowhere_made(self):
        old = os.umask(0o002)
        try:
            self.command("cache", "push", self.url, "--all")
            self.in_other("cache", "pull", self.url, "--all")
        finally:
            os.umask(old)
        self.assertEqual(self.objects(self.other), self.keys)

    def test_a_server_without_ranges_sends_the_whole_file(self):
        self.command("cache", "push", self.url, "--all")
        self.server.has_ranges = False
        name = "".join(c if c.isalnum() else "_" for c in self.url)
        incoming = self.other / "incoming" / name / "v3/objects"
        incoming.mkdir(parents=True)
        (incoming / f"{self.keys[0]}.module.part").write_bytes(b"x" * 100)
        self.in_other("cache", "pull", self.url, "--all")
        self.assertEqual(self.objects(self.other), self.keys)

    def test_an_address_with_a_users_name_is_no_name_of_this_machine(self):
        self.command("cache", "pull", "http://localhost:x@127.0.0.2:9/", "--all", expect=2)
        self.assertIn("https://", self.err)

    def test_what_is_not_there_or_not_signed_is_an_error_that_says_so(self):
        _, pub = self.signing_keys()
        self.command("cache", "pull", self.url, "--all", "--cache-dir", str(self.other), expect=4)
        self.assertIn("cache sign", self.err)
        self.command("cache", "push", self.url, "--all")
        self.command("cache", "pull", self.url, "--all", "--cache-trust", pub, "--cache-dir", str(self.other), expect=4)
        self.assertIn("no signature", self.err)
        self.command("cache", "pull", "http://example.com/store", "--all", expect=2)
        self.assertIn("https://", self.err)
        self.command("cache", "pull", "http://127.0.0.1:9/", "--all", expect=4)

    def test_a_file_changed_on_the_server_is_refused(self):
        key, pub = self.signing_keys()
        self.command("cache", "push", self.url, "--all", "--sign-key", key)
        shutil.copy(self.shared / "v3/objects" / f"{self.keys[1]}.module", self.shared / "v3/objects" / f"{self.keys[0]}.module")
        report = self.in_other("cache", "pull", self.url, "--all", "--cache-trust", pub, expect=4)
        self.assertEqual([f["key"] for f in report["failed"]], self.keys[:1])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
