// Keeps everything that can outlive a run: a graph with an autograd function of its own, a tensor whose
// deleter is its code, and a thread. The process must end all the same.
#include <chrono>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <ATen/ops/from_blob.h>
#include <ATen/ops/ones.h>
#include <torch/csrc/autograd/custom_function.h>

#include <medley/task/losses.h>
#include <medley/task/plugin.h>
#include <medley/task/text_rows.h>

namespace medley::testing {
namespace {

struct Twice : torch::autograd::Function<Twice> {
  static at::Tensor forward(torch::autograd::AutogradContext*, const at::Tensor& x) { return x.mul(2); }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext*,
                                                 torch::autograd::variable_list gradients) {
    return {gradients[0].mul(2)};
  }
};

at::Tensor kept_graph, kept_blob;

class OutlivesTheRun final : public Task {
 public:
  static constexpr TaskSpec kSpec{.name = "outlives_the_run",
                                  .passes = {{.name = "say", .text_width = 4}},
                                  .terms = {{.name = "answer", .max_items = 1}},
                                  .inputs = {"tokens", "lengths", "supervised"},
                                  .outputs = {"logits"},
                                  .special_tokens = {"<pad>", "<eos>"},
                                  .score = {.name = "none"}};
  static std::vector<std::string> Texts() { return {}; }

  explicit OutlivesTheRun(const TaskContext& context) : eos_(context.tokenizer().eos()) {
    kept_graph = Twice::apply(at::ones({3}).set_requires_grad(true));
    kept_blob = at::from_blob(new float[4], {4}, [](void* memory) { delete[] static_cast<float*>(memory); });
    std::thread([] { std::this_thread::sleep_for(std::chrono::hours(1)); }).detach();
  }

  Batch Sample(const RowRange& rows) const override {
    Batch batch(rows);
    const std::vector<std::vector<std::int64_t>> tokens(static_cast<std::size_t>(rows.count), {eos_, eos_});
    batch.Add("tokens", PadRows(tokens, 4, eos_));
    batch.Add("lengths", IntColumn(std::vector<std::int64_t>(tokens.size(), 2)));
    AddLearned(batch, "learned", "answer", std::vector<LearnedSpan>(tokens.size(), LearnedSpan{1, 2}));
    return batch;
  }
  Sums Run(std::string_view, PassContext& context) const override {
    const Batch& batch = context.batch();
    const ModelOutputs outputs =
        context.Forward({{"tokens", batch.Column("tokens"), ""},
                         {"lengths", batch.Column("lengths"), ""},
                         {"supervised", FlatPositions(batch.Ragged("learned"), 4), ""}},
                        {"logits"});
    return {{"answer", SumCrossEntropy(Twice::apply(outputs.at("logits")), outputs.at("targets"))}};
  }
  Outcomes Evaluate(EvalContext&, const RowRange& rows) const override {
    return {.score = std::vector<double>(static_cast<std::size_t>(rows.count), 1)};
  }
  at::Tensor Constant(std::string_view) const override { return {}; }

 private:
  std::int64_t eos_;
};

}  // namespace
}  // namespace medley::testing

MEDLEY_PLUGIN(medley::testing::OutlivesTheRun)
