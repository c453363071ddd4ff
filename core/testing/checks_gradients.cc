#include <medley/testing/checks.h>

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/ScalarType.h>

#include <algorithm>
#include <sstream>
#include <utility>
#include <vector>

#include <medley/contract/contract_losses.h>
#include <medley/model/model.h>
#include <medley/report/term_loss.h>
#include <medley/step/passes/pass_runner.h>
#include <medley/step/step_executor.h>
#include <medley/testing/caught.h>
#include <medley/testing/gradients.h>
#include <medley/testing/keep_type.h>
#include <medley/testing/parameter_direction.h>
#include <medley/testing/positive_relus.h>

namespace medley::check {
namespace {

constexpr std::uint64_t kGradientSeed = 3;
constexpr std::int64_t kFirstRow = 100;

struct DrawWay {
  Mode mode = Mode::kJoint;
  std::int64_t micro_rows = 0;

  bool IsJoint() const { return mode == Mode::kJoint && micro_rows == 0; }
};

std::string Words(const DrawWay& way) {
  const std::string rows = way.micro_rows == 0 ? "all" : std::to_string(way.micro_rows);
  return std::string(ModeName(way.mode)) + " with " + rows + " rows of a forward";
}

std::string Number(double value) {
  std::ostringstream text;
  text << value;
  return text.str();
}

// What a type's rounding may move the gradient by, of its norm.
double Tolerance(at::ScalarType type) { return type == at::kDouble ? 1e-12 : 5e-6; }

// What one operation in float may move a gradient by in a run that is in float64 else.
constexpr double kFloatRounding = 0x1p-20;

class GradientCheck {
 public:
  GradientCheck(LoadedTask& task, Model& model, const GradientSetting& setting, Findings& findings)
      : task_(task), model_(model), setting_(setting), findings_(findings), executor_(model, at::kCPU) {}

  void Run() {
    std::vector<DrawWay> open;
    for (const Mode mode : setting_.modes.empty() ? LegalModes(task_.variant()) : setting_.modes) {
      for (const std::int64_t micro_rows : setting_.micro_rows) open.push_back({mode, micro_rows});
    }
    for (const std::int64_t begin : {kFirstRow, 1000L, 10000L, 20000L}) {
      if (!open.empty()) open = CheckDraw(open, begin, /*in_double=*/begin == kFirstRow);
    }
    if (!setting_.in_float) return;
    for (const DrawWay& way : open)
      Find(way, "found no rows for which every ReLU falls where it does in double; take a smaller model");
  }

 private:
  struct Found {
    Gradient gradient;
    std::int64_t positive = 0;  // ReLUs
  };

  Found GradientOf(const Batch& rows, const DrawWay& way, const RecomputedLayers& recomputed = 0) {
    const Execution plan{.way = {way.mode, recomputed}, .micro_rows = way.micro_rows, .term_weights = {}};
    const PositiveRelus relus;
    executor_.Run({{.task = &task_, .batch = &rows, .execution = &plan}});
    return {.gradient = TakeGradient(model_), .positive = relus.count()};
  }

  // Returns the ways that need other rows. ReLUs are counted for each way on its own: a carry that several
  // passes read is encoded once in joint, and for each of them in two-stage.
  std::vector<DrawWay> CheckDraw(const std::vector<DrawWay>& ways, std::int64_t begin, bool in_double) {
    const Batch rows = task_.Sample(
        {.seed = TaskSeed(kGradientSeed, task_.info().name), .begin = begin, .count = setting_.rows});
    model_.To(at::kCPU, at::kDouble);
    const Found exact_joint = GradientOf(rows, {});
    std::vector<std::int64_t> exact;
    for (const DrawWay& way : ways) {
      const Found found = way.IsJoint() ? exact_joint : GradientOf(rows, way);
      exact.push_back(found.positive);
      if (in_double) Compare(rows, way, found.gradient, exact_joint.gradient);
    }
    if (in_double) CompareChange(rows, exact_joint.gradient);
    if (!setting_.in_float) return {};
    model_.To(at::kCPU, at::kFloat);
    const Found joint = GradientOf(rows, {});
    if (joint.positive != exact_joint.positive) return ways;
    std::vector<DrawWay> open;
    for (std::size_t i = 0; i < ways.size(); ++i) {
      const Found found = ways[i].IsJoint() ? joint : GradientOf(rows, ways[i]);
      if (found.positive != exact[i]) {
        open.push_back(ways[i]);
      } else {
        Compare(rows, ways[i], found.gradient, joint.gradient);
      }
    }
    return open;
  }

  void Compare(const Batch& rows, const DrawWay& way, const Gradient& found, const Gradient& joint) {
    const bool is_nothing =
        AsksReferences() && std::max(NormOf(found), NormOf(joint)) < Tolerance(FloatTypeOf(model_));
    if (is_nothing)
      NotJudged(
          "its gradients: they are 0, as each reference is the model itself here, which it may learn to be "
          "like");
    const double most = Tolerance(FloatTypeOf(model_)), distance = is_nothing ? 0 : Distance(found, joint);
    const bool is_float = FloatTypeOf(model_) == at::kDouble && distance > most && distance <= kFloatRounding;
    if (is_float) {
      NotJudged(
          "whether it is right to float64's rounding: something in the pass computes in float; the rest "
          "agrees (to " +
          Number(distance) + " of the gradient's norm)");
    } else if (!(distance <= most)) {  // NaN too
      Find(way, "the gradient is " + Number(distance) + " of its norm away from joint's, at most " +
                    Number(most) + " is rounding");
    }
    for (const RecomputedLayers& layers : setting_.recomputed) {
      if (SameBits(GradientOf(rows, way, layers).gradient, found)) continue;
      Find(way, "another gradient where " + layers.Fraction() + " of the layers are run again");
    }
  }

  // The gradient against how the loss changes when the parameters do.
  void CompareChange(const Batch& rows, Gradient gradient) {
    Execution plan{.way = {Mode::kJoint, 0}};
    for (const TermInfo& term : task_.variant().terms) {
      if (term.stops_gradient) plan.term_weights[term.name] = 0;
    }
    if (!plan.term_weights.empty()) {
      executor_.Run({{.task = &task_, .batch = &rows, .execution = &plan}});
      gradient = TakeGradient(model_);
    }
    const PassImages::Tensors kept = KeptOf(rows);
    ParameterDirection direction(model_);
    const auto [along, size] = direction.Along(gradient);
    const auto change = OtherChange(
        [&](double step) {
          direction.Move(step);
          return LossOf(rows, plan, kept);
        },
        along, size);
    if (!change) return;
    findings_.push_back(
        OfTask() + "the gradient is not how the loss changes: a small step of the parameters " +
        "changes it by " + Number(*change) + " times the step, the gradient says " + Number(along) +
        "; something in the task or in the model is detached (detach(), " +
        "data(), item(), a NoGradGuard, a copy). Where that is meant, say .stops_gradient = " +
        "true in the spec's term");
  }

  bool AsksReferences() const {
    const std::vector<PassInfo>& passes = task_.variant().passes;
    return std::ranges::any_of(passes, [](const PassInfo& pass) { return !pass.reference.empty(); });
  }

  // What passes keep for later ones: no part of a gradient, so it does not move with the parameters.
  PassImages::Tensors KeptOf(const Batch& rows) const {
    const at::NoGradGuard no_graph;
    MicroBatch micro({.task = task_, .model = model_, .device = at::kCPU}, rows);
    PassImages::Tensors kept;
    for (const PassInfo& pass : task_.variant().passes) {
      micro.RunPass(pass);
      for (const std::string& name : pass.keeps) kept[name] = micro.carries().at(name);
    }
    return kept;
  }

  // Without a backward.
  double LossOf(const Batch& rows, const Execution& plan, const PassImages::Tensors& kept) const {
    const at::NoGradGuard no_graph;
    MicroBatch micro({.task = task_, .model = model_, .device = at::kCPU, .way = plan.way}, rows);
    for (const auto& [name, value] : kept) micro.HandCarry(name, value);
    TaskLosses losses;
    for (const PassInfo& pass : task_.variant().passes) {
      for (const auto& [term, sum] : micro.RunPass(pass)) losses[term].sum += sum.item<double>();
    }
    double all = 0;
    for (const TermInfo& term : task_.variant().terms) {
      TermLoss& loss = losses[term.name];
      loss.count = rows.ItemCount(term.name), loss.weight = TermWeight(plan, term);
      all += loss.weighted().value_or(0);
    }
    return all;
  }

  std::string OfTask() const {
    return "task '" + task_.info().name + "', variant '" + task_.variant().name + "', " +
           c10::toString(FloatTypeOf(model_)) + ", ";
  }

  void NotJudged(const std::string& what) {
    if (setting_.not_judged == nullptr || std::exchange(is_said_, true)) return;
    setting_.not_judged->push_back(what);
  }

  void Find(const DrawWay& way, const std::string& what) {
    findings_.push_back(OfTask() + Words(way) + ": " + what);
  }

  LoadedTask& task_;
  Model& model_;
  const GradientSetting& setting_;
  Findings& findings_;
  StepExecutor executor_;
  bool is_said_ = false;
};

}  // namespace

Findings Gradients(LoadedTask& task, Model& model, const GradientSetting& setting) {
  const KeepType keep(model);
  return Caught([&](Findings& findings) { GradientCheck(task, model, setting, findings).Run(); });
}

}  // namespace medley::check
