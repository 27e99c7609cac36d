// Named things of which not all fit into memory at once: one is loaded when somebody first asks for
// it, and stays until another needs its room. What was asked for longest ago goes first, as soon as
// nobody uses it. Who needs room is served in the order of coming, and what has to make room for
// them is given to nobody else meanwhile, so that none of two that are both in demand starves.
//
// Owner; outlives what it lends. Threads: any.
#pragma once

#include <algorithm>
#include <cassert>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"

namespace pc::serve {

template <class T>
class OnDemand {
 public:
  using Handle = std::shared_ptr<T>;  // while it lives, the thing is in use; null: no thing
  struct Source {
    std::string name;
    std::uint64_t n_bytes = 0;                 // of memory that the thing takes
    std::function<std::unique_ptr<T>()> load;  // may throw; one at a time for each source
  };

  // Precondition: each source alone fits the budget. patience: how long take() waits for room.
  OnDemand(std::vector<Source> sources, std::uint64_t budget_bytes,
           std::chrono::milliseconds patience)
      : budget_(budget_bytes), patience_(patience) {
    for (Source& source : sources) {
      assert(source.n_bytes <= budget_bytes);
      entries_.emplace_back().source = std::move(source);
    }
  }

  // The thing of this name. Blocks while it is being loaded, or while there is no room for it;
  // throws what its source throws. Null: there was no room in time, or no source has this name.
  Handle take(const std::string& name) {
    Entry* const entry = find(name);
    if (!entry) return nullptr;
    MutexLock lock(mutex_);
    const auto end_of_patience = std::chrono::steady_clock::now() + patience_;
    ++entry->n_waiting;
    bool is_patient = true;
    while (is_patient && !is_ready(*entry)) {
      if (entry->state == State::kAbsent || entry->is_leaving) queue(entry);
      if (entry->state == State::kAbsent && queue_.front() == entry) {
        send_away_for(*entry);
        if (Entry* const leaving = find_leaving()) {
          end(leaving);
          continue;
        }
        if (n_bytes_with(*entry) <= budget_) {
          load(entry);
          continue;
        }
      }
      is_patient = !is_stopped_ && changed_.wait_until(lock, end_of_patience);
    }
    --entry->n_waiting;
    if (is_ready(*entry) || entry->n_waiting == 0) unqueue(entry);
    return is_ready(*entry) ? lend(entry) : nullptr;
  }

  // take() waits for room no more.
  void stop() {
    const MutexLock lock(mutex_);
    is_stopped_ = true;
    changed_.notify_all();
  }

  // The same without blocking: null, too, where it is not loaded.
  Handle take_loaded(const std::string& name) {
    Entry* const entry = find(name);
    const MutexLock lock(mutex_);
    return entry && is_ready(*entry) ? lend(entry) : nullptr;
  }

  struct Known {
    std::string name;
    std::uint64_t n_bytes = 0, n_loads = 0;
    Handle handle;  // where it is loaded
  };
  // In the order of the sources. Does not count as a use.
  std::vector<Known> all() {
    const MutexLock lock(mutex_);
    std::vector<Known> all;
    for (Entry& entry : entries_) {
      const std::uint64_t last_use = entry.last_use;
      all.push_back({entry.source.name, entry.source.n_bytes, entry.n_loads,
                     is_ready(entry) ? lend(&entry) : nullptr});
      entry.last_use = last_use;
    }
    return all;
  }

 private:
  enum class State { kAbsent, kLoading, kLoaded, kEnding };  // all but the first take room
  struct Entry {
    Source source;  // constant; all else is guarded by the mutex
    State state = State::kAbsent;
    bool is_leaving = false;  // ends as soon as nobody uses it
    std::unique_ptr<T> value;
    std::size_t n_users = 0, n_waiting = 0;
    std::uint64_t n_loads = 0, last_use = 0;  // last_use: of ticks_
  };

  Entry* find(const std::string& name) {
    const auto is_it = [&](const Entry& entry) { return entry.source.name == name; };
    const auto found = std::ranges::find_if(entries_, is_it);
    return found == entries_.end() ? nullptr : &*found;
  }

  static bool is_ready(const Entry& entry) {
    return entry.state == State::kLoaded && !entry.is_leaving;
  }

  Handle lend(Entry* entry) PC_REQUIRES(mutex_) {
    ++entry->n_users;
    entry->last_use = ++ticks_;
    return Handle(entry->value.get(), [this, entry](T*) { give_back(entry); });
  }

  void give_back(Entry* entry) {
    const MutexLock lock(mutex_);
    if (--entry->n_users > 0) return;
    if (entry->is_leaving)
      end(entry);
    else
      changed_.notify_all();
  }

  // Those that need room; the first of them gets it.
  void queue(Entry* entry) PC_REQUIRES(mutex_) {
    if (std::ranges::find(queue_, entry) == queue_.end()) queue_.push_back(entry);
  }
  // Who is the first now chooses anew who has to leave.
  void unqueue(Entry* entry) PC_REQUIRES(mutex_) {
    if (queue_.remove(entry) == 0) return;
    for (Entry& other : entries_) other.is_leaving = false;
    changed_.notify_all();
  }

  std::uint64_t n_bytes_with(const Entry& wanted) const PC_REQUIRES(mutex_) {
    std::uint64_t n_bytes = wanted.source.n_bytes;
    for (const Entry& entry : entries_)
      if (entry.state != State::kAbsent) n_bytes += entry.source.n_bytes;
    return n_bytes;
  }

  // As many of the loaded ones as the wanted one needs the room of, beside what ends already.
  void send_away_for(const Entry& wanted) PC_REQUIRES(mutex_) {
    std::vector<Entry*> loaded;
    std::uint64_t n_bytes = n_bytes_with(wanted);
    for (Entry& entry : entries_) {
      if (entry.state == State::kLoaded) loaded.push_back(&entry);
      if (entry.state == State::kEnding) n_bytes -= entry.source.n_bytes;
    }
    std::ranges::sort(loaded, {}, &Entry::last_use);
    for (Entry* const entry : loaded) {
      if (n_bytes <= budget_) return;
      entry->is_leaving = true;
      n_bytes -= entry->source.n_bytes;
    }
  }

  // One that may end now, or null.
  Entry* find_leaving() PC_REQUIRES(mutex_) {
    const auto is_it = [](const Entry& entry) { return entry.is_leaving && entry.n_users == 0; };
    const auto found = std::ranges::find_if(entries_, is_it);
    return found == entries_.end() ? nullptr : &*found;
  }

  // Whoever waits for it, or for its room, looks again.
  void end(Entry* entry) PC_REQUIRES(mutex_) {
    entry->state = State::kEnding;
    entry->is_leaving = false;
    std::unique_ptr<T> value = std::move(entry->value);
    mutex_.unlock();
    value.reset();
    mutex_.lock();
    entry->state = State::kAbsent;
    changed_.notify_all();
  }

  void load(Entry* entry) PC_REQUIRES(mutex_) {
    entry->state = State::kLoading;
    mutex_.unlock();
    std::unique_ptr<T> value;
    std::exception_ptr failure;
    try {
      value = entry->source.load();
    } catch (...) {
      failure = std::current_exception();
    }
    mutex_.lock();
    entry->value = std::move(value);
    entry->state = failure ? State::kAbsent : State::kLoaded;
    unqueue(entry);
    entry->n_loads += failure ? 0 : 1;
    if (!failure) return;
    --entry->n_waiting;
    std::rethrow_exception(failure);
  }

  const std::uint64_t budget_;
  const std::chrono::milliseconds patience_;
  Mutex mutex_;
  Condition changed_;
  std::list<Entry> entries_;
  std::list<Entry*> queue_ PC_GUARDED_BY(mutex_);
  std::uint64_t ticks_ PC_GUARDED_BY(mutex_) = 0;
  bool is_stopped_ PC_GUARDED_BY(mutex_) = false;
};

}  // namespace pc::serve
