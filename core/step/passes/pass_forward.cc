#include <medley/step/passes/pass_forward.h>

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>

#include <utility>

#include <medley/base/error.h>
#include <medley/base/random.h>
#include <medley/step/passes/layer_recompute.h>

namespace medley {
namespace {

struct Inside {
  Inside(std::string& current, std::string inner)
      : now(current), before(std::exchange(current, std::move(inner))) {}
  ~Inside() { now = std::move(before); }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
  std::string& now;
  std::string before;
};

}  // namespace

PassForward::PassForward(const std::string& task, const std::string& pass, const RowRange& rows,
                         SharedEncodings& encodings, int recompute_every)
    : rows_(rows),
      seed_(CombineSeeds(rows.seed, HashName(task))),
      scope_(pass),
      encodings_(encodings),
      recompute_every_(recompute_every) {}

void PassForward::CheckOutsideLayers(const char* what) const {
  if (layer_.empty()) return;
  throw Error("the model's layer " + layer_ + " called the context's " + what +
              "; take seeds and encodings before Layer, and hand them to its function by value");
}

at::Tensor PassForward::Layer(std::string_view stack, int index, const at::Tensor& x,
                              const std::function<at::Tensor(const at::Tensor&)>& fn) {
  CheckOutsideLayers("Layer");
  const Inside inside(layer_, std::string("'").append(stack).append("' ").append(std::to_string(index)));
  if (recompute_every_ == 0 || index % recompute_every_ != 0) return fn(x);
  return RunRecomputed(layer_, x, fn);
}

at::Tensor PassForward::Shared(const std::string& key, const Fn& fn) {
  CheckOutsideLayers("Shared");
  if (key.empty()) return fn();
  return encodings_.Get(key, [&] {
    // An encoding has the random numbers of its key: which pass makes it depends on the mode.
    const Inside inside(scope_, key);
    return fn();
  });
}

bool PassForward::SharesBesideLayers(const std::string& key) const {
  return at::GradMode::is_enabled() && encodings_.SharesNode(key);
}

std::uint64_t PassForward::Seed(std::string_view site) { return SeedOf(scope_, site); }

std::uint64_t PassForward::SeedOf(const std::string& key, std::string_view site) {
  CheckOutsideLayers("Seed");
  return CombineSeeds(CombineSeeds(seed_, HashName(key)), HashName(site));
}

}  // namespace medley
