// A plan at the level of tokens and positions, and two ways to compute it:
// through a backend (encode jobs into planes, attach these, compute
// the fresh runs) and as rows for the dense oracle.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "modules/kv.h"
#include "runtime/backend/backend.h"
#include "runtime/backend/precision.h"
#include "runtime/backend/state_map.h"
#include "runtime/backend/states_shape.h"
#include "tests/support/dense_oracle.h"

namespace pc::test {

struct RawRun {
  std::vector<std::int32_t> tokens;
  std::int32_t position = 0;  // in its pass
  bool keep = false;
};

struct RawJob {
  std::vector<RawRun> runs;
};

// A cached run (job >= 0) or fresh tokens, at a prompt position.
struct RawPlanRun {
  int job = -1;
  std::uint32_t run = 0;             // index into the job's runs; a kept one
  std::vector<std::int32_t> tokens;  // fresh only
  std::int32_t position = 0;
  std::vector<std::uint32_t> anew = {};  // cached: indices of tokens that are computed anew
};

struct RawPlan {
  std::vector<RawJob> jobs;
  std::vector<RawPlanRun> prompt;  // in order of position
};

inline std::int32_t first_kept_position(const RawJob& job) {
  for (const RawRun& run : job.runs)
    if (run.keep) return run.position;
  return 0;
}

// What a plan computes, run after run.
struct FreshRun {
  std::vector<std::int32_t> tokens, positions;
  bool has_gaps() const {
    return positions.back() - positions.front() + 1 != static_cast<std::int32_t>(positions.size());
  }
};

// Its fresh runs and, between them, the tokens that it computes anew: together, or one run for each
// stretch without a gap.
inline std::vector<FreshRun> fresh_runs(const RawPlan& plan, bool gaps) {
  std::vector<FreshRun> runs;
  bool goes_on = false;  // the last run is one of tokens anew
  const auto add = [&](std::int32_t token, std::int32_t position) {
    if (!goes_on || (!gaps && runs.back().positions.back() + 1 != position)) runs.emplace_back();
    runs.back().tokens.push_back(token);
    runs.back().positions.push_back(position);
    goes_on = true;
  };
  for (const RawPlanRun& r : plan.prompt) {
    if (r.job < 0) goes_on = false;
    for (std::size_t i = 0; i < r.tokens.size() && r.job < 0; ++i)
      add(r.tokens[i], r.position + static_cast<std::int32_t>(i));
    if (r.job < 0) goes_on = false;
    for (const std::uint32_t i : r.anew)
      add(plan.jobs[static_cast<std::size_t>(r.job)].runs[r.run].tokens[i],
          r.position + static_cast<std::int32_t>(i));
  }
  return runs;
}

// As the seam has them.
inline pc_kv_planes seam_planes(const KvPlanes& p) {
  return {p.data, p.plane_blocks, p.first_block};
}
inline pc_kv_segment seam_segment(const KvSegment& s, std::int32_t position) {
  return {s.data,   s.plane_blocks, s.first_block, s.begin, s.n_tokens,
          position, s.key_position, nullptr,       0};
}

// Planes of one encoded run, as a module file would hold them.
struct EncodedRun {
  std::vector<std::byte> bytes;
  KvPlanes planes;
  KvSegment segment;       // key_position local, position to be set
  std::vector<float> map;  // of recurrent layers' states, where there are such
};

// Calls of a backend's table that must succeed, and owners of what they make.
class Backend {
 public:
  Backend(const pc_backend_v1* table, const pc_model_desc& desc, KvType type, std::uint32_t threads,
          Precision precision = Precision::kFast, const pc_pack_options* pack = nullptr)
      : table_(table), geometry_(states_shape(desc, type)), vocab_(desc.vocab_size) {
    check(table->model_open(&desc, static_cast<std::uint32_t>(type),
                            static_cast<std::uint32_t>(precision), threads, pack, &model_,
                            &error_));
    remark_ = error_.message;
  }
  ~Backend() { table_->model_close(model_); }
  Backend(const Backend&) = delete;

  struct Timeline {
    struct Close {
      const pc_backend_v1* table;
      void operator()(pc_backend_timeline* t) const { table->timeline_close(t); }
      void operator()(pc_backend_resident* r) const { table->resident_release(r); }
    };
    std::vector<std::shared_ptr<pc_backend_resident>> residents;
    std::unique_ptr<pc_backend_timeline, Close> timeline;
    pc_backend_timeline* get() const { return timeline.get(); }
  };

  Timeline open() {
    pc_backend_timeline* timeline = nullptr;
    check(table_->timeline_open(model_, &timeline, &error_));
    return {{}, {timeline, {table_}}};
  }
  Timeline fork(const Timeline& from) {
    pc_backend_timeline* timeline = nullptr;
    check(table_->timeline_fork(from.get(), &timeline, &error_));
    return {from.residents, {timeline, {table_}}};
  }
  // hidden: pc_attachment's; empty: all is seen.
  void attach(Timeline& timeline, const pc_kv_segment& segment,
              const std::vector<std::uint32_t>& hidden = {}) {
    pc_backend_resident* resident = nullptr;
    const std::uint8_t identity[32] = {};
    check(table_->resident_create(model_, identity, &segment, 1, &resident, &error_));
    timeline.residents.push_back({resident, typename Timeline::Close{table_}});
    const pc_attachment all{0, 0, segment.n_tokens, segment.position,
                            hidden.empty() ? nullptr : hidden.data()};
    check(table_->timeline_attach(timeline.get(), resident, &all, &error_));
  }
  void read(const Timeline& timeline, std::uint32_t first, std::uint32_t n,
            const pc_kv_planes& planes) {
    check(table_->timeline_read(timeline.get(), first, n, &planes, &error_));
  }
  void rewind(Timeline& timeline, std::uint32_t n_tokens, std::uint32_t n_attached = UINT32_MAX) {
    std::uint32_t n_left = 0;
    check(table_->timeline_rewind(timeline.get(), n_tokens, n_attached, &n_left, &error_));
    if (n_attached < timeline.residents.size()) timeline.residents.resize(n_attached);
  }
  void step(std::span<pc_step_item> items) {
    table_->step(model_, items.data(), static_cast<std::uint32_t>(items.size()));
  }
  // The logits of the last token.
  std::vector<float> compute(const Timeline& timeline, std::span<const pc_run> runs) {
    std::vector<float> logits(vocab_);
    pc_step_item item{};
    item.timeline = timeline.get();
    item.runs = runs.data();
    item.n_runs = static_cast<std::uint32_t>(runs.size());
    item.logits = logits.data();
    step({&item, 1});
    error_ = item.error;
    check(item.status);
    return logits;
  }

  const KvGeometry& geometry() const { return geometry_; }
  const std::string& remark() const { return remark_; }  // of opening
  std::uint32_t vocab() const { return vocab_; }

 private:
  void check(std::int32_t status) {
    INFO("backend says: " << error_.message);
    REQUIRE(status == 0);
  }

  const pc_backend_v1* table_;
  KvGeometry geometry_;
  std::uint32_t vocab_;
  pc_backend_model* model_ = nullptr;
  pc_backend_error error_{};
  std::string remark_;
};

class PlanRunner {
 public:
  PlanRunner(const pc_backend_v1* backend, const pc_model_desc& desc, KvType type,
             std::uint32_t threads, Precision precision = Precision::kFast)
      : desc_(desc), backend_(backend, desc, type, threads, precision), gaps_(!desc.alibi_slopes) {}

  // The kept runs of a job, keys rotated at local positions.
  std::map<std::uint32_t, EncodedRun> encode(const RawJob& job) {
    std::map<std::uint32_t, EncodedRun> kept;
    std::deque<pc_kv_planes> planes;
    std::deque<pc_state_map> maps;
    const KvType type = backend_.geometry().type();
    std::vector<pc_run> runs;
    for (const RawRun& r : job.runs) {
      runs.push_back({r.tokens.data(), static_cast<std::uint32_t>(r.tokens.size()), r.position,
                      r.position - first_kept_position(job), 0, nullptr, nullptr, 0, nullptr});
      if (!r.keep) continue;
      EncodedRun& e = kept[static_cast<std::uint32_t>(runs.size() - 1)];
      e = planes_for(runs.back());
      planes.push_back(seam_planes(e.planes));
      if (fresh_type(type) == type) runs.back().planes = &planes.back();
      if (e.map.empty()) continue;
      maps.push_back({e.map.data(), runs.back().n_tokens});
      runs.back().state_map = &maps.back();
    }
    const Backend::Timeline timeline = backend_.open();
    backend_.compute(timeline, runs);
    if (fresh_type(type) == type) return kept;
    std::uint32_t first = 0;
    auto to = planes.begin();
    for (std::uint32_t i = 0; i < runs.size(); first += runs[i++].n_tokens)
      if (job.runs[i].keep) backend_.read(timeline, first, runs[i].n_tokens, *to++);
    return kept;
  }

  // What a prompt attaches and computes.
  struct Prompt {
    std::vector<std::map<std::uint32_t, EncodedRun>> encoded;  // that segments view
    std::vector<pc_kv_segment> segments;
    std::vector<std::vector<std::uint32_t>> hidden;  // [segments], see Backend::attach
    std::vector<FreshRun> fresh_runs;
    std::vector<pc_run> fresh;  // that borrow them
  };
  Prompt prompt_of(const RawPlan& plan) {
    Prompt prompt;
    prompt.fresh_runs = fresh_runs(plan, gaps_);
    for (const FreshRun& r : prompt.fresh_runs)
      prompt.fresh.push_back({r.tokens.data(), static_cast<std::uint32_t>(r.tokens.size()),
                              r.positions[0], r.positions[0], 1, nullptr,
                              r.has_gaps() ? r.positions.data() : nullptr, 0, nullptr});
    for (const RawJob& job : plan.jobs) prompt.encoded.push_back(encode(job));
    for (const RawPlanRun& r : plan.prompt) {
      if (r.job < 0) continue;
      const EncodedRun& e = prompt.encoded[static_cast<std::size_t>(r.job)].at(r.run);
      const KvSegment& s = e.segment;
      prompt.segments.push_back(seam_segment(s, r.position));
      if (!e.map.empty()) prompt.segments.back().recurrent = e.map.data();
      prompt.segments.back().maps_states = 1;
      std::vector<std::uint32_t>& hidden = prompt.hidden.emplace_back();
      if (!r.anew.empty()) hidden.resize((s.n_tokens + 31) / 32);
      for (const std::uint32_t i : r.anew) hidden[i / 32] |= 1u << i % 32;
    }
    return prompt;
  }

  // What it has attached.
  Backend::Timeline open(const Prompt& prompt) {
    Backend::Timeline timeline = backend_.open();
    for (std::size_t i = 0; i < prompt.segments.size(); ++i)
      backend_.attach(timeline, prompt.segments[i], prompt.hidden[i]);
    return timeline;
  }

  // Logits after each step: one step a fresh run, `at_once` = one for all.
  std::vector<std::vector<float>> run(const RawPlan& plan, bool at_once = false) {
    const Prompt prompt = prompt_of(plan);
    Backend::Timeline timeline = open(prompt);
    return compute(timeline, prompt.fresh, at_once);
  }

  std::vector<std::vector<float>> compute(const std::vector<pc_kv_segment>& segments,
                                          const std::vector<pc_run>& fresh, bool at_once) {
    Backend::Timeline timeline = backend_.open();
    for (const pc_kv_segment& segment : segments) backend_.attach(timeline, segment);
    return compute(timeline, fresh, at_once);
  }

  std::vector<std::vector<float>> compute(Backend::Timeline& timeline,
                                          const std::vector<pc_run>& fresh, bool at_once) {
    std::vector<std::vector<float>> logits;
    for (std::size_t i = 0; i < fresh.size(); i += at_once ? fresh.size() : 1)
      logits.push_back(
          backend_.compute(timeline, std::span(fresh).subspan(i, at_once ? fresh.size() : 1)));
    return logits;
  }

  Backend& backend() { return backend_; }

 private:
  EncodedRun planes_for(const pc_run& run) {
    EncodedRun e;
    const KvGeometry& geometry = backend_.geometry();
    e.bytes.resize(geometry.state_bytes(kv_blocks(run.n_tokens)));
    e.planes = dense_planes(e.bytes.data(), geometry, kv_blocks(run.n_tokens));
    e.map.resize(StateMapShape(desc_, run.n_tokens).n_numbers());
    e.segment = {
        {e.planes.data, &geometry, e.planes.plane_blocks, 0}, 0, run.n_tokens, 0, run.key_position};
    return e;
  }

  const pc_model_desc& desc_;
  Backend backend_;
  bool gaps_;  // may fresh runs have gaps?
};

// The plan as one long list of rows. Returns the indices of the fresh runs' last rows; gaps: see
// fresh_runs().
inline std::vector<std::uint32_t> dense_rows(const RawPlan& plan, std::vector<DenseRow>* rows,
                                             bool gaps = true) {
  std::map<std::pair<int, std::uint32_t>, std::uint32_t> first_row;  // (job, run) -> row
  for (std::size_t j = 0; j < plan.jobs.size(); ++j) {
    const auto pass_begin = static_cast<std::uint32_t>(rows->size());
    for (std::uint32_t r = 0; r < plan.jobs[j].runs.size(); ++r) {
      const RawRun& run = plan.jobs[j].runs[r];
      first_row[{static_cast<int>(j), r}] = static_cast<std::uint32_t>(rows->size());
      for (std::size_t i = 0; i < run.tokens.size(); ++i) {
        DenseRow row{run.tokens[i],
                     static_cast<std::uint32_t>(j + 1),
                     run.position + static_cast<std::int32_t>(i),
                     0,
                     {}};
        for (std::uint32_t seen = pass_begin; seen <= rows->size(); ++seen)
          row.sees.push_back(seen);
        rows->push_back(row);
      }
    }
  }
  std::vector<std::uint32_t> visible, last;
  for (const RawPlanRun& r : plan.prompt) {
    if (r.job < 0) continue;
    const std::uint32_t first = first_row.at({r.job, r.run});
    const std::size_t n = plan.jobs[static_cast<std::size_t>(r.job)].runs[r.run].tokens.size();
    for (std::uint32_t i = 0; i < n; ++i) {
      (*rows)[first + i].placed = r.position + static_cast<std::int32_t>(i);
      if (std::ranges::find(r.anew, i) == r.anew.end()) visible.push_back(first + i);
    }
  }
  for (const FreshRun& r : fresh_runs(plan, gaps)) {
    for (std::size_t i = 0; i < r.tokens.size(); ++i) {
      const std::int32_t p = r.positions[i];
      DenseRow row{r.tokens[i], 0, p, p, {}};
      const auto self = static_cast<std::uint32_t>(rows->size());
      visible.push_back(self);
      rows->push_back(row);
      for (const std::uint32_t v : visible)
        if ((*rows)[v].placed <= p) (*rows)[self].sees.push_back(v);
    }
    last.push_back(static_cast<std::uint32_t>(rows->size() - 1));
  }
  return last;
}

inline double max_difference(const std::vector<float>& a, const std::vector<double>& b) {
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) worst = std::max(worst, std::fabs(a[i] - b[i]));
  return worst;
}

// Of logits, in L2.
inline double relative_error(std::span<const float> got, std::span<const float> want) {
  double difference = 0, norm = 0;
  for (std::size_t v = 0; v < got.size(); ++v) {
    difference += std::pow(got[v] - want[v], 2);
    norm += std::pow(want[v], 2);
  }
  return std::sqrt(difference / norm);
}

}  // namespace pc::test
