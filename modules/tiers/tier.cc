#include "modules/tiers/tier.h"

#include <algorithm>
#include <system_error>
#include <thread>
#include <utility>

#include "base/mutex.h"

namespace pc {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// How old a list may be, and how long a tier that cannot be listed is left alone.
constexpr milliseconds kListAge{2000}, kRest{15'000};
// So much a piece that a slow network (1 MB/s) has it within a courier's patience, and a fast one
// is not slowed.
constexpr std::size_t kPiece = 1 << 20;
// What is read in less says more of one call than of the file system.
constexpr std::uint64_t kMeasuredBytes = 1 << 20;

// To close a file may be to wait for its file system as well (FUSE is told of it): who lets go of
// the last handle must not.
std::shared_ptr<const TierFile> closed_apart(std::shared_ptr<const TierFile> file) {
  if (!file->may_hang) return file;
  const TierFile* const opened = file.get();
  return {opened, [held = std::move(file)](const TierFile*) mutable {
            try {
              std::thread([last = std::move(held)]() mutable { last = nullptr; }).detach();
            } catch (const std::system_error&) {
              // No thread is to be had: it is closed here.
            }
          }};
}

}  // namespace

struct Tier::State {
  State(std::string d, const CacheTenant& t, std::vector<PublicKey> keys, TierTrust w)
      : dir(std::move(d)), tenant(t), trusted(std::move(keys)), trust(w) {}
  const std::string dir;
  const CacheTenant tenant;
  const std::vector<PublicKey> trusted;
  const TierTrust trust;

  mutable Mutex mutex;
  std::shared_ptr<const TierListing> listing PC_GUARDED_BY(mutex) =
      std::make_shared<const TierListing>();
  Status listed PC_GUARDED_BY(mutex) = error(Code::kOutOfMemory,
                                             "there was no memory to list its files");
  Clock::time_point next_list PC_GUARDED_BY(mutex) = Clock::now();
  DigestSet damaged PC_GUARDED_BY(mutex);
  double bytes_per_second PC_GUARDED_BY(mutex) = 0;
  Clock::time_point measured PC_GUARDED_BY(mutex);
  std::uint64_t n_found PC_GUARDED_BY(mutex) = 0, found_bytes PC_GUARDED_BY(mutex) = 0;
  std::uint64_t n_failed PC_GUARDED_BY(mutex) = 0;

  void list(Courier::Pulse* pulse) {
    auto read = TierListing::read(dir, tenant, trusted, trust, [&] { pulse->beat(); });
    auto shared = std::make_shared<TierListing>();
    if (read.ok()) *shared = std::move(*read);
    const MutexLock lock(mutex);
    next_list = Clock::now() + (read.ok() ? kListAge : kRest);
    listed = read.ok() ? ok() : Status(read.error());
    listing = std::move(shared);
  }
  std::shared_ptr<const TierListing> latest() const {
    const MutexLock lock(mutex);
    return listing;
  }
};

Tier::Tier(std::string dir, const CacheTenant& tenant, std::vector<PublicKey> trusted,
           TierTrust trust)
    : state_(std::make_shared<State>(std::move(dir), tenant, std::move(trusted), trust)) {
  refresh(true);
}
Tier::~Tier() = default;

const std::string& Tier::dir() const {
  return state_->dir;
}

// Has the list read; true: it was, and the caller waited for it.
bool Tier::refresh(bool waits) {
  const auto trip = [state = state_](Courier::Pulse& pulse) { state->list(&pulse); };
  return waits ? courier_.run(trip) : courier_.send(trip) && false;
}

Error Tier::away() const {
  return error(Code::kIo,
               "the store " + state_->dir + " does not answer; it is asked again once it does");
}

bool Tier::lists(const Digest& key) {
  if (courier_.is_away()) return false;
  bool is_old = false, is_listed = false;
  {
    const MutexLock lock(state_->mutex);
    is_old = Clock::now() >= state_->next_list;
    is_listed = state_->listing->keys.contains(key) && !state_->damaged.contains(key);
  }
  if (is_old) refresh(false);
  return is_listed;
}

Result<std::vector<Digest>> Tier::list() {
  if (!refresh(true)) return away();
  const MutexLock lock(state_->mutex);
  if (!state_->listed.ok()) return state_->listed.error();
  std::vector<Digest> keys(state_->listing->keys.begin(), state_->listing->keys.end());
  std::ranges::sort(keys);
  return keys;
}

Result<std::shared_ptr<const TierFile>> Tier::open(const Digest& key) {
  using Opened = Result<std::shared_ptr<const TierFile>>;
  const auto opened = std::make_shared<Opened>(error(Code::kOutOfMemory, "not enough memory"));
  const auto trip = [opened, key, state = state_](Courier::Pulse&) {
    auto file = state->latest()->open(state->dir, state->tenant, key);
    *opened = file.ok() ? Opened(closed_apart(std::move(file).value())) : std::move(file);
  };
  const auto end = Clock::now() + kOpenPatience;
  if (!courier_.run(trip, [&] { return Clock::now() < end; }))
    return Clock::now() < end ? away() : error(Code::kCancelled, "others are reading there");
  return *opened;
}

Status Tier::read(const std::shared_ptr<const TierFile>& file, const TierTarget& target,
                  FunctionRef<bool()> goes_on) {
  struct Outcome {
    Status status = error(Code::kOutOfMemory, "not enough memory");
    Clock::duration time{};
  };
  const auto outcome = std::make_shared<Outcome>();
  const auto read_all = [file, target](Courier::Pulse& pulse) -> Status {
    for (std::size_t at = 0; at < target.bytes.size(); at += kPiece) {
      if (!pulse.beat()) return cancelled();
      const auto piece = target.bytes.subspan(at, std::min(kPiece, target.bytes.size() - at));
      PC_CHECK_OK(read_exactly(file->file.fd.get(), at, piece));
    }
    return ok();
  };
  const auto trip = [outcome, read_all](Courier::Pulse& pulse) {
    const auto begin = Clock::now();
    outcome->status = read_all(pulse);
    outcome->time = Clock::now() - begin;
  };
  if (!courier_.run(trip, goes_on)) return goes_on() ? Status(away()) : Status(cancelled());
  if (outcome->status.ok()) note_read(target.bytes.size(), outcome->time);
  return outcome->status;
}

void Tier::note_read(std::uint64_t n_bytes, std::chrono::nanoseconds time) {
  if (n_bytes < kMeasuredBytes) return;
  const double rate =
      static_cast<double>(n_bytes) / std::max(1e-9, std::chrono::duration<double>(time).count());
  const MutexLock lock(state_->mutex);
  double& known = state_->bytes_per_second;
  known = known == 0 ? rate : (known + rate) / 2;
  state_->measured = Clock::now();
}

double Tier::bytes_per_second() const {
  const MutexLock lock(state_->mutex);
  // What was slow for a while is tried again.
  return Clock::now() - state_->measured < kRest ? state_->bytes_per_second : 0;
}

void Tier::note_found(std::uint64_t n_bytes) {
  const MutexLock lock(state_->mutex);
  ++state_->n_found;
  state_->found_bytes += n_bytes;
}

void Tier::note_failed(const Digest& key, bool for_good) {
  const MutexLock lock(state_->mutex);
  ++state_->n_failed;
  if (for_good) state_->damaged.insert(key);
}

TierReport Tier::report() const {
  const bool is_away = courier_.is_away();
  const MutexLock lock(state_->mutex);
  TierReport report;
  report.dir = state_->dir;
  if (!state_->listed.ok()) report.trouble = state_->listed.error().message;
  if (is_away) report.trouble = "it does not answer";
  if (report.trouble.empty() && !state_->damaged.empty())
    report.trouble = std::to_string(state_->damaged.size()) + " of its files are damaged";
  report.is_signed = !state_->listing->is_ours && !state_->listing->keys.empty();
  report.n_files = state_->listing->keys.size();
  report.n_found = state_->n_found;
  report.found_bytes = state_->found_bytes;
  report.n_failed = state_->n_failed;
  report.bytes_per_second = state_->bytes_per_second;
  return report;
}

}  // namespace pc
