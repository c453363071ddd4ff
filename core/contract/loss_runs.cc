#include <medley/contract/loss_runs.h>

#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>
#include <iomanip>
#include <optional>
#include <sstream>

namespace medley {

double LossRun::Sum(std::size_t pass, const std::string& term) const {
  const auto found = sums[pass].find(term);
  return found == sums[pass].end() ? 0 : found->second;
}

double LossRun::Sum(const std::string& term) const {
  double sum = 0;
  for (std::size_t pass = 0; pass < sums.size(); ++pass) sum += Sum(pass, term);
  return sum;
}

const OutputGradients& LossRun::GradientsOf(const std::string& term) const {
  static const OutputGradients none;
  const auto found = gradients.find(term);
  return found == gradients.end() ? none : found->second;
}

LossRuns::LossRuns(const MicroBatch::Setting& setting, const Batch& rows,
                   const std::vector<RowOutputs>& alone, bool row_by_row, at::ScalarType type,
                   const std::vector<std::int64_t>& numbers)
    : setting_(setting),
      rows_(rows),
      count_(std::ssize(alone)),
      model_(setting.model, alone, row_by_row, type),
      numbers_(numbers) {}

LossRun LossRuns::Run(const RowsOf& range, bool with_gradients) { return Run(range, with_gradients, {}); }

const PassImages::Tensors& LossRuns::KeptOf(const RowsOf& range) {
  const auto [known, is_new] = kept_.try_emplace({range.first, range.count});
  if (is_new && variant().Keeps()) known->second = Run(range, /*with_gradients=*/false).kept;
  return known->second;
}

LossRun LossRuns::Run(const RowsOf& range, bool with_gradients, const PassImages::Tensors& kept) {
  const at::AutoGradMode graph(true);  // also without a backward: it tells carries from columns
  model_.Begin(range.first, range.count);
  const MicroBatch::Setting setting{
      .task = setting_.task, .model = model_, .device = setting_.device, .way = {Mode::kJoint, 0}};
  MicroBatch micro(setting, rows_.Slice(range.first, range.count));
  for (const auto& [name, value] : kept) micro.HandCarry(name, value);
  LossRun run;
  std::map<std::string, std::vector<at::Tensor>> roots;
  std::vector<OutputPlace> places;
  std::vector<at::Tensor> leaves;
  for (std::size_t i = 0; i < variant().passes.size(); ++i) {
    model_.BeginPass(i);
    auto& sums = run.sums.emplace_back();
    for (const auto& [term, sum] : micro.RunPass(variant().passes[i])) {
      sums[term] = sum.item<double>();
      if (sum.requires_grad()) roots[term].push_back(sum.reshape({}));
    }
    for (const std::string& name : variant().passes[i].keeps) run.kept[name] = micro.carries().at(name);
    run.handed.push_back(model_.HandedTo(i));
    for (const auto& [output, leaf] : run.handed.back().leaves) {
      places.emplace_back(i, output);
      leaves.push_back(leaf);
    }
  }
  if (!with_gradients) return run;
  for (const auto& [term, sums] : roots) {
    const auto found = torch::autograd::grad(sums, leaves, {}, /*retain_graph=*/true, /*create_graph=*/false,
                                             /*allow_unused=*/true);
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      if (found[i].defined()) run.gradients[term].emplace(places[i], found[i]);
    }
  }
  return run;
}

LossRun LossRuns::RunMoved(const RowsOf& range, double step) {
  const PassImages::Tensors& kept = KeptOf(range);
  model_.Move(step);
  LossRun run = Run(range, /*with_gradients=*/false, kept);
  model_.Move(0);
  return run;
}

LossRun LossRuns::RunAtLevel(const RowsOf& range, double level) {
  const PassImages::Tensors& kept = KeptOf(range);
  model_.Level(level);
  LossRun run = Run(range, /*with_gradients=*/true, kept);
  model_.Level(std::nullopt);
  return run;
}

std::pair<double, double> LossRuns::Along(const RowsOf& range, const OutputGradients& gradients) {
  model_.Begin(range.first, range.count);
  double along = 0, size = 0;
  for (const auto& [place, gradient] : gradients) {
    const at::Tensor parts = gradient.mul(model_.Direction(place.first, place.second));
    along += parts.sum().item<double>(), size += parts.square().sum().item<double>();
  }
  return {along, std::sqrt(size)};
}

std::int64_t LossRuns::Items(const std::string& term, std::int64_t row) const {
  return rows_.Slice(row, 1).ItemCount(term);
}

std::string LossRuns::Words(const RowsOf& range) const {
  std::vector<double> numbers;
  for (std::int64_t row = range.first; row < range.first + range.count; ++row)
    numbers.push_back(static_cast<double>(Number(row)));
  return ListedNumbers(numbers);
}

std::string ListedNumbers(const std::vector<double>& numbers) {
  std::ostringstream text;
  text << std::setprecision(9);
  for (std::size_t i = 0; i < numbers.size(); ++i)
    text << (i == 0 ? "" : i + 1 == numbers.size() ? " and " : ", ") << numbers[i];
  return text.str();
}

}  // namespace medley
