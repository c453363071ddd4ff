// The variants with the real agent, in float64, without any executor: what `fused` and `carry` promise.

#include <map>

#include <medley/model/model_factory.h>
#include <medley/text/sentencepiece_tokenizer.h>

#include "tests/tasks/task_testing.h"

namespace medley::tasks {
namespace {

const std::filesystem::path kConfigs = std::filesystem::path(MEDLEY_SOURCE_DIR) / "configs";
const std::filesystem::path kModel = kConfigs / "models/agent-tiny.json";

const Tokenizer& Words() {
  static const Tokenizer* tokenizer = LoadTokenizer(kConfigs / "tokenizers/small.model").release();
  return *tokenizer;
}

Model& Agent() {
  static Model* model = [] {
    Model* made = MakeModel(kModel, Words(), /*seed=*/5).release();
    made->To(at::kCPU, at::kDouble);
    return made;
  }();
  return *model;
}

struct AgentTask {
  AgentTask(std::string_view name, std::string variant)
      : info(*TaskNamed(name).spec), passes(info.FindVariant(variant)->passes) {
    std::map<std::string, double, std::less<>> options;
    for (const OptionInfo& option : info.options) options.emplace(option.name, option.value);
    task = TaskNamed(name).make({Words(), ReadImageGeometry(kModel), std::move(variant), options, lines});
  }
  const TaskInfo& info;
  const std::vector<PassInfo>& passes;
  std::vector<std::string> lines = ControlLines();
  std::unique_ptr<Task> task;
};

class AgentPass final : public PassContext {
 public:
  AgentPass(const AgentTask& task, const Batch& batch, Carries& carries, bool detach = false)
      : task_(task), batch_(batch), carries_(carries), detach_(detach) {}
  const Batch& batch() const override { return batch_; }
  at::Tensor Constant(std::string_view name) override { return task_.task->Constant(name); }
  at::Tensor Pixels(std::string_view column) override {
    return batch_.Column(column).to(at::kDouble).div_(255);
  }
  ModelInput Image(std::string_view name) override {
    const auto carried = carries_.find(name);
    return {"images", carried != carries_.end() ? carried->second : Pixels(name), ""};
  }
  ModelOutputs Forward(const ModelInputs& inputs, const WantedOutputs& wanted) override {
    ForwardContext plain;
    return Agent().Forward(inputs, wanted, plain);
  }
  void Carry(std::string_view name, at::Tensor value) override {
    carries_.insert_or_assign(std::string(name), detach_ ? value.detach() : value);
  }
  at::Tensor Carried(std::string_view name) override { return carries_.find(name)->second; }

 private:
  const AgentTask& task_;
  const Batch& batch_;
  Carries& carries_;
  bool detach_;
};

// Terms of different sizes, so that none hides behind another.
at::Tensor Weighted(const Sums& sums) {
  at::Tensor loss = at::zeros({}, at::kDouble);
  for (const auto& [term, sum] : sums) loss = loss + sum * (1 + static_cast<double>(HashName(term) % 7));
  return loss;
}

at::Tensor Loss(const AgentTask& task, const RowRange& rows, const std::vector<PassInfo>& passes,
                bool detach = false) {
  const Batch batch = task.task->Sample(rows);
  Carries carries;
  at::Tensor loss = at::zeros({}, at::kDouble);
  for (const PassInfo& pass : passes) {
    AgentPass context(task, batch, carries, detach);
    loss = loss + Weighted(task.task->Run(pass.name, context));
  }
  return loss;
}

std::vector<at::Tensor> Gradient(const at::Tensor& loss) {
  std::vector<at::Tensor> leaves;
  for (const Parameter& parameter : Agent().parameters()) leaves.push_back(parameter.tensor);
  auto gradient = torch::autograd::grad({loss}, leaves, {}, c10::nullopt, false, /*allow_unused=*/true);
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    if (!gradient[i].defined()) gradient[i] = at::zeros_like(leaves[i]);
  }
  return gradient;
}

double Dot(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] * b[i]).sum().item<double>();
  return sum;
}

std::vector<at::Tensor> Minus(std::vector<at::Tensor> a, const std::vector<at::Tensor>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = a[i] - b[i];
  return a;
}

double Distance(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b) {
  const auto difference = Minus(a, b);
  return std::sqrt(Dot(difference, difference) / Dot(b, b));
}

TEST(Variants, AreThoseOfTheTasksKind) {
  for (const TaskClass& any : AllTasks()) {
    std::set<std::string> expected{"default"};
    const bool pictures = any.passes().back().name == "task" && any.passes().size() == 2;
    if (any.passes().size() >= 2 && !any.spec->variants[0].Carries()) expected.insert("fused");
    if (pictures) expected.insert("carry");
    std::set<std::string> found;
    for (const VariantInfo& variant : any.spec->variants) found.insert(variant.name);
    EXPECT_EQ(found, expected) << any.spec->name;
  }
}

// Row r of a fused draw is row r of the task, and makes pass r mod P of it.
TEST(Variants, FusedHasTheGradientOfTheSameRowsAndPasses) {
  for (const TaskClass& any : AllTasks()) {
    if (any.spec->FindVariant("fused") == nullptr) continue;
    SCOPED_TRACE(any.spec->name);
    const AgentTask fused(any.spec->name, "fused"), plain(any.spec->name, "default");
    ASSERT_EQ(fused.passes.size(), 1U);
    const auto passes = static_cast<std::int64_t>(plain.passes.size());
    const RowRange rows{17, 3, passes + 2};
    at::Tensor expected = at::zeros({}, at::kDouble);
    for (std::int64_t row = rows.begin; row < rows.begin + rows.count; ++row) {
      const auto& pass = plain.passes[static_cast<std::size_t>(row % passes)];
      expected = expected + Loss(plain, {rows.seed, row, 1}, {pass});
    }
    const at::Tensor loss = Loss(fused, rows, fused.passes);
    EXPECT_NEAR(loss.item<double>(), expected.item<double>(), 1e-12 * expected.item<double>());
    EXPECT_LE(Distance(Gradient(loss), Gradient(expected)), 1e-12);
  }
}

TEST(Variants, FusedCountsEveryRowOnce) {
  for (const TaskClass& any : AllTasks()) {
    if (any.spec->FindVariant("fused") == nullptr) continue;
    const AgentTask fused(any.spec->name, "fused"), plain(any.spec->name, "default");
    const auto passes = static_cast<std::int64_t>(plain.passes.size());
    const RowRange rows{17, 5, 3 * passes};
    const Batch batch = fused.task->Sample(rows), whole = plain.task->Sample(rows);
    for (const TermInfo& term : any.terms()) {
      const at::Tensor items = batch.items().at(term.name), all = whole.items().at(term.name);
      EXPECT_TRUE(items.eq(0).logical_or(items.eq(all)).all().item<bool>());
      EXPECT_LE(items.gt(0).sum().item<std::int64_t>(), 3) << any.spec->name << " " << term.name;
      EXPECT_GT(batch.ItemCount(term.name), 0) << any.spec->name << " " << term.name;
    }
  }
}

TEST(Variants, FusedIsScoredLikeTheDefault) {
  for (const char* name : {"relposition_qa", "direction_names", "zoom_gold"}) {
    std::vector<std::vector<double>> scores;
    for (const char* variant : {"default", "fused"}) {
      const TaskUnderTest test(name, 128, variant);
      FakeEval eval(test);
      eval.draw = [](FakePass& pass) { return pass.Pixels("image").mul(0.5); };
      eval.answer = [&](FakePass& pass) {
        return std::vector<std::vector<std::int64_t>>(static_cast<std::size_t>(pass.batch().size()),
                                                      test.tokenizer->Encode("<clock>"));
      };
      scores.push_back(test.task->Evaluate(eval, {2, 0, 12}).score);
    }
    EXPECT_EQ(scores[0], scores[1]) << name;
  }
}

struct Carrying {
  const char* task;
  const char* variant;
};
constexpr Carrying kCarrying[] = {{"mem_canvas", "default"},
                                  {"comparison", "default"},
                                  {"arrow_to_gold", "carry"},
                                  {"zoom_halfway", "carry"},
                                  {"imagine_facing_gold", "carry"}};

TEST(Carries, HaveTheGradientOfFiniteDifferences) {
  for (const auto& [name, variant] : kCarrying) {
    SCOPED_TRACE(name);
    const AgentTask task(name, variant);
    const RowRange rows{19, 0, 2};
    const auto gradient = Gradient(Loss(task, rows, task.passes));
    at::manual_seed(3);
    std::vector<at::Tensor> way;
    for (const at::Tensor& one : gradient)
      way.push_back(at::randn_like(one) * one.norm() / std::sqrt(one.numel()));
    const auto loss_at = [&](double step) {
      const at::NoGradGuard no_grad;
      for (std::size_t i = 0; i < way.size(); ++i) Agent().parameters()[i].tensor.add_(way[i] * step);
      const double loss = Loss(task, rows, task.passes).item<double>();
      for (std::size_t i = 0; i < way.size(); ++i) Agent().parameters()[i].tensor.sub_(way[i] * step);
      return loss;
    };
    const double step = 1e-5 / std::sqrt(Dot(way, way));
    // Richardson: the error of the plain difference falls with step^2.
    const double coarse = (loss_at(step) - loss_at(-step)) / (2 * step);
    const double fine = (loss_at(step / 2) - loss_at(-step / 2)) / step;
    const double slope = (4 * fine - coarse) / 3;
    const double scale = std::sqrt(Dot(gradient, gradient) * Dot(way, way));
    EXPECT_NEAR(slope, Dot(gradient, way), 1e-7 * scale);
    // A carry without its gradient is another gradient, and a clear one.
    EXPECT_GT(Distance(Gradient(Loss(task, rows, task.passes, /*detach=*/true)), gradient), 1e-4);
  }
}

TEST(Carries, EachRowMakesItsControlAndItsTaskOnceInBothOrders) {
  for (const char* name : {"arrow_to_gold", "zoom_agent", "imagine_after_move"}) {
    const TaskUnderTest test(name, 128, "carry"), plain(name);
    const Batch batch = test.task->Sample({23, 0, 12}), same = plain.task->Sample({23, 0, 12});
    const at::Tensor kind = batch.Column("first.kind");
    EXPECT_EQ(kind.sum().item<std::int64_t>(), 6);
    Carries carries;
    std::vector<FakePass> passes;
    passes.reserve(2);
    double control_text = 0, image = 0;
    for (const PassInfo& spec : test.entry.spec->FindVariant("carry")->passes) {
      FakePass& pass = passes.emplace_back(test, batch, &carries);
      pass.draw = [](FakePass& p) { return p.Pixels("target"); };
      const Sums sums = test.task->Run(spec.name, pass);
      EXPECT_EQ(std::set<std::string>(spec.images.begin(), spec.images.end()), pass.images);
      EXPECT_EQ(std::set<std::string>(spec.carries.begin(), spec.carries.end()), pass.made);
      control_text += sums.at("control_text").item<double>();
      image += sums.at("image").item<double>();
    }
    EXPECT_EQ(image, 0) << "the target was drawn";
    FakePass control(plain, same);
    EXPECT_NEAR(plain.task->Run("control", control).at("control_text").item<double>(), control_text, 1e-3);
    for (std::int64_t row = 0; row < 12; ++row) {
      const std::int64_t first = kind[row].item<std::int64_t>();
      for (const std::int64_t pass : {0, 1}) {
        const bool is_task = pass == 0 ? first == 1 : first == 0;
        const std::int64_t length =
            passes[static_cast<std::size_t>(pass)].Input("lengths")[row].item<std::int64_t>();
        const at::Tensor& expected = same.Column(is_task ? "task.lengths" : "control.lengths");
        EXPECT_EQ(length, expected[row].item<std::int64_t>());
      }
    }
  }
}

}  // namespace
}  // namespace medley::tasks
