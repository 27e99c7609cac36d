#include "tools/serve/answer/gathered_answers.h"

#include <utility>

#include "runtime/calls/shape/tool_call.h"

namespace pc::serve {
namespace {

void add_text(GatheredAnswer* answer, Block::Kind kind, const std::string& text,
              const std::vector<DrawnToken>& tokens) {
  answer->tokens.insert(answer->tokens.end(), tokens.begin(), tokens.end());
  if (text.empty()) return;
  if (answer->blocks.empty() || answer->blocks.back().kind != kind)
    answer->blocks.push_back({.kind = kind});
  answer->blocks.back().text += text;
}

}  // namespace

Json MadeCall::input() const {
  return calls::object_of(arguments);
}

std::string GatheredAnswer::text(Block::Kind kind) const {
  std::string all;
  for (const Block& block : blocks)
    if (block.kind == kind) all += block.text;
  return all;
}

std::vector<MadeCall> GatheredAnswer::calls() const {
  std::vector<MadeCall> calls;
  for (const Block& block : blocks)
    if (block.kind == Block::Kind::kCall) calls.push_back(block.call);
  return calls;
}

void GatheredAnswers::add(const Event& event) {
  std::visit(Of{[&](const Begun& begun) { usage = begun.usage; },
                [&](const Ended& ended) { usage = ended.usage; },
                [&](const Said& said) {
                  add_text(&choices[said.choice], Block::Kind::kText, said.text, said.tokens);
                },
                [&](const Thought& thought) {
                  add_text(&choices[thought.choice], Block::Kind::kThought, thought.text,
                           thought.tokens);
                },
                [&](const CallBegun& call) {
                  choices[call.choice].blocks.push_back(
                      {.kind = Block::Kind::kCall, .call = {call.id, call.name, {}}});
                },
                [&](const CallSaid& said) {
                  choices[said.choice].blocks.back().call.arguments += said.arguments;
                },
                [&](const ChoiceEnded& ended) { choices[ended.choice].finish = ended.finish; },
                [](const auto&) {}},
             event);
}

}  // namespace pc::serve
