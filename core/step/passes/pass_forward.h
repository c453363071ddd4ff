#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <medley/model/model.h>
#include <medley/step/passes/shared_encodings.h>

namespace medley {

// What a model sees of the executor during the forward of one pass. A layer may run again when this object is
// long gone, so its function may call nothing of it: an Error names the layer that does. To be used on the
// thread of its pass.
class PassForward final : public ForwardContext {
 public:
  // Every `recompute_every`-th layer of a stack, beginning with its first, is run again instead of kept; 0:
  // none. Keeps references.
  PassForward(const std::string& task, const std::string& pass, const RowRange& rows,
              SharedEncodings& encodings, int recompute_every);

  at::Tensor Layer(std::string_view stack, int index, const at::Tensor& x,
                   const std::function<at::Tensor(const at::Tensor&)>& fn) override;
  at::Tensor Shared(const std::string& key, const Fn& fn) override;
  bool SharesBesideLayers(const std::string& key) const override;
  std::uint64_t Seed(std::string_view site) override;
  std::uint64_t SeedOf(const std::string& key, std::string_view site) override;
  // Held-out rows are none: their losses are those of the whole model.
  RowRange Rows() const override { return rows_.split == Split::kTraining ? rows_ : RowRange(); }

 private:
  void CheckOutsideLayers(const char* what) const;

  RowRange rows_;
  std::uint64_t seed_;
  std::string scope_;  // whose random numbers are drawn: the pass, or a shared encoding
  std::string layer_;  // that runs now
  SharedEncodings& encodings_;
  int recompute_every_;
};

}  // namespace medley
