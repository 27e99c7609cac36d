// A thread that goes where one may have to wait for ever: to a file system whose server may be
// gone. Whoever sends it waits as long as it gets on, and not much longer; then it is away, and
// nobody waits for it until it is back.
//
// So a trip must own, or share, all that it touches, its results too: who sent it may have left.
// Neither copied nor moved. Threads: any.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

#include "base/function_ref.h"

namespace pc {

class Courier {
 public:
  // How long nobody doubts that it gets on, where it does not say so.
  static constexpr std::chrono::milliseconds kPatience{2000};

  // By which a trip says that it gets on.
  class Pulse {
   public:
    // False: nobody waits for the trip any more, and it should end.
    bool beat();

   private:
    friend class Courier;
    std::atomic<std::int64_t> latest_ns_{0};  // of the steady clock
    std::atomic<bool> is_wanted_{true};
  };
  using Trip = std::function<void(Pulse& pulse)>;

  Courier();
  Courier(const Courier&) = delete;
  // Waits for nothing that may hang: a courier that is away ends when it is back.
  ~Courier();

  // Sends it, once it is back from where it is, and waits until it is back. False: it did not get
  // on for kPatience, on this trip or the one before, or goes_on() said no; asked every 50 ms.
  bool run(Trip trip, FunctionRef<bool()> goes_on);
  bool run(Trip trip);

  // Sends it, and does not wait. False: it is on another trip.
  bool send(Trip trip);

  // Has it been on a trip for longer than kPatience without getting on?
  bool is_away() const;

 private:
  struct Shared;
  static void serve(const std::shared_ptr<Shared>& shared);
  std::shared_ptr<Shared> shared_;
};

}  // namespace pc
