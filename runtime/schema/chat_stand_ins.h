// Documents of earlier conversations, which stand in for those that a conversation's modules have
// not seen (docs/adr/0042-slots.md): its schema is made for it and brings none of its own.
//
// A record (runtime/schema/schema_record.h) of the kind "stand-ins", of one model and namespace,
// with the beginnings of the first documents that were encoded there:
//
//   text 1234
//   <1234 bytes>
//
// None is taken away before the whole store is emptied, so that modules encoded behind them are
// found by all conversations that follow. What one namespace said stands in for nothing in another.
// Threads and processes: any; of two that add at the same moment one's text may be lost.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"  // Digest
#include "modules/module_key.h"

namespace pc {

// Four are measured, as many more let a conversation leave out those that are in it; and a text of
// some hundred tokens shows what kind it is, at a price that each module behind it pays.
inline constexpr std::size_t kMostChatStandIns = 8;
inline constexpr std::size_t kLeastStandInBytes = 256, kMostStandInBytes = 4096;

Digest chat_stand_ins_key(const ModuleIdentity& base);

// A text as it stands in: no more than its beginning.
std::string_view as_stand_in(std::string_view text);

// None where there is no record.
std::vector<std::string> recall_stand_ins(const Digest& key, const std::string& cache_dir);

// Adds it where there is room, unless it is there or too short.
void offer_stand_in(const Digest& key, std::string_view text, const std::string& cache_dir);

// Of all models and namespaces: they are texts of users.
void forget_stand_ins(const std::string& cache_dir);

}  // namespace pc
