// Arguments of the C API as careless callers give them, and the handles that calls make.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "promptcache/promptcache.h"
#include "tests/support/fuzz_bytes.h"

namespace pc::test {

// Copies of texts, exactly as long as they are, as long as a call needs them.
class Texts {
 public:
  const char* add(std::string_view text, bool ended) {
    auto copy = std::make_unique<char[]>(text.size() + (ended ? 1 : 0));
    std::memcpy(copy.get(), text.data(), text.size());
    if (ended) copy[text.size()] = '\0';
    copies_.push_back(std::move(copy));
    return copies_.back().get();
  }

 private:
  std::vector<std::unique_ptr<char[]>> copies_;
};

// A struct as a caller of another version would have it: of `struct_size` bytes, which may be
// less than T has, or more.
template <class T>
class Sized {
 public:
  explicit Sized(FuzzBytes& in) {
    constexpr std::array<std::size_t, 3> kOther = {0, sizeof(std::size_t), sizeof(T) + 16};
    const std::uint32_t kind = in.below(16);
    size_ = kind < 12 ? sizeof(T) : kind == 12 ? in.number(2) : kOther[kind - 13];
    bytes_.resize(std::max(size_, sizeof(T)));
    get()->struct_size = size_;
  }
  // A field beyond those that the library knows.
  void set_unknown() {
    if (size_ > sizeof(T)) bytes_[sizeof(T)] = 1;
  }
  T* get() { return reinterpret_cast<T*>(bytes_.data()); }

 private:
  std::size_t size_;
  std::vector<unsigned char> bytes_;  // as aligned as operator new makes it
};

// Handles of one type that calls made.
template <class T, void (*close)(T*)>
class Handles {
 public:
  Handles() = default;
  ~Handles() {
    close(made_);
    for (T* handle : all_) close(handle);
  }
  Handles(const Handles&) = delete;

  // One of them, or NULL.
  T* pick(FuzzBytes& in) const { return all_[in.below(all_.size())]; }
  // Where the next call puts one.
  T** made() { return &made_; }
  // After each call: what it made takes the place of an older one.
  void keep(FuzzBytes& in, pc_status status) {
    if (!made_) return;
    require(status == PC_OK);
    close_one(in);
    all_[closed_] = std::exchange(made_, nullptr);
  }
  void close_one(FuzzBytes& in) {
    closed_ = 1 + in.below(all_.size() - 1);
    close(std::exchange(all_[closed_], nullptr));
  }

 private:
  std::array<T*, 4> all_{};  // the first stays NULL
  std::size_t closed_ = 1;   // the place that was closed last
  T* made_ = nullptr;
};

// What an input gives to a call. What it gives lives until the next call.
class ApiArguments {
 public:
  explicit ApiArguments(FuzzBytes& in) : in_(in) {}
  void renew() { texts_ = Texts(); }

  struct Text {
    const char* text;
    std::size_t bytes;
  };
  Text text(std::string_view own) {
    switch (in_.below(8)) {
      case 0:
        return {nullptr, in_.below(2) ? PC_NUL_TERMINATED : 0};
      case 1:
      case 2:
        return counted(in_.text());
      case 3:
        return {texts_.add(in_.text(), true), PC_NUL_TERMINATED};
      case 4: {  // a part of it is wrong
        std::string changed(own);
        if (!changed.empty())
          changed[in_.number(2) % changed.size()] = static_cast<char>(in_.byte());
        return counted(changed);
      }
      default:
        return counted(own);
    }
  }
  // An empty one may become a struct's, where a length of 0 stands for a NUL.
  Text counted(std::string_view text) { return {texts_.add(text, text.empty()), text.size()}; }
  const char* name(std::initializer_list<const char*> known) {
    const std::uint32_t i = in_.below(static_cast<std::uint32_t>(known.size()) + 2);
    if (i == 0) return nullptr;
    return i == 1 ? texts_.add(in_.text(), true) : known.begin()[i - 2];
  }
  // Of a file: never one that an input makes up.
  const char* path(std::initializer_list<const char*> known) {
    const std::uint32_t i = in_.below(static_cast<std::uint32_t>(known.size()) + 1);
    return i == 0 ? nullptr : known.begin()[i - 1];
  }
  float real() {
    const auto bits = static_cast<std::uint32_t>(in_.number(in_.below(2) ? 4 : 0));
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }
  std::vector<std::int32_t> tokens() {
    std::vector<std::int32_t> ids(in_.below(6));
    for (std::int32_t& id : ids)
      id = in_.below(8) ? static_cast<std::int32_t>(in_.number(2) % 700)
                        : static_cast<std::int32_t>(in_.number(4));
    return ids;
  }

  // Of one to three turns, each a text or two parts.
  struct Messages {
    std::array<pc_message, 3> all{};
    std::array<pc_part, 2> parts{};
    pc_argument argument{};
    std::size_t n = 0;
  };
  void read_messages(Messages* out) {
    const Text value = text("ten"), part = text("And");
    out->argument = {name({"x"}), value.text, value.bytes};
    out->parts[0] = {part.text, part.bytes, nullptr, nullptr, 0};
    out->parts[1] = {nullptr, 0, name({"a", "b", "d"}), &out->argument, in_.below(2)};
    out->n = 1 + in_.below(3);
    for (std::size_t i = 0; i < out->n; ++i) {
      const Text content = text("What is free?");
      const bool in_parts = in_.below(3) == 0;
      out->all[i] = {name({"user", "assistant", "system", "user"}),
                     in_parts ? nullptr : content.text, content.bytes,
                     in_parts ? out->parts.data() : nullptr, in_parts ? 2u : 0u};
    }
  }

 private:
  FuzzBytes& in_;
  Texts texts_;
};

// pc_embed or pc_score, of two texts at most.
inline pc_status call_on_texts(FuzzBytes& in, ApiArguments& give, const pc_engine* engine,
                               pc_error* error) {
  const std::vector<std::int32_t> one = give.tokens(), other = give.tokens();
  const std::array texts{pc_text_tokens{one.data(), one.size()},
                         pc_text_tokens{other.data(), other.size()}};
  const std::size_t n = in.below(texts.size() + 1);
  Sized<pc_texts_options> options(in);
  options.get()->pooling = in.below(4);
  options.get()->n_dimensions = in.below(3) ? 0 : in.below(80);
  std::array<float, 8192> numbers{};  // of two texts, whichever model
  if (in.below(2)) return pc_embed(engine, texts.data(), n, options.get(), numbers.data(), error);
  return pc_score(engine, texts.data(), n, other.data(), other.size(), options.get(),
                  numbers.data(), error);
}

inline pc_status look_at(FuzzBytes& in, const pc_prompt* prompt, pc_error* error) {
  std::array<pc_module_run, 2> runs{};
  std::size_t n = 0;
  return pc_prompt_look(prompt, Sized<pc_prompt_counts>(in).get(), runs.data(), in.below(3), &n,
                        error);
}

// A conversation that is written or read, its text, and a prompt of it.
inline pc_status call_on_chat(FuzzBytes& in, ApiArguments& give, const pc_engine* engine,
                              pc_prompt** prompt, pc_error* error) {
  const ApiArguments::Text first = give.text("A page."), second = give.text(" Why?<s>"),
                           fields = give.text(R"({"name": "Ann", "tool_calls": []})"),
                           json = give.text(R"({"type": "function", "function": {"name": "f"}})"),
                           variables = give.text(R"({"style": "brief"})");
  const std::array parts{pc_chat_part{first.text, first.bytes, in.below(5)},
                         pc_chat_part{second.text, second.bytes, in.below(5)}};
  std::array<pc_chat_message, 2> messages{};
  for (pc_chat_message& message : messages)
    message = {give.name({"user", "assistant", "system"}),
               in.below(5),
               parts.data(),
               in.below(parts.size() + 1),
               in.below(2) ? fields.text : nullptr,
               fields.bytes};
  const pc_chat_tool tool{json.text, json.bytes, in.below(3)};
  Sized<pc_chat_options> options(in);
  options.get()->tools = &tool;
  options.get()->n_tools = in.below(2);
  options.get()->variables = variables.text;
  options.get()->variables_bytes = variables.bytes;
  options.get()->repair = give.name({"none", "leading:1"});
  options.get()->flags = in.below(4) ? 0 : in.below(17);
  pc_chat* chat = nullptr;
  const ApiArguments::Text whole =
      give.text(R"({"messages": [{"role": "user", "content": "Hi"}]})");
  pc_status status = in.below(4) == 0 ? pc_chat_read(engine, whole.text, whole.bytes, &chat, error)
                                      : pc_chat_write(engine, messages.data(), in.below(3),
                                                      options.get(), &chat, error);
  char* text = nullptr;
  if (status == PC_OK) status = pc_chat_text(chat, &text, nullptr, error);
  pc_free(text);
  if (status == PC_OK) status = pc_chat_prompt(chat, in.below(4), prompt, error);
  pc_chat_close(chat);
  return status;
}

// A call that carries modules between stores, or vouches for them; `dir` is a store's folder.
inline pc_status exchange(FuzzBytes& in, pc_store* store, const std::string& dir, const char* key,
                          pc_store_progress progress, void* user, char** json, pc_error* error) {
  const std::string list = dir + "/v3/manifest";
  const char* const trust[] = {in.below(2) ? list.c_str() : ""};
  const char* const keys[] = {key};
  switch (in.below(3)) {
    case 0:
      return pc_store_pull(store, in.below(4) ? dir.c_str() : "", trust, in.below(2),
                           in.below(2) ? keys : nullptr, in.below(2), progress, user, json, error);
    case 1:
      return pc_store_sign(store, in.below(2) ? trust[0] : nullptr,
                           in.below(2) ? list.c_str() : nullptr, progress, user, nullptr, error);
    default:
      return pc_manifest_keys(list.c_str(), trust, in.below(2), json, error);
  }
}

}  // namespace pc::test
