// What happened, in sentences, for whoever set a sink: nothing is logged without one.
//
// Errors are values and stay that; a log has what nobody asked about: a module that was encoded,
// one that could not be stored, a damaged file that was set aside. Process-wide. Threads: any; the
// sink is called on the thread that logs, one message at a time.
#pragma once

#include <cstdint>
#include <string>

namespace pc {

enum class LogLevel : std::int32_t { kNone = 0, kWarning = 1, kInfo = 2 };

using LogSink = void (*)(void* user, std::int32_t level, const char* message);

// From then on messages up to `most` go to `sink`; null: none do. Once it returns, the sink before
// is not called any more.
void set_log(LogSink sink, void* user, LogLevel most);

// Is anybody listening? Asked before a message is made.
bool logs(LogLevel level);

void log(LogLevel level, const std::string& message);

}  // namespace pc
