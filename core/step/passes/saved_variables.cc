#include <medley/step/passes/saved_variables.h>

#include <ATen/SavedTensorHooks.h>
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/saved_variable_hooks.h>

#include <atomic>
#include <unordered_map>
#include <utility>

#include <medley/base/error.h>

namespace medley {
namespace {

// One of the two is set.
struct Scope {
  Scope* around;
  SavedTensorKeeper* keeper;
  CountSavedBytes::State* counter;
  std::size_t pythons;  // pairs of hooks of Python's that were open around it
};
thread_local Scope* innermost = nullptr;

std::size_t HooksOfPython() { return at::SavedTensorDefaultHooks::get_tls_state().stack.size(); }

void Push(SavedTensorKeeper* keeper, CountSavedBytes::State* counter) {
  InstallSavedVariableHooks();
  innermost = new Scope{innermost, keeper, counter, HooksOfPython()};
}

void Pop() { delete std::exchange(innermost, innermost->around); }

class PlainTensor final : public KeptTensor {
 public:
  explicit PlainTensor(const at::Tensor& tensor) : tensor_(tensor) {}
  at::Tensor Get() override { return tensor_.Get(); }

 private:
  UnchangedTensor tensor_;
};

}  // namespace

struct CountSavedBytes::State {
  struct Storage {
    // Holds the object, not its bytes: no other storage can get its address.
    c10::weak_intrusive_ptr<c10::StorageImpl> object;
    std::int64_t bytes;
  };
  std::set<const void*> excluded;
  std::unordered_map<const void*, Storage> storages;

  void Add(const at::Tensor& tensor) {
    if (!tensor.has_storage()) return;
    const at::Storage& storage = tensor.storage();
    storages.try_emplace(StorageKey(tensor),
                         Storage{storage.getWeakStorageImpl(), static_cast<std::int64_t>(storage.nbytes())});
  }
};

namespace {

std::unique_ptr<KeptTensor> Keep(const at::Tensor& tensor) {
  for (const Scope* scope = innermost; scope != nullptr; scope = scope->around) {
    if (scope->keeper != nullptr) return scope->keeper->Keep(tensor);
    scope->counter->Add(tensor);
  }
  return std::make_unique<PlainTensor>(tensor);
}

class Hooks final : public torch::autograd::SavedVariableHooks {
 public:
  void call_pack_hook(const at::Tensor& tensor) override { kept_ = Keep(tensor); }
  at::Tensor call_unpack_hook() override { return kept_->Get(); }

 private:
  std::unique_ptr<KeptTensor> kept_;
};

using torch::autograd::Engine;

std::atomic<Engine*> found = nullptr;

// Nothing but the slot. It has no threads, and is never the engine of a thread.
class SlotEngine final : public Engine {
 public:
  SlotEngine() = default;
  std::unique_ptr<torch::autograd::SavedVariableHooks> get_default_saved_variable_hooks() override {
    if (innermost == nullptr) return found.load()->get_default_saved_variable_hooks();
    if (HooksOfPython() > innermost->pythons) {
      if (auto hooks = found.load()->get_default_saved_variable_hooks()) return hooks;
    }
    return std::make_unique<Hooks>();
  }
  torch::autograd::variable_list execute(const torch::autograd::edge_list& roots,
                                         const torch::autograd::variable_list& inputs, bool keep_graph,
                                         bool create_graph, bool accumulate_grad,
                                         const torch::autograd::edge_list& outputs) override {
    return found.load()->execute(roots, inputs, keep_graph, create_graph, accumulate_grad, outputs);
  }
  c10::intrusive_ptr<at::ivalue::Future> execute_with_graph_task(
      const std::shared_ptr<torch::autograd::GraphTask>& task, std::shared_ptr<torch::autograd::Node> root,
      torch::autograd::InputBuffer&& buffer) override {
    return found.load()->execute_with_graph_task(task, std::move(root), std::move(buffer));
  }
  std::unique_ptr<torch::autograd::AnomalyMetadata> make_anomaly_metadata() override {
    return found.load()->make_anomaly_metadata();
  }
};

Engine& OurEngine() {
  static Engine* const engine = new SlotEngine;  // never ended: threads may save while the process ends
  return *engine;
}

}  // namespace

KeptTensor::~KeptTensor() = default;
SavedTensorKeeper::~SavedTensorKeeper() = default;

void InstallSavedVariableHooks() {
  Engine& present = Engine::get_default_engine();
  if (&present == &OurEngine()) return;
  found = &present;  // first: whoever gets ours forwards
  torch::autograd::set_default_engine_stub(&OurEngine);
}

Engine& ComputingEngine() {
  InstallSavedVariableHooks();
  return *found;
}

KeepSavedTensors::KeepSavedTensors(SavedTensorKeeper& keeper) { Push(&keeper, nullptr); }
KeepSavedTensors::~KeepSavedTensors() { Pop(); }

UnchangedTensor::UnchangedTensor(const at::Tensor& tensor)
    : tensor_(tensor.detach()), version_(static_cast<std::int64_t>(tensor._version())) {}

at::Tensor UnchangedTensor::Get() const {
  const auto version = static_cast<std::int64_t>(tensor_._version());
  if (version == version_) return tensor_;
  throw Error("a tensor of the shape " + c10::str(tensor_.sizes()) +
              " that the backward needs was written to in place after it was saved (version " +
              std::to_string(version) + ", saved at " + std::to_string(version_) +
              "); write the result to a new tensor");
}

CountSavedBytes::CountSavedBytes(std::set<const void*> excluded_storages)
    : state_(std::make_unique<State>()) {
  state_->excluded = std::move(excluded_storages);
  Push(nullptr, state_.get());
}

CountSavedBytes::~CountSavedBytes() { Pop(); }

void CountSavedBytes::Exclude(const at::Tensor& tensor) { state_->excluded.insert(StorageKey(tensor)); }

std::int64_t CountSavedBytes::bytes() const {
  std::int64_t bytes = 0;
  for (const auto& [key, storage] : state_->storages) {
    if (state_->excluded.count(key) == 0) bytes += storage.bytes;
  }
  return bytes;
}

void CountAsSaved(const at::Tensor& tensor) {
  for (const Scope* scope = innermost; scope != nullptr && scope->keeper == nullptr; scope = scope->around) {
    scope->counter->Add(tensor);
  }
}

const void* StorageKey(const at::Tensor& tensor) {
  return tensor.has_storage() ? tensor.storage().unsafeGetStorageImpl() : nullptr;
}

}  // namespace medley
