#include <medley/contract/contract_losses.h>

#include <ATen/ops/allclose.h>
#include <ATen/ops/zeros_like.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include <medley/base/error.h>
#include <medley/base/interrupt.h>
#include <medley/contract/contract_items.h>
#include <medley/step/abandon.h>
#include <medley/task/pass_images.h>

namespace medley {
namespace {

constexpr double kNothing = 1e-9;  // a sum or a gradient that ought to be 0

// A column of the batch is of its rows alone, and not to be compared where it is a picture.
bool IsColumn(const std::string& key) { return !key.empty() && key == ColumnKey(NameOfKey(key)); }

constexpr double kInputRounding = 1e-5;
constexpr double kFirstStep = 1e-7;  // of outputs that are about 1

bool IsOfRows(const ModelSpec& model, std::string_view input) {
  return std::ranges::any_of(model.inputs, [&](const TensorSpec& declared) {
    return declared.name == input && !declared.dimensions.empty() && declared.dimensions[0] == "rows";
  });
}

double MaxOf(const at::Tensor& tensor) { return tensor.numel() == 0 ? 0 : tensor.abs().max().item<double>(); }

// Whether a row has, beside others, what it has alone: in what both have, as rows may be as wide as the
// widest.
bool IsOfRow(at::Tensor alone, at::Tensor beside) {
  if (alone.dim() != beside.dim()) return false;
  for (std::int64_t d = 1; d < alone.dim(); ++d) {
    const std::int64_t both = std::min(alone.size(d), beside.size(d));
    alone = alone.narrow(d, 0, both), beside = beside.narrow(d, 0, both);
  }
  if (!alone.is_floating_point()) return alone.equal(beside);
  return at::allclose(alone.to(at::kDouble), beside.to(at::kDouble), kInputRounding, kNothing,
                      /*equal_nan=*/true);
}

std::string FirstLine(std::string_view text) { return std::string(text.substr(0, text.find('\n'))); }

std::string UpTo(double apart, double most) {
  return "by up to " + ListedNumbers({apart}) + ", of at most " + ListedNumbers({most});
}

}  // namespace

std::optional<double> OtherChange(const std::function<double(double step)>& value, double along,
                                  double size) {
  constexpr double kSteps[] = {1e-6, 1e-5, 1e-4};
  constexpr double kShare = 1e-4, kAgreement = 0.1, kNothing = 1e-9;
  const double tolerance = kShare * (size + std::abs(along)) + kNothing, here = value(0);
  const auto is_right = [&](double change) {
    const double apart = std::abs(change - along);
    return !std::isfinite(apart) || apart <= tolerance;
  };
  if (is_right((value(kFirstStep) - here) / kFirstStep)) return std::nullopt;  // mostly: one value, not two
  std::vector<double> changes, bends;  // how far the slopes above and below are apart
  for (const double step : kSteps) {
    const double above = value(step), below = value(-step);
    changes.push_back((above - below) / (2 * step));
    if (is_right(changes.back())) return std::nullopt;
    bends.push_back((above - 2 * here + below) / step);
  }
  // What curvature adds to a bend grows with the step, tenfold here: so it is taken off.
  if (std::abs(10 * bends[0] - bends[1]) / 9 > tolerance) return std::nullopt;
  // A cast that hides the steps, or a gradient that is passed straight through a step function.
  if (std::ranges::all_of(changes, [](double change) { return change == 0; })) return std::nullopt;
  const double apart = std::abs(changes[0] - along);
  const bool agree = std::ranges::all_of(
      changes, [&](double change) { return std::abs(change - changes[0]) <= kAgreement * apart; });
  return agree ? std::optional(changes[0]) : std::nullopt;
}

void Judged::Add(const Judged& more) {
  not_judged.insert(more.not_judged.begin(), more.not_judged.end());
  told.insert(more.told.begin(), more.told.end());
  moved.insert(more.moved.begin(), more.moved.end());
  ran = ran || more.ran;
  row_by_row = row_by_row && more.row_by_row;
  rows = std::max(rows, more.rows);
}

std::vector<std::string> LossCheck::Compare() { return CompareBy(&LossCheck::CompareIn); }

std::vector<std::string> LossCheck::CompareUnlike() { return CompareBy(&LossCheck::CompareUnlikeIn); }

std::vector<std::string> LossCheck::CompareBy(In in) {
  std::string failed;
  for (const at::ScalarType type : {at::kDouble, at::kFloat}) {
    differences_.clear();
    judged_ = {};
    if (type == at::kFloat)
      judged_.not_judged.insert(
          "how its terms change against their gradients: in float64 its passes do not run (" + failed + ")");
    try {
      (this->*in)(type);
      return differences_;
    } catch (const Interrupted&) {
      throw;
    } catch (const c10::OutOfMemoryError&) {
      LetGo();
      if (alone_.size() > 2) throw;  // for who can take fewer rows
      judged_ = {.not_judged = {"what it makes of several rows: there is no room for two"}};
      return {};  // a run that has room for a row at a time never has several together
    } catch (const c10::AcceleratorError&) {
      throw;
    } catch (const c10::Error& error) {
      LetGo();
      failed = FirstLine(error.what_without_backtrace());
    } catch (const Error& error) {
      failed = FirstLine(error.what());
    }
  }
  judged_ = {
      .not_judged = {"what it makes of the model's outputs: on outputs that were made up its passes do "
                     "not run (" +
                     failed + ")"}};
  return {};
}

// Of what a backward that threw left, too.
void LossCheck::LetGo() {
  single_.clear();
  pair_ = widest_ = {};
  DrainEngine(setting_.device);
}

LossCheck::LossCheck(const MicroBatch::Setting& setting, const Batch& rows,
                     const std::vector<RowOutputs>& alone, bool row_by_row, bool thorough,
                     std::vector<std::int64_t> numbers)
    : setting_(setting),
      rows_(rows),
      alone_(alone),
      row_by_row_(row_by_row),
      thorough_(thorough || (numbers.empty() && IsCheap(alone.front()))),
      numbers_(std::move(numbers)) {
  for (const TermInfo& term : setting.task.variant().terms) thorough_ = thorough_ || term.stops_gradient;
}

void LossCheck::CompareIn(at::ScalarType type) {
  type_ = type;
  LossRuns runs(setting_, rows_, alone_, row_by_row_, type, numbers_);
  const std::int64_t rows = thorough_ ? runs.rows() : 2;
  // Where every run counts, rows alone are run a first step away: if their sum is what the rows together and
  // their gradient say, it tells of both.
  CompareRanges(runs, rows, thorough_ || type == at::kFloat ? 0 : kFirstStep);
  if (moved_ != 0 && !differences_.empty()) {  // it may be the step
    differences_.clear();
    CompareRanges(runs, rows, 0);
  }
  Note(runs);
  if (differences_.empty() && thorough_) CompareAgain(runs);
  if (differences_.empty() && type == at::kDouble) CompareChanges(runs, {0, rows});
  if (differences_.empty() && setting_.device.is_cpu() && (thorough_ || MayMiscount(runs)))
    differences_ = CompareCounts(runs, rows, judged_.not_judged);
}

void LossCheck::CompareUnlikeIn(at::ScalarType type) {
  type_ = type;
  LossRuns runs(setting_, rows_, alone_, row_by_row_, type, numbers_);
  single_.clear();
  for (std::int64_t row = 0; row < runs.rows(); ++row) single_.push_back(runs.Run({row, 1}, thorough_));
  CompareRange(runs, {0, runs.rows()});
  Note(runs);
}

// A gradient of rows alone is not there where it is not compared; then that of all of them tells.
void LossCheck::Note(const LossRuns& runs) {
  judged_.ran = true, judged_.row_by_row = row_by_row_, judged_.rows = single_.size();
  const auto moves = [](const LossRun& run, const std::string& term) {
    const OutputGradients& gradients = run.GradientsOf(term);
    return std::ranges::any_of(gradients,
                               [](const auto& one) { return one.second.ne(0).any().template item<bool>(); });
  };
  for (const TermInfo& term : runs.variant().terms) {
    if (term.weight == 0) continue;
    const bool together = moves(widest_, term.name);
    std::vector<double> sums;
    bool is_finite = true;  // else that is what was said of it
    for (const LossRun& run : single_) {
      is_finite = is_finite && std::isfinite(run.Sum(term.name));
      if (run.gradients.empty() ? together : moves(run, term.name)) sums.push_back(run.Sum(term.name));
    }
    if (together || !sums.empty() || !is_finite) judged_.moved.insert(term.name);
    if (!is_finite) judged_.told.insert(term.name);
    const auto [least, most] = std::ranges::minmax_element(sums);
    if (!sums.empty() && *most - *least > kNothing * (std::abs(*most) + std::abs(*least)))
      judged_.told.insert(term.name);
  }
}

void LossCheck::CompareRanges(LossRuns& runs, std::int64_t rows, double moved) {
  moved_ = moved;
  single_.clear();
  for (std::int64_t row = 0; row < rows; ++row)
    single_.push_back(moved == 0 ? runs.Run({row, 1}, thorough_) : runs.RunMoved({row, 1}, moved));
  for (std::int64_t first = 0; first + 1 < rows; ++first) CompareRange(runs, {first, 2});
  if (rows > 3) CompareRange(runs, {0, 3});
  if (rows > 2) CompareRange(runs, {0, rows});
}

void LossCheck::CompareRange(LossRuns& runs, const RowsOf& range) {
  if (!differences_.empty()) return;
  const LossRun together = runs.Run(range, /*with_gradients=*/true);
  if (range.first == 0 && range.count == 2) pair_ = together;
  if (range.first == 0) widest_ = together;
  CompareKept(runs, range, together);
  if (differences_.empty()) CompareInputs(runs, range, together);
  if (differences_.empty()) CompareSums(runs, range, together);
  if (differences_.empty() && thorough_) CompareGradients(runs, range, together);
}

// Whether the first two rows have unlike numbers of items of a term.
bool LossCheck::MayMiscount(const LossRuns& runs) const {
  const std::vector<TermInfo>& terms = runs.variant().terms;
  return std::ranges::any_of(terms, [&](const TermInfo& term) {
    const std::int64_t first = runs.Items(term.name, 0), second = runs.Items(term.name, 1);
    return term.weight != 0 && !term.counts_otherwise && first > 0 && second > 0 && first != second;
  });
}

// Not integers, which may be places in the batch; not what is cut to the longest row; not items, which may be
// packed in another order; and not a column as it is.
void LossCheck::CompareInputs(const LossRuns& runs, const RowsOf& range, const LossRun& together) {
  for (std::size_t pass = 0; pass < together.handed.size(); ++pass) {
    for (std::size_t i = 0; i < together.handed[pass].inputs.size(); ++i) {
      const auto& [name, tensor, key] = together.handed[pass].inputs[i];
      std::vector<at::Tensor> of_rows;
      bool is_cut = tensor.dim() == 0 || !tensor.is_floating_point() || IsColumn(key) ||
                    !IsOfRows(setting_.model.spec(), name);
      for (std::int64_t row = range.first; row < range.first + range.count && !is_cut; ++row) {
        const ModelInputs& alone = single_[static_cast<std::size_t>(row)].handed[pass].inputs;
        is_cut = i >= alone.size() || alone[i].tensor.dim() != tensor.dim() ||
                 alone[i].tensor.sizes().slice(1) != tensor.sizes().slice(1);
        if (!is_cut) of_rows.push_back(alone[i].tensor);
      }
      const at::Tensor alone = is_cut ? at::Tensor() : JoinRows(of_rows);
      if (is_cut || alone.sizes() != tensor.sizes()) continue;
      const double apart = MaxOf(alone.sub(tensor)), most = std::max(MaxOf(alone), MaxOf(tensor));
      if (!std::isfinite(apart) || apart <= kInputRounding * most) continue;
      differences_.push_back("pass '" + runs.variant().passes[pass].name +
                             "' hands the model other values as '" + name + "' for the rows " +
                             runs.Words(range) + " together than for each alone (" + UpTo(apart, most) +
                             "); what is made of a row must not depend on the rows beside it: look for a "
                             "mean, maximum or norm over all rows in Run");
    }
  }
}

void LossCheck::CompareKept(const LossRuns& runs, const RowsOf& range, const LossRun& together) {
  for (const auto& [name, value] : together.kept) {
    bool is_same = true;
    for (std::int64_t i = 0; i < range.count; ++i) {
      const auto row = static_cast<std::size_t>(range.first + i);
      is_same = is_same && IsOfRow(single_[row].kept.at(name), value.narrow(0, i, 1));
    }
    if (is_same) continue;
    differences_.push_back("what a pass keeps as '" + name + "' is another for the rows " +
                           runs.Words(range) +
                           " together than for each alone; what is kept of a row must not depend on the rows "
                           "beside it: look for a mean or maximum over all rows, and draw row i's random "
                           "numbers from CombineSeeds(context.Seed(site), context.batch().rows().begin + i)");
  }
}

void LossCheck::CompareSums(const LossRuns& runs, const RowsOf& range, const LossRun& together) {
  for (const TermInfo& term : runs.variant().terms) {
    for (std::size_t pass = 0; pass < together.sums.size() && term.weight != 0; ++pass) {
      const double found = together.Sum(pass, term.name);
      double added = 0, bound = kNothing;
      std::vector<double> each;
      for (std::int64_t row = range.first; row < range.first + range.count; ++row) {
        each.push_back(single_[static_cast<std::size_t>(row)].Sum(pass, term.name));
        added += each.back(), bound += Rounding() * std::abs(each.back());
      }
      if (!std::isfinite(found) || !std::isfinite(added)) {  // where a model gives such, its step says so
        judged_.not_judged.insert("the term '" + term.name + "' in pass '" +
                                  runs.variant().passes[pass].name +
                                  "': of outputs that were made up it is not finite");
        continue;
      }
      if (std::abs(found - added) <= bound) continue;
      const bool is_mean = std::abs(found * static_cast<double>(range.count) - added) <= bound;
      differences_.push_back(
          "pass '" + runs.variant().passes[pass].name + "' gave for the term '" + term.name + "' " +
          ListedNumbers({found}) + " over the rows " + runs.Words(range) + " together, but " +
          ListedNumbers(each) + " over each alone, of the same outputs; Run returns sums, never means" +
          (is_mean ? ", and this is their mean (at::Reduction::Sum, sum() for mean())"
                   : ", and a row adds the same whatever rows are beside it: look for [rows] against [rows, "
                     "1], which makes [rows, rows], and for a mean, maximum, softmax or weights over all "
                     "rows"));
    }
  }
}

// What the rows have at an output, each alone; zeros where one has no gradient there.
at::Tensor LossCheck::Alone(const OutputPlace& place, const std::string& term, const RowsOf& range) const {
  std::vector<at::Tensor> of_rows;
  for (std::int64_t i = range.first; i < range.first + range.count; ++i) {
    const auto row = static_cast<std::size_t>(i);
    const OutputGradients& gradients = single_[row].GradientsOf(term);
    const auto found = gradients.find(place);
    of_rows.push_back(found != gradients.end()
                          ? found->second
                          : at::zeros_like(alone_[row][place.first].at(place.second), type_));
  }
  return JoinRows(of_rows, /*with_zeros=*/true);
}

void LossCheck::CompareGradients(const LossRuns& runs, const RowsOf& range, const LossRun& together) {
  for (const TermInfo& term : runs.variant().terms) {
    if (term.weight == 0) continue;
    for (const auto& [place, gradient] : together.GradientsOf(term.name)) {
      const at::Tensor alone = Alone(place, term.name, range);
      if (alone.sizes() != gradient.sizes()) continue;
      const double apart = MaxOf(alone.sub(gradient)), most = std::max(MaxOf(alone), MaxOf(gradient));
      if (!std::isfinite(apart) || apart <= Rounding() * most + kNothing) continue;
      differences_.push_back("the gradient of the term '" + term.name + "' at the model's '" + place.second +
                             "' in pass '" + runs.variant().passes[place.first].name +
                             "' is another over the rows " + runs.Words(range) +
                             " together than over each alone (" + UpTo(apart, most) +
                             "), of the same outputs; a row teaches the same whatever rows are beside it: "
                             "look for what scales by the number of rows or is taken over all of them");
    }
  }
}

void LossCheck::CompareAgain(LossRuns& runs) {
  const LossRun again = runs.Run({0, 1}, /*with_gradients=*/false);
  for (std::size_t pass = 0; pass < again.sums.size(); ++pass) {
    for (const TermInfo& term : runs.variant().terms) {
      const double first = single_[0].Sum(pass, term.name), second = again.Sum(pass, term.name);
      if (term.weight == 0 || !std::isfinite(first) || !std::isfinite(second)) continue;
      if (std::abs(first - second) <= kNothing + Rounding() * std::abs(first)) continue;
      differences_.push_back("pass '" + runs.variant().passes[pass].name + "' gave for the term '" +
                             term.name + "' " + ListedNumbers({first, second}) + " over the row " +
                             runs.Words({0, 1}) +
                             ", of the same outputs, before and after other rows; a task keeps nothing "
                             "between calls and draws from no generator of its own: look at Run for a "
                             "member, a static variable, a running mean, std::rand");
    }
  }
}

double LossCheck::SumAlone(const std::string& term) const {
  double sum = 0;
  for (const LossRun& row : single_) sum += row.Sum(term);
  return sum;
}

void LossCheck::CompareChanges(LossRuns& runs, const RowsOf& range) {
  const LossRun& together = widest_;
  std::map<double, LossRun> moved{{0, together}};
  for (const TermInfo& term : runs.variant().terms) {
    const OutputGradients& gradients = together.GradientsOf(term.name);
    if (term.weight == 0 || term.stops_gradient) continue;
    const auto value = [&](double step) {
      if (step == moved_ && step != 0) return SumAlone(term.name);
      auto known = moved.find(step);
      if (known == moved.end()) {
        known = moved.emplace(step, runs.RunMoved(range, step)).first;
        known->second.handed.clear();  // many are kept, and pictures are large
      }
      return known->second.Sum(term.name);
    };
    auto [along, size] = runs.Along(range, gradients);
    if (gradients.empty()) size = std::abs(value(kFirstStep) - value(0)) / kFirstStep;
    const auto change = OtherChange(value, along, size);
    if (!change) continue;
    differences_.push_back(
        "the gradient of the term '" + term.name + "' is not how it changes: over the rows " +
        runs.Words(range) + " a small step of the model's outputs changes it by " + ListedNumbers({*change}) +
        " times the step, its gradient says " + ListedNumbers({along}) +
        "; a part of it is detached (detach(), data(), item(), a NoGradGuard, a copy): look at Run and at "
        "what it carries, or, where that is meant, say .stops_gradient = true in the spec's term");
  }
}

at::Tensor LossCheck::Counts(std::size_t pass, const std::string& output) const {
  at::Tensor counts;
  for (const auto& [term, gradients] : pair_.gradients) {
    const auto found = gradients.find({pass, output});
    if (found == gradients.end()) continue;
    const at::Tensor counted = found->second.ne(0);
    counts = counts.defined() ? counts.logical_or(counted) : counted;
  }
  return counts;
}

at::Tensor LossCheck::OrderOf(std::size_t pass, const std::string& output) const {
  if (pass >= pair_.handed.size()) return {};
  const auto found = pair_.handed[pass].orders.find(output);
  return found == pair_.handed[pass].orders.end() ? at::Tensor() : found->second;
}

}  // namespace medley
