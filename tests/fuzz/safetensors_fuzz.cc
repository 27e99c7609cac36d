// Fuzzes the reader of weight files and of their index.
//
// An input is read three times: as a file, as the header of a file with a
// little data behind it (which gets a mutation past the length), and as an
// index. What is accepted must keep the reader's promise: the tensors cover
// the data exactly.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "runtime/checkpoint/safetensors.h"
#include "tests/support/safetensors_bytes.h"

namespace {

void require(bool promise) {
  if (!promise) std::abort();
}

void read_file(std::span<const std::byte> file) {
  const auto tensors = pc::parse_safetensors(file, "fuzz");
  if (!tensors.ok()) {
    require(!tensors.error().message.empty());
    return;
  }
  std::uint64_t n_header = 0;
  std::memcpy(&n_header, file.data(), sizeof n_header);
  std::size_t n_bytes = 0;
  int sum = 0;
  for (const auto& [name, view] : *tensors) {
    n_bytes += view.bytes.size();
    for (const std::byte b : view.bytes) sum += static_cast<int>(b);
  }
  const volatile int read = sum;
  (void)read;
  require(sizeof n_header + n_header + n_bytes == file.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  read_file(std::as_bytes(std::span(data, size)));
  const std::string file = pc::test::safetensors_file(text, std::string(32, 'x'));
  read_file(pc::test::as_span(file));
  const auto index = pc::parse_safetensors_index(text, "fuzz");
  if (index.ok()) {
    for (const auto& [tensor, shard] : *index) require(shard.find('/') == std::string::npos);
  }
  return 0;
}
