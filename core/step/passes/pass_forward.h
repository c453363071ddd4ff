#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include <medley/config/mode.h>
#include <medley/model/model.h>
#include <medley/step/passes/shared_encodings.h>

namespace medley {

// What a model sees of the executor during the forward of one pass, on the thread that runs it. A layer may
// run again when this object is long gone, so its function may call nothing of it: an Error names the layer
// that does.
class PassForward final : public ForwardContext {
 public:
  // The `recomputed` layers are run again instead of kept. Keeps references.
  PassForward(const std::string& task, const PassInfo& pass, const RowRange& rows, SharedEncodings& encodings,
              const RecomputedLayers& recomputed);

  // Of the deepest stack so far.
  int layers() const { return layers_; }

  at::Tensor Layer(std::string_view stack, int index, const at::Tensor& x,
                   const std::function<at::Tensor(const at::Tensor&)>& fn) override;
  at::Tensor Shared(const std::string& key, const Fn& fn) override;
  bool SharesBesideLayers(const std::string& key) const override;
  std::uint64_t Seed(std::string_view site) override;
  std::uint64_t SeedOf(const std::string& key, std::string_view site) override;
  // Held-out rows are none: their losses are those of the whole model; nor are those of a reference, which is
  // not trained.
  RowRange Rows() const override {
    return rows_.split == Split::kTraining && !is_reference_ ? rows_ : RowRange();
  }

 private:
  void CheckOutsideLayers(const char* what) const;

  RowRange rows_;
  std::uint64_t seed_;
  bool is_reference_;
  std::string sharer_;  // see SharerOf
  std::string scope_;   // whose random numbers are drawn: the pass, or a shared encoding
  std::string layer_;   // that runs now
  SharedEncodings& encodings_;
  RecomputedLayers recomputed_;
  int layers_ = 0;
};

// Activation checkpointing: fn(x), but what autograd would save inside is dropped. The first time that the
// backward asks for any of it, fn(x) runs again and everything is there, bit for bit (on a
// GPU: where the run is deterministic), until its node is done.
// Not reentrant: x needs no gradient, and the backward is one backward.
//
// fn must own what it uses, must not write to x, and must do the same each time: an Error names the layer
// where the second run saves other tensors than the first. The second run is on the backward's thread, on a
// GPU one of the engine's. Without a graph it is fn(x).
at::Tensor RunRecomputed(const std::string& layer, const at::Tensor& x,
                         const std::function<at::Tensor(const at::Tensor&)>& fn);

}  // namespace medley
