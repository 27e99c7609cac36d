#include "runtime/constrain/grammar/grammar.h"

#include <list>
#include <optional>
#include <utility>

#include "runtime/constrain/automata/regex.h"
#include "runtime/constrain/grammar/gbnf.h"
#include "runtime/constrain/grammar/watched_text.h"
#include "runtime/constrain/schemas/json_rules.h"
#include "runtime/constrain/schemas/schema_compiler.h"

namespace pc::constrain {

struct Grammar::Part {
  enum class Kind { kLiteral, kSchema, kMembers, kSequence, kChoice, kGbnf, kPattern, kWatched };

  Kind kind;
  std::string text;  // kLiteral, kGbnf, kPattern; of a schema, its name in messages
  Json schema;
  std::vector<Grammar> parts;
  std::string key;
  MemberWords words = {};  // kMembers
  Strictness strictness = Strictness::kStrict;
  std::string name = {};                  // in messages; of a schema, its text
  std::vector<std::string> watched = {};  // kWatched: words; behind them, parts.front(), if any
};

namespace {

// Of all nodes, edges and sets of one automaton: some 30 MB, and a tenth of a second.
constexpr std::size_t kMaxUnits = 1'200'000;

std::string with_length(const std::string& text) {
  return std::to_string(text.size()) + ":" + text;
}

// What is left out is told with the schema's name, so that one of another name is another.
std::string key_of(const Json& schema, std::string_view name, Strictness strictness) {
  if (strictness == Strictness::kStrict) return schema.dump();
  return "best effort" + with_length(std::string(name)) + schema.dump();
}

Grammar made(Grammar::Part part) {
  return Grammar(std::make_shared<const Grammar::Part>(std::move(part)));
}

Grammar of_parts(Grammar::Part::Kind kind, std::vector<Grammar> parts, std::string_view name = {}) {
  std::string key = kind == Grammar::Part::Kind::kChoice ? "choice" : "sequence";
  for (const Grammar& part : parts) key += with_length(part.key());
  Grammar::Part part{kind, {}, {}, std::move(parts), std::move(key)};
  part.name = name;
  return made(std::move(part));
}

}  // namespace

class GrammarCompiler {
 public:
  Result<CompiledRules> run(const Grammar& grammar) {
    Nfa nfa;
    PC_TRY(const NodeId end, add(nfa, Nfa::kStart, grammar));
    nfa.finish_at(end);
    const RuleId start = builder_.add_rule();
    builder_.define(start, determinise(nfa, budget_));
    PC_TRY(Automaton automaton, std::move(builder_).finish(start));
    return CompiledRules{std::move(automaton), std::move(left_out_)};
  }

  const std::string& name() const { return name_; }

 private:
  // Gives the node behind.
  Result<NodeId> add(Nfa& nfa, NodeId from, const Grammar& grammar) {
    const Grammar::Part& part = *grammar.part_;
    switch (part.kind) {
      case Grammar::Part::Kind::kLiteral:
        return literal(nfa, from, part);
      case Grammar::Part::Kind::kSchema:
        name_ = part.text;
        return call(nfa, from, compiler_of(part).run());
      case Grammar::Part::Kind::kMembers:
        name_ = part.text;
        return compiler_of(part).add_members(nfa, from, part.words);
      case Grammar::Part::Kind::kSequence:
        for (const Grammar& one : part.parts) {
          PC_TRY(from, add(nfa, from, one));
        }
        return from;
      case Grammar::Part::Kind::kGbnf:
        name_ = part.name;
        return call(nfa, from, gbnf_rule(part.text));
      case Grammar::Part::Kind::kPattern:
        name_ = part.name;
        return call(nfa, from, pattern_rule(part.text));
      case Grammar::Part::Kind::kWatched:
        return add_watched(nfa, from, part);
      case Grammar::Part::Kind::kChoice:
        break;
    }
    const NodeId end = nfa.add();
    for (const Grammar& one : part.parts) {
      PC_TRY(const NodeId behind, add(nfa, from, one));
      nfa.skip(behind, end);
    }
    if (!part.name.empty()) name_ = part.name;
    return end;
  }

  Result<NodeId> literal(Nfa& nfa, NodeId from, const Grammar::Part& part) {
    if (!part.name.empty()) name_ = part.name;
    budget_.spend(part.text.size());
    const NodeId behind = nfa.literal(from, part.text, budget_);
    PC_CHECK_OK(budget_.check());
    return behind;
  }

  static Result<NodeId> call(Nfa& nfa, NodeId from, const Result<RuleId>& rule) {
    if (!rule.ok()) return rule.error();
    return nfa.call(from, *rule);
  }

  Result<RuleId> gbnf_rule(std::string_view text) {
    PC_TRY(const GbnfRules rules, parse_gbnf(text));
    return add_gbnf(rules, builder_, budget_);
  }

  Result<RuleId> pattern_rule(std::string_view pattern) {
    PC_TRY(Dfa text, matched_text(pattern, budget_));
    text.nodes.front().is_final = false;  // to which nothing leads back
    const RuleId id = builder_.add_rule();
    Rule rule;
    rule.kind = Rule::Kind::kText;
    builder_.define(id, text, rule);
    return id;
  }

  Result<NodeId> add_watched(Nfa& nfa, NodeId from, const Grammar::Part& part) {
    const NodeId text = nfa.add(), end = nfa.add();
    nfa.skip(from, text);
    std::optional<NodeId> word;
    if (!part.parts.empty()) word = nfa.add();
    add_watched_text(nfa, text, part.watched, word, end);
    if (word) {
      PC_TRY(const NodeId behind, add(nfa, *word, part.parts.front()));
      nfa.skip(behind, text);
    }
    return end;
  }

  SchemaCompiler compiler_of(const Grammar::Part& part) {
    return {SchemaDocument(part.schema, part.text, part.strictness, left_out_), builder_, rules_,
            budget_};
  }

  Budget budget_{kMaxUnits};
  AutomatonBuilder builder_{budget_};
  JsonRules rules_{builder_, budget_};
  std::string name_ = "the grammar";  // of the latest part that has one
  std::vector<LeftOut> left_out_;
};

Result<CompiledRules> Grammar::compiled() const {
  GrammarCompiler compiler;
  auto made = compiler.run(*this);
  if (made.ok() || has_place(made.error())) return made;
  return refused_at(compiler.name(), made.error().message);
}

const std::string& Grammar::key() const {
  return part_->key;
}

Grammar literal(std::string_view text, std::string_view name) {
  Grammar::Part part{Grammar::Part::Kind::kLiteral, std::string(text), {}, {}, {}};
  part.key = "literal" + part.text;
  part.name = name;
  return made(std::move(part));
}

Grammar json_schema(const Json& schema, std::string_view name, Strictness strictness) {
  return made({Grammar::Part::Kind::kSchema,
               std::string(name),
               schema,
               {},
               "schema" + key_of(schema, name, strictness),
               {},
               strictness});
}

Grammar written_members(const Json& schema, std::string_view name, MemberWords words,
                        Strictness strictness) {
  std::string key = "members" + with_length(words.key_open) + with_length(words.key_close) +
                    with_length(words.value_close) + with_length(words.between) +
                    (words.has_quotes ? "quotes" : "") + key_of(schema, name, strictness);
  return made({Grammar::Part::Kind::kMembers,
               std::string(name),
               schema,
               {},
               std::move(key),
               std::move(words),
               strictness});
}

Grammar json_object() {
  return json_schema(Json::object().set("type", "object"), "object");
}

Grammar gbnf_grammar(std::string_view text, std::string_view name) {
  Grammar::Part part{Grammar::Part::Kind::kGbnf, std::string(text), {}, {}, {}};
  part.key = "gbnf" + part.text;
  part.name = name;
  return made(std::move(part));
}

Grammar matching_text(std::string_view pattern, std::string_view name) {
  Grammar::Part part{Grammar::Part::Kind::kPattern, std::string(pattern), {}, {}, {}};
  part.key = "pattern" + part.text;
  part.name = name;
  return made(std::move(part));
}

namespace {

Grammar watched(std::vector<std::string> words, std::vector<Grammar> behind_word) {
  std::string key = "watched";
  for (const Grammar& grammar : behind_word) key += with_length(grammar.key());
  for (const std::string& word : words) key += "word" + with_length(word);
  Grammar::Part part{Grammar::Part::Kind::kWatched, {}, {}, std::move(behind_word), key};
  part.watched = std::move(words);
  return made(std::move(part));
}

}  // namespace

Grammar watched_text(std::vector<std::string> words, Grammar behind_word) {
  return watched(std::move(words), {std::move(behind_word)});
}

Grammar text_without(std::vector<std::string> words) {
  return watched(std::move(words), {});
}

Grammar sequence(std::vector<Grammar> parts) {
  return of_parts(Grammar::Part::Kind::kSequence, std::move(parts));
}

Grammar choice(std::vector<Grammar> alternatives, std::string_view name) {
  return of_parts(Grammar::Part::Kind::kChoice, std::move(alternatives), name);
}

}  // namespace pc::constrain
