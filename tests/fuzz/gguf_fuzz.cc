// Fuzzes the reader of GGUF files.
//
// An input is read twice: as a file, and as the pairs and tensors of a file
// whose counts are its first two bytes, with data behind it, which gets a
// mutation past the header. What is accepted must keep the reader's promise:
// tensors and values lie inside the file and do not overlap.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <span>
#include <string>

#include "runtime/checkpoint/gguf.h"

namespace {

void require(bool promise) {
  if (!promise) std::abort();
}

bool is_inside(std::span<const std::byte> part, std::span<const std::byte> whole) {
  return part.empty() ||
         (part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.size());
}

// Every getter on every key; every byte of every value is read.
int read_pairs(const pc::GgufMetadata& metadata, std::span<const std::byte> file) {
  int sum = 0;
  for (const auto& [key, value] : metadata.all()) {
    require(is_inside(value.bytes, file));
    for (const auto text : value.strings) {
      require(is_inside(std::as_bytes(std::span(text)), file));
      for (const char c : text) sum += c;
    }
    sum += metadata.string(key).ok() + metadata.integer(key).ok() + metadata.number(key).ok() +
           metadata.boolean(key).ok() + metadata.strings(key).ok() + metadata.integers(key).ok() +
           metadata.floats(key).ok();
  }
  return sum;
}

void read_file(std::span<const std::byte> file) {
  const auto parsed = pc::parse_gguf(file, "fuzz");
  if (!parsed.ok()) {
    require(!parsed.error().message.empty());
    require(parsed.error().message.find('\n') == std::string::npos);
    return;
  }
  int sum = read_pairs(parsed->metadata, file);
  std::map<const std::byte*, std::size_t> places;
  for (const auto& [name, view] : parsed->tensors) {
    require(!view.bytes.empty() && is_inside(view.bytes, file));
    require(places.emplace(view.bytes.data(), view.bytes.size()).second);
    for (const std::byte b : view.bytes) sum += static_cast<int>(b);
  }
  const std::byte* free = file.data();
  for (const auto& [begin, size] : places) {
    require(begin >= free);
    free = begin + size;
  }
  const volatile int read = sum;
  (void)read;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  read_file(std::as_bytes(std::span(data, size)));
  if (size < 2) return 0;
  std::string file = "GGUF";
  const auto append = [&](std::uint64_t n, std::size_t bytes) {
    file.append(reinterpret_cast<const char*>(&n), bytes);
  };
  append(3, 4);
  append(data[0] % 4u, 8);
  append(data[1] % 4u, 8);
  file.append(reinterpret_cast<const char*>(data) + 2, size - 2).append(256, 'x');
  read_file(std::as_bytes(std::span(file)));
  return 0;
}
