#include "pml/plan/prompt_text.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "pml/syntax/elements.h"  // kWhiteSpace
#include "pml/syntax/names.h"
#include "pml/turns/chat_template.h"

namespace pc::pml {
namespace {

// The turns' strings as the layout has them, for a conversation that only the
// schema wrote.
TurnTexts texts_of_schema(const Layout& layout, const FlatPrompt& flat) {
  TurnTexts texts;
  for (const FlatTurn& turn : flat.turns)
    texts.turns.push_back(layout.turns[turn.schema_turn].text);
  return texts;
}

void remark_other_strings(const Layout& layout, const TurnTexts& texts, FlatPrompt& flat) {
  for (std::size_t i = 0; i < flat.turns.size(); ++i) {
    if (flat.turns[i].node) continue;
    const SchemaTurn& turn = layout.turns[flat.turns[i].schema_turn];
    const TurnText& text = texts.turns[i];
    if (turn.text.open == text.open && (turn.open_ended || turn.text.close == text.close)) continue;
    flat.remarks.push_back(std::string("the model's chat format writes the schema's <") +
                           role_name(turn.role) + "> otherwise in this conversation: with " +
                           quote(text.open) + " and " + quote(text.close) +
                           " around it; it was encoded with " + quote(turn.text.open) + " and " +
                           quote(turn.text.close));
  }
}

}  // namespace

Result<TurnTexts> read_turns(const Prompt& prompt, const Layout& layout, const TextEncoder& encoder,
                             FlatPrompt& flat) {
  std::vector<Role> roles;
  const PromptNode* first = nullptr;  // of the prompt's own
  for (const FlatTurn& turn : flat.turns) {
    roles.push_back(turn.role);
    if (!first) first = turn.node;
  }
  if (roles.empty()) return TurnTexts{};
  if (!encoder.chat) return missing_chat_template(first ? first->place : prompt.place, roles[0]);
  auto texts = encoder.chat->turns(roles);
  if (texts.ok()) {
    remark_other_strings(layout, *texts, flat);
    return texts;
  }
  if (!first && !flat.opens_answer) return texts_of_schema(layout, flat);
  return broken_rule(first ? first->place : prompt.place, texts.error().message);
}

void PromptText::add(const PromptNode& node, std::string_view before) {
  if (!before.empty()) spans_.push_back({{before, false}, node.place, turn_});
  std::string_view text = node.text;
  if (trims_) text.remove_prefix(std::min(text.find_first_not_of(kWhiteSpace), text.size()));
  if (text.empty()) return;
  trims_ = false;
  spans_.push_back({{text, node.markup}, node.place, turn_});
}

void PromptText::add_markup(Place place, const std::string& text) {
  if (!text.empty()) spans_.push_back({{text, true}, place, turn_});
}

void PromptText::open_turn(std::uint32_t turn) {
  turn_ = turn;
  add_markup(flat_.turns[turn].node->place, texts_.turns[turn].open);
  trims_ = texts_.turns[turn].trims_left;
  open_ = true;
}

void PromptText::close_turn(std::uint32_t turn, std::uint32_t item) {
  const TurnText& text = texts_.turns[turn];
  while (text.trims_right && !spans_.empty() && !spans_.back().text.markup) {
    std::string_view& last = spans_.back().text.text;
    last = last.substr(0, last.find_last_not_of(kWhiteSpace) + 1);
    if (!last.empty()) break;
    spans_.pop_back();
  }
  const PromptNode* node = flat_.turns[turn].node;
  turn_ = turn;  // which the schema may have opened
  add_markup(node ? node->place : Place{}, text.close);
  if (!text.close.empty()) {
    Span& span = spans_.back();
    if (item != kNone) span.floor = layout_.pieces[layout_.items[item].index].position;
    span.ends_user = flat_.turns[turn].role == Role::kUser;
  }
  turn_ = kNone;
  trims_ = false;
  if (!std::exchange(open_, false)) closes_ = true;
}

void PromptText::open_answer() {
  add_markup({}, texts_.answer);
}

// Does nothing but BOS stand before what comes next?
bool PromptText::opens(const std::vector<Step>& steps) const {
  if (!may_open_) return false;
  if (!layout_.bos) return steps.empty();
  return steps.size() == 1 && steps[0].run.tokens == Tokens{*layout_.bos};
}

Status PromptText::flush(std::vector<Step>& steps) {
  trims_ = false;
  const bool opens_turn = std::exchange(open_, false), closes_turn = std::exchange(closes_, false);
  if (spans_.empty()) return ok();
  const std::vector<Span> spans = std::exchange(spans_, {});
  std::vector<TextSpan> texts;
  for (const Span& span : spans) texts.push_back(span.text);
  const bool opening = opens(steps);
  auto tokens = encoder_.encode(texts, opening);
  if (!tokens.ok()) return at(spans[0].place, std::move(tokens).error());
  for (std::size_t i = 0; i < spans.size(); ++i) {
    if ((*tokens)[i].empty()) continue;
    n_fresh_ += (*tokens)[i].size();
    if (n_fresh_ > kMaxLayoutTokens)
      return broken_rule(spans[i].place, "the prompt's own text has more than " +
                                             std::to_string(kMaxLayoutTokens) + " tokens");
    Step step;
    step.run.kind = spans[i].text.markup ? RunKind::kRole : RunKind::kText;
    step.run.tokens = std::move((*tokens)[i]);
    step.run.turn = spans[i].turn;
    step.floor = spans[i].floor;
    step.ends_user = spans[i].ends_user;
    step.opening = opening;
    step.is_border = opens_turn || closes_turn;
    steps.push_back(std::move(step));
  }
  return ok();
}

}  // namespace pc::pml
