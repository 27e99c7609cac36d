// Conversations on pretrained checkpoints: each turn that goes on gives what the whole conversation
// gives as a prompt of its own, and costs no more than what is new of it.

#include <cmath>
#include <filesystem>
#include <fstream>

#include "runtime/session/session.h"
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

// Tokens of sentences of which no two begin alike, the place of the branch among them.
std::string telling(int first, int last) {
  std::string text;
  for (int i = first; i < last; ++i)
    text += "On day " + std::to_string(i * 37 % 365) + " the ferry took " +
            std::to_string(i * 61 % 97) + " people over. ";
  return text;
}

TEST_CASE("a pretrained model's branches go on to the token as if nothing had been kept") {
  for (const char* name : kRealModels) {
    const RealReference reference = real_reference(name);
    if (!reference.there()) return;
    INFO(name);
    const TempFolder cache;
    const EngineOptions options = exact_options(reference.path().string(), cache.path());
    std::shared_ptr<LoadedSchema> schema;
    const auto restart = [&] {
      schema.reset();
      schema = must(LoadedSchema::parse(must(Engine::open(options)), "<schema name='s'/>", ""));
    };
    const auto open = [&](const std::string& text, bool no_reuse) {
      SessionOptions o;
      o.max_tokens = 12;
      o.no_reuse = no_reuse;
      return must(Session::open(must(LoadedPrompt::of_raw_text(schema, text, {})), o));
    };
    const auto n_tokens = [&](const std::string& text) {
      return must(schema->engine().tokenizer().encode(text)).size();
    };
    restart();
    const std::string kept = telling(0, 40);  // two links, and more
    {
      const auto session = open(kept, false);
      must(session->prefill());
      must(session->keep());
    }
    const auto branch = [](int n) { return telling(0, n) + "Then it stopped, because"; };
    const auto check = [&](Session& session, int n, std::size_t n_missing) {
      const auto whole = open(branch(n), true);
      must(whole->prefill());
      CHECK(session.stats().chained_tokens + n_missing >= n_tokens(telling(0, n)));
      CHECK(apart(session.logits(), whole->logits()) <= 1e-4);
      CHECK(answer(session) == answer(*whole));
    };
    for (const bool restarts : {false, true}) {
      INFO(restarts);
      if (restarts) restart();
      for (const int n : {7, 19}) {
        const auto session = open(branch(n), false);
        must(session->prefill());
        check(*session, n, 4);  // words at the border may be other tokens
      }
    }
    // Two at once, whose answers are computed together.
    const auto one = open(branch(11), false), other = open(branch(23), false);
    std::string said[2];
    for (std::vector<Session*> asked = {one.get(), other.get()}; !asked.empty();) {
      const std::vector<Session::Next> tokens = Session::step(asked);
      std::vector<Session*> left;
      for (std::size_t i = 0; i < asked.size(); ++i) {
        if (tokens[i]) said[asked[i] == other.get()] += asked[i]->text();
        if (!tokens[i] || must(*tokens[i])) left.push_back(asked[i]);
      }
      asked = left;
    }
    CHECK(said[0] == answer(*open(branch(11), true)));
    CHECK(said[1] == answer(*open(branch(23), true)));
    // What hints say is not believed.
    std::vector<std::filesystem::path> hints;
    for (const auto& entry : std::filesystem::directory_iterator(cache.path() + "/v3/next"))
      hints.push_back(entry.path());
    REQUIRE(!hints.empty());
    for (std::size_t i = 0; i < hints.size(); ++i) {
      std::filesystem::permissions(hints[i], std::filesystem::perms::owner_all);
      std::fstream(hints[i], std::ios::in | std::ios::out | std::ios::binary)
          .seekp(static_cast<std::streamoff>(16 + 7 * i))
          .write("spoilt by somebody else", 23);
    }
    for (const int n : {7, 19}) {
      const auto session = open(branch(n), false);
      must(session->prefill());
      check(*session, n, SIZE_MAX / 2);  // however much is found
    }
  }
}

}  // namespace
}  // namespace pc::test
