// An object's members as a template writes them (SchemaCompiler::add_members).

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include "runtime/constrain/schemas/schema_compiler.h"
#include "runtime/constrain/schemas/schema_merge.h"

namespace pc::constrain {
namespace {

constexpr std::array<std::string_view, 4> kKnown{"type", "properties", "required",
                                                 "additionalProperties"};
constexpr std::string_view kSpace = " \t\r\n";

// What a reader looks for behind a key or a value: the word as it is spelled, without the white
// space around it.
std::string sought(std::string_view word) {
  std::string text(word);
  std::erase(text, kControlMark);
  const std::size_t begin = std::min(text.find_first_not_of(kSpace), text.size());
  return text.substr(begin, text.find_last_not_of(kSpace) + 1 - begin);
}

// A reader takes what stands before the first of these words: so nothing may come behind it.
Dfa up_to_first(const std::string& word, Budget& budget) {
  Nfa beyond;
  beyond.edge(Nfa::kStart, 0, 0xFF, Nfa::kStart);
  const NodeId behind = beyond.literal(Nfa::kStart, word), more = beyond.add();
  beyond.edge(behind, 0, 0xFF, more);
  beyond.edge(more, 0, 0xFF, more);
  beyond.finish_at(more);
  return complement(determinise(beyond, budget));
}

// By its own "type": readers look no further.
bool is_string(const SchemaPart& part) {
  return part.json["type"] == Json("string");
}

}  // namespace

// Those that are named, in the schema's order, and those that are required besides.
std::vector<SchemaCompiler::Member> SchemaCompiler::members_of(const SchemaPart& root) const {
  std::vector<Member> members;
  std::map<std::string, std::size_t> numbers;
  for (const auto& [name, value] : root.members("properties")) {
    numbers.emplace(name, members.size());
    members.push_back({name, value, false, is_string(value)});
  }
  const SchemaPart others = root.json["additionalProperties"].is_null()
                                ? SchemaPart{true, root.pointer}
                                : root.at("additionalProperties");
  for (const Json& item : root.json["required"].items()) {
    const std::string name = item.string();
    const auto [at, is_new] = numbers.try_emplace(name, members.size());
    if (is_new) members.push_back({name, others, true, false});
    members[at->second].is_required = true;
  }
  return members;
}

Status SchemaCompiler::check_members(const SchemaPart& root) {
  for (const std::string& name : root.json.keys())
    if (std::ranges::find(kKnown, name) == kKnown.end())
      PC_CHECK_OK(document_.leave_out(
          root, name,
          "\"" + name + "\" cannot be enforced where each parameter is written by itself"));
  if (!(declared_types(root.json).value_or(kObject) & kObject))
    return document_.refused(root, "what has parameters is an object");
  return ok();
}

Result<NodeId> SchemaCompiler::add_members(Nfa& nfa, NodeId from, const MemberWords& words) {
  PC_CHECK_OK(document_.check());
  PC_TRY(const SchemaPart root, checked(document_, document_.root()));
  PC_CHECK_OK(check_members(root));
  NodeId none = from, some = nfa.add();  // where no member has come, and where one has
  for (const Member& member : members_of(root)) {
    const NodeId begin = nfa.add();
    nfa.skip(none, begin);
    nfa.skip(nfa.literal(some, words.between, budget_), begin);
    PC_TRY(const NodeId behind, add_member(nfa, begin, member, words));
    if (member.is_required)
      none = nfa.add();  // which no way leads to
    else
      nfa.skip(some, behind);
    some = behind;
  }
  nfa.skip(none, some);
  PC_CHECK_OK(define_open());
  return some;
}

// Can a reader tell it from the words around it?
Status SchemaCompiler::check_name(const Member& member, const MemberWords& words) const {
  const std::string& name = member.name;
  const std::string end = sought(words.key_close);
  const std::string word = end.substr(0, end.find_first_of(kSpace));
  const char* const others = words.has_quotes ? "<\n()[]{},\"' \t\r" : "<\n";
  if (name.empty() || sought(name) != name || name.find_first_of(others) != name.npos ||
      (name + word).find(word) != name.size())
    return document_.refused(member.value,
                             "a parameter of this name cannot be told from the words around it");
  return ok();
}

Result<NodeId> SchemaCompiler::add_member(Nfa& nfa, NodeId from, const Member& member,
                                          const MemberWords& words) {
  PC_CHECK_OK(check_name(member, words));
  const Result<NodeId> added = add_written(nfa, from, member, words);
  if (added.ok() || has_place(added.error())) return added;
  return document_.refused(member.value, added.error().message);
}

Result<NodeId> SchemaCompiler::add_written(Nfa& nfa, NodeId from, const Member& member,
                                           const MemberWords& words) {
  budget_.spend(words.between.size() + words.key_open.size() + member.name.size() +
                words.key_close.size() + words.value_close.size());
  const NodeId begin = nfa.literal(from, words.key_open + member.name + words.key_close, budget_);
  if (words.has_quotes || !member.is_string) {
    PC_TRY(const RuleId value, rule_of(member.value));
    return nfa.literal(nfa.call(begin, value), words.value_close, budget_);
  }
  const NodeId end = nfa.add();
  PC_TRY(const std::vector<SchemaPart> alternatives, flattened(document_, member.value, budget_));
  for (const SchemaPart& flat : alternatives) {
    PC_TRY(const RuleId text, written_string(flat, words.value_close));
    nfa.call(begin, text, end);
  }
  PC_CHECK_OK(budget_.check());
  return end;
}

// With what ends it, of which there is one in a grammar's members.
Result<RuleId> SchemaCompiler::written_string(const SchemaPart& part, const std::string& end) {
  const auto [known, is_new] = written_.try_emplace(part.json.dump());
  if (!is_new) return known->second;
  const RuleId id = known->second = builder_.add_rule();
  const Dfa readable = up_to_first(sought(end), budget_);
  if (const auto values = declared_values(part.json)) {
    Nfa nfa;
    PC_TRY(const std::vector<Json> taken, taken_values(part, kString, *values));
    for (const Json& value : taken)
      nfa.finish_at(nfa.literal(Nfa::kStart, value.string() + end, budget_));
    builder_.define(id, intersection(determinise(nfa, budget_), readable, budget_));
    return id;
  }
  Rule rule;
  rule.kind = Rule::Kind::kText;
  PC_TRY(const Dfa text, string_text(part, {Spelling::kPlain, end}));
  builder_.define(id, intersection(text, readable, budget_), rule);
  return id;
}

}  // namespace pc::constrain
