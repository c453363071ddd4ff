#include <medley/step/passes/pass_forward.h>

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include <medley/base/error.h>
#include <medley/base/random.h>
#include <medley/step/passes/saved_variables.h>

namespace medley {
namespace {

using LayerFn = std::function<at::Tensor(const at::Tensor&)>;

// One run of one layer. Owned by what stands in the graph for the tensors that it saved: x and fn live as
// long as one of them may be asked for. Never the graph's owner, or a forward without a backward would leak.
class Segment {
 public:
  Segment(std::string layer, const at::Tensor& x, LayerFn fn)
      : layer_(std::move(layer)), x_(x), needs_gradient_(x.requires_grad()), fn_(std::move(fn)) {}

  // The first run: notes what is saved, returns its number.
  std::size_t Note(const at::Tensor& saved) {
    slots_.push_back({.sizes = saved.sizes().vec(), .dtype = saved.scalar_type(), .value = {}});
    return slots_.size() - 1;
  }
  // The backward: on any thread.
  at::Tensor Get(std::size_t index) {
    const std::lock_guard lock(mutex_);
    if (x_) RunAgain();
    return slots_[index].value->Get();
  }
  // Nobody will ask for it again.
  void Free(std::size_t index) {
    const std::lock_guard lock(mutex_);
    slots_[index].wanted = false;
    slots_[index].value.reset();
  }

 private:
  struct Slot {
    std::vector<std::int64_t> sizes;
    at::ScalarType dtype;
    std::optional<UnchangedTensor> value;  // after the second run
    bool wanted = true;
  };
  class RunAgainKeeper;

  void RunAgain();

  std::mutex mutex_;
  std::string layer_;
  std::optional<UnchangedTensor> x_;  // until the second run
  bool needs_gradient_;
  LayerFn fn_;
  std::vector<Slot> slots_;
};

class DroppedTensor final : public KeptTensor {
 public:
  DroppedTensor(std::shared_ptr<Segment> segment, std::size_t index)
      : segment_(std::move(segment)), index_(index) {}
  ~DroppedTensor() override { segment_->Free(index_); }
  at::Tensor Get() override { return segment_->Get(index_); }

 private:
  std::shared_ptr<Segment> segment_;
  std::size_t index_;
};

class FirstRun final : public SavedTensorKeeper {
 public:
  explicit FirstRun(std::shared_ptr<Segment> segment) : segment_(std::move(segment)) {}
  std::unique_ptr<KeptTensor> Keep(const at::Tensor& tensor) override {
    return std::make_unique<DroppedTensor>(segment_, segment_->Note(tensor));
  }

 private:
  std::shared_ptr<Segment> segment_;
};

// In the graph of the second run, which nobody goes back through.
class NeverAsked final : public KeptTensor {
 public:
  at::Tensor Get() override { throw Error("the graph of a layer that was run again went backward"); }
};

// Takes what is saved by its number.
class Segment::RunAgainKeeper final : public SavedTensorKeeper {
 public:
  explicit RunAgainKeeper(Segment& segment) : segment_(segment), values_(segment.slots_.size()) {}

  std::unique_ptr<KeptTensor> Keep(const at::Tensor& tensor) override {
    Check(tensor);
    if (segment_.slots_[saved_].wanted) values_[saved_].emplace(tensor);
    ++saved_;
    return std::make_unique<NeverAsked>();
  }
  void Finish() {
    if (saved_ != values_.size()) Fail("saved " + std::to_string(saved_) + " tensors");
    for (std::size_t i = 0; i < values_.size(); ++i) segment_.slots_[i].value = std::move(values_[i]);
  }

 private:
  void Check(const at::Tensor& tensor) const {
    if (saved_ == values_.size()) Fail("saved more than that");
    const Slot& slot = segment_.slots_[saved_];
    if (tensor.sizes() == slot.sizes && tensor.scalar_type() == slot.dtype) return;
    Fail("saved as number " + std::to_string(saved_) + " " +
         c10::str(tensor.sizes(), " ", tensor.scalar_type()) + " instead of " +
         c10::str(at::IntArrayRef(slot.sizes), " ", slot.dtype));
  }
  [[noreturn]] void Fail(const std::string& second) const {
    throw Error("the layer " + segment_.layer_ + " saved " + std::to_string(values_.size()) +
                " tensors for its backward when it first ran, but " + second +
                " when it was run again; a layer must do the same each time (set recompute_every to 0, or "
                "take what changes out of its function)");
  }

  Segment& segment_;
  std::vector<std::optional<UnchangedTensor>> values_;
  std::size_t saved_ = 0;
};

void Segment::RunAgain() {
  RunAgainKeeper run(*this);
  {
    const at::AutoGradMode with_graph(true);  // the engine runs without; only with one is anything saved
    const KeepSavedTensors scope(run);
    fn_(x_->Get().detach().set_requires_grad(needs_gradient_));
  }
  run.Finish();
  x_.reset();
  fn_ = nullptr;
}

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

at::Tensor RunRecomputed(const std::string& layer, const at::Tensor& x, const LayerFn& fn) {
  if (!at::GradMode::is_enabled()) return fn(x);
  CountAsSaved(x);
  FirstRun run(std::make_shared<Segment>(layer, x, fn));
  const KeepSavedTensors scope(run);
  return fn(x);
}

PassForward::PassForward(const std::string& task, const PassInfo& pass, const RowRange& rows,
                         SharedEncodings& encodings, const RecomputedLayers& recomputed)
    : rows_(rows),
      seed_(CombineSeeds(rows.seed, HashName(task))),
      is_reference_(!pass.reference.empty()),
      sharer_(SharerOf(pass)),
      scope_(pass.name),
      encodings_(encodings),
      recomputed_(recomputed) {}

void PassForward::CheckOutsideLayers(const char* what) const {
  if (layer_.empty()) return;
  throw Error("the model's layer " + layer_ + " called the context's " + what +
              "; take seeds and encodings before Layer, and hand them to its function by value");
}

at::Tensor PassForward::Layer(std::string_view stack, int index, const at::Tensor& x,
                              const std::function<at::Tensor(const at::Tensor&)>& fn) {
  CheckOutsideLayers("Layer");
  layers_ = std::max(layers_, index + 1);
  const Inside inside(layer_, std::string("'").append(stack).append("' ").append(std::to_string(index)));
  if (!recomputed_.Has(index)) return fn(x);
  return RunRecomputed(layer_, x, fn);
}

at::Tensor PassForward::Shared(const std::string& key, const Fn& fn) {
  CheckOutsideLayers("Shared");
  if (key.empty()) return fn();
  return encodings_.Get(sharer_, key, [&] {
    // An encoding has the random numbers of its key: which pass makes it depends on the mode.
    const Inside inside(scope_, key);
    return fn();
  });
}

bool PassForward::SharesBesideLayers(const std::string& key) const {
  return at::GradMode::is_enabled() && encodings_.SharesNode(sharer_, key);
}

std::uint64_t PassForward::Seed(std::string_view site) { return SeedOf(scope_, site); }

std::uint64_t PassForward::SeedOf(const std::string& key, std::string_view site) {
  CheckOutsideLayers("Seed");
  return CombineSeeds(CombineSeeds(seed_, HashName(key)), HashName(site));
}

}  // namespace medley
