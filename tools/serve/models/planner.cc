#include "tools/serve/models/planner.h"

#include <algorithm>
#include <map>
#include <memory>
#include <sstream>
#include <utility>

#include "tools/serve/models/chat_modules.h"
#include "tools/serve/request/api_error.h"

namespace pc::serve {
namespace {

// A document is computed where it stands the first two times, and encoded after the second.
constexpr std::uint64_t kEncodedAfter = 2;

// Prompts that import the same modules in the same order, behind which these are encoded together.
constexpr std::uint64_t kTogetherAfter = 3;

constexpr std::size_t kMostText = 80;

// A token of a module that is encoded behind stand-ins takes the time of so many at least: they are
// computed, too.
constexpr std::uint64_t kEncoding = 2;

// Do modules stand behind stand-ins, which tell them apart (docs/PML.md, 4.7)?
bool is_in_slots(Mode mode) {
  return mode == Mode::kDocuments || mode == Mode::kTools;
}

// The beginning of a text, whole characters of it.
std::string beginning(const std::string& text) {
  if (text.size() <= kMostText) return text;
  std::size_t end = kMostText;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end) + "...";
}

const char* name_of(std::uint32_t state) {
  return state == PC_RUN_HELD ? "memory" : state == PC_RUN_STORED ? "hit" : "miss";
}

// Has no check of answers said what repair="auto" is?
bool is_unsettled(const pc_module_run& run) {
  return !run.exact && std::string_view(run.repair) == "auto";
}

// A token stands for a byte at least but for those that spell nothing, so that these are enough.
std::string text_of(const promptcache::Engine& engine, const std::vector<std::int32_t>& tokens,
                    const pc_module_run& run) {
  const std::size_t n = std::min<std::size_t>(run.n_tokens, 2 * kMostText);
  return beginning(engine.detokenize(tokens.data() + run.begin, n));
}

Json part_json(const pc_module_run& run, const std::string& text) {
  Json part = Json::object()
                  .set("text", text)
                  .set("tokens", run.n_tokens)
                  .set("state", name_of(run.state))
                  .set("exact", run.exact != 0);
  if (run.state == PC_RUN_MISSING && *run.why) part.set("why", run.why);
  if (*run.repair) part.set("repair", run.repair);
  return part;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// Of the prompt, modules that are missing not counted: they are encoded once.
std::uint64_t tokens_to_compute(const pc_prompt_counts& counts) {
  return counts.tokens - counts.module_tokens - counts.chained_tokens + counts.repaired_tokens;
}

// False: it was stopped.
bool encode(const promptcache::Prompt& prompt, const IdleWork::MayGoOn& may_go_on,
            bool together = false) try {
  const auto goes_on = [&](std::uint32_t, std::uint32_t, const char*) { return may_go_on(); };
  together ? prompt.encode_together(goes_on) : prompt.encode(goes_on);
  return true;
} catch (const promptcache::Error& error) {
  return error.status() != PC_CANCELLED;
}

// Has this text come often enough to be encoded?
bool is_due(const std::map<std::string, std::uint64_t>& seen, const std::string& text) {
  const auto found = seen.find(text);
  return found != seen.end() && found->second >= kEncodedAfter;
}

// A plan, and what it would cost.
struct Costed {
  Plan plan;
  std::string modules = {};     // their tokens, which tell sets of them apart, and orders
  std::uint64_t n_tokens = 0;   // to compute
  std::uint64_t n_missing = 0;  // of modules that are to be encoded first
  bool is_settled = true;
};

Costed costed(const promptcache::Engine& engine, promptcache::Prompt prompt, Mode mode) {
  const auto [counts, runs] = prompt.look();
  const std::vector<std::int32_t> tokens = prompt.tokens();
  Costed made{.plan = {.prompt = std::move(prompt), .mode = mode}};
  Plan& plan = made.plan;
  made.n_tokens = tokens_to_compute(counts);
  plan.remarks = lines_of(plan.prompt.remarks());
  for (const pc_module_run& run : runs) {
    plan.parts.push(part_json(run, text_of(engine, tokens, run)));
    plan.exact = plan.exact && run.exact;
    made.modules.append(reinterpret_cast<const char*>(tokens.data() + run.begin),
                        run.n_tokens * sizeof tokens[0]);
    if (run.state == PC_RUN_MISSING) made.n_missing += run.n_tokens;
    if (made.is_settled && is_unsettled(run)) plan.remarks.push_back(run.why);
    made.is_settled = made.is_settled && !is_unsettled(run);
  }
  return made;
}

// To each part that a module has in a slot behind the first, which one that is.
void add_slots(Plan* plan) {
  const std::vector<Json> runs = Json::read(plan->prompt.explain())["runs"].items();
  Json parts = Json::array();
  auto run = runs.begin();
  for (Json part : plan->parts.items()) {
    run = std::find_if(run, runs.end(), [](const Json& r) { return r["kind"] == Json("cached"); });
    if (run == runs.end()) return;
    if (!(*run)["stand_ins"].is_null()) part.set("slot", (*run)["stand_ins"]);
    parts.push(part);
    ++run;
  }
  plan->parts = parts;
}

}  // namespace

Plan Planner::exact_plan(const Question& question, promptcache::Prompt prompt) const {
  Plan plan{.prompt = std::move(prompt),
            .mode = question.mode == Mode::kOff ? Mode::kOff : Mode::kPrefix};
  plan.remarks = lines_of(plan.prompt.remarks());
  return plan;
}

std::vector<Plan> Planner::plans(const Question& question, bool is_asked) {
  std::vector<Plan> plans;
  plans.push_back(plan(question, is_asked));
  for (std::size_t i = 1; i < question.n_prompts(); ++i)
    plans.push_back(exact_plan(question, model_.prompt_of(question, i)));
  return plans;
}

Plan Planner::plan(const Question& question, bool is_asked) try {
  if (question.of_schema && question.mode != Mode::kOff) return schema_plan(question, is_asked);
  if (question.of_schema || question.chat.is_null())
    return exact_plan(question, model_.prompt_of(question));
  return chat_plan(question, is_asked);
} catch (const promptcache::Error& error) {
  throw ApiError::of(error, question.prompt_field());
}

// Modules that are not exact side by side, and come again, are encoded together while nobody waits.
Plan Planner::schema_plan(const Question& question, bool is_asked) {
  Costed made = costed(model_.engine(), model_.prompt_of(question), Mode::kPrefix);
  if (made.plan.exact || !is_asked) return std::move(made.plan);
  const std::uint64_t n = sets_.see(question.name_space.value_or(""), made.modules, true);
  if (n == kTogetherAfter)
    idle_->add([&model = model_, question](const IdleWork::MayGoOn& may_go_on) {
      return encode(model.prompt_of(question), may_go_on, true);
    });
  return std::move(made.plan);
}

bool Planner::is_long(const std::string& text) const {
  // A token stands for a byte at least, so that shorter ones need not be counted.
  return text.size() >= kDocumentTokens && model_.engine().tokenize(text).size() >= kDocumentTokens;
}

Plan Planner::chat_plan(const Question& question, bool is_asked) {
  Seen seen;
  const IsDocument is_known = [&](const std::string& text) {
    if (!is_long(text)) return false;
    const auto [found, is_new] = seen.try_emplace(text);
    if (is_new) found->second = sightings_.see(question.name_space.value_or(""), text, is_asked);
    return found->second > kEncodedAfter;
  };
  const Json chat = with_modules(question.chat, question.mode, is_known);
  const promptcache::Chat written = model_.written(question, chat);
  Plan exact = exact_plan(question, promptcache::Prompt(written, PC_CHAT_NO_MODULES));
  const IsDocument is_seen = [&](const std::string& text) { return seen.contains(text); };
  const auto front = front_of(question.mode == Mode::kDocuments
                                  ? with_modules(question.chat, question.mode, is_seen)
                                  : chat);
  if (!front) return exact;
  std::uint32_t stand = standing(question, *front, is_asked);
  if (is_in_slots(question.mode)) stand |= PC_CHAT_IN_SLOTS;
  const bool has_new =
      std::ranges::any_of(seen, [](const auto& text) { return text.second == kEncodedAfter; });
  if (has_new && is_asked) encode_when_idle(question, seen, stand);
  if (!front_of(chat)) return exact;
  bool missing = false;
  Plan plan = with_modules_or(std::move(exact), written, stand, question.mode, &missing);
  if (missing && is_asked) encode_when_idle(question, seen, stand);
  return plan;
}

std::uint32_t Planner::standing(const Question& question, const ModulesFront& front,
                                bool is_asked) {
  const std::string name_space = question.name_space.value_or("");
  const std::uint64_t n = fronts_.see(name_space, front.first, is_asked);
  const std::uint64_t n_here = fronts_.see(name_space, front.first + '\0' + front.said, is_asked);
  return n > 1 && n_here == 1 ? PC_CHAT_MODULES_APART : PC_CHAT_MODULES;
}

// Nobody waits for what is encoded here: it is written and laid out on the idle thread, too, and
// what goes wrong there is told to who asks the same in its turn.
void Planner::encode_when_idle(const Question& question, const Seen& seen, std::uint32_t standing) {
  idle_->add([&model = model_, question, seen, standing](const IdleWork::MayGoOn& may_go_on) {
    const IsDocument is_document = [&](const std::string& text) { return is_due(seen, text); };
    const Json chat = with_modules(question.chat, question.mode, is_document);
    const promptcache::Prompt prompt(model.written(question, chat), standing);
    return may_go_on() && encode(prompt, may_go_on);
  });
}

Plan Planner::with_modules_or(Plan exact, const promptcache::Chat& chat, std::uint32_t standing,
                              Mode mode, bool* missing) const try {
  Costed modules = costed(model_.engine(), promptcache::Prompt(chat, standing), mode);
  if (!modules.is_settled) {
    exact.remarks = modules.plan.remarks;
    return exact;
  }
  const std::uint64_t n_exact = tokens_to_compute(exact.prompt.counts());
  const bool is_worth_it = modules.plan.exact || modules.n_tokens < n_exact;
  *missing = is_worth_it && is_in_slots(mode) && modules.n_missing > 0 &&
             modules.n_tokens + kEncoding * modules.n_missing >= n_exact;
  if (*missing) exact.remarks.push_back("modules of it are encoded while nobody waits");
  if (!is_worth_it || *missing) return exact;
  if (is_in_slots(mode)) add_slots(&modules.plan);
  return std::move(modules.plan);
} catch (const promptcache::Error& error) {
  if (error.status() != PC_BUDGET) throw;
  exact.remarks.push_back(
      "a part of this prompt takes more than the store may hold (--cache-size), so that none was a "
      "module");
  return exact;
}

}  // namespace pc::serve
