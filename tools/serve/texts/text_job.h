// Requests about whole texts, in which nothing is drawn: vectors of them, and how well documents
// answer a query. Values, of every protocol.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/serve/request/question.h"

namespace pc::serve {

struct EmbedRequest {
  std::vector<RawPrompt> texts;    // each of one piece
  std::uint32_t n_dimensions = 0;  // 0: all
  std::uint32_t pooling = PC_POOLING_MODEL;
  bool as_base64 = false;                 // f32 in little-endian order, in the place of lists
  bool is_cut = false;                    // texts that are too long are cut, and not refused
  const char* field = "";                 // that has the texts
  std::vector<std::string> ignored = {};  // fields that were left out
};

struct RankRequest {
  std::string query, instruction;
  std::vector<std::string> documents;
  std::size_t n_best = 0;  // of the results, the best first; 0: all
  bool returns_documents = false;
  std::vector<std::string> ignored = {};
};

}  // namespace pc::serve
