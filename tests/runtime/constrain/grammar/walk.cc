// What the automaton of a schema takes, for a test in Python that has a validator.
//
// Each line on stdin is an object, each answer an object on a line of its own:
//   {"schema": S, "walks": 9, "seed": 1}  ->  {"texts": [...], "unfinished": 0, "left_out": []}
//   {"schema": S, "takes": [TEXT, ...]}   ->  {"taken": [true, ...]}
// With "strict": false of a question, "left_out" are the texts of what is not enforced.
// Or {"refused": WHY} where the schema cannot be enforced, {"defect": WHAT} of a walk.
#include <iostream>
#include <string>

#include "tests/runtime/constrain/random_walk.h"
#include "tests/runtime/constrain/small_vocabulary.h"
#include "tests/runtime/constrain/takes.h"

namespace pc::constrain::test {
namespace {

Json walked(Constrainer& constrainer, const Vocabulary& vocabulary, const Json& question,
            const Grammar& grammar) {
  RandomWalk random(vocabulary, question["seed"].number().value_or(0));
  Json texts = Json::array();
  std::uint64_t unfinished = 0;
  const Result<Constraint> begun = constrainer.start(grammar);
  if (!begun.ok()) return Json::object().set("refused", begun.error().message);
  const Constraint& start = *begun;
  for (std::uint64_t i = 0; i < question["walks"].number().value_or(0); ++i) {
    const Walk walk = random.run(start, 120);
    if (!walk.defect.empty())
      return Json::object().set("defect", walk.defect).set("text", walk.text);
    if (walk.is_finished)
      texts.push(walk.text);
    else
      ++unfinished;
  }
  Json left_out = Json::array();
  for (const LeftOut& one : start.left_out())
    left_out.push(Json::object()
                      .set("pointer", one.pointer)
                      .set("keyword", one.keyword)
                      .set("text", one.text()));
  return Json::object().set("texts", texts).set("unfinished", unfinished).set("left_out", left_out);
}

Json taken(const Automaton& automaton, const Json& texts) {
  Json answers = Json::array();
  for (const Json& text : texts.items()) answers.push(takes(automaton, text.string()));
  return Json::object().set("taken", answers);
}

Json answer(Constrainer& constrainer, const Vocabulary& vocabulary, const std::string& line) {
  const Json question = Json::read(line);
  const Strictness strictness =
      question["strict"] == Json(false) ? Strictness::kBestEffort : Strictness::kStrict;
  const Grammar grammar = json_schema(question["schema"], "schema", strictness);
  if (question["takes"].is_null()) return walked(constrainer, vocabulary, question, grammar);
  const Result<CompiledRules> rules = grammar.compiled();
  if (!rules.ok()) return Json::object().set("refused", rules.error().message);
  return taken(rules->automaton, question["takes"]);
}

}  // namespace
}  // namespace pc::constrain::test

int main() {
  using namespace pc::constrain;
  const Vocabulary vocabulary(test::small_tokens());
  Constrainer constrainer{Vocabulary(test::small_tokens())};
  for (std::string line; std::getline(std::cin, line);)
    std::cout << test::answer(constrainer, vocabulary, line).dump() << std::endl;
  return 0;
}
