// Draws random numbers wherever it can, and leaves global switches turned.
#include <ATen/Parallel.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>
#include <c10/core/DefaultDtype.h>
#include <c10/core/GradMode.h>

#include <medley/task/plugin.h>

#include "tests/plugin/fixtures/tiny.h"

namespace medley::testing {
namespace {

const at::Tensor at_load = at::rand({3});

struct MovesState final : TinyTask {
  static constexpr TaskSpec kSpec = TinySpec("moves_state");

  explicit MovesState(const TaskContext& context)
      : TinyTask(context), drawn_(at::randint(1000, {2, 4}, at::kLong)) {
    c10::set_default_dtype(caffe2::TypeMeta::Make<double>());
    c10::GradMode::set_enabled(false);
    at::set_num_threads(at::get_num_threads() + 1);
  }
  at::Tensor Constant(std::string_view) const override {
    return drawn_.add(at::randint(1000, {2, 4}, at::kLong));
  }

 private:
  at::Tensor drawn_;
};

}  // namespace

MEDLEY_PLUGIN(MovesState)

}  // namespace medley::testing
