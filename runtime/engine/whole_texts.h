// What a model makes of whole texts: a vector of each, or how likely a few tokens are behind each.
//
// The texts are computed side by side, as many at once as a step has room for. Where they begin
// alike, an instruction in front of each or one query with many documents, the beginning is
// computed once, and each text goes on from a fork of it. Nothing is stored. Threads: from any; the
// work is the calling thread's until the call returns.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "base/status.h"
#include "pml/turns/text_encoder.h"  // Tokens
#include "runtime/engine/engine.h"
#include "runtime/model/pooling.h"

namespace pc {

struct WholeTexts {
  std::span<const Tokens> texts;
  // Null, or called after each step, on the caller's thread; returning false ends with kCancelled.
  std::function<bool(std::uint64_t n_done, std::uint64_t n_tokens)> progress = {};
};

// How vectors of texts are pooled: as `asked`, else as the model's files say, else by the last
// token. kUnsupported where the files name a pooling that is not computed.
Result<Pooling> choose_pooling(const Model& model, Pooling asked);

// The vector of each text: the states behind the final norm, pooled, cut to the first n_dims
// numbers and scaled to length 1 (L2). vectors: [texts, n_dims] f32. Errors: kInvalidArgument (a
// text without tokens, n_dims is 0 or more than d_model), kContextFull, with the text's number,
// kNotFinite; those of choose_pooling and of the backend. A plug-in that hands out no states, or
// has no memory for them, gives way to the CPU, unless it is required.
Status embed(const Engine& engine, const WholeTexts& texts, Pooling asked, std::uint32_t n_dims,
             float* vectors);

// The logits of the wanted tokens behind each text: [texts, wanted] f32. Errors: as of embed();
// kInvalidArgument for a token outside the vocabulary.
Status score(const Engine& engine, const WholeTexts& texts, std::span<const TokenId> wanted,
             float* logits);

}  // namespace pc
