#include "runtime/scheduler/log.h"

#include <atomic>
#include <cstddef>
#include <new>

#include "base/mutex.h"

namespace pc {
namespace {

struct Log {
  Mutex mutex;
  LogSink sink PC_GUARDED_BY(mutex) = nullptr;
  void* user PC_GUARDED_BY(mutex) = nullptr;
  std::atomic<LogLevel> most{LogLevel::kNone};
};

// Never destroyed: threads may log while the process ends.
Log& the_log() {
  alignas(Log) static std::byte memory[sizeof(Log)];
  static Log& log = *new (memory) Log;
  return log;
}

}  // namespace

void set_log(LogSink sink, void* user, LogLevel most) {
  Log& log = the_log();
  const MutexLock lock(log.mutex);
  log.sink = sink;
  log.user = user;
  log.most = sink ? most : LogLevel::kNone;
}

bool logs(LogLevel level) {
  return level <= the_log().most.load(std::memory_order_relaxed);
}

void log(LogLevel level, const std::string& message) {
  if (!logs(level)) return;
  Log& log = the_log();
  const MutexLock lock(log.mutex);
  if (log.sink && level <= log.most)
    log.sink(log.user, static_cast<std::int32_t>(level), message.c_str());
}

}  // namespace pc
