// Which files are a GGUF model, and that they belong together: open_gguf of gguf.h.
#include <array>
#include <cstdio>
#include <utility>

#include "runtime/checkpoint/gguf.h"

namespace pc {
namespace {

constexpr std::uint64_t kMaxSplits = 1024;

struct Part {
  std::string path;
  MappedFile file;
  GgufFile content;          // views into file
  std::uint64_t number = 0;  // from 0
  std::uint64_t n_parts = 1;
  std::uint64_t n_tensors = 0;  // of all parts

  Error error(Code code, const std::string& what) const {
    return pc::error(code, path + ": " + what);
  }
  // "part 2 of 3"
  std::string text() const {
    return "part " + std::to_string(number + 1) + " of " + std::to_string(n_parts);
  }
};

Result<Part> open_part(const std::string& path) {
  Part part;
  part.path = path;
  PC_TRY(part.file, MappedFile::open(path));
  PC_TRY(part.content, parse_gguf(part.file.bytes(), path));
  const GgufMetadata& metadata = part.content.metadata;
  PC_TRY(part.n_parts, metadata.integer_or("split.count", 1));
  if (part.n_parts <= 1) {  // llama.cpp writes 0 when it merges splits
    part.n_parts = 1;
    return part;
  }
  if (part.n_parts > kMaxSplits) {
    return part.error(Code::kUnsupported, "one of " + std::to_string(part.n_parts) +
                                              " files, the limit is " + std::to_string(kMaxSplits));
  }
  PC_TRY(part.number, metadata.integer("split.no"));
  PC_TRY(part.n_tensors, metadata.integer("split.tensors.count"));
  if (part.number >= part.n_parts) {
    return part.error(Code::kCorrupt, "split.no is " + std::to_string(part.number) + " of " +
                                          std::to_string(part.n_parts) + ", counted from 0");
  }
  return part;
}

// "-00002-of-00003.gguf"
std::string suffix(std::uint64_t number, std::uint64_t n_parts) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "-%05u-of-%05u.gguf", static_cast<unsigned>(number + 1),
                static_cast<unsigned>(n_parts));
  return text.data();
}

// The part at `number` of the model that `given` is a part of.
Result<Part> open_sibling(const Part& given, const std::string& stem, std::uint64_t number) {
  const std::string path = stem + suffix(number, given.n_parts);
  auto opened = open_part(path);
  if (!opened.ok() && opened.error().code == Code::kNotFound) {
    return error(Code::kNotFound, path + ": missing; the model is in " +
                                      std::to_string(given.n_parts) + " files, and " + given.path +
                                      " alone is not enough");
  }
  PC_TRY(Part part, std::move(opened));
  if (part.number != number || part.n_parts != given.n_parts || part.n_tensors != given.n_tensors) {
    return part.error(Code::kMismatch,
                      "is " + part.text() + " with " + std::to_string(part.n_tensors) +
                          " tensors in all, and does not belong to " + given.path + ", " +
                          given.text() + " with " + std::to_string(given.n_tensors));
  }
  return part;
}

Status add(Part part, GgufModel* model) {
  TensorMap& tensors = model->checkpoint.tensors;
  tensors.merge(part.content.tensors);
  if (!part.content.tensors.empty()) {  // merge leaves behind the names that were there before
    const std::string& name = part.content.tensors.begin()->first;
    return part.error(Code::kCorrupt,
                      "tensor \"" + name + "\" is also in " + tensors.at(name).file);
  }
  if (part.number == 0) model->metadata = std::move(part.content.metadata);
  model->checkpoint.files.push_back(std::move(part.file));
  return ok();
}

Result<GgufModel> open_parts(const Part& given) {
  const std::string own = suffix(given.number, given.n_parts);
  if (!given.path.ends_with(own)) {
    return given.error(Code::kNotFound, "is " + given.text() + ", but is not named *" + own +
                                            ", so that the others cannot be found");
  }
  const std::string stem = given.path.substr(0, given.path.size() - own.size());
  GgufModel model;
  for (std::uint64_t i = 0; i < given.n_parts; ++i) {
    PC_TRY(Part part, open_sibling(given, stem, i));
    PC_CHECK_OK(add(std::move(part), &model));
  }
  if (model.checkpoint.tensors.size() != given.n_tensors) {
    return given.error(Code::kMismatch, "the " + std::to_string(given.n_parts) + " files hold " +
                                            std::to_string(model.checkpoint.tensors.size()) +
                                            " tensors, split.tensors.count is " +
                                            std::to_string(given.n_tensors));
  }
  return model;
}

}  // namespace

Result<GgufModel> open_gguf(const std::string& path) {
  PC_TRY(Part part, open_part(path));
  if (part.n_parts > 1) return open_parts(part);
  GgufModel model;
  PC_CHECK_OK(add(std::move(part), &model));
  return model;
}

bool is_gguf(const std::string& path) {
  const auto file = MappedFile::open(path);
  if (!file.ok() || file->bytes().size() < 4) return false;
  return std::string_view(reinterpret_cast<const char*>(file->bytes().data()), 4) == "GGUF";
}

}  // namespace pc
