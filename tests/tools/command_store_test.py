#!/usr/bin/env python3
"""encode and cache."""
import sys
import unittest

from command import CommandTest


class Encode(CommandTest):
    def test_it_stores_every_module_once(self):
        first, second = self.verb_json("encode"), self.verb_json("encode")
        self.assertEqual(first["modules_encoded"], first["modules"])
        self.assertEqual(second["modules_encoded"], 0)
        self.assertEqual(len(self.json("cache", "ls")["files"]), first["modules"])

    def test_modules_that_the_store_cannot_keep_are_a_failure(self):
        self.verb("encode", "--cache-size", "10KiB", expect=4)
        self.assertIn("--cache-size", self.err)
        self.assertEqual(self.out, "")

    def test_progress_is_a_line_a_module_on_stderr(self):
        report = self.verb_json("encode")
        self.assertEqual(len(self.err.splitlines()), report["modules"])
        self.verb("encode", "-q")
        self.assertEqual((self.out, self.err), ("", ""))


class Cache(CommandTest):
    def setUp(self):
        super().setUp()
        self.verb("encode", "-q")
        self.files = self.json("cache", "ls")["files"]

    def test_ls_and_show_agree(self):
        text = self.command("cache", "ls")
        for f in self.files:
            self.assertIn(f["key"][:16], text)
            shown = self.json("cache", "show", f["key"][:16])
            self.assertEqual({k: shown[k] for k in ("key", "bytes", "tokens", "kv_type")},
                             {k: f[k] for k in ("key", "bytes", "tokens", "kv_type")})
            self.assertIn(f["key"], self.command("cache", "show", f["key"]))

    def test_rm_removes_what_it_is_told(self):
        one, two = self.files[0]["key"], self.files[1]["key"]
        self.assertEqual(self.json("cache", "rm", one[:16], two)["removed_files"], 2)
        self.assertEqual(len(self.json("cache", "ls")["files"]), len(self.files) - 2)
        self.command("cache", "rm", one, expect=4)
        self.assertEqual(self.json("cache", "rm", "--all")["removed_files"], len(self.files) - 2)

    def test_gc_goes_down_to_the_size(self):
        left = self.json("cache", "gc", "--cache-size", "20KiB")["left_bytes"]
        self.assertLessEqual(left, 20 * 1024)
        self.assertEqual(self.json("cache", "ls")["bytes"], left)
        self.assertEqual(self.json("cache", "gc", "--cache-size", "0")["left_bytes"], 0)

    def test_verify_names_the_damaged_file_and_ends_with_4(self):
        self.assertIn(" 0 damaged", self.command("cache", "verify"))
        path = sorted(self.cache.rglob("*.module"))[0]
        path.chmod(0o600)
        data = bytearray(path.read_bytes())
        data[-1] ^= 1
        path.write_bytes(data)
        self.assertIn(path.stem, self.command("cache", "verify", expect=4))
        self.command("cache", "verify", path.stem[:20], expect=4)
        report = self.json("cache", "verify", expect=4)
        self.assertEqual([f["key"] for f in report["files"] if not f["ok"]], [path.stem])

    def test_a_missing_store_and_an_unknown_key_end_with_4(self):
        self.command("cache", "show", "zz", expect=4)
        self.command("cache", "ls", "--cache-dir", str(self.dir / "missing"), expect=4)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
