// Conversations on pretrained checkpoints: each turn that goes on gives what the whole conversation
// gives as a prompt of its own, and costs no more than what is new of it.

#include <cmath>

#include "runtime/engine/session.h"
#include "tests/support/real_models.h"
#include "tests/support/temp_folder.h"

namespace pc::test {
namespace {

const std::string kDocument =
    "The harbour ferry of Lindby leaves at seven in the morning and at six in the evening. A "
    "ticket "
    "costs four crowns; children and dogs travel free. In winter the ferry rests on Sundays.";

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '<' ? "&lt;" : c == '&' ? "&amp;" : std::string(1, c);
  return out;
}

std::string answer(Session& session) {
  std::string text;
  for (bool more = true; more; text += session.text()) more = must(session.next()).has_value();
  return text;
}

double apart(std::span<const float> a, std::span<const float> b) {
  double square = 0, whole = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    square += std::pow(double{a[i]} - b[i], 2);
    whole += std::pow(double{b[i]}, 2);
  }
  return std::sqrt(square / whole);
}

// Nothing rounded; a format of its family for a model that brings none.
EngineOptions exact_options(const std::string& model, const std::string& cache) {
  EngineOptions options;
  options.model_path = model;
  options.cache_dir = cache;
  options.kv_type = KvType::kF32;
  options.precision = Precision::kExact;
  options.chat_template = must(Engine::open(options))->text_encoder().chat ? "" : "gemma";
  return options;
}

TEST_CASE("a pretrained model's conversation goes on as if it had been asked at once") {
  for (const char* name : kRealModels) {
    const RealReference reference = real_reference(name);
    if (!reference.there()) return;
    INFO(name);
    const TempFolder cache;
    const auto engine = must(Engine::open(exact_options(reference.path().string(), cache.path())));
    const auto schema = must(LoadedSchema::parse(
        engine, "<schema name='s'><module name='doc'>" + kDocument + "</module></schema>", ""));
    SessionOptions o;
    o.max_tokens = 24;
    const auto open = [&](const std::string& turns, bool no_reuse) {
      o.no_reuse = no_reuse;
      const auto prompt =
          must(LoadedPrompt::parse(schema, "<prompt schema='s'>" + turns + "</prompt>"));
      return must(Session::open(prompt, o));
    };
    std::string turns = "<user><doc/> When does the ferry leave?</user>";
    const auto session = open(turns, false);
    std::string said = answer(*session);
    for (const char* question : {"And what does it cost?", "Does it go on Sundays?"}) {
      INFO(question);
      const std::uint64_t before = session->stats().prompt_tokens;
      const std::vector<pml::ChatTurn> next = {{pml::Role::kUser, question}};
      must(session->append(next));
      CHECK(session->stats().cached_tokens >= before);
      CHECK(session->stats().computed_tokens <= 32);
      turns += "<assistant>" + escaped(said) + "</assistant><user>" + question + "</user>";
      const auto whole = open(turns, true);
      must(whole->prefill());
      REQUIRE(session->position() == whole->position());
      CHECK(apart(session->logits(), whole->logits()) <= 1e-4);
      said = answer(*session);
      CHECK(said == answer(*whole));
    }
  }
}

TEST_CASE("a pretrained model's kept conversation goes on after a restart as if it had not ended") {
  for (const char* name : kRealModels) {
    const RealReference reference = real_reference(name);
    if (!reference.there()) return;
    INFO(name);
    const TempFolder cache;
    const EngineOptions options = exact_options(reference.path().string(), cache.path());
    const auto open = [&](std::span<const pml::Message> turns, bool no_reuse) {
      const auto schema =
          must(LoadedSchema::parse(must(Engine::open(options)), "<schema name='s'/>", ""));
      SessionOptions o;
      o.max_tokens = 80;
      o.no_reuse = no_reuse;
      return must(Session::open(must(LoadedPrompt::of_messages(schema, turns)), o));
    };
    const std::string question = kDocument + " Tell me about the ferry in a few sentences.";
    const std::string next = "And what does it cost for two adults and a dog?";
    std::vector<pml::Message> turns = {{pml::Role::kUser, {{question, "", {}}}}};
    std::string said;
    Position end = 0;
    {
      const auto session = open(turns, false);
      said = answer(*session);
      must(session->keep());
      end = session->position();
    }
    REQUIRE(!said.empty());
    turns.push_back({pml::Role::kAssistant, {{said, "", {}}}});
    turns.push_back({pml::Role::kUser, {{next, "", {}}}});
    const auto session = open(turns, false), whole = open(turns, true);
    must(session->prefill());
    must(whole->prefill());
    // All that was kept but what of it is shorter than a link.
    CHECK(session->stats().chained_tokens + Chain::kMinTokens > static_cast<std::uint64_t>(end));
    CHECK(apart(session->logits(), whole->logits()) <= 1e-4);
    CHECK(answer(*session) == answer(*whole));
  }
}

}  // namespace
}  // namespace pc::test
