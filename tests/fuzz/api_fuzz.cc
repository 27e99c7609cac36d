// Fuzzes sequences of calls of the C API on a tiny model.
//
// An input is a sequence of calls: each takes its handles from what earlier calls made, or NULL,
// and its arguments from the input: texts with and without their length, structs of odd sizes,
// options out of range, callbacks that cancel. Handles are closed in any order, so that what is
// kept alive by others goes last. Every call answers with a status and, if it fails, a sentence.
#include <array>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "promptcache/promptcache.h"
#include "tests/support/fuzz_api.h"
#include "tests/support/fuzz_bytes.h"
#include "tests/support/fuzz_folder.h"
#include "tests/support/tiny_chat.h"

namespace {

using pc::test::ApiArguments;
using pc::test::FuzzBytes;
using pc::test::Handles;
using pc::test::require;
using pc::test::Sized;

constexpr int kMostCalls = 32;
constexpr std::uint32_t kContext = 192;  // tokens: what a call can make the model compute

const pc::test::TinyCheckpoint& checkpoint() {
  static const pc::test::TinyCheckpoint made(7, kContext);
  [[maybe_unused]] static const bool has_template =
      (pc::test::write_chat_template(made, pc::test::chat_turns()), true);
  return made;
}

const pc::test::FuzzFolder& cache() {
  static const pc::test::FuzzFolder folder;
  return folder;
}

// Opened once, and another time where an input asks for it.
pc_engine* shared_engine() {
  static pc_engine* const engine = [] {
    pc_engine_options options;
    pc_engine_options_init(&options);
    options.model_path = checkpoint().path().c_str();
    options.cache_mode = PC_CACHE_OFF;
    options.n_threads = 1;
    pc_engine* opened = nullptr;
    require(pc_engine_open(&options, &opened, nullptr) == PC_OK);
    return opened;
  }();
  return engine;
}

// The calls on one input.
class Sequence {
 public:
  explicit Sequence(FuzzBytes& in) : in_(in) {}

  void run() {
    for (int i = 0; i < kMostCalls && !in_.empty(); ++i) {
      error_ = {};
      has_error_ = false;
      check(call());
    }
  }

 private:
  pc_status call() {
    give_.renew();
    switch (in_.below(8)) {
      case 0:
        return engine_call();
      case 1:
        return schema_call();
      case 2:
        return prompt_call();
      case 3:
        return encode_call();
      case 4:
        return store_call();
      default:
        return session_call();
    }
  }

  // What every call promises, and where its handles go.
  void check(pc_status status) {
    const bool failed = status != PC_OK && status != PC_DONE && status != PC_PENDING;
    require(std::strcmp(pc_status_name(status), "unknown") != 0 && status != PC_INTERNAL);
    if (failed && has_error_) require(error_.status == status && error_.message[0] != '\0');
    if (json_) require(status == PC_OK);
    pc_free(std::exchange(json_, nullptr));
    engines_.keep(in_, status);
    schemas_.keep(in_, status);
    prompts_.keep(in_, status);
    sessions_.keep(in_, status);
    pins_.keep(in_, status);
    stores_.keep(in_, status);
  }

  // ---- Arguments

  pc_error* error() {
    has_error_ = in_.below(4) != 0;
    return has_error_ ? &error_ : nullptr;
  }
  char** json() { return in_.below(16) ? &json_ : nullptr; }
  pc_engine* engine() {
    pc_engine* own = engines_.pick(in_);
    return own || in_.below(16) == 0 ? own : shared_engine();
  }
  static int cancels(void* user) { return --*static_cast<int*>(user) < 0; }
  void* user() { return patience_ = static_cast<int>(in_.below(16)), &patience_; }

  // ---- Calls

  pc_status engine_call() {
    switch (in_.below(10)) {
      case 0:
        return open_engine();
      case 1:
        engines_.close_one(in_);
        return PC_OK;
      case 2:
        return pc_engine_get_facts(engine(), Sized<pc_engine_facts>(in_).get(), error());
      case 3:
        (void)pc_engine_ends_turn(engine(), static_cast<std::int32_t>(in_.number(4)));
        return pc_engine_get_token(engine(), static_cast<std::int32_t>(in_.number(2)),
                                   Sized<pc_token_facts>(in_).get(), error());
      case 4:
        return pc_engine_trim(engine(), nullptr, error());
      case 5:
        return pc_engine_describe(engine(), json(), error());
      case 6:
        return tokenize();
      case 7:
        return detokenize();
      case 8:
        return call_on_texts(in_, give_, engine(), error());
      default:
        return pc_build_describe(json(), error());
    }
  }
  pc_status open_engine() {
    Sized<pc_engine_options> sized(in_);
    pc_engine_options& o = *sized.get();
    o.model_path = in_.below(8) ? checkpoint().path().c_str() : give_.path({"/nowhere", "/"});
    o.cache_dir = cache().path().c_str();
    o.cache_mode = in_.below(4);
    o.kv_type = in_.below(8);
    o.cache_bytes = in_.below(2) ? 0 : in_.number(3);
    o.cache_namespace = give_.name({"alice"});
    o.chat_template = in_.below(2) ? nullptr : give_.path({"chatml", "no name", "/nowhere.json"});
    o.backend = in_.below(2) ? nullptr : give_.path({"cpu", "gpu", "/nowhere.so"});
    o.n_threads = 1;
    o.context_tokens =
        static_cast<std::uint32_t>(in_.below(2) ? 0 : in_.number(2) % (2 * kContext));
    if (in_.below(4) == 0) {
      o.progress = [](void* u, std::uint32_t, std::uint64_t, std::uint64_t) { return cancels(u); };
      o.progress_user = user();
    }
    o.chat_time = in_.below(2) ? 0 : static_cast<std::int64_t>(in_.number(8));
    o.precision = in_.below(3);
    o.require_backend = in_.below(2);
    o.require_store = in_.below(2);
    if (in_.below(8) == 0) sized.set_unknown();
    switch (in_.below(8)) {
      case 0:
        return pc_model_inspect(sized.get(), json(), error());
      case 1:
        return pc_model_verify(sized.get(), json(), error());
      case 2:
        return pc_model_probe(sized.get(), "The tram.", PC_NUL_TERMINATED, json(), error());
      default:
        return pc_engine_open(sized.get(), engines_.made(), error());
    }
  }
  pc_status tokenize() {
    std::array<std::int32_t, 8> ids{};
    std::size_t n = 0;
    const ApiArguments::Text t = give_.text("The tram costs three euros.");
    if (in_.below(2))
      return pc_tokenize_text(engine(), t.text, t.bytes, in_.below(9), ids.data(),
                              in_.below(ids.size() + 1), &n, error());
    return pc_tokenize(engine(), t.text, t.bytes, ids.data(), in_.below(ids.size() + 1), &n,
                       error());
  }
  pc_status detokenize() {
    const std::vector<std::int32_t> ids = give_.tokens();
    std::size_t bytes = 0;
    return pc_detokenize(engine(), ids.data(), ids.size(), json(), &bytes, error());
  }

  pc_status schema_call() {
    constexpr std::string_view kPml =
        "<schema name=\"s\">Be short.<module name=\"a\">The tram costs three euros.</module>"
        "<module name=\"b\">Open at <parameter name=\"x\" length=\"4\"/>.</module>"
        "<union><module name=\"c\">Rain.</module><module name=\"d\">Sun.</module></union></schema>";
    switch (in_.below(8)) {
      case 0:
        return pc_schema_plain(engine(), schemas_.made(), error());
      case 1:
        return pc_schema_load(engine(), give_.path({"/nowhere.xml", "/"}), schemas_.made(),
                              error());
      case 2:
        return pc_schema_describe(schemas_.pick(in_), json(), error());
      case 3:
        return pc_schema_get_counts(schemas_.pick(in_), Sized<pc_schema_counts>(in_).get(),
                                    error());
      case 4:
        return check_answers();
      default: {
        const ApiArguments::Text t = give_.text(kPml);
        return pc_schema_parse(engine(), t.text, t.bytes, give_.path({"/nowhere"}), schemas_.made(),
                               error());
      }
    }
  }
  // A prompt at most, and once in a sequence: it is computed in every way that there is, and a
  // second of processor time has no room for more. A struct that is cut short would ask for 24.
  pc_status check_answers() {
    Sized<pc_answers_options> options(in_);
    const bool cut = options.get()->struct_size < sizeof(pc_answers_options);
    const std::size_t n = in_.below(2) || cut ? 1 : 0;
    if (std::exchange(answers_checked_, true)) return PC_OK;
    options.get()->prompts = n == 0 ? 1 : in_.below(2);
    options.get()->answer_tokens = 1 + in_.below(2);
    options.get()->progress = [](void* u, std::uint32_t, std::uint32_t) { return cancels(u); };
    options.get()->progress_user = user();
    const pc_prompt* const prompts[] = {prompts_.pick(in_)};
    return pc_schema_check_answers(schemas_.pick(in_), prompts, n, options.get(), json(), error());
  }

  pc_status prompt_call() {
    constexpr std::string_view kPml =
        "<prompt schema=\"s\"><a/><b x=\"ten\"/><c/>What is free?</prompt>";
    constexpr std::string_view kTurns = "<prompt schema=\"s\"><a/><user>And <d/>?</user></prompt>";
    switch (in_.below(13)) {
      case 0:
        return from_messages();
      case 12:
        return call_on_chat(in_, give_, engine(), prompts_.made(), error());
      case 10: {
        const ApiArguments::Text t = give_.text("</s>What is<s> free?");
        return pc_prompt_from_raw_text(schemas_.pick(in_), t.text, t.bytes, in_.below(5),
                                       prompts_.made(), error());
      }
      case 11: {
        const std::vector<std::int32_t> ids = give_.tokens();
        return pc_prompt_from_tokens(schemas_.pick(in_), ids.data(), ids.size(), prompts_.made(),
                                     error());
      }
      case 1: {
        const ApiArguments::Text t = give_.text("What is free?");
        return pc_prompt_from_text(schemas_.pick(in_), t.text, t.bytes, prompts_.made(), error());
      }
      case 2:
        return pc_prompt_remarks(prompts_.pick(in_), json(), error());
      case 3:
        return pc_prompt_explain(prompts_.pick(in_), json(), error());
      case 4:
        return pc_prompt_get_counts(prompts_.pick(in_), Sized<pc_prompt_counts>(in_).get(),
                                    error());
      case 5:
        return pc_prompt_prefetch(prompts_.pick(in_), error());
      case 6:
        return look_at(in_, prompts_.pick(in_), error());
      default: {
        const ApiArguments::Text t = give_.text(in_.below(2) ? kPml : kTurns);
        return pc_prompt_parse(schemas_.pick(in_), t.text, t.bytes, prompts_.made(), error());
      }
    }
  }
  pc_status from_messages() {
    ApiArguments::Messages m;
    give_.read_messages(&m);
    return pc_prompt_from_messages(schemas_.pick(in_), m.all.data(), m.n, prompts_.made(), error());
  }

  pc_status encode_call() {
    const auto encode_cancels = [](void* u, std::uint32_t, std::uint32_t, const char*) {
      return cancels(u);
    };
    pc_encode_progress progress = in_.below(2) ? +encode_cancels : nullptr;
    Sized<pc_encode_stats> stats(in_);
    switch (in_.below(5)) {
      case 0:
        return pc_schema_encode(schemas_.pick(in_), progress, user(), stats.get(), error());
      case 1:
        return (in_.below(2) ? pc_prompt_encode : pc_prompt_encode_together)(
            prompts_.pick(in_), progress, user(), stats.get(), error());
      case 2:
        return pc_schema_pin(schemas_.pick(in_), progress, user(), pins_.made(), error());
      case 3:
        return pc_prompt_pin(prompts_.pick(in_), progress, user(), pins_.made(), error());
      default:
        pins_.close_one(in_);
        return PC_OK;
    }
  }

  static int store_cancels(void* user, std::uint64_t, std::uint64_t) { return cancels(user); }
  pc_status store_call() {
    const char* const key = give_.name({"", "0", "zz"});
    pc_store_progress progress = in_.below(2) ? store_cancels : nullptr;
    pc_store* const store = stores_.pick(in_);
    const std::string file = cache().path() + "/exported";
    std::uint64_t removed = 0;
    switch (in_.below(9)) {
      case 0:
        return pc_store_describe(store, json(), error());
      case 1:
        return pc_store_show(store, key, json(), error());
      case 2:
        return pc_store_verify(store, key, json(), error());
      case 3:
        return pc_store_verify_all(store, progress, user(), json(), error());
      case 4:
        return in_.below(2) ? pc_store_remove(store, key, &removed, error())
                            : pc_store_remove_all(store, progress, user(), nullptr, error());
      case 5:
        return pc_store_gc(store, in_.number(3), progress, user(), json(), error());
      case 6:
        if (in_.below(2)) return transfer(store, key, file, progress);
        return exchange(in_, store, cache().path(), key, progress, user(), json(), error());
      default:
        return pc_store_open(in_.below(8) ? cache().path().c_str() : "/nowhere", in_.below(4),
                             stores_.made(), error());
    }
  }
  pc_status transfer(pc_store* store, const char* key, const std::string& file,
                     pc_store_progress progress) {
    if (in_.below(2))
      return pc_store_import(store, file.c_str(), progress, user(), json(), error());
    if (in_.below(4) == 0)
      return in_.below(2) ? pc_store_pin(store, key, error()) : pc_store_unpin(store, key, error());
    const char* const keys[] = {key, key};
    const pc_status status = pc_store_export(store, in_.below(4) ? keys : nullptr, in_.below(3),
                                             file.c_str(), progress, user(), error());
    std::filesystem::remove(file);
    return status;
  }

  pc_status session_call() {
    pc_session* const session = sessions_.pick(in_);
    switch (in_.below(18)) {
      case 0:
      case 1:
      case 2:
        return open_session();
      case 3:
        return pc_session_prefill(session, error());
      case 4:
      case 5:
        return next(session);
      case 6:
        return batch();
      case 7:
        return pc_session_fork(session, sessions_.made(), error());
      case 8:
        return append(session);
      case 9:
        return append_text(session);
      case 10: {
        const std::vector<std::int32_t> ids = give_.tokens();
        return pc_session_append_tokens(session, ids.data(), ids.size(), error());
      }
      case 11:
        return pc_session_rewind(
            session, static_cast<std::uint32_t>(in_.number(in_.below(2) ? 1 : 4)), error());
      case 12:
        return pc_session_keep(session, nullptr, error());
      case 13:
        return logits(session);
      case 14:
        pc_session_cancel(session);
        return PC_OK;
      case 15:
        pc_session_get_stats(session, Sized<pc_session_stats>(in_).get());
        return PC_OK;
      case 16:
        sessions_.close_one(in_);
        return PC_OK;
      default: {
        std::uint32_t position = 0;
        return pc_session_position(session, in_.below(8) ? &position : nullptr, error());
      }
    }
  }
  static int mask(void* user, const pc_session*, std::uint32_t, std::uint32_t* allowed,
                  std::size_t n_words) {
    const int left = --*static_cast<int*>(user);
    for (int i = left < 0 ? 0 : left; i < static_cast<int>(n_words); ++i) allowed[i] = 0;
    return left == -2;
  }
  pc_status open_session() {
    Sized<pc_session_options> sized(in_);
    pc_session_options& o = *sized.get();
    o.max_tokens = in_.below(3) ? in_.below(8) : static_cast<std::uint32_t>(in_.number(4));
    o.given = in_.below(33);
    o.prompt_logprobs = in_.below(3) ? 0 : static_cast<std::uint32_t>(in_.number(1));
    o.max_draft = in_.below(3) ? 0 : static_cast<std::uint32_t>(in_.number(1));
    o.prompt_logprobs_from = static_cast<std::uint32_t>(in_.number(1));
    o.no_reuse = in_.below(4) == 0;
    for (float* each : {&o.temperature, &o.top_p, &o.min_p, &o.repetition_penalty,
                        &o.presence_penalty, &o.frequency_penalty})
      *each = give_.real();
    o.top_k = in_.below(2) ? 0 : static_cast<std::uint32_t>(in_.number(4));
    o.seed = in_.number(1);
    const char* const stop[] = {give_.name({"e", ""}), give_.name({"the"})};
    o.stop = in_.below(2) ? nullptr : stop;
    o.n_stop = in_.below(3);
    const pc_token_bias bias[] = {{static_cast<std::int32_t>(in_.number(2)), give_.real()},
                                  {-1, give_.real()}};
    o.bias = in_.below(2) ? nullptr : bias;
    o.n_bias = in_.below(3);
    if (in_.below(4) == 0) o.mask = mask;
    o.client = give_.name({"alice"});
    if (in_.below(4) == 0)
      o.progress = [](void* u, std::uint64_t, std::uint64_t) { return cancels(u); };
    o.mask_user = o.progress_user = user();
    o.repair =
        in_.below(2)
            ? nullptr
            : give_.name({"none", "leading:2", "attended:50%", "selected:50%", "all", "auto"});
    if (in_.below(8) == 0) sized.set_unknown();
    const pc_session_options* const given = in_.below(8) ? sized.get() : nullptr;
    if (in_.below(4) == 0) return pc_session_set_answer(sessions_.pick(in_), given, error());
    return pc_session_open(prompts_.pick(in_), given, sessions_.made(), error());
  }
  pc_status next(pc_session* session) {
    pc_token token{};
    const pc_status status = pc_session_next(session, &token, error());
    if (status == PC_OK) require(std::strlen(token.text) <= token.text_bytes && token.id >= 0);
    return status;
  }
  pc_status batch() {
    pc_session* sessions[3] = {};
    pc_token tokens[3] = {};
    pc_error outcomes[3] = {};
    const std::size_t n = in_.below(4);
    for (std::size_t i = 0; i < n; ++i) sessions[i] = sessions_.pick(in_);
    return pc_batch_step(sessions, n, tokens, outcomes, error());
  }
  pc_status append(pc_session* session) {
    ApiArguments::Messages m;
    give_.read_messages(&m);
    return pc_session_append(session, m.all.data(), m.n, error());
  }
  pc_status append_text(pc_session* session) {
    const bool pml = in_.below(2);
    const ApiArguments::Text t = give_.text(
        pml ? "<prompt schema=\"s\"><user>And <b x=\"ten\"/>?</user></prompt>" : " and more");
    return pml ? pc_session_append_pml(session, t.text, t.bytes, error())
               : pc_session_append_text(session, t.text, t.bytes, error());
  }
  pc_status logits(pc_session* session) {
    const float* values = nullptr;
    std::size_t n = 0;
    if (pc_session_logits(session, &values, &n, error()) == PC_OK) {
      float sum = 0;
      for (std::size_t i = 0; i < n; ++i) sum += values[i];
      const volatile float read = sum;
      (void)read;
    }
    std::array<pc_token_logprob, 4> top{};
    pc_token_logprob drawn{};
    return pc_session_logprobs(session, in_.below(2) ? &drawn : nullptr, top.data(), in_.below(5),
                               error());
  }

  FuzzBytes& in_;
  pc_error error_{};
  bool has_error_ = false;  // was it given to the call?
  bool answers_checked_ = false;
  char* json_ = nullptr;    // what a call gave to be freed
  int patience_ = 0;        // of callbacks, which outlive the sessions
  ApiArguments give_{in_};  // to the running call
  Handles<pc_engine, pc_engine_close> engines_;
  Handles<pc_schema, pc_schema_close> schemas_;
  Handles<pc_prompt, pc_prompt_close> prompts_;
  Handles<pc_session, pc_session_close> sessions_;
  Handles<pc_pin, pc_pin_close> pins_;
  Handles<pc_store, pc_store_close> stores_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  FuzzBytes in(data, size);
  Sequence(in).run();
  return 0;
}
