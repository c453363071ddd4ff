#include "python/binding/engine.h"

#include <torch/csrc/autograd/engine.h>

#include <medley/step/passes/saved_variables.h>

#include "python/binding/python.h"
#include "python/binding/raised.h"

namespace medley::python {
namespace {

using torch::autograd::Engine;

class EngineInWords final : public Engine {
 public:
  explicit EngineInWords(Engine& pythons) : pythons_(pythons) {}

  torch::autograd::variable_list execute(const torch::autograd::edge_list& roots,
                                         const torch::autograd::variable_list& inputs, bool keep_graph,
                                         bool create_graph, bool accumulate_grad,
                                         const torch::autograd::edge_list& outputs) override {
    try {
      return pythons_.execute(roots, inputs, keep_graph, create_graph, accumulate_grad, outputs);
    } catch (...) {
      const Gil gil;
      if (PyErr_Occurred() != nullptr) ThrowRaised();
      throw;
    }
  }
  c10::intrusive_ptr<at::ivalue::Future> execute_with_graph_task(
      const std::shared_ptr<torch::autograd::GraphTask>& task, std::shared_ptr<torch::autograd::Node> root,
      torch::autograd::InputBuffer&& buffer) override {
    return pythons_.execute_with_graph_task(task, std::move(root), std::move(buffer));
  }
  std::unique_ptr<torch::autograd::AnomalyMetadata> make_anomaly_metadata() override {
    return pythons_.make_anomaly_metadata();
  }
  std::unique_ptr<torch::autograd::SavedVariableHooks> get_default_saved_variable_hooks() override {
    return pythons_.get_default_saved_variable_hooks();
  }

 private:
  Engine& pythons_;
};

Engine* g_in_words = nullptr;

}  // namespace

void JoinEngines() {
  if (g_in_words != nullptr) return;
  g_in_words = new EngineInWords(ComputingEngine());  // never ended
  torch::autograd::set_default_engine_stub([]() -> Engine& { return *g_in_words; });
  InstallSavedVariableHooks();
}

}  // namespace medley::python
