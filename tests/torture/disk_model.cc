#include "tests/torture/disk_model.h"

#include <algorithm>

namespace pc::test {
namespace {

using Kind = FileOp::Kind;

constexpr std::size_t kSector = 512;
// The last names that may be lost: more than any one thing that the store does needs.
constexpr std::size_t kMostNames = 8;

void apply(const FileOp& op, std::string* bytes) {
  if (op.kind == Kind::kResize) bytes->resize(op.at);
  if (op.kind == Kind::kReserve) bytes->resize(std::max(bytes->size(), op.at));
  if (op.kind != Kind::kWrite) return;
  bytes->resize(std::max(bytes->size(), op.at + op.bytes.size()));
  bytes->replace(op.at, op.bytes.size(), op.bytes);
}

// What takes the place of a sector that was not written: what the file had there before, zeros, or
// what another file left on the disk.
void lose_sector(std::string* bytes, std::size_t begin, const std::string& before, DataLoss loss,
                 std::mt19937& random) {
  for (std::size_t i = begin; i < std::min(begin + kSector, bytes->size()); ++i) {
    if (loss == DataLoss::kOld)
      (*bytes)[i] = static_cast<char>(random());
    else
      (*bytes)[i] = loss == DataLoss::kTorn && i < before.size() ? before[i] : '\0';
  }
}

// `before`: the bytes that are on the disk for certain. `after`: all that was written.
std::string lose(const std::string& before, std::string after, DataLoss loss,
                 std::mt19937& random) {
  if (loss == DataLoss::kMixed) loss = static_cast<DataLoss>(random() % (kDataLosses - 1));
  if (loss == DataLoss::kNothing || after == before) return after;
  if (loss == DataLoss::kAll) return before;
  if (loss == DataLoss::kShort) {
    const std::size_t least = std::min(before.size(), after.size());
    after.resize(std::max(least, random() % (after.size() + 1) / kSector * kSector));
    return after;
  }
  for (std::size_t at = 0; at < after.size(); at += kSector) {
    const bool same =
        at + kSector <= before.size() && before.compare(at, kSector, after, at, kSector) == 0;
    if (!same && (loss != DataLoss::kTorn || random() % 2 != 0))
      lose_sector(&after, at, before, loss, random);
  }
  return after;
}

std::string content_of(int file, std::span<const FileOp> ops, DataLoss loss, std::mt19937& random) {
  std::string synced, all;
  for (const FileOp& op : ops) {
    if (op.file != file) continue;
    apply(op, &all);
    if (op.kind == Kind::kSync) synced = all;
  }
  return lose(synced, std::move(all), loss, random);
}

// A change of names: a folder, a name's new file, or a name less.
struct NameOp {
  Kind kind;
  std::string name;
  int file;
};

std::vector<NameOp> name_ops(std::span<const FileOp> ops) {
  std::vector<NameOp> names;
  std::map<std::string, int> now;
  for (const FileOp& op : ops) {
    if (op.kind == Kind::kMakeFolder) names.push_back({op.kind, op.name, -1});
    if (op.kind == Kind::kLink) names.push_back({op.kind, op.name, now[op.name] = op.file});
    if (op.kind == Kind::kRename) names.push_back({Kind::kLink, op.to, now[op.to] = now[op.name]});
    if (op.kind == Kind::kRename || op.kind == Kind::kUnlink)
      names.push_back({Kind::kUnlink, op.name, -1});
  }
  return names;
}

std::vector<NameOp> lose(std::vector<NameOp> ops, NameLoss loss, std::mt19937& random) {
  const auto last = [&](std::size_t n) { return ops.end() - std::min(n, ops.size()); };
  if (loss == NameLoss::kLast) ops.erase(last(1), ops.end());
  if (loss == NameLoss::kLastTwo) ops.erase(last(2), ops.end());
  if (loss == NameLoss::kLastThree) ops.erase(last(3), ops.end());
  if (loss == NameLoss::kOrder) std::shuffle(last(3), ops.end(), random);
  if (loss == NameLoss::kSomeAndOrder) std::shuffle(last(3), ops.end(), random);
  if (loss == NameLoss::kSome || loss == NameLoss::kSomeAndOrder)
    ops.erase(std::remove_if(last(kMostNames), ops.end(),
                             [&](const NameOp&) { return random() % 2 != 0; }),
              ops.end());
  return ops;
}

bool has_folder(const Disk& disk, const std::string& name) {
  const std::size_t cut = name.rfind('/');
  return cut == name.npos || disk.folders.contains(name.substr(0, cut));
}

}  // namespace

Disk disk_after(std::span<const FileOp> ops, DataLoss data, NameLoss names, std::mt19937& random) {
  Disk disk;
  std::map<std::string, int> files;
  for (const NameOp& op : lose(name_ops(ops), names, random)) {
    if (op.kind == Kind::kUnlink)
      files.erase(op.name);
    else if (!has_folder(disk, op.name))
      continue;
    else if (op.kind == Kind::kMakeFolder)
      disk.folders.insert(op.name);
    else
      files[op.name] = op.file;
  }
  for (const auto& [name, file] : files) disk.files[name] = content_of(file, ops, data, random);
  return disk;
}

}  // namespace pc::test
