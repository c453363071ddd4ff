#include <medley/step/contract/contract_counts.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

namespace medley {
namespace {

constexpr double kAlike = 1e-6, kUnlike = 0.01;
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
  constexpr double kFar = 1e4;
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

std::string DifferenceOf(const std::string& term, const TermWeights& weights) {
  std::vector<RowWeights> rows;
  for (const RowWeights& row : weights.rows) {
    if (!std::isfinite(row.slope)) return "";
    if (row.items > 0 && row.slope > 0) rows.push_back(row);
  }
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

}  // namespace

std::vector<std::string> CompareCounts(LossRuns& runs, std::int64_t rows) {
  std::map<std::string, TermWeights> terms;
  for (std::int64_t row = 0; row < rows; ++row) AddRow(runs, row, terms);
  std::vector<std::string> differences;
  for (const TermInfo& term : runs.variant().terms) {
    const TermWeights& weights = terms[term.name];
    if (term.weight == 0 || term.counts_otherwise || weights.places.size() != 1) continue;
    const std::string difference = DifferenceOf(term.name, weights);
    if (!difference.empty()) differences.push_back(difference);
  }
  return differences;
}

}  // namespace medley
