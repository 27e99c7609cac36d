#include "runtime/constrain/automata/json_text.h"

#include <algorithm>
#include <cstdint>

namespace pc::constrain {
namespace {

enum Place : std::uint8_t {
  kBetween,  // two characters
  kOver,
  kOneMore,  // bytes of a character of UTF-8 are to come
  kTwoMore,
  kThreeMore,
  kBehindE0,  // what may come first of these is less than any, lest a character has two spellings
  kBehindED,  // or is a surrogate
  kBehindF0,
  kBehindF4,
  kBackslash,
  kHex4,  // digits are to come
  kHex3,
  kHex2,
  kHex1,
  kHex3BehindD,
  kHigh2,  // digits of a high surrogate
  kHigh1,
  kLowBackslash,
  kLowU,
  kLow4,
  kLow3,
  kPlaces,
};

struct Row {
  Place from;
  std::uint8_t first, last;
  Place to;
};

constexpr Row kRows[] = {
    {kBetween, 0x20, '!', kBetween},    {kBetween, '"', '"', kOver},
    {kBetween, '#', '[', kBetween},     {kBetween, '\\', '\\', kBackslash},
    {kBetween, ']', 0x7F, kBetween},    {kBetween, 0xC2, 0xDF, kOneMore},
    {kBetween, 0xE0, 0xE0, kBehindE0},  {kBetween, 0xE1, 0xEC, kTwoMore},
    {kBetween, 0xED, 0xED, kBehindED},  {kBetween, 0xEE, 0xEF, kTwoMore},
    {kBetween, 0xF0, 0xF0, kBehindF0},  {kBetween, 0xF1, 0xF3, kThreeMore},
    {kBetween, 0xF4, 0xF4, kBehindF4},  {kOneMore, 0x80, 0xBF, kBetween},
    {kTwoMore, 0x80, 0xBF, kOneMore},   {kThreeMore, 0x80, 0xBF, kTwoMore},
    {kBehindE0, 0xA0, 0xBF, kOneMore},  {kBehindED, 0x80, 0x9F, kOneMore},
    {kBehindF0, 0x90, 0xBF, kTwoMore},  {kBehindF4, 0x80, 0x8F, kTwoMore},
    {kBackslash, '"', '"', kBetween},   {kBackslash, '/', '/', kBetween},
    {kBackslash, '\\', '\\', kBetween}, {kBackslash, 'b', 'b', kBetween},
    {kBackslash, 'f', 'f', kBetween},   {kBackslash, 'n', 'n', kBetween},
    {kBackslash, 'r', 'r', kBetween},   {kBackslash, 't', 't', kBetween},
    {kBackslash, 'u', 'u', kHex4},      {kHex4, '0', '9', kHex3},
    {kHex4, 'A', 'C', kHex3},           {kHex4, 'D', 'D', kHex3BehindD},
    {kHex4, 'E', 'F', kHex3},           {kHex4, 'a', 'c', kHex3},
    {kHex4, 'd', 'd', kHex3BehindD},    {kHex4, 'e', 'f', kHex3},
    {kHex3, '0', '9', kHex2},           {kHex3, 'A', 'F', kHex2},
    {kHex3, 'a', 'f', kHex2},           {kHex2, '0', '9', kHex1},
    {kHex2, 'A', 'F', kHex1},           {kHex2, 'a', 'f', kHex1},
    {kHex1, '0', '9', kBetween},        {kHex1, 'A', 'F', kBetween},
    {kHex1, 'a', 'f', kBetween},        {kHex3BehindD, '0', '7', kHex2},
    {kHex3BehindD, '8', '9', kHigh2},   {kHex3BehindD, 'A', 'B', kHigh2},
    {kHex3BehindD, 'a', 'b', kHigh2},   {kHigh2, '0', '9', kHigh1},
    {kHigh2, 'A', 'F', kHigh1},         {kHigh2, 'a', 'f', kHigh1},
    {kHigh1, '0', '9', kLowBackslash},  {kHigh1, 'A', 'F', kLowBackslash},
    {kHigh1, 'a', 'f', kLowBackslash},  {kLowBackslash, '\\', '\\', kLowU},
    {kLowU, 'u', 'u', kLow4},           {kLow4, 'D', 'D', kLow3},
    {kLow4, 'd', 'd', kLow3},           {kLow3, 'C', 'F', kHex2},
    {kLow3, 'c', 'f', kHex2},
};

Dfa made() {
  Dfa dfa;
  dfa.nodes.resize(kPlaces);
  dfa.nodes[kOver].is_final = true;
  for (const Row& row : kRows) dfa.nodes[row.from].edges.push_back({row.first, row.last, row.to});
  for (Dfa::Node& node : dfa.nodes) std::ranges::sort(node.edges, {}, &Edge::first);
  return dfa;
}

}  // namespace

const Dfa& json_text() {
  static const Dfa dfa = made();
  return dfa;
}

}  // namespace pc::constrain
