// The variants with the real agent, in float64, without any executor: what `fused` and `carry` promise.

#include <ATen/core/grad_mode.h>

#include <map>

#include <medley/memory/cpu_allocator.h>
#include <medley/testing/gradients.h>

#include "tests/tasks/agent_testing.h"

namespace medley::tasks {
namespace {

double Dot(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] * b[i]).sum().item<double>();
  return sum;
}

using check::Distance;

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

// The terms that each pass of the default variant adds to.
std::vector<std::set<std::string>> TermsOfPasses(const TaskUnderTest& test) {
  std::vector<std::set<std::string>> terms;
  for (const PassInfo& spec : test.entry.passes()) {
    FakePass pass(test, test.task->Sample({1, 0, 2}));
    std::set<std::string> mine;
    for (const auto& [term, sum] : test.task->Run(spec.name, pass)) mine.insert(term);
    terms.push_back(std::move(mine));
  }
  return terms;
}

// Whatever rows are drawn: row r has all its items of the terms of pass r mod P, and none of another.
TEST(Variants, FusedCountsEveryRowOnce) {
  for (const TaskClass& any : AllTasks()) {
    if (any.spec->FindVariant("fused") == nullptr) continue;
    const TaskUnderTest fused(any.spec->name, 128, "fused"), plain(any.spec->name);
    const auto terms = TermsOfPasses(plain);
    const auto passes = static_cast<std::int64_t>(terms.size());
    for (const RowRange& rows :
         {RowRange{17, 5, 3 * passes}, RowRange{17, 3, passes - 1}, RowRange{17, 8, 1}}) {
      const Batch batch = fused.task->Sample(rows), whole = plain.task->Sample(rows);
      for (std::int64_t i = 0; i < rows.count; ++i) {
        const auto& mine = terms[static_cast<std::size_t>((rows.begin + i) % passes)];
        for (const TermInfo& term : any.terms()) {
          const auto items = [&](const Batch& of) {
            return of.items().at(term.name)[i].item<std::int64_t>();
          };
          EXPECT_EQ(items(batch), mine.count(term.name) > 0 ? items(whole) : 0)
              << any.spec->name << " " << term.name << " row " << rows.begin + i;
        }
      }
    }
  }
}

const bool kCounts = (InstallCpuAllocator(), true);  // before the first tensor

// Bytes that the gradient of these passes needs at most, beyond what is there before.
std::int64_t PeakOf(const AgentTask& task, const RowRange& rows, const std::vector<PassInfo>& passes) {
  const std::int64_t before = ReadCpuMemory().now;
  ResetCpuPeak();
  Gradient(Loss(task, rows, passes));
  return ReadCpuMemory().peak - before;
}

TEST(Variants, FusedHasTheMemoryOfOnePass) {
  ASSERT_TRUE(kCounts);
  for (const char* name :
       {"position_qa", "please_turn_qa", "direction_names", "zoom_gold", "imagine_after_move"}) {
    const AgentTask fused(name, "fused"), plain(name, "default");
    const RowRange rows{17, 0, 20};
    Gradient(Loss(fused, rows, fused.passes));  // what lives for ever is there
    std::int64_t heaviest = 0;
    for (const PassInfo& pass : plain.passes) heaviest = std::max(heaviest, PeakOf(plain, rows, {pass}));
    const auto peak = static_cast<double>(PeakOf(fused, rows, fused.passes));
    const auto passes = static_cast<double>(plain.passes.size());
    // The heaviest pass keeps one tensor of its logits' size, as the fused one does, which has fewer of them.
    // A forward that lays a picture over what was seen and learns a text has both, as no pass alone has.
    const double most = plain.passes[0].decodes_image ? 1.2 : 1.12;
    EXPECT_LE(peak, most * static_cast<double>(heaviest)) << name;
    EXPECT_GE(static_cast<double>(PeakOf(plain, rows, plain.passes)), 0.7 * passes * peak) << name;
  }
}

TEST(Variants, AreScoredLikeTheDefault) {
  for (const char* name : {"relposition_qa", "direction_names", "zoom_gold"}) {
    std::vector<std::vector<double>> scores;
    for (const VariantInfo& variant : TaskNamed(name).spec->variants) {
      const TaskUnderTest test(name, 128, variant.name);
      FakeEval eval(test);
      eval.draw = [](FakePass& pass) { return pass.Pixels("image").mul(0.5); };
      eval.answer = [&](FakePass& pass) {
        return std::vector<std::vector<std::int64_t>>(static_cast<std::size_t>(pass.batch().size()),
                                                      test.tokenizer->Encode("<clock>"));
      };
      scores.push_back(test.task->Evaluate(eval, {2, 0, 12}).score);
    }
    for (const auto& score : scores) EXPECT_EQ(score, scores[0]) << name;
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
