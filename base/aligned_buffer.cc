#include "base/aligned_buffer.h"

#include <sys/mman.h>

namespace pc {

void* map_pages(std::size_t n_bytes) {
  void* const pages =
      ::mmap(nullptr, n_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return pages == MAP_FAILED ? nullptr : pages;
}

void unmap_pages(void* pages, std::size_t n_bytes) {
  ::munmap(pages, n_bytes);
}

}  // namespace pc
