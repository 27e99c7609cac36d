// Owners of what a backend made: a model on it, and a session of that model.
//
// Thin: every call is one call of the C table with its error turned into a
// Result. Nothing that a backend computed is believed to be finite: forward() looks
// at the logits, and Encoder at the states of modules. BackendModel is thread-safe; a
// BackendSession belongs to one thread at a time and must not outlive its model.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "modules/kv.h"
#include "modules/module_image.h"  // KvPlanes
#include "runtime/backend/backend.h"
#include "runtime/backend/precision.h"

namespace pc {

namespace simd {
struct Kernels;
}

class BackendSession {
 public:
  Status attach(std::span<const KvSegment> segments);

  // logits: null, or [vocab_size] of the last run's last token. Allocates
  // nothing itself. See pc_backend_v1::forward. kNotFinite, naming the backend, where
  // it hands out logits that are not.
  Status forward(std::span<const pc_run> runs, const volatile std::int32_t* cancel, float* logits);

  // forward() that joins what each layer made to ranges, [n_layers + 1]. kUnsupported where
  // the backend does not measure.
  Status measure(std::span<const pc_run> runs, std::span<pc_layer_range> ranges, float* logits);

  // Copies tail segment `index`, in the order of creation, into a module's planes.
  Status read_segment(std::uint32_t index, const KvPlanes& planes);

  Status rewind(std::uint32_t n_segments);

  const char* backend_name() const { return table()->name; }

 private:
  friend class BackendModel;
  struct Close {
    const pc_backend_v1* table;
    void operator()(pc_backend_session* session) const { table->session_close(session); }
  };
  BackendSession(const pc_backend_v1* table, pc_backend_session* session,
                 const simd::Kernels* kernels, std::uint32_t vocab_size)
      : session_(session, Close{table}), kernels_(kernels), vocab_size_(vocab_size) {}
  Status check_logits(std::span<const pc_run> runs, const float* logits) const;
  const pc_backend_v1* table() const { return session_.get_deleter().table; }

  std::unique_ptr<pc_backend_session, Close> session_;
  const simd::Kernels* kernels_;
  std::uint32_t vocab_size_;
};

class BackendModel {
 public:
  // `desc` is borrowed for the model's life. n_threads: 0 = as many as allowed.
  // pack: null = none; borrowed for the call.
  static Result<BackendModel> open(const pc_backend_v1* table, const pc_model_desc& desc,
                                   KvType type, Precision precision, std::uint32_t n_threads,
                                   const pc_pack_options* pack);

  // Room for tail_tokens tokens in tail_segments runs, and for max_segments attached ones.
  Result<BackendSession> session(std::uint32_t tail_tokens, std::uint32_t tail_segments,
                                 std::uint32_t max_segments) const;

  const char* name() const { return model_.get_deleter().table->name; }
  std::uint32_t numerics_version() const { return model_.get_deleter().table->numerics_version; }

  // Why it is slower than it could be; "" if it is not.
  const std::string& remark() const { return remark_; }

 private:
  struct Close {
    const pc_backend_v1* table;
    void operator()(pc_backend_model* model) const { table->model_close(model); }
  };
  BackendModel(const pc_backend_v1* table, pc_backend_model* model, std::string remark,
               std::uint32_t vocab_size);

  std::unique_ptr<pc_backend_model, Close> model_;
  std::string remark_;
  const simd::Kernels* kernels_;
  std::uint32_t vocab_size_;
};

}  // namespace pc
