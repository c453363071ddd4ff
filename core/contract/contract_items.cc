#include <medley/contract/contract_items.h>

#include <ATen/core/Tensor.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/where.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

namespace medley {
namespace {

constexpr double kResidual = 0.02, kTooSure = 1e-3, kTooEven = 1e-4, kWeightShare = 0.05;

// The weight w of each item whose gradient at the logits is that of w * cross-entropy with a smoothing s:
// w * (p - s / C) beside the target, w * (1 - s) less at it. Nothing where one item's is not.
std::optional<at::Tensor> CrossEntropyWeights(const at::Tensor& p, const at::Tensor& g) {
  const auto classes = static_cast<double>(p.size(1));
  const at::Tensor target = g.argmin(1, /*keepdim=*/true);
  const at::Tensor others = at::ones_like(p).scatter_(1, target, 0.0);
  const auto mean = [&](const at::Tensor& x) { return x.mul(others).sum({1}, true).div_(classes - 1); };
  const at::Tensor p_mean = mean(p), g_mean = mean(g);
  const at::Tensor p_rest = p.sub(p_mean).mul_(others), g_rest = g.sub(g_mean).mul_(others);
  const at::Tensor spread = p_rest.square().sum({1}, true);
  const at::Tensor is_even = spread.le(p_mean.square().mul(kTooEven * kTooEven * classes));
  const at::Tensor weight =
      at::where(is_even, g_mean.div(p_mean), p_rest.mul(g_rest).sum({1}, true).div(spread.clamp_min(1e-300)));
  const at::Tensor even_part = weight.mul(p_mean).sub_(g_mean);  // w * s / C
  const at::Tensor at_target = p.gather(1, target).sub_(1).mul_(weight).add_(even_part.mul(classes - 1));
  const at::Tensor expected = p.mul(weight).sub_(even_part);
  const at::Tensor residual = g.sub(expected.scatter(1, target, at_target)).abs_().amax({1}, true);
  const bool fits = residual.le(g.abs().amax({1}, true).mul_(kResidual)).all().item<bool>() &&
                    weight.gt(0).all().item<bool>();
  return fits ? std::optional(weight) : std::nullopt;
}

std::string Number(double value) { return c10::str(std::round(value * 100) / 100); }

constexpr double kAlike = 1e-6, kUnlike = 0.01, kFar = 1e4;
constexpr char kOrSay[] = "; or, where that is meant, say .counts_otherwise = true in the spec's term";

// How a term weighs what it is made of in one row.
struct RowWeights {
  double row = 0;      // its number
  double items = 0;    // that Sample counted
  double numbers = 0;  // of an output that count for the term
  double slope = 0;  // how steeply the sum rises far from all targets, on both sides, in all numbers together
};
using Figure = std::function<double(const RowWeights&)>;

struct TermWeights {
  std::set<OutputPlace> places{};
  std::vector<RowWeights> rows{};
};

void AddRow(LossRuns& runs, std::int64_t row, std::map<std::string, TermWeights>& terms) {
  std::map<std::string, RowWeights> weights;
  std::map<std::string, std::map<OutputPlace, at::Tensor>> counted;
  for (const double level : {kFar, -kFar}) {
    for (const auto& [term, gradients] : runs.RunAtLevel({row, 1}, level).gradients) {
      for (const auto& [place, gradient] : gradients) {
        if (!gradient.ne(0).any().item<bool>()) continue;
        weights[term].slope += gradient.abs().sum().item<double>();
        at::Tensor& all = counted[term][place];
        all = all.defined() ? all.logical_or(gradient.ne(0)) : gradient.ne(0);
      }
    }
  }
  for (auto& [term, one] : weights) {
    one.row = static_cast<double>(runs.Number(row));
    one.items = static_cast<double>(runs.Items(term, row));
    for (const auto& [place, numbers] : counted[term]) {
      terms[term].places.insert(place);
      one.numbers += numbers.sum().item<double>();
    }
    terms[term].rows.push_back(one);
  }
}

// By what share the smallest of the rows is below the largest.
double Spread(const std::vector<RowWeights>& rows, const Figure& figure) {
  double least = figure(rows.front()), most = least;
  for (const RowWeights& row : rows) {
    least = std::min(least, figure(row));
    most = std::max(most, figure(row));
  }
  return (most - least) / most;
}

std::string Each(const std::vector<RowWeights>& rows, const Figure& figure) {
  std::vector<double> numbers;
  for (const RowWeights& row : rows) numbers.push_back(figure(row));
  return ListedNumbers(numbers);
}

// Those that tell something; none where one of them is beyond numbers.
std::vector<RowWeights> Telling(const std::vector<RowWeights>& all) {
  std::vector<RowWeights> rows;
  for (const RowWeights& row : all) {
    if (!std::isfinite(row.slope)) return {};
    if (row.items > 0 && row.slope > 0) rows.push_back(row);
  }
  return rows;
}

std::string DifferenceOf(const std::string& term, const TermWeights& weights) {
  const std::vector<RowWeights> rows = Telling(weights.rows);
  if (rows.size() < 2) return "";
  const Figure items = [](const RowWeights& row) { return row.items; };
  const Figure numbers = [](const RowWeights& row) { return row.numbers; };
  const Figure slope = [](const RowWeights& row) { return row.slope; };
  const std::string counted = "term '" + term + "': Sample counted " + Each(rows, items) +
                              " items in the rows " +
                              Each(rows, [](const RowWeights& row) { return row.row; }) + ", but Run ";
  if (Spread(rows, [](const RowWeights& row) { return row.slope / row.numbers; }) <= kAlike &&
      Spread(rows, [](const RowWeights& row) { return row.numbers / row.items; }) > kUnlike) {
    return counted + "adds up " + Each(rows, numbers) + " numbers of the model's '" +
           weights.places.begin()->second +
           "' there, each with the same weight; count in Sample what the sum adds up (SetItems), or take the "
           "mean within each row in Run" +
           kOrSay;
  }
  if (Spread(rows, slope) <= kAlike && Spread(rows, items) > kUnlike) {
    return counted +
           "gives each of these rows the same weight, whatever it counts; count one item a row "
           "(CountEach), or add up in Run what Sample counts" +
           kOrSay;
  }
  return "";
}

// Several numbers that are one item, each with the weight of a whole error: their sum, where their mean may
// be meant. Both are losses that people use, so it is no difference.
std::string DoubtOf(const std::string& term, const TermWeights& weights) {
  const std::vector<RowWeights> rows = Telling(weights.rows);
  const Figure each = [](const RowWeights& row) { return row.slope / row.numbers; };
  const Figure of_item = [](const RowWeights& row) { return row.numbers / row.items; };
  if (rows.empty() || Spread(rows, each) > kAlike || Spread(rows, of_item) > kAlike) return "";
  const double steep = each(rows.front()), numbers = of_item(rows.front());
  const auto is = [&](double whole) { return std::abs(steep - whole) <= kAlike * whole; };
  const char* kind = is(4 * kFar) ? "squared" : is(2) ? "absolute" : nullptr;  // (x - t)^2, |x - t|
  if (numbers < 1.5 || kind == nullptr) return "";
  return "whether the term '" + term + "' is meant to count one item for " + Number(numbers) +
         " numbers of the model's '" + weights.places.begin()->second +
         "', of each of which it adds up the " + kind +
         " error; else take their mean in Run, or count them in Sample (SetItems); " +
         "where it is meant, .counts_otherwise = true in the spec's term says so";
}

}  // namespace

void LearnedItems::AddOutput(const std::string& name, const at::Tensor& output, const at::Tensor& gradient,
                             Learned& learned) {
  const std::int64_t classes = output.size(-1);
  const bool has_items = (output.dim() == 2 || output.dim() == 3) && classes > 1;
  learned.known = learned.known && has_items;
  learned.output = name;
  if (!learned.known) return;
  const at::Tensor all = gradient.reshape({-1, classes}).to(at::kDouble);
  const at::Tensor rows = all.ne(0).any(1).nonzero().flatten();
  if (rows.numel() == 0) return;
  const at::Tensor p =
      at::softmax(output.detach().reshape({-1, classes}).index_select(0, rows).to(at::kDouble), 1);
  const std::optional<at::Tensor> weights = CrossEntropyWeights(p, all.index_select(0, rows));
  learned.known = weights.has_value() && p.max().item<double>() < 1 - kTooSure;
  if (!learned.known) return;
  learned.items += static_cast<double>(rows.numel());
  learned.weight += weights->sum().item<double>();
}

void LearnedItems::Add(const Sums& sums, const std::map<std::string, at::Tensor>& outputs) {
  std::vector<std::string> names;
  std::vector<at::Tensor> tensors;
  for (const auto& [name, output] : outputs) {
    if (!output.requires_grad()) continue;
    names.push_back(name);
    tensors.push_back(output);
  }
  for (const auto& [term, sum] : sums) {
    Learned& learned = terms_[term];
    learned.known = learned.known && sum.requires_grad() && !tensors.empty();
    if (!learned.known) continue;
    const auto gradients = torch::autograd::grad({sum}, tensors, {}, /*retain_graph=*/true,
                                                 /*create_graph=*/false, /*allow_unused=*/true);
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      if (gradients[i].defined()) AddOutput(names[i], tensors[i], gradients[i], learned);
    }
  }
}

// Where no item of an output is learned, the term may be made of something else: a carry, a parameter.
std::vector<std::string> LearnedItems::Compare(const LoadedTask& task, const Batch& one_row) const {
  std::string passes;
  for (const PassInfo& pass : task.variant().passes)
    passes += (passes.empty() ? "'" : ", '") + pass.name + "'";
  std::vector<std::string> differences;
  const std::vector<TermInfo>& declared = task.variant().terms;
  for (const auto& [term, learned] : terms_) {
    const bool counts_otherwise = std::ranges::any_of(
        declared, [&](const TermInfo& info) { return info.name == term && info.counts_otherwise; });
    const auto counted = static_cast<double>(one_row.ItemCount(term));
    const bool is_weight = std::abs(counted - learned.weight) <= kWeightShare * learned.weight;
    if (counts_otherwise || !learned.known || learned.items == 0 || counted == learned.items || is_weight)
      continue;
    differences.push_back("term '" + term + "': Sample counted " + Number(counted) + " items in " +
                          task.NameRow(one_row.rows(), one_row.rows().begin) + ", but Run (pass " + passes +
                          ") learns from " + Number(learned.items) + " items of the model's '" +
                          learned.output +
                          "'; count in Sample what the sum adds up (SetItems, AddLearned), or mask in Run "
                          "what is not to be learned; or, where that is meant, say .counts_otherwise = true "
                          "in the spec's term");
  }
  return differences;
}

std::vector<std::string> CompareCounts(LossRuns& runs, std::int64_t rows, std::set<std::string>& doubts) {
  std::map<std::string, TermWeights> terms;
  for (std::int64_t row = 0; row < rows; ++row) AddRow(runs, row, terms);
  std::vector<std::string> differences;
  for (const TermInfo& term : runs.variant().terms) {
    const TermWeights& weights = terms[term.name];
    if (term.weight == 0 || term.counts_otherwise || weights.places.size() != 1) continue;
    const std::string difference = DifferenceOf(term.name, weights);
    if (!difference.empty()) differences.push_back(difference);
    if (const std::string doubt = DoubtOf(term.name, weights); !doubt.empty()) doubts.insert(doubt);
  }
  return differences;
}

}  // namespace medley
