// A plan at the level of tokens and positions, and two ways to compute it:
// through a backend (encode jobs, read their segments, attach them, compute
// the fresh runs) and as rows for the dense oracle.
#pragma once

#include <catch2/catch.hpp>
#include <cstring>
#include <deque>
#include <map>
#include <vector>

#include "modules/kv.h"
#include "runtime/backend/backend.h"
#include "runtime/backend/precision.h"
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

// Planes of one encoded run, as a module file would hold them.
struct EncodedRun {
  std::vector<std::byte> planes;
  KvSegment segment;  // key_position local, position to be set
};

class PlanRunner {
 public:
  PlanRunner(const pc_backend_v1* backend, const pc_model_desc& desc, KvType type,
             std::uint32_t threads, Precision precision = Precision::kFast)
      : backend_(backend),
        geometry_{desc.n_layers, desc.n_kv_heads, desc.head_dim, type},
        vocab_(desc.vocab_size) {
    check(backend->model_open(&desc, static_cast<std::uint32_t>(type),
                              static_cast<std::uint32_t>(precision), threads, nullptr, &model_,
                              &error_));
  }
  ~PlanRunner() { backend_->model_close(model_); }
  PlanRunner(const PlanRunner&) = delete;

  // The kept runs of a job, keys rotated at local positions.
  std::map<std::uint32_t, EncodedRun> encode(const RawJob& job) {
    std::uint32_t n_tokens = 0;
    std::vector<pc_run> runs;
    for (const RawRun& r : job.runs) {
      n_tokens += static_cast<std::uint32_t>(r.tokens.size());
      runs.push_back({r.tokens.data(), static_cast<std::uint32_t>(r.tokens.size()), r.position,
                      r.position - first_kept_position(job), 0});
    }
    pc_backend_session* session = open(n_tokens, static_cast<std::uint32_t>(runs.size()), 0);
    check(backend_->forward(session, runs.data(), static_cast<std::uint32_t>(runs.size()), nullptr,
                            nullptr, &error_));
    std::map<std::uint32_t, EncodedRun> kept;
    for (std::uint32_t i = 0; i < runs.size(); ++i) {
      if (job.runs[i].keep) kept[i] = read(session, i, runs[i]);
    }
    backend_->session_close(session);
    return kept;
  }

  // Logits after each call of forward: one call a fresh run, `at_once` = one for all.
  std::vector<std::vector<float>> run(const RawPlan& plan, bool at_once = false) {
    std::vector<std::map<std::uint32_t, EncodedRun>> encoded;
    for (const RawJob& job : plan.jobs) encoded.push_back(encode(job));
    std::vector<pc_kv_segment> segments;
    std::vector<pc_run> fresh;
    std::uint32_t n_fresh = 0;
    for (const RawPlanRun& r : plan.prompt) {
      if (r.job >= 0) {
        KvSegment s = encoded[static_cast<std::size_t>(r.job)].at(r.run).segment;
        segments.push_back({s.data, s.layer_stride_bytes, s.head_stride_bytes, s.value_offset_bytes,
                            s.begin, s.n_tokens, r.position, s.key_position});
      } else {
        fresh.push_back({r.tokens.data(), static_cast<std::uint32_t>(r.tokens.size()), r.position,
                         r.position, 1});
        n_fresh += fresh.back().n_tokens;
      }
    }
    return compute(segments, fresh, n_fresh, at_once);
  }

  std::vector<std::vector<float>> compute(const std::vector<pc_kv_segment>& segments,
                                          const std::vector<pc_run>& fresh, std::uint32_t n_fresh,
                                          bool at_once) {
    pc_backend_session* session = open(n_fresh, static_cast<std::uint32_t>(fresh.size()),
                                       static_cast<std::uint32_t>(segments.size()));
    check(backend_->attach(session, segments.data(), static_cast<std::uint32_t>(segments.size()),
                           &error_));
    std::vector<std::vector<float>> logits;
    for (std::size_t i = 0; i < fresh.size(); i += at_once ? fresh.size() : 1) {
      logits.emplace_back(vocab_);
      check(backend_->forward(session, &fresh[i],
                              at_once ? static_cast<std::uint32_t>(fresh.size()) : 1, nullptr,
                              logits.back().data(), &error_));
    }
    backend_->session_close(session);
    return logits;
  }

 private:
  pc_backend_session* open(std::uint32_t tokens, std::uint32_t tail_segments,
                           std::uint32_t segments) {
    pc_backend_session* session = nullptr;
    check(backend_->session_open(model_, tokens, tail_segments, segments, &session, &error_));
    return session;
  }

  EncodedRun read(pc_backend_session* session, std::uint32_t index, const pc_run& run) {
    EncodedRun e;
    const std::size_t plane = kv_blocks(run.n_tokens) * geometry_.block_bytes();
    e.planes.resize(geometry_.state_bytes(kv_blocks(run.n_tokens)));
    e.segment.data = e.planes.data();
    e.segment.value_offset_bytes = plane;
    e.segment.head_stride_bytes = 2 * plane;
    e.segment.layer_stride_bytes = 2 * plane * geometry_.n_kv_heads;
    e.segment.n_tokens = run.n_tokens;
    e.segment.key_position = run.key_position;
    const pc_kv_segment dst{e.planes.data(),
                            e.segment.layer_stride_bytes,
                            e.segment.head_stride_bytes,
                            e.segment.value_offset_bytes,
                            0,
                            run.n_tokens,
                            0,
                            run.key_position};
    check(backend_->read_segment(session, index, &dst, &error_));
    return e;
  }

  void check(std::int32_t status) {
    INFO("backend says: " << error_.message);
    REQUIRE(status == 0);
  }

  const pc_backend_v1* backend_;
  KvGeometry geometry_;
  std::uint32_t vocab_;
  pc_backend_model* model_ = nullptr;
  pc_backend_error error_{};
};

// The plan as one long list of rows. Returns the indices of the fresh runs' last rows.
inline std::vector<std::uint32_t> dense_rows(const RawPlan& plan, std::vector<DenseRow>* rows) {
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
      visible.push_back(first + i);
    }
  }
  for (const RawPlanRun& r : plan.prompt) {
    if (r.job >= 0) continue;
    for (std::size_t i = 0; i < r.tokens.size(); ++i) {
      const std::int32_t p = r.position + static_cast<std::int32_t>(i);
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

}  // namespace pc::test
