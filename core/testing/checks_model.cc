#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/nan_to_num.h>
#include <ATen/ops/zeros_like.h>
#include <c10/util/Exception.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include <medley/base/bytes.h>
#include <medley/base/error.h>
#include <medley/base/interrupt.h>
#include <medley/base/suggest.h>
#include <medley/contract/contract_losses.h>
#include <medley/memory/cpu_allocator.h>
#include <medley/model/device.h>
#include <medley/testing/caught.h>
#include <medley/testing/keep_type.h>
#include <medley/testing/made_inputs.h>
#include <medley/testing/parameter_direction.h>
#include <medley/testing/training_context.h>

namespace medley::check {
namespace {

constexpr std::int64_t kModelRows = 3, kOtherRows = 300;  // of a forward; where others begin
constexpr double kSameRow = 1e-9, kSameAgain = 1e-12;     // of the largest number, in float64
constexpr std::int64_t kWidths[] = {6, 8, 16, 24, 32, 64, 128};
constexpr std::uint64_t kDirections = 3;

double Largest(const at::Tensor& values) {
  return values.numel() == 0 ? 0 : at::nan_to_num(values.detach(), 0, 0, 0).abs().max().item<double>();
}

// A logit that is masked may be minus infinity.
bool IsFiniteOrMasked(const at::Tensor& values) {
  return !values.isnan().any().item<bool>() &&
         !values.eq(std::numeric_limits<double>::infinity()).any().item<bool>();
}

class ModelCheck {
 public:
  ModelCheck(Model& model, const MadeInputs& inputs, Findings& findings)
      : model_(model), inputs_(inputs), findings_(findings) {
    for (const TensorSpec& output : model.spec().outputs) wanted_.push_back(output.name);
  }

  void Run(std::vector<std::string>& not_judged) {
    CompareAgain();  // what is kept moves all that follows, which would only say it again
    if (findings_.empty()) CompareRows(not_judged);
    if (findings_.empty()) CompareMemory();
    if (findings_.empty()) CompareGradient(not_judged);
  }

 private:
  ModelOutputs Forward(std::int64_t begin, std::int64_t count) const {
    TrainingContext context(begin, count);
    return model_.Forward(inputs_.Rows(begin, count, at::kDouble), wanted_, context);
  }
  std::string Of(const std::string& what) const {
    return "model '" + std::string(model_.spec().name) + "': " + what;
  }

  void CompareRows(std::vector<std::string>& not_judged) {
    const at::NoGradGuard no_graph;
    const ModelOutputs together = Forward(0, kModelRows);
    for (const TensorSpec& declared : model_.spec().outputs) {
      const auto output = together.find(declared.name);
      const std::string name = "its output '" + std::string(declared.name) + "'";
      if (output == together.end()) {
        findings_.push_back(Of(name + " is in the spec, and Forward does not give it where it is asked for"));
        continue;
      }
      const std::string misfit = MisfitOf(declared, output->second, kModelRows);
      if (!misfit.empty()) findings_.push_back(Of(name + " is another than in the spec: " + misfit));
      if (!IsFiniteOrMasked(output->second)) findings_.push_back(Of(name + " is not finite"));
      if (declared.dimensions.size() == 0 || declared.dimensions[0] != "rows")
        not_judged.push_back("whether rows depend on one another in '" + std::string(declared.name) +
                             "', which has no rows in front");
    }
    for (std::int64_t row = 0; row < kModelRows && findings_.empty(); ++row) CompareAlone(row, together);
  }

  // What stands behind a row's own length is nobody's.
  void CompareAlone(std::int64_t row, const ModelOutputs& together) {
    const SeenSizes own = inputs_.SizesOfRow(row);
    const ModelOutputs alone = Forward(row, 1);
    for (const TensorSpec& declared : model_.spec().outputs) {
      if (declared.dimensions.size() == 0 || declared.dimensions[0] != "rows") continue;
      at::Tensor found = together.find(declared.name)->second.narrow(0, row, 1);
      const at::Tensor& expected = alone.find(declared.name)->second;
      for (std::size_t d = 1; d < declared.dimensions.size(); ++d) {
        const auto size = own.sizes.find(declared.dimensions[d]);
        if (size != own.sizes.end())
          found = found.narrow(static_cast<std::int64_t>(d), 0, std::min(size->second, found.size(d)));
      }
      const bool fits = found.sizes() == expected.sizes();
      const double apart = fits ? Largest(found.sub(expected)) : 0;
      if (fits && apart <= kSameRow * std::max(1.0, Largest(expected))) continue;
      findings_.push_back(
          Of("its output '" + std::string(declared.name) + "' for a row is another beside " +
             std::to_string(kModelRows - 1) + " rows, of which some are longer, than alone (" +
             (fits ? "by up to " + c10::str(apart) + ", of at most " + c10::str(Largest(expected))
                   : c10::str(found.sizes(), " and ", expected.sizes())) +
             "); a row must not depend on the rows beside it: look for a mean, norm or softmax over all rows "
             "(a batch norm), and for pads that are not masked"));
    }
  }

  void CompareAgain() {
    const at::NoGradGuard no_graph;
    const ModelOutputs first = Forward(0, kModelRows);
    Forward(kOtherRows, 2);
    const ModelOutputs second = Forward(0, kModelRows);
    for (const auto& [name, output] : first) {
      const at::Tensor& again = second.find(name)->second;
      if (output.sizes() == again.sizes() &&
          Largest(output.sub(again)) <= kSameAgain * std::max(1.0, Largest(output)))
        continue;
      findings_.push_back(Of("its output '" + name +
                             "' for the same rows is another after a forward of other rows; a model keeps "
                             "nothing between two calls: look in Forward for a member, a static variable, "
                             "running statistics"));
    }
  }

  void CompareMemory() {
    const at::NoGradGuard no_graph;
    const auto after_a_call = [&] {
      Forward(0, kModelRows);
      return ReadCpuMemory().now;
    };
    const std::int64_t second = after_a_call(), third = after_a_call();
    if (second == third) return;
    findings_.push_back(Of("each forward of the same rows leaves " + FormatBytes(std::abs(third - second)) +
                           (third > second ? " more" : " less") +
                           " in use than the one before: a model keeps nothing between two calls"));
  }

  // A number that sees each of the outputs' numbers with a weight of its own.
  at::Tensor Number() const {
    at::Tensor number;
    at::Generator generator = at::detail::createCPUGenerator(5);
    for (const auto& [name, output] : Forward(0, kModelRows)) {
      if (!output.is_floating_point()) continue;
      const at::Tensor weights = at::empty_like(output.detach()).normal_(0, 1, generator);
      const at::Tensor part = at::nan_to_num(output, 0, 0, 0).mul(weights).sum();
      number = number.defined() ? number.add(part) : part;
    }
    return number;
  }

  void CompareGradient(std::vector<std::string>& not_judged) {
    const at::AutoGradMode graph(true);
    std::vector<at::Tensor> trained;
    std::vector<std::string> unreached, unread;
    for (const Parameter& parameter : model_.parameters()) {
      if (parameter.tensor.requires_grad() && !parameter.frozen) trained.push_back(parameter.tensor);
    }
    const at::Tensor number = Number();
    if (trained.empty() || !number.defined()) return;
    std::vector<at::Tensor> found(trained.size());
    if (number.requires_grad())
      found = torch::autograd::grad({number}, trained, {}, /*retain_graph=*/false, /*create_graph=*/false,
                                    /*allow_unused=*/true);
    Gradient gradient;
    std::size_t next = 0;
    for (const Parameter& parameter : model_.parameters()) {
      const bool is_trained = parameter.tensor.requires_grad() && !parameter.frozen;
      const at::Tensor one = is_trained ? found[next++] : at::Tensor();
      if (is_trained && !one.defined())
        (IsRead(parameter.tensor, number.item<double>()) ? unreached : unread).push_back(parameter.name);
      gradient.push_back(one.defined() ? one : at::zeros_like(parameter.tensor.detach()));
    }
    if (!unreached.empty())
      findings_.push_back(Of("no gradient of an output reaches the parameters " + JoinFew(unreached) +
                             "; nothing would train them: look in Forward for what is detached (detach(), "
                             "data(), item(), a NoGradGuard, a copy), or mark them frozen"));
    // A published model may have such.
    if (!unread.empty())
      not_judged.push_back("what the parameters " + JoinFew(unread) +
                           " are for: no output changes with them, so nothing would train them");
    for (std::uint64_t seed = 1; seed <= kDirections; ++seed) CompareAlong(gradient, seed);
  }

  // Whether an output changes with it.
  bool IsRead(const at::Tensor& parameter, double number) const {
    const at::NoGradGuard no_graph;
    const at::Tensor kept = parameter.detach().clone();
    at::Generator generator = at::detail::createCPUGenerator(6);
    parameter.detach().add_(at::empty_like(kept).normal_(0, 1, generator));
    const double moved = Number().item<double>();
    parameter.detach().copy_(kept);
    return moved != number;
  }

  void CompareAlong(const Gradient& gradient, std::uint64_t seed) {
    if (!findings_.empty()) return;
    ParameterDirection direction(model_, seed);
    const auto [along, size] = direction.Along(gradient);
    const auto change = OtherChange(
        [&](double step) {
          const at::NoGradGuard no_graph;
          direction.Move(step);
          return Number().item<double>();
        },
        along, size);
    if (!change) return;
    findings_.push_back(
        Of("the gradient of its outputs is not how they change: a small step of the parameters "
           "changes them by " +
           c10::str(*change) + " times the step, the gradient says " + c10::str(along) +
           "; a part is detached (detach(), data(), item(), a NoGradGuard, a copy). Where that "
           "is meant, check the model with a task whose term says .stops_gradient = true"));
  }

  Model& model_;
  const MadeInputs& inputs_;
  Findings& findings_;
  WantedOutputs wanted_;
};

// The first width for which the model runs: its spec does not say how wide it may be.
std::optional<std::int64_t> WidthOf(const Model& model, const ModelConfig& config, std::string& failed) {
  const at::NoGradGuard no_graph;
  WantedOutputs wanted;
  for (const TensorSpec& output : model.spec().outputs) wanted.push_back(output.name);
  for (const std::int64_t width : kWidths) {
    try {
      TrainingContext context(0, kModelRows);
      model.Forward(MadeInputs(model, config, width).Rows(0, kModelRows, at::kDouble), wanted, context);
      return width;
    } catch (const Interrupted&) {
      throw;
    } catch (const c10::Error& error) {
      failed = error.what_without_backtrace();
    } catch (const std::exception& error) {
      failed = error.what();
    }
  }
  return std::nullopt;
}

Findings FootprintOfRows(const Model& model, const MadeInputs& made) {
  const ModelInputs inputs = made.Rows(0, kModelRows, FloatTypeOf(model));
  const SeenSizes seen = LongestSizesOf(model.spec(), inputs);
  WantedOutputs wanted;
  for (const TensorSpec& output : model.spec().outputs) wanted.push_back(output.name);
  const ForwardShape shape{.rows = seen.rows, .sizes = seen.sizes, .outputs = {wanted.begin(), wanted.end()}};
  try {
    model.Footprint(shape);
  } catch (const InputError&) {
    return {};  // it has none
  }
  return Footprint(model, inputs, wanted, shape, std::numeric_limits<double>::infinity());
}

}  // namespace

Findings ModelContract(Model& model, const ModelConfig& config, std::vector<std::string>* not_judged) {
  InstallCpuAllocator();
  std::vector<std::string> missed;
  const std::string name = "model '" + std::string(model.spec().name) + "': ";
  Findings findings = Caught([&](Findings& found) {
    if (const auto lacks = MadeInputs(model, config, 1).Lacks()) {
      missed.push_back(*lacks);
      return;
    }
    std::optional<std::int64_t> width;
    {
      const KeepType keep(model);
      const KeepGenerators keep_generators(at::kCPU);
      const nlohmann::json generators = SaveGenerators(at::kCPU);
      model.To(at::kCPU, at::kDouble);
      std::string failed;
      width = WidthOf(model, config, failed);
      if (!width) {
        missed.push_back("what its forward gives: on inputs that were made up it does not run (" + failed +
                         ")");
        return;
      }
      ModelCheck(model, MadeInputs(model, config, *width), found).Run(missed);
      if (SaveGenerators(at::kCPU) != generators)
        found.push_back(
            name +
            "its forward drew from libtorch's own generator, so that a second run of it, or other "
            "micro-batches, would draw other numbers; use a Dropout, or draw from the seed of its "
            "forward's context");
    }
    for (const std::string& one : FootprintOfRows(model, MadeInputs(model, config, *width)))
      found.push_back(name + one);
  });
  if (not_judged != nullptr) *not_judged = missed;
  return findings;
}

}  // namespace medley::check
