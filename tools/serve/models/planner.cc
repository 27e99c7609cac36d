#include "tools/serve/models/planner.h"

#include <algorithm>
#include <map>
#include <sstream>
#include <utility>

#include "tools/serve/models/chat_modules.h"
#include "tools/serve/request/api_error.h"

namespace pc::serve {
namespace {

// A document is computed where it stands the first two times, and encoded after the second.
constexpr std::uint64_t kEncodedAfter = 2;

constexpr std::size_t kMostText = 80;

// The beginning of a text, whole characters of it.
std::string beginning(const std::string& text) {
  if (text.size() <= kMostText) return text;
  std::size_t end = kMostText;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end) + "...";
}

Json part_json(const Json& run) {
  Json part = Json::object()
                  .set("text", beginning(run["text"].string()))
                  .set("tokens", run["tokens"])
                  .set("state", run["state"])
                  .set("exact", run["exact"]);
  for (const char* const key : {"why", "repair"})
    if (!run[key].is_null()) part.set(key, run[key]);
  return part;
}

Plan plan_of(promptcache::Prompt prompt, Mode mode) {
  const Json report = Json::parse(prompt.explain());
  Plan plan{.prompt = std::move(prompt), .mode = mode, .parts = Json::array(), .remarks = {}};
  for (const Json& run : report["runs"].items()) {
    if (run["kind"] != Json("cached")) continue;
    plan.parts.push(part_json(run));
    plan.exact = plan.exact && run["exact"].truth();
  }
  for (const Json& remark : report["remarks"].items()) plan.remarks.push_back(remark.string());
  return plan;
}

// Has no check of answers said what repair="auto" is?
bool is_unsettled(const Plan& plan) {
  return std::ranges::any_of(plan.parts.items(), [](const Json& part) {
    return !part["exact"].truth() && part["repair"] == Json("auto");
  });
}

// Of the prompt, modules that are missing not counted: they are encoded once.
std::uint64_t tokens_to_compute(const Plan& plan) {
  const pc_prompt_counts counts = plan.prompt.counts();
  return counts.tokens - counts.module_tokens - counts.chained_tokens + counts.repaired_tokens;
}

}  // namespace

Plan Planner::exact_plan(const Question& question, std::size_t number) const {
  Plan plan{.prompt = model_.prompt_of(question, number),
            .mode = question.mode == Mode::kOff ? Mode::kOff : Mode::kPrefix,
            .parts = Json::array(),
            .remarks = {}};
  std::istringstream remarks(plan.prompt.remarks());
  for (std::string line; std::getline(remarks, line);) plan.remarks.push_back(line);
  return plan;
}

std::vector<Plan> Planner::plans(const Question& question, bool is_asked) {
  std::vector<Plan> plans;
  plans.push_back(plan(question, is_asked));
  for (std::size_t i = 1; i < question.n_prompts(); ++i) plans.push_back(exact_plan(question, i));
  return plans;
}

bool Planner::is_long(const std::string& text) const {
  // A token stands for a byte at least, so that shorter ones need not be counted.
  return text.size() >= kDocumentTokens && model_.engine().tokenize(text).size() >= kDocumentTokens;
}

Plan Planner::plan(const Question& question, bool is_asked) try {
  if (question.of_schema && question.mode != Mode::kOff)
    return plan_of(model_.prompt_of(question), Mode::kPrefix);
  Plan exact = exact_plan(question, 0);
  if (question.chat.is_null() || exact.mode == Mode::kOff || question.mode == Mode::kPrefix)
    return exact;
  std::map<std::string, std::uint64_t> seen;
  const std::string name_space = question.name_space.value_or("");
  const IsDocument counted = [&](const std::string& text) {
    if (!is_long(text)) return false;
    const auto [found, is_new] = seen.try_emplace(text);
    if (is_new) found->second = sightings_.see(name_space, text, is_asked);
    return found->second > kEncodedAfter;
  };
  bool has_modules = false;
  const Json chat = with_modules(question.chat, question.mode, counted, &has_modules);
  const bool is_due =
      std::ranges::any_of(seen, [](const auto& text) { return text.second == kEncodedAfter; });
  if (is_due && is_asked) encode_when_idle(question, seen);
  if (!has_modules) return exact;
  return with_modules_or(std::move(exact), question, chat);
} catch (const promptcache::Error& error) {
  throw ApiError::of(error, question.prompt_field());
}

void Planner::encode_when_idle(const Question& question,
                               const std::map<std::string, std::uint64_t>& seen) try {
  const IsDocument known = [&](const std::string& text) {
    const auto found = seen.find(text);
    return found != seen.end() && found->second >= kEncodedAfter;
  };
  encoder_->add(
      model_.chat_prompt(question, with_modules(question.chat, question.mode, known, nullptr)));
} catch (const promptcache::Error& error) {
  if (error.status() != PC_BUDGET) throw;  // larger than the store may be: it stays as it is
}

Plan Planner::with_modules_or(Plan exact, const Question& question, const Json& chat) try {
  Plan modules = plan_of(model_.chat_prompt(question, chat), question.mode);
  if (is_unsettled(modules)) {
    exact.remarks = modules.remarks;
    return exact;
  }
  const bool is_worth_it = modules.exact || tokens_to_compute(modules) < tokens_to_compute(exact);
  return is_worth_it ? std::move(modules) : std::move(exact);
} catch (const promptcache::Error& error) {
  if (error.status() != PC_BUDGET) throw;
  exact.remarks.push_back(
      "a part of this prompt takes more than the store may hold (--cache-size), so that none was a "
      "module");
  return exact;
}

}  // namespace pc::serve
