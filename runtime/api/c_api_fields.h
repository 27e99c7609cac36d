// Where each field of the option structs ends. Whatever number a caller's struct_size is, only
// fields that lie in it wholly are read or written.
//
// Threads: constants.
#pragma once

#include <array>
#include <cstddef>

#include "promptcache/promptcache.h"

namespace pc::capi {

// [fields] for each field behind struct_size, the offset at which it ends; increasing.
template <class T>
inline constexpr std::array<std::size_t, 0> kFieldEnds{};

#define PC_END(field) (offsetof(T, field) + sizeof(T::field))

namespace internal {

constexpr auto engine_ends() {
  using T = pc_engine_options;
  return std::array{PC_END(model_path),     PC_END(cache_dir),     PC_END(cache_mode),
                    PC_END(kv_type),        PC_END(cache_bytes),   PC_END(cache_namespace),
                    PC_END(chat_template),  PC_END(backend),       PC_END(n_threads),
                    PC_END(context_tokens), PC_END(progress),      PC_END(progress_user),
                    PC_END(chat_time),      PC_END(precision),     PC_END(require_backend),
                    PC_END(require_store),  PC_END(text_progress), PC_END(text_progress_user),
                    PC_END(given),          PC_END(cache_from),    PC_END(n_cache_from),
                    PC_END(cache_trust),    PC_END(n_cache_trust), PC_END(cache_copy)};
}

constexpr auto session_ends() {
  using T = pc_session_options;
  return std::array{PC_END(max_tokens),
                    PC_END(no_reuse),
                    PC_END(temperature),
                    PC_END(top_k),
                    PC_END(top_p),
                    PC_END(min_p),
                    PC_END(repetition_penalty),
                    PC_END(seed),
                    PC_END(stop),
                    PC_END(n_stop),
                    PC_END(presence_penalty),
                    PC_END(frequency_penalty),
                    PC_END(bias),
                    PC_END(n_bias),
                    PC_END(mask),
                    PC_END(mask_user),
                    PC_END(client),
                    PC_END(progress),
                    PC_END(progress_user),
                    PC_END(repair),
                    PC_END(spell_controls),
                    PC_END(cut_to_window),
                    PC_END(given),
                    PC_END(prompt_logprobs),
                    PC_END(prompt_logprobs_from),
                    PC_END(max_draft),
                    PC_END(draft),
                    PC_END(draft_user),
                    PC_END(overflow),
                    PC_END(moves),
                    PC_END(constraint)};
}

constexpr auto answers_ends() {
  using T = pc_answers_options;
  return std::array{PC_END(prompts), PC_END(answer_tokens), PC_END(progress),
                    PC_END(progress_user)};
}

constexpr auto texts_ends() {
  using T = pc_texts_options;
  return std::array{PC_END(pooling), PC_END(n_dimensions), PC_END(progress), PC_END(progress_user)};
}

constexpr auto chat_ends() {
  using T = pc_chat_options;
  return std::array{PC_END(tools),           PC_END(n_tools), PC_END(variables),
                    PC_END(variables_bytes), PC_END(repair),  PC_END(flags)};
}

}  // namespace internal

#undef PC_END

template <>
inline constexpr auto kFieldEnds<pc_engine_options> = internal::engine_ends();
template <>
inline constexpr auto kFieldEnds<pc_session_options> = internal::session_ends();
template <>
inline constexpr auto kFieldEnds<pc_answers_options> = internal::answers_ends();
template <>
inline constexpr auto kFieldEnds<pc_texts_options> = internal::texts_ends();
template <>
inline constexpr auto kFieldEnds<pc_chat_options> = internal::chat_ends();

// The number of bytes up to the end of the last field that lies wholly in struct_size.
template <class T>
constexpr std::size_t whole_fields(std::size_t struct_size) {
  constexpr auto kEnds = kFieldEnds<T>;
  // Fails where a field was added at the end of the struct and not here.
  static_assert((kEnds.back() + alignof(T) - 1) / alignof(T) * alignof(T) == sizeof(T));
  std::size_t bytes = sizeof(std::size_t), before = bytes;
  for (const std::size_t end : kEnds) {
    if (end < before) return 0;
    before = end;
    if (end <= struct_size) bytes = end;
  }
  return bytes;
}

}  // namespace pc::capi
