// The process has one default engine, and others put theirs there too: `import torch` does.
#include <ATen/Functions.h>
#include <ATen/SavedTensorHooks.h>
#include <gtest/gtest.h>
#include <medley/step/passes/saved_variables.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/saved_variable_hooks.h>

namespace medley {
namespace {

using torch::autograd::Engine;

// As Python's: its hooks are those of torch.autograd.graph.saved_tensors_hooks, and it computes.
class OtherEngine final : public Engine {
 public:
  static Engine& Get() { return The(); }
  static OtherEngine& The() {
    static auto* const engine = new OtherEngine;
    return *engine;
  }

  struct Pack final : torch::autograd::SavedVariableHooks {
    void call_pack_hook(const at::Tensor& tensor) override {
      ++The().packed;
      kept = tensor.detach();
    }
    at::Tensor call_unpack_hook() override { return kept; }
    at::Tensor kept;
  };
  std::unique_ptr<torch::autograd::SavedVariableHooks> get_default_saved_variable_hooks() override {
    if (at::SavedTensorDefaultHooks::get_tls_state().stack.empty()) return nullptr;
    return std::make_unique<Pack>();
  }
  torch::autograd::variable_list execute(const torch::autograd::edge_list& roots,
                                         const torch::autograd::variable_list& inputs, bool keep_graph,
                                         bool create_graph, bool accumulate_grad,
                                         const torch::autograd::edge_list& outputs) override {
    ++backwards;
    return below->execute(roots, inputs, keep_graph, create_graph, accumulate_grad, outputs);
  }
  std::unique_ptr<torch::autograd::AnomalyMetadata> make_anomaly_metadata() override {
    ++anomalies;
    return Engine::make_anomaly_metadata();
  }

  Engine* below = &Engine::get_base_engine();
  int packed = 0, backwards = 0, anomalies = 0;
};

void ImportTorch() { torch::autograd::set_default_engine_stub(&OtherEngine::Get); }

// `with saved_tensors_hooks(...)`; which they are is never asked.
struct HooksOfPython {
  HooksOfPython() {
    at::SavedTensorDefaultHooks::lazy_initialize();
    at::SavedTensorDefaultHooks::push_hooks(c10::SafePyObject(nullptr, nullptr),
                                            c10::SafePyObject(nullptr, nullptr));
  }
  ~HooksOfPython() { at::SavedTensorDefaultHooks::pop_hooks(); }
  HooksOfPython(const HooksOfPython&) = delete;
};

class OneEngine : public ::testing::Test {
 protected:
  void SetUp() override {
    ForgetTorch();
    OtherEngine& other = OtherEngine::The();
    other.below = &Engine::get_base_engine();
    other.packed = other.backwards = other.anomalies = 0;
  }
  void TearDown() override { ForgetTorch(); }
  static void ForgetTorch() {
    torch::autograd::set_default_engine_stub(&Engine::get_base_engine);
    InstallSavedVariableHooks();
  }

  // Of its two saved tensors the mm saves x, [4, 3], and the tanh its output, [4, 2].
  at::Tensor Loss() const { return at::tanh(x_.mm(weight_)).sum(); }
  static constexpr std::int64_t kSaved = 8 * (12 + 8);
  void ExpectAScopeSeesAll() {
    CountSavedBytes counter;
    const at::Tensor loss = Loss();
    EXPECT_EQ(counter.bytes(), kSaved);
    EXPECT_EQ(OtherEngine::The().packed, 0);
  }
  void ExpectPythonsHooksPack() {
    const HooksOfPython hooks;
    const at::Tensor loss = Loss();
    EXPECT_EQ(OtherEngine::The().packed, 2);
  }

  at::Tensor x_ = at::arange(12, at::kDouble).view({4, 3}).div_(12);
  at::Tensor weight_ = at::arange(6, at::kDouble).view({3, 2}).div_(6).set_requires_grad(true);
};

TEST_F(OneEngine, TheOneThatWasThereBeforeComputesAndHasItsHooks) {
  ImportTorch();
  InstallSavedVariableHooks();
  ExpectAScopeSeesAll();
  ExpectPythonsHooksPack();
  torch::autograd::backward({Loss()});
  EXPECT_EQ(OtherEngine::The().backwards, 1);
  Engine::get_default_engine().make_anomaly_metadata();
  EXPECT_EQ(OtherEngine::The().anomalies, 1);
}

TEST_F(OneEngine, TheOneThatCameLaterDoesFromTheNextScopeOn) {
  InstallSavedVariableHooks();
  torch::autograd::backward({Loss()});
  EXPECT_EQ(OtherEngine::The().backwards, 0);
  ImportTorch();
  ExpectAScopeSeesAll();
  ExpectPythonsHooksPack();
  torch::autograd::backward({Loss()});
  EXPECT_EQ(OtherEngine::The().backwards, 1);
}

TEST_F(OneEngine, TheInnermostHooksDecide) {
  ImportTorch();
  {
    const HooksOfPython around;
    ExpectAScopeSeesAll();
  }
  CountSavedBytes counter;
  ExpectPythonsHooksPack();  // as torch.utils.checkpoint in a loss of a task's own
  EXPECT_EQ(counter.bytes(), 0);
  const at::Tensor loss = Loss();
  EXPECT_EQ(counter.bytes(), kSaved);
}

TEST_F(OneEngine, InstallingItTwiceForwardsOnce) {
  ImportTorch();
  InstallSavedVariableHooks();
  InstallSavedVariableHooks();
  EXPECT_EQ(&ComputingEngine(), &OtherEngine::The());
  torch::autograd::backward({Loss()});
  EXPECT_EQ(OtherEngine::The().backwards, 1);
}

TEST_F(OneEngine, AnotherMayStandBetweenOursAndTheOneThatComputes) {
  EXPECT_EQ(&ComputingEngine(), &Engine::get_base_engine());
  OtherEngine::The().below = &ComputingEngine();
  ImportTorch();
  ExpectAScopeSeesAll();
  torch::autograd::backward({Loss()});
  EXPECT_EQ(OtherEngine::The().backwards, 1);
  EXPECT_TRUE(weight_.grad().defined());
  EXPECT_EQ(&ComputingEngine(), &OtherEngine::The());
}

}  // namespace
}  // namespace medley
