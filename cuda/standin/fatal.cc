#include "cuda/standin/fatal.h"

#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace pc::cuda::standin {

void stop(const char* format, ...) {
  char sentence[1024] = "CUDA stand-in: ";
  const std::size_t before = std::strlen(sentence);
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(sentence + before, sizeof sentence - before - 1, format, arguments);
  va_end(arguments);
  std::strcat(sentence, "\n");
  // Whether it could be written changes nothing.
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, sentence, std::strlen(sentence));
  __builtin_trap();
}

}  // namespace pc::cuda::standin
