// Line and column of byte offsets in a document.
//
// Borrows the document. The offsets asked for only grow, so the document is
// scanned once, however many places are asked for. Threads: thread-compatible.
#pragma once

#include <cstddef>
#include <string_view>

#include "pml/syntax/place.h"

namespace pc::pml {

class PlaceCursor {
 public:
  explicit PlaceCursor(std::string_view document) : document_(document) {}

  Place at(std::size_t offset) {
    for (; offset_ < offset && offset_ < document_.size(); ++offset_) {
      const char c = document_[offset_];
      const bool crlf =
          c == '\r' && offset_ + 1 < document_.size() && document_[offset_ + 1] == '\n';
      if (c == '\n' || (c == '\r' && !crlf)) {
        ++place_.line;
        place_.column = 1;
      } else {
        ++place_.column;
      }
    }
    return place_;
  }

 private:
  std::string_view document_;
  std::size_t offset_ = 0;
  Place place_{1, 1};
};

}  // namespace pc::pml
