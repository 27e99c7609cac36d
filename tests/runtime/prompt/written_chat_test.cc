// Prompts of whole conversations: the tokens of the same turns as messages, tools as modules that
// are found in any order, exact where they are, kept and found again, each namespace's its own.
#include "runtime/prompt/written_chat.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "pml/turns/messages.h"
#include "runtime/json/json_writer.h"
#include "runtime/reports/counts.h"
#include "runtime/schema/chat_stand_ins.h"
#include "runtime/session/session.h"
#include "tests/support/expect.h"
#include "tests/support/tiny_chat.h"

namespace pc::test {
namespace {

// Turns as chat_turns() has them, behind a list of tools.
std::string tools_and_turns() {
  return "{{ bos_token }}{% if tools %}T: {% for t in tools %}{{ t | tojson }};{% endfor %}"
         "{{ eos_token }}{% endif %}{% for m in messages %}{% if m.role == 'user' %}U: "
         "{{ m.content }}{{ eos_token }}{% elif m.role == 'assistant' %}A: {{ m.content }}"
         "{{ eos_token }}{% endif %}{% endfor %}{% if add_generation_prompt %}A: {% endif %}";
}

class Home {
 public:
  explicit Home(const std::string& chat_template, std::uint32_t window = 1024)
      : checkpoint_(5, window) {
    write_chat_template(checkpoint_, chat_template);
  }
  std::shared_ptr<const Engine> engine(std::uint32_t context_tokens = 0) {
    EngineOptions options;
    options.model_path = checkpoint_.path();
    options.cache_dir = cache_.path();
    options.n_threads = 1;
    options.kv_type = KvType::kF32;
    options.precision = Precision::kExact;
    options.context_tokens = context_tokens;
    return must(Engine::open(options));
  }

 private:
  TinyCheckpoint checkpoint_;
  TempFolder cache_;
};

std::string quoted(const std::string& text) {
  std::string json;
  JsonWriter(&json).value(text);
  return json;
}

std::string said(const std::string& role, const std::string& text) {
  return R"({"role": ")" + role + R"(", "content": )" + quoted(text) + "}";
}

std::string tool(const std::string& name) {
  return R"({"type": "function", "function": {"name": ")" + name +
         R"(", "description": "It tells the weather of the day and of tomorrow."}, "module": true})";
}

std::string chat(const std::string& messages, const std::string& tools = "[]") {
  return R"({"messages": [)" + messages + R"(], "tools": )" + tools + "}";
}

std::shared_ptr<const LoadedPrompt> prompt(const std::shared_ptr<const Engine>& engine,
                                           const std::string& json,
                                           const std::optional<std::string>& name_space = {},
                                           ChatModules modules = ChatModules::kAll) {
  const auto written = must(WrittenChat::write(engine, must(read_chat(json)), name_space));
  return must(written->prompt(modules));
}

Tokens tokens_of(const LoadedPrompt& prompt) {
  Tokens all;
  for (const pml::PlanRun& run : prompt.plan.runs)
    all.insert(all.end(), run.tokens.begin(), run.tokens.end());
  return all;
}

std::string text_of(const LoadedPrompt& prompt) {
  std::string text;
  for (const TokenId token : tokens_of(prompt))
    prompt.schema->engine().tokenizer().append_bytes(token, &text);
  return text;
}

std::vector<float> logits_of(const std::shared_ptr<const LoadedPrompt>& prompt, bool reuse) {
  SessionOptions options;
  options.no_reuse = !reuse;
  const auto session = must(Session::open(prompt, options));
  must(session->prefill());
  const auto logits = session->logits();
  return {logits.begin(), logits.end()};
}

float apart(const std::vector<float>& a, const std::vector<float>& b) {
  float most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) most = std::max(most, std::fabs(a[i] - b[i]));
  return most;
}

void encode(const LoadedPrompt& prompt) {
  must(prompt.schema->encode(prompt.modules, [](std::uint32_t, const std::string&,
                                                const AcquiredModule&) { return true; }));
}

constexpr float kRounding = 1e-4f;  // of logits of about one, in another order of sums
const std::string kQuestion = said("user", "What is the weather?");

TEST_CASE("where the window slides, a conversation that was written whole keeps all of its turns") {
  constexpr std::uint32_t kWindow = 256, kAnswer = 700;
  Home home(tools_and_turns());
  const auto asked =
      prompt(home.engine(kWindow), chat(said("user", "Where does the ferry of Lindby go?") + ", " +
                                        said("assistant", "To the tower.") + ", " +
                                        said("user", "And when does it leave?")));
  SessionOptions o;
  o.max_tokens = kAnswer;
  o.overflow = Overflow::kSlide;
  o.mask = [](std::span<std::uint32_t> allowed, const DrawPlace&) {  // words alone
    std::ranges::fill(allowed, 0u);
    for (std::uint32_t word = 10; word < 20; ++word) allowed[word] = ~0u;
    return true;
  };
  const auto session = must(Session::open(asked, o));
  std::uint64_t n = 0;
  while (must(session->next())) ++n;
  CHECK(n == kAnswer);
  CHECK(session->stats().dropped_turns == 0);
  CHECK(session->stats().dropped_tokens < kAnswer);
  CHECK(asked->plan.n_tokens() + n - 1 - session->stats().dropped_tokens ==
        static_cast<std::uint64_t>(session->position()));
}

}  // namespace

TEST_CASE("a conversation has the tokens of its turns") {
  Home home(chat_turns());
  const auto engine = home.engine();
  const std::vector<std::pair<pml::Role, std::string>> turns = {
      {pml::Role::kUser, "Where is </s> it?\nThere?"},
      {pml::Role::kAssistant, "Here, <s>."},
      {pml::Role::kUser, "Why?"}};
  std::vector<pml::Message> messages;
  std::string json;
  for (const auto& [role, text] : turns) {
    messages.push_back({role, {{text, "", {}}}});
    json += (json.empty() ? "" : ",") + said(pml::role_name(role), text);
  }
  const auto schema = must(LoadedSchema::parse(engine, "<schema name='s'/>", ""));
  const auto expected = must(LoadedPrompt::of_messages(schema, messages));
  CHECK(tokens_of(*prompt(engine, chat(json))) == tokens_of(*expected));
}

TEST_CASE("tools are found in another order, beside others, by another process") {
  Home home(tools_and_turns());
  encode(*prompt(home.engine(), chat(kQuestion, "[" + tool("rain") + "," + tool("sun") + "]")));
  const auto engine = home.engine();
  const auto turned = prompt(
      engine, chat(kQuestion, "[" + tool("snow") + "," + tool("sun") + "," + tool("rain") + "]"));
  const PromptCounts counts = count_prompt(*turned);
  CHECK(counts.modules == 4);  // the text before them is one
  CHECK(counts.modules_missing == 1);
  CHECK(counts.approximate_tokens > 0);
}

TEST_CASE("a conversation with none of its modules is one that never had any") {
  Home home(tools_and_turns());
  const auto engine = home.engine();
  const std::string with = chat(said("system", "S") + "," + said("user", "</s> Why?"),
                                "[" + tool("snow") + "," + tool("sun") + "]");
  std::string without = with;
  for (std::size_t at; (at = without.find(R"(, "module": true)")) != without.npos;)
    without.erase(at, std::string(R"(, "module": true)").size());
  const auto none = prompt(engine, with, {}, ChatModules::kNone);
  CHECK(count_prompt(*none).module_tokens <= 1);  // BOS
  CHECK(tokens_of(*none) == tokens_of(*prompt(engine, without)));
  CHECK(text_of(*prompt(engine, with)) == text_of(*none));
}

TEST_CASE("modules that stand apart are found behind another text") {
  Home home(chat_turns());
  const auto engine = home.engine();
  const auto behind = [](const std::string& front) {
    return chat(R"({"role": "user", "content": [{"type": "text", "text": )" + quoted(front) +
                R"(}, {"type": "text", "text": "A page of text.", "module": true},
                    {"type": "text", "text": " Why?"}]})");
  };
  const auto standing = prompt(engine, behind("One. "), {}, ChatModules::kApart);
  encode(*standing);
  CHECK(text_of(*standing) == text_of(*prompt(engine, behind("One. "))));
  CHECK(count_prompt(*prompt(engine, behind("Two. "))).modules_missing > 0);
  const auto other = prompt(engine, behind("Two. "), {}, ChatModules::kApart);
  CHECK(count_prompt(*other).modules_missing == 0);
  CHECK(count_prompt(*other).approximate_tokens > 0);
  // With nothing between, both are the same.
  const std::string alone = chat(
      R"({"role": "user", "content": [{"type": "text", "text": "A page of text.", "module": true}]})");
  CHECK(count_prompt(*prompt(engine, alone)).modules_missing == 0);
}

TEST_CASE("one tool behind the text before it is exact, and gives what computing all gives") {
  Home home(tools_and_turns());
  const auto engine = home.engine();
  const auto one = prompt(engine, chat(kQuestion, "[" + tool("rain") + "]"));
  const PromptCounts counts = count_prompt(*one);
  CHECK(counts.module_tokens > 0);
  CHECK(counts.approximate_tokens == 0);
  CHECK(apart(logits_of(one, true), logits_of(one, false)) <= kRounding);
}

TEST_CASE("what was kept of a conversation is found by the next request, answer included") {
  Home home(chat_turns());
  std::string question = "Tell me more";
  for (int i = 0; i < 30; ++i) question += " of the sea and the ships";
  std::string answer;
  {
    const auto session =
        must(Session::open(prompt(home.engine(), chat(said("user", question))), {}));
    for (bool more = true; more; answer += session->text())
      more = must(session->next()).has_value();
    must(session->keep());
  }
  const auto engine = home.engine();
  const std::string next = chat(said("user", question) + "," + said("assistant", answer) + "," +
                                said("user", "And then?"));
  const auto again = prompt(engine, next);
  const auto session = must(Session::open(again, {}));
  must(session->prefill());
  CHECK(session->stats().chained_tokens > 100);
  const auto fresh = prompt(engine, next);
  CHECK(apart(logits_of(again, true), logits_of(fresh, false)) <= kRounding);
}

TEST_CASE("no namespace finds another's modules and conversations") {
  Home home(tools_and_turns());
  const auto engine = home.engine();
  const std::string json = chat(kQuestion, "[" + tool("rain") + "," + tool("sun") + "]");
  encode(*prompt(engine, json, "ann"));
  CHECK(count_prompt(*prompt(engine, json, "ann")).modules_missing == 0);
  CHECK(count_prompt(*prompt(engine, json, "bob")).modules_missing == 3);
  CHECK(count_prompt(*prompt(engine, json)).modules_missing == 3);
  // The engine's own is the empty one here.
  encode(*prompt(engine, json, ""));
  CHECK(count_prompt(*prompt(engine, json)).modules_missing == 0);
}

TEST_CASE("a named format writes the three roles, and says that it writes no tools") {
  Home home(chat_turns());
  EngineOptions options = home.engine()->options();
  options.chat_template = "zephyr";
  const auto engine = must(Engine::open(options));
  const auto write = [&](const std::string& json) {
    return WrittenChat::write(engine, must(read_chat(json)), {});
  };
  CHECK(must(write(chat(said("system", "S") + "," + kQuestion)))->text() ==
        "<|system|>\nS</s>\n<|user|>\nWhat is the weather?</s>\n<|assistant|>\n");
  const auto refused = write(chat(kQuestion, "[" + tool("rain") + "]"));
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == Code::kUnsupported);
  CHECK(refused.error().message.find("zephyr") != std::string::npos);
}

namespace {

// Of the length that may stand in.
std::string report(const std::string& name) {
  return "Report " + name + std::string(280, 'x') + name + ".";
}

// These reports, and texts that are longer than a name, as parts that are modules.
std::string about(const std::vector<std::string>& names) {
  std::string parts;
  for (const std::string& name : names)
    parts += R"({"type": "text", "module": true, "text": )" +
             quoted(name.size() > 1 ? name : report(name)) + "}, ";
  return R"({"messages": [{"role": "user", "content": [)" + parts +
         R"({"type": "text", "text": "Which?"}]}]})";
}

// Of the modules of a prompt, by place.
std::vector<std::uint32_t> slots_of(const LoadedPrompt& prompt) {
  std::vector<std::uint32_t> slots;
  for (const pml::PlanRun& run : prompt.plan.runs)
    if (run.kind == pml::RunKind::kCached && !run.label.empty())
      slots.push_back(prompt.modules[run.job]->job.n_stand_ins);
  return slots;
}

std::uint32_t n_encoded(const std::shared_ptr<const LoadedPrompt>& prompt) {
  SessionOptions options;
  options.max_tokens = 0;
  const auto session = must(Session::open(prompt, options));
  must(session->prefill());
  return session->stats().modules_encoded;
}

std::shared_ptr<const LoadedPrompt> in_slots(const std::shared_ptr<const Engine>& engine,
                                             const std::vector<std::string>& names,
                                             const std::optional<std::string>& name_space = {}) {
  return must(must(WrittenChat::write(engine, must(read_chat(about(names))), name_space))
                  ->prompt(ChatModules::kAll, true));
}

}  // namespace

TEST_CASE("in slots, documents of other conversations stand in for those that are not seen") {
  Home home(chat_turns(), 4096);
  const auto engine = home.engine();
  using Slots = std::vector<std::uint32_t>;
  // Nothing was said before, and what is said now does not stand in for itself.
  CHECK(slots_of(*in_slots(engine, {"A", "B", "C"})) == Slots{0, 0, 0});
  CHECK(n_encoded(in_slots(engine, {"A", "B", "C"})) >= 3);
  CHECK(slots_of(*in_slots(engine, {"A", "B", "C"})) == Slots{0, 0, 0});
  CHECK(n_encoded(in_slots(engine, {"A", "B", "C"})) == 0);

  const auto others = in_slots(engine, {"D", "E", "F"});
  CHECK(slots_of(*others) == Slots{0, 1, 2});
  CHECK(tokens_of(*others) == tokens_of(*prompt(engine, about({"D", "E", "F"}))));
  CHECK(others->schema->layout().attend == pml::Attend::kSlots);
  CHECK(n_encoded(others) == 3);
  CHECK(n_encoded(in_slots(engine, {"D", "E", "F"})) == 0);
  // In another order and company each is found in the slot in which it is.
  CHECK(slots_of(*in_slots(engine, {"F", "D"})) == Slots{2, 0});
  CHECK(slots_of(*in_slots(engine, {"F", "G", "E"})) == Slots{2, 0, 1});
  // One that is among them is left out, and so the next one stands in.
  CHECK(slots_of(*in_slots(engine, {"F", "A", "D"})) == Slots{1, 0, 2});
  // In the first slot it is the file that it is without slots.
  CHECK(n_encoded(prompt(engine, about({"D"}))) == 0);
  CHECK(slots_of(*prompt(engine, about({"D", "E", "F"}))) == Slots{0, 0, 0});
  // One namespace's stand in for nobody else's; and they are there after a restart.
  CHECK(slots_of(*in_slots(engine, {"D", "E", "F"}, "ann")) == Slots{0, 0, 0});
  CHECK(n_encoded(in_slots(home.engine(), {"D", "E", "F"})) == 0);
}

TEST_CASE("stand-ins take no more than a part of the window") {
  Home home(chat_turns(), 4096);
  const auto engine = home.engine(1300);
  n_encoded(in_slots(engine, {"A", "B"}));
  // One has about 290 tokens here, a quarter of the window is 325.
  CHECK(slots_of(*in_slots(engine, {"D", "E", "F"})) == std::vector<std::uint32_t>{0, 1, 0});
}

TEST_CASE("stand-ins take no more than what a conversation leaves of the window") {
  Home home(chat_turns(), 4096);
  const auto engine = home.engine(1200);
  n_encoded(in_slots(engine, {"A", "B"}));
  const std::string page(1000, 'q');
  const auto asked = in_slots(engine, {"A short page.", page});
  CHECK(slots_of(*asked) == std::vector<std::uint32_t>{0, 0});
  CHECK(n_encoded(asked) == 2);
}

TEST_CASE("a text that is too long to stand in leaves its place to the next") {
  Home home(chat_turns(), 4096);
  const auto engine = home.engine(1300);
  n_encoded(in_slots(engine, {std::string(700, 'q'), "A"}));
  CHECK(slots_of(*in_slots(engine, {"D", "E"})) == std::vector<std::uint32_t>{0, 1});
}

TEST_CASE(
    "a long document does not stand in for itself, though its tokens spell another beginning") {
  Home home(chat_turns(), 16384);
  const auto engine = home.engine();
  const std::string page(kMostStandInBytes + 100, 'q');
  n_encoded(in_slots(engine, {page, "A"}));
  CHECK(slots_of(*in_slots(engine, {page, "A"})) == std::vector<std::uint32_t>{0, 0});
}

}  // namespace pc::test
