#!/usr/bin/env python3
"""encode and cache, and the packed weights beside the modules."""
import os
import pathlib
import resource
import sys
import time
import unittest

from command import CommandTest, MODEL

# Its matrices are packed when it opens.
QUANTISED = str(pathlib.Path(MODEL) / "tiny_q8_0.gguf")


class Encode(CommandTest):
    def test_it_stores_every_module_once(self):
        first, second = self.verb_json("encode"), self.verb_json("encode")
        self.assertEqual(first["modules_encoded"], first["modules"])
        self.assertEqual(second["modules_encoded"], 0)
        self.assertEqual(len(self.json("cache", "ls")["files"]), first["modules"])

    def cached(self, imports):
        prompt = self.write("asked.pml", f'<prompt schema="guide">{imports}<user>Where to?</user></prompt>')
        return prompt, [run for run in self.verb_json("explain", prompt)["runs"] if run["kind"] == "cached"]

    def test_a_prompts_modules_together_are_exact_from_then_on(self):
        turned = self.cached("<food/><oslo/>")[1]
        prompt, apart = self.cached("<oslo/><food/>")
        self.assertFalse(all(run["exact"] for run in apart), apart)
        self.assertEqual(self.verb_json("encode", "--together", prompt)["modules_encoded"], 2)  # and the text before
        together = self.cached("<oslo/><food/>")[1]
        self.assertEqual([run["tokens"] for run in together], [run["tokens"] for run in apart])
        self.assertTrue(all(run["exact"] for run in together), together)
        self.assertEqual(self.verb_json("encode", "--together", prompt)["modules_encoded"], 0)
        # In another order nothing changed.
        self.assertEqual([run["exact"] for run in self.cached("<food/><oslo/>")[1]], [run["exact"] for run in turned])
        self.verb("encode", "--together", expect=2)

    def test_modules_that_the_store_cannot_keep_are_a_failure(self):
        self.verb("encode", "--cache-size", "10KiB", expect=4)
        self.assertIn("--cache-size", self.err)
        self.assertEqual(self.out, "")

    def test_where_files_may_not_grow_the_answer_comes_from_memory(self):
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        self.verb("run", "-n", "4", self.prompt)
        expected = self.out
        self.command("cache", "rm", "--all")
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
        try:
            self.verb("run", "-n", "4", self.prompt)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        self.assertEqual(self.out, expected)
        self.assertEqual(self.json("cache", "ls")["files"], [])

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

    def test_what_is_exported_is_imported_elsewhere(self):
        key = self.files[0]["key"]
        file = os.path.join(self.cache, "one.module")
        self.command("cache", "export", key[:16], file)
        self.command("cache", "export", key[:16], file, expect=2)
        self.assertIn("one.module", self.err)
        self.command("cache", "rm", "--all")
        self.assertEqual(self.command("cache", "import", file).strip(), key)
        self.assertEqual([f["key"] for f in self.json("cache", "ls")["files"]], [key])
        self.command("cache", "import", os.path.join(self.cache, "none"), expect=4)

    def test_all_that_is_exported_is_imported_elsewhere(self):
        keys = [f["key"] for f in self.files]
        file, some = str(self.dir / "all.modules"), str(self.dir / "some.modules")
        self.command("cache", "export", "--all", file)
        self.command("cache", "export", *keys[:2], some)
        for wrong in ([some], ["--all", *keys[:2]], []):
            self.command("cache", "export", *wrong, expect=2)
        self.command("cache", "rm", "--all")
        self.assertEqual(self.json("cache", "import", some)["keys"], keys[:2])
        self.assertEqual(sorted(self.command("cache", "import", file).split()), sorted(keys))
        self.assertEqual(self.json("cache", "verify")["bad"], 0)
        self.assertEqual(self.verb_json("encode")["modules_encoded"], 0)

    def test_a_pinned_module_stays_until_it_is_unpinned(self):
        key = self.files[0]["key"]
        self.assertEqual(self.command("cache", "pin", key[:16]), "1 file pinned\n")
        self.assertIn("1 file pinned", self.command("cache", "gc", "--cache-size", "0"))
        self.assertEqual([(f["key"], f["pinned"]) for f in self.json("cache", "ls")["files"]],
                         [(key, True)])
        self.assertIn(" pinned", self.command("cache", "ls"))
        self.command("cache", "rm", key, expect=2)
        self.assertIn("unpin it first", self.err)
        self.assertEqual(self.json("cache", "unpin", key)["unpinned_files"], 1)
        self.command("cache", "unpin", key, expect=4)
        self.assertEqual(self.json("cache", "gc", "--cache-size", "0")["left_bytes"], 0)

    def test_a_store_that_others_may_write_is_used_by_nobody(self):
        text = self.verb("run", "-n", "4", self.prompt)
        self.cache.chmod(0o777)
        self.assertEqual(self.verb("run", "-n", "4", self.prompt), text)
        self.assertIn("may be written by other users", self.err)
        self.verb("run", "-n", "4", "--require-cache", self.prompt, expect=4)
        self.verb("encode", expect=4)
        self.command("cache", "ls", expect=4)
        self.cache.chmod(0o700)
        self.verb("run", "-n", "4", "--require-cache", self.prompt)
        self.verb("run", "--require-cache", "--no-cache", self.prompt, expect=2)

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


class PackedWeights(CommandTest):
    def setUp(self):
        super().setUp()
        self.packed = self.cache / "packed"

    def answer(self, *options):
        text = self.command("run", "-m", QUANTISED, "-s", self.schema, self.prompt, "-n", "8", "-t", "1", *options)
        self.unpacked = "weights are used unpacked" in self.err
        return text

    def files(self):
        return [p for p in self.packed.glob("*") if len(p.name) == 64] if self.packed.exists() else []

    def file(self):
        (path,) = self.files()
        return path

    def age(self, days):
        then = time.time() - days * 24 * 3600
        for path in (self.file(), self.packed / "used" / self.file().name):
            os.utime(path, (then, then))

    def test_they_are_made_once_and_listed(self):
        first = self.answer()
        self.assertFalse(self.unpacked)
        inode = self.file().stat().st_ino
        self.assertEqual(self.answer(), first)
        self.assertEqual(self.file().stat().st_ino, inode)
        report = self.json("cache", "ls")
        (entry,) = report["packed"]
        self.assertEqual((entry["key"], entry["bytes"]), (self.file().name, self.file().stat().st_size))
        self.assertEqual(report["packed_bytes"], entry["bytes"])
        self.assertEqual({f["model"] for f in report["files"]}, {entry["model"]})
        self.assertNotIn(entry["key"], [f["key"] for f in report["files"]])
        text = self.command("cache", "ls")
        self.assertIn(entry["key"][:16], text)
        self.assertIn("1 file of packed weights", text)

    def test_show_says_that_they_are_no_module(self):
        self.answer()
        self.command("cache", "show", self.file().name[:20], expect=2)
        self.assertIn("packed weights", self.err)

    def test_verify_reads_them_too(self):
        self.answer()
        self.assertIn(" 0 damaged", self.command("cache", "verify"))
        path = self.file()
        path.chmod(0o600)
        data = bytearray(path.read_bytes())
        data[-1] ^= 1
        path.write_bytes(data)
        path.chmod(0o400)
        self.assertIn(path.name, self.command("cache", "verify", expect=4))
        self.command("cache", "verify", path.name[:20], expect=4)
        before = self.answer()
        self.assertFalse(self.unpacked)  # packed anew
        self.assertIn(" 0 damaged", self.command("cache", "verify"))
        self.assertEqual(self.answer(), before)

    def test_a_file_cut_off_is_made_anew(self):
        answer, path = self.answer(), self.file()
        whole = path.read_bytes()
        for n in (0, 100, len(whole) // 2):
            path.chmod(0o600)
            path.write_bytes(whole[:n])
            path.chmod(0o400)
            self.assertEqual(self.answer(), answer)
            self.assertEqual(path.read_bytes(), whole)

    def test_gc_removes_them_after_30_days_whatever_the_size(self):
        self.answer()
        self.age(29)
        report = self.json("cache", "gc", "--cache-size", "0")
        self.assertEqual(report["left_bytes"], 0)
        self.assertEqual(report["packed"]["left_bytes"], self.file().stat().st_size)
        self.assertIn("packed weights: 0 files removed", self.command("cache", "gc"))
        self.age(31)
        self.answer()  # a use
        self.assertEqual(self.json("cache", "gc")["packed"]["removed_files"], 0)
        self.age(31)
        self.assertIn("packed weights: 1 file removed", self.command("cache", "gc"))
        self.assertEqual((self.files(), list((self.packed / "used").glob("*"))), ([], []))
        self.assertNotIn("packed", self.command("cache", "gc"))

    def test_rm_removes_one_or_all(self):
        self.answer()
        modules = len(self.json("cache", "ls")["files"])
        self.assertEqual(self.json("cache", "rm", self.file().name[:20])["removed_files"], 1)
        self.assertEqual((len(self.json("cache", "ls")["files"]), self.files()), (modules, []))
        self.answer()
        self.assertEqual(self.json("cache", "rm", "--all")["removed_files"], modules + 1)
        report = self.json("cache", "ls")
        self.assertEqual((report["files"], report["packed"], report["packed_bytes"]), ([], [], 0))

    def test_a_read_only_store_has_none_made_but_used(self):
        self.verb("encode", "-q")  # another model's: a store without packed weights
        self.answer("--read-only-cache")
        self.assertTrue(self.unpacked)
        self.assertIn("read-only", self.err)
        self.answer("--read-only-cache", "-q")
        self.assertEqual(self.err, "")
        self.assertFalse(self.packed.exists())
        self.answer()
        self.answer("--read-only-cache")
        self.assertFalse(self.unpacked)

    def test_without_a_store_there_are_none(self):
        self.answer("--no-cache")
        self.assertTrue(self.unpacked)
        self.assertFalse(self.cache.exists())
        self.answer()
        self.answer("--no-cache")
        self.assertTrue(self.unpacked)

    def test_a_taken_name_is_left_alone_and_the_answer_comes(self):
        self.answer()
        path = self.file()
        path.unlink()
        os.mkfifo(path)
        self.answer()
        self.assertTrue(self.unpacked)
        self.assertIn("not a regular file", self.err)
        self.assertTrue(path.is_fifo())

    def test_processes_that_start_at_once_all_answer_and_one_packs(self):
        run = ["run", "-m", QUANTISED, "-s", self.schema, self.prompt, "-n", "8", "-t", "1"]
        processes = [self.start(*run) for _ in range(3)]
        answers = [p.communicate(timeout=120) for p in processes]
        self.assertEqual([p.returncode for p in processes], [0, 0, 0])
        self.assertEqual(len({out for out, _ in answers}), 1)
        self.assertEqual([err for _, err in answers if "unpacked" in err], [])
        self.file()

    def test_a_command_that_is_killed_leaves_nothing_that_is_believed(self):
        answer = self.answer()
        for delay in (0.0, 0.01, 0.03, 0.1):
            self.json("cache", "rm", "--all")
            process = self.start("run", "-m", QUANTISED, "-s", self.schema, self.prompt, "-t", "1")
            time.sleep(delay)
            process.kill()
            process.communicate()
            self.assertEqual(self.answer(), answer)
            self.assertIn(" 0 damaged", self.command("cache", "verify"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
