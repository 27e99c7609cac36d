// Fuzzes a GGUF model in several files: which of them belong together, and what is in them.
//
// An input is one to three parts, each a sound one or any bytes, with changes, under names that an
// input chooses among those of a model. What opens keeps the reader's promises: the tensors of all
// parts lie inside their files, and there are as many as the parts say.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "runtime/checkpoint/gguf.h"
#include "tests/support/fuzz_bytes.h"
#include "tests/support/fuzz_folder.h"
#include "tests/support/gguf_bytes.h"

namespace {

using pc::test::FuzzBytes;
using pc::test::FuzzFolder;
using pc::test::GgufBytes;
using pc::test::require;

constexpr std::array kNames = {"m-00001-of-00002.gguf", "m-00002-of-00002.gguf",
                               "m-00001-of-00003.gguf", "m-00002-of-00003.gguf",
                               "m-00003-of-00003.gguf", "m.gguf"};

// A part that says what the input wants it to say: mostly what fits.
std::string part(FuzzBytes& in) {
  const std::uint32_t number = in.below(3), n_parts = 2 + in.below(2), n_tensors = in.below(4);
  GgufBytes file;
  switch (in.below(4)) {
    case 0:
      file.value("split.no", in.number(8)).value("split.count", in.number(8));
      break;
    case 1:
      file.value("split.no", static_cast<std::int16_t>(in.number(2)));
      break;
    default:
      file.value("split.no", static_cast<std::uint16_t>(number))
          .value("split.count", static_cast<std::uint16_t>(n_parts));
  }
  const std::uint32_t n_own = in.below(3);
  file.value("split.tensors.count",
             static_cast<std::int32_t>(in.below(8) ? n_tensors : in.number(4)));
  file.string("general.architecture", in.text());
  for (std::uint32_t i = 0; i < n_own; ++i) {
    const std::string name(1, static_cast<char>('a' + in.below(4)));
    file.tensor(name, 0, {2, 2}, std::string(16, 'x'));
  }
  std::string bytes = file.file();
  for (std::uint32_t n = in.below(4) == 0 ? in.below(4) : 0; n > 0; --n)
    bytes[in.number(2) % bytes.size()] = static_cast<char>(in.byte());
  if (in.below(8) == 0) bytes.resize(in.number(2) % bytes.size());
  return bytes;
}

void check(const pc::GgufModel& model) {
  int sum = 0;
  for (const auto& [name, view] : model.checkpoint.tensors) {
    const auto inside = [bytes = view.bytes](const pc::MappedFile& file) {
      const auto whole = file.bytes();
      return bytes.data() >= whole.data() &&
             bytes.data() + bytes.size() <= whole.data() + whole.size();
    };
    require(std::ranges::any_of(model.checkpoint.files, inside));
    for (const std::byte b : view.bytes) sum += static_cast<int>(b);
  }
  const auto n = model.metadata.integer_or("split.tensors.count", 0);
  if (model.checkpoint.files.size() > 1) require(n.ok() && *n == model.checkpoint.tensors.size());
  for (const auto& [key, value] : model.metadata.all())
    for (const std::byte b : value.bytes) sum += static_cast<int>(b);
  const volatile int read = sum;
  (void)read;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const FuzzFolder folder;
  FuzzBytes in(data, size);
  std::array<bool, kNames.size()> made{};
  const auto path = [&](std::uint32_t i) { return folder.path() + "/" + kNames[i]; };
  for (std::uint32_t n = 1 + in.below(3); n > 0; --n) {
    const std::uint32_t i = in.below(kNames.size());
    made[i] = true;
    FuzzFolder::write(path(i), in.below(16) ? part(in) : std::string(in.text()));
  }
  for (std::uint32_t i = 0; i < kNames.size(); ++i) {
    if (!made[i]) continue;
    const auto model = pc::open_gguf(path(i));
    if (model.ok())
      check(*model);
    else
      require(!model.error().message.empty() &&
              model.error().message.find('\n') == std::string::npos);
  }
  for (std::uint32_t i = 0; i < kNames.size(); ++i)
    if (made[i]) std::filesystem::remove(path(i));
  return 0;
}
