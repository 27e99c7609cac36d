// A read-only, shared mapping of a whole file: the only mmap of files in the
// project.
//
// Move-only owner. The mapping outlives the descriptor and survives the
// file's unlink or replacement by rename; it does not survive truncation in
// place (SIGBUS), so the project never truncates a published file.
// Threads: const methods from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "base/status.h"

namespace pc {

class MappedFile {
 public:
  MappedFile() = default;
  MappedFile(MappedFile&& other) noexcept { swap(other); }
  MappedFile& operator=(MappedFile&& other) noexcept {
    MappedFile(std::move(other)).swap(*this);
    return *this;
  }
  ~MappedFile();

  // Errors: kNotFound, kIo (with the path and the system's reason). A
  // directory, FIFO or device is refused; an empty file maps to no bytes.
  static Result<MappedFile> open(const std::string& path);

  // The same for an open descriptor, which stays the caller's. `name` is for messages.
  static Result<MappedFile> map(int fd, std::uint64_t size_bytes, const std::string& name);

  std::span<const std::byte> bytes() const { return {data_, size_}; }

  // Asks the kernel to read [offset, offset + n) ahead. A hint: never fails.
  void will_need(std::size_t offset, std::size_t n) const;

 private:
  void swap(MappedFile& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
  }
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace pc
