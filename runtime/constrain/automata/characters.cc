#include "runtime/constrain/automata/characters.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

namespace pc::constrain {
namespace {

constexpr std::uint32_t kFirstSurrogate = 0xD800, kLastSurrogate = 0xDFFF;

// ---- UTF-8

struct Utf8 {
  std::array<std::uint8_t, 4> bytes;
  std::size_t size;
};

Utf8 utf8_of(std::uint32_t c) {
  const auto tail = [c](unsigned shift) {
    return static_cast<std::uint8_t>(0x80 | (c >> shift & 0x3F));
  };
  const auto head = [c](unsigned mark, unsigned shift) {
    return static_cast<std::uint8_t>(mark | c >> shift);
  };
  if (c < 0x80) return {{static_cast<std::uint8_t>(c)}, 1};
  if (c < 0x800) return {{head(0xC0, 6), tail(0)}, 2};
  if (c < 0x10000) return {{head(0xE0, 12), tail(6), tail(0)}, 3};
  return {{head(0xF0, 18), tail(12), tail(6), tail(0)}, 4};
}

// Characters whose bytes are all pairs of a first and a last one.
void add_block(Nfa& nfa, NodeId from, std::uint32_t first, std::uint32_t last, NodeId to) {
  const Utf8 low = utf8_of(first), high = utf8_of(last);
  for (std::size_t i = 0; i < low.size; ++i) {
    const NodeId next = i + 1 == low.size ? to : nfa.add();
    nfa.edge(from, low.bytes[i], high.bytes[i], next);
    from = next;
  }
}

// Characters of as many bytes each: cut where the last bytes would not run through all of 80 to BF.
void add_same_length(Nfa& nfa, NodeId from, std::uint32_t first, std::uint32_t last, NodeId to) {
  for (std::uint32_t block = 0x40; block <= 0x40000; block <<= 6) {
    if (first / block == last / block) break;
    const std::uint32_t begin = (first + block - 1) / block * block;
    const std::uint32_t end = (last + 1) / block * block;
    if (begin > first) {
      add_same_length(nfa, from, first, begin - 1, to);
      return add_same_length(nfa, from, begin, last, to);
    }
    if (end <= last) {
      add_same_length(nfa, from, first, end - 1, to);
      return add_same_length(nfa, from, end, last, to);
    }
  }
  add_block(nfa, from, first, last, to);
}

void add_utf8(Nfa& nfa, NodeId from, CharacterSet::Range range, NodeId to) {
  constexpr std::array<CharacterSet::Range, 5> kLengths{{{0, 0x7F},
                                                         {0x80, 0x7FF},
                                                         {0x800, kFirstSurrogate - 1},
                                                         {kLastSurrogate + 1, 0xFFFF},
                                                         {0x10000, kMaxCharacter}}};
  for (const auto& length : kLengths) {
    const std::uint32_t first = std::max(range.first, length.first);
    const std::uint32_t last = std::min(range.last, length.last);
    if (first <= last) add_same_length(nfa, from, first, last, to);
  }
}

// ---- JSON

constexpr std::uint32_t kLastEscaped = '\\';

bool is_escaped(std::uint32_t c) {
  return c < 0x20 || c == '"' || c == kLastEscaped;
}

void add_escapes(Nfa& nfa, NodeId from, const std::vector<std::uint32_t>& characters, NodeId to) {
  constexpr std::string_view kEscaped = "\"\\\b\f\n\r\t", kNames = "\"\\bfnrt";
  constexpr std::string_view kHex = "0123456789abcdef";
  if (characters.empty()) return;
  const NodeId backslash = nfa.literal(from, "\\");
  std::array<NodeId, 2> digits{};  // behind "\u000" and "\u001"
  const auto edge = [&](NodeId node, char c) {
    nfa.edge(node, static_cast<std::uint8_t>(c), static_cast<std::uint8_t>(c), to);
  };
  for (const std::uint32_t c : characters) {
    const std::size_t named = kEscaped.find(static_cast<char>(c));
    if (named != std::string_view::npos) {
      edge(backslash, kNames[named]);
      continue;
    }
    NodeId& node = digits[c >> 4];
    if (node == 0) node = nfa.literal(backslash, std::string("u00") + kHex[c >> 4]);
    edge(node, kHex[c & 15]);
  }
}

}  // namespace

CharacterSet::CharacterSet(std::vector<Range> ranges) {
  std::ranges::sort(ranges, {}, &Range::first);
  for (const Range& range : ranges) {
    if (!ranges_.empty() && range.first <= ranges_.back().last + 1)
      ranges_.back().last = std::max(ranges_.back().last, range.last);
    else
      ranges_.push_back(range);
  }
}

void CharacterSet::add(const CharacterSet& other) {
  std::vector<Range> all = std::move(ranges_);
  all.insert(all.end(), other.ranges_.begin(), other.ranges_.end());
  *this = CharacterSet(std::move(all));
}

CharacterSet CharacterSet::others() const {
  CharacterSet others;
  std::uint32_t next = 0;
  for (const Range& range : ranges_) {
    if (next < range.first) others.ranges_.push_back({next, range.first - 1});
    next = range.last + 1;
  }
  if (next <= kMaxCharacter) others.ranges_.push_back({next, kMaxCharacter});
  return others;
}

void add_character(Nfa& nfa, NodeId from, const CharacterSet& set, NodeId to, Spelling spelling) {
  if (spelling == Spelling::kPlain) {
    for (const CharacterSet::Range& range : set.ranges()) add_utf8(nfa, from, range, to);
    return;
  }
  std::vector<std::uint32_t> escaped;
  for (const CharacterSet::Range& range : set.ranges()) {
    std::uint32_t next = range.first;  // of those that stand for themselves
    const std::uint32_t last = std::min(range.last, kLastEscaped);
    for (std::uint32_t c = range.first; c <= last; ++c) {
      if (!is_escaped(c)) continue;
      if (next < c) add_utf8(nfa, from, {next, c - 1}, to);
      escaped.push_back(c);
      next = c + 1;
    }
    if (next <= range.last) add_utf8(nfa, from, {next, range.last}, to);
  }
  add_escapes(nfa, from, escaped, to);
}

}  // namespace pc::constrain
