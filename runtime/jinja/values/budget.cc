#include "runtime/jinja/values/budget.h"

#include <string>

namespace pc::jinja {

Error Budget::out_of_steps() const {
  return error(Code::kUnsupported,
               "takes more than " + std::to_string(limits_.steps) + " steps, the limit");
}

Error Budget::out_of_memory() const {
  return error(Code::kUnsupported, "needs more than " + std::to_string(limits_.live_bytes >> 20) +
                                       " MiB of memory, the limit");
}

}  // namespace pc::jinja
