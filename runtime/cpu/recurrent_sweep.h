// The rows of a sweep as layers that carry states compute them: cut where something is attached
// between two of them, and where a run begins or ends of which a map is made.
//
// Nothing where the model has no such layers. Borrows the model and the timelines. Threads: one at
// a time.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/status.h"
#include "runtime/cpu/backend_timeline.h"
#include "runtime/cpu/layers/recurrent_rows.h"
#include "runtime/step/sweep.h"

namespace pc {

class RecurrentSweep {
 public:
  explicit RecurrentSweep(const pc_model_desc& desc);

  // Tokens [first, first + n) of a run are rows of the sweep from first_row on. kUnsupported: their
  // states are not known.
  Status append(const pc_step_item& item, const pc_run& run, std::uint32_t first, std::uint32_t n,
                std::uint32_t first_row);
  // Rows from first_row on were none.
  void forget_from(std::uint32_t first_row);
  // All rows are there; again where the sweep begins again.
  void begin(const Sweep& sweep);
  std::span<const RecurrentRows> rows() const { return rows_; }
  // The sweep is over. Where it did not fail timelines have its states.
  void end(bool failed) noexcept;

 private:
  Status append_mapped(pc_backend_timeline& timeline, const pc_run& run, std::uint32_t first,
                       std::uint32_t n, std::uint32_t first_row);
  void cut(const Sweep& sweep, const SweepPart& part);

  // Rows of a run of which a map is made, its tokens from map_first on.
  struct MappedRows {
    pc_backend_timeline* timeline;
    std::uint32_t first, n, map_first;
    std::shared_ptr<MadeMap> made;
  };
  const MappedRows* mapped_at(std::uint32_t row) const;
  struct Swept {
    pc_backend_timeline* timeline;
    std::int32_t end;      // behind its last row
    bool keeps_recurrent;  // SweepPart
  };

  const pc_model_desc& desc_;
  const bool is_recurrent_;
  std::vector<MappedRows> mapped_;  // in order of rows
  std::vector<Swept> swept_;        // the sweep's parts
  std::vector<RecurrentRows> rows_;
  std::vector<std::vector<AttachedMap>> maps_;  // that rows_ view
};

}  // namespace pc
