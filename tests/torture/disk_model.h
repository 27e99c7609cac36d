// What a disk may hold if the power goes after the first n of a list of recorded calls.
//
// Bytes that were not synced by then are there, are missing, are zeros or an old file's, or are
// torn at sectors of 512 bytes, and the file may be shorter than it was. Names are never synced by
// the store: of the last ones that were made, changed or removed any may be missing, and they may
// have happened in another order. A rename is a new name and the loss of an old one, each by
// itself.
#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "tests/torture/file_record.h"

namespace pc::test {

enum class DataLoss { kNothing, kAll, kZeros, kOld, kTorn, kShort, kMixed };
inline constexpr int kDataLosses = 7;
enum class NameLoss { kNothing, kLast, kLastTwo, kLastThree, kSome, kOrder, kSomeAndOrder };
inline constexpr int kNameLosses = 7;

struct Disk {
  std::set<std::string> folders;
  std::map<std::string, std::string> files;  // name -> bytes
  friend auto operator<=>(const Disk&, const Disk&) = default;
};

Disk disk_after(std::span<const FileOp> ops, DataLoss data, NameLoss names, std::mt19937& random);

}  // namespace pc::test
