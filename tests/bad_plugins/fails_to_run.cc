// A task whose every call can fail: the row, the pass or the constant says how.
#include <ATen/ops/zeros.h>
#include <c10/util/Exception.h>

#include <stdexcept>

#include <medley/task/plugin.h>

#include "tests/plugin/fixtures/tiny.h"

namespace medley::testing {

struct FailsToRun final : TinyTask {
  using TinyTask::TinyTask;
  static constexpr TaskSpec kSpec{
      .name = "fails_to_run",
      .passes = {{.name = "throws_int"}, {.name = "runs_out"}, {.name = "throws_input"}, {.name = "misfits"}},
      .terms = {{.name = "sum"}},
      .variants = {{.name = "other",
                    .passes = {{.name = "only"}},
                    .terms = {{.name = "sum", .weight = 2}},
                    .summary = "one pass alone"}},
      .constants = {{.name = "shape", .rows = 2, .width = 4},
                    {.name = "dtype", .rows = 2, .width = 4, .dtype = "float32"},
                    {.name = "undefined", .rows = 1, .width = 1},
                    {.name = "throws", .rows = 1, .width = 1},
                    {.name = "view", .rows = 2, .width = 3}},
      .options = {{.name = "share", .value = 0.5}},
      .special_tokens = {"<pad>"},
  };

  Batch Sample(const RowRange& rows) const override {
    if (rows.begin == 100) throw std::out_of_range("row 100");
    return Batch(RowRange{rows.seed, rows.begin, rows.begin == 200 ? rows.count + 1 : rows.count});
  }
  Sums Run(std::string_view pass, PassContext&) const override {
    if (pass == "runs_out") C10_THROW_ERROR(OutOfMemoryError, "the device is full");
    if (pass == "misfits") return {{"sum", at::zeros({2, 3}).mm(at::zeros({2, 3})).sum()}};
    if (pass == "throws_input") throw InputError("a file is missing");
    throw 7;
  }
  Outcomes Evaluate(EvalContext&, const RowRange&) const override { return Outcomes{.score = {1.0}}; }
  at::Tensor Constant(std::string_view name) const override {
    if (name == "shape") return at::zeros({2, 5}, at::kLong);
    if (name == "dtype") return at::zeros({2, 4}, at::kLong);
    if (name == "undefined") return {};
    if (name == "view") return at::arange(300).view({2, 150}).narrow(1, 0, 3);
    throw std::runtime_error("no such file");
  }
};

MEDLEY_PLUGIN(FailsToRun)

}  // namespace medley::testing
