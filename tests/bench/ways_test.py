"""Schemas and prompts: what an XML reader finds in them is what was put in."""

import unittest
from xml.etree import ElementTree

import places
import longbench
import sets
import ways
from questions import Question, Set

NASTY = "<b> & ]]> \"quoted\" {braces} &amp; %s\r\n\ttab\n\n ünï — 文\n"


def modules_of(schema):
    return {m.get("name"): m.text or "" for m in schema.iter("module") if m.get("name")}


class ByHand(unittest.TestCase):
    def setUp(self):
        self.made = Set("made", [NASTY, "second", NASTY * 2],
                        [Question("q", [2, 0], f"Why{NASTY}?", ["x"])], instruction=f"Do{NASTY}it")

    def test_texts_survive_markup_in_every_frame(self):
        for self.made.frame in ways.SCHEMAS:
            schema = ElementTree.fromstring(ways.schema_text(self.made, range(3)))
            self.assertEqual(modules_of(schema),
                             {f"d{i}": t for i, t in enumerate(self.made.documents)})
            self.assertIn(self.made.instruction, [e.text for e in schema.iter()], self.made.frame)
            prompt = ElementTree.fromstring(ways.prompt_text(self.made, self.made.questions[0]))
            imports = [e.tag for e in prompt.iter() if e.tag.startswith("d")]
            self.assertEqual(imports, ["d2", "d0"])
            self.assertEqual([e.tail for e in prompt.iter() if e.tag == "d0"],
                             [self.made.questions[0].text])

    def test_white_space_stays_where_texts_must_be_exact(self):
        """Of a turn or a prompt that does not preserve it, PML makes one space of the ends."""
        for self.made.frame in ("user", "text"):
            schema = ElementTree.fromstring(ways.schema_text(self.made, range(3)))
            holder = next(e for e in schema.iter() if e.text == self.made.instruction)
            space = "{http://www.w3.org/XML/1998/namespace}space"
            self.assertEqual(holder.get(space), "preserve")
            prompt = ElementTree.fromstring(ways.prompt_text(self.made, self.made.questions[0]))
            self.assertEqual(prompt.get(space), "preserve")
            self.assertTrue(all(m.get(space) == "preserve" for m in schema.iter("module")))

    def test_a_scaffold_names_the_modules_of_its_schema(self):
        schema = ElementTree.fromstring(ways.schema_text(self.made, [2, 0], scaffold=True))
        self.assertEqual(list(modules_of(schema)), ["d2", "d0"])
        self.assertEqual([s.get("modules") for s in schema.findall("scaffold")], ["d2 d0"])
        plain = ElementTree.fromstring(ways.schema_text(self.made, [2, 0]))
        self.assertEqual(plain.findall("scaffold"), [])

    def test_what_a_way_asks_for(self):
        self.assertEqual(ways.session_of("full"), {"reuse": False})
        self.assertEqual(ways.session_of("none"), {"repair": "none"})
        self.assertEqual(ways.session_of("scaffold"), {"repair": "none"})
        self.assertEqual(ways.session_of("leading:16"), {"repair": "leading:16"})
        self.assertEqual({w: ways.attend_of(w) for w in ("self", "none", "full", "slots")},
                         {"self": "self", "none": "prefix", "full": "prefix", "slots": "slots"})

    def test_what_stands_in_is_of_other_questions(self):
        made = sets.read("which", None, 4, 10)
        self.assertEqual(len(made.stand_ins), sets.MOST_STAND_INS)
        self.assertFalse(set(made.stand_ins) & {d for q in made.questions for d in q.documents})
        schema = ElementTree.fromstring(ways.schema_text(made, range(8), "slots"))
        self.assertEqual([e.text for e in schema.findall("stand-in")], [made.documents[d] for d in made.stand_ins])
        self.assertEqual(ElementTree.fromstring(ways.schema_text(made, range(8))).findall("stand-in"), [])


@unittest.skipUnless(places.DATA.is_dir(), places.WITHOUT_DATA)
class OfPublishedSets(unittest.TestCase):
    def test_are_well_formed_and_hold_the_documents(self):
        for name in sets.NAMES:
            made = sets.read(name, places.DATA, None, 20)
            schema = ElementTree.fromstring(
                ways.schema_text(made, range(len(made.documents)), "self"))
            self.assertEqual(list(modules_of(schema).values()), made.documents, name)
            for q in made.questions:
                prompt = ElementTree.fromstring(ways.prompt_text(made, q))
                self.assertIn(q.text, [e.tail for e in prompt.iter()], q.key)

    def test_longbench_asks_as_it_does(self):
        frames = {t: longbench.read(places.DATA, t).frame for t in ("trec", "lcc", "qasper")}
        self.assertEqual(frames, {"trec": "text", "lcc": "text", "qasper": "user"})


if __name__ == "__main__":
    unittest.main()
