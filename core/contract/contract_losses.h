#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <medley/contract/loss_runs.h>

namespace medley {

// What was found out of the losses, beside what is wrong.
struct Judged {
  std::set<std::string> not_judged{};  // what could not be looked at, in words
  // Terms that have a weight: of which two rows alone have unlike sums and a gradient that is not 0, so that
  // rows together show whether they add up; and of which any row has such a gradient. Of outputs that were
  // made up.
  std::set<std::string> told{}, moved{};
  bool ran = false;        // passes ran on such outputs
  bool row_by_row = true;  // so the model gives what has no rows in front: see RecordedModel
  std::size_t rows = 0;    // the most that were looked at at once

  void Add(const Judged& more);
};

// How fast a value changes with a step, where that is clearly not what its gradient says: `along`, which is
// added up of parts of the norm `size`. Nothing where the two agree to a ten-thousandth; nor where there is a
// kink (a ReLU of 0), where no step changes anything, or where steps of three sizes do not agree what the
// change is, which a kink or a rounding in between may do.
std::optional<double> OtherChange(const std::function<double(double step)>& value, double along, double size);

// Holds what a task makes of a model's outputs against what micro-batches, ranks and draws rely on. The model
// has no say in it (RecordedModel): sums are in float64, so that what differs by more than a
// hundred-thousandth is no rounding, and nothing but the task's own few operators runs. Of terms that have a
// weight:
//
// - over several rows a term is the sum of what each row alone gives, and so is its gradient at the outputs;
// - what a pass hands the model for a row does not depend on the rows beside it;
// - the same rows give the same again;
// - the gradient at the outputs is how the sum changes when they do, unless the term stops_gradient;
// - rows of unlike length count items as they add them up (CompareCounts), unless the term counts_otherwise;
//   looked at on the CPU alone.
//
// A task whose passes do not run so (in float64, or on outputs that were made before) is judged in float, and
// not by changes; or, where that fails too, not at all.
class LossCheck {
 public:
  // `alone`: what the model gave each of the first rows, which are where the setting's device is. Keeps
  // references. `row_by_row`: see RecordedModel. `thorough`: see Compare. `numbers`: of the
  // rows, where they are no neighbours.
  LossCheck(const MicroBatch::Setting& setting, const Batch& rows, const std::vector<RowOutputs>& alone,
            bool row_by_row, bool thorough, std::vector<std::int64_t> numbers = {});

  // Whether a run's first draw can afford to look at a task closely: what the model gives a row may be a
  // picture for each pass, and then each operator of the task takes a millisecond.
  static bool IsCheap(const RowOutputs& of_row) { return NumbersOf(of_row) <= (1 << 13); }

  // What is wrong, in words; of several kinds the first, as each follows from the one before. Over pairs of
  // neighbours, three rows and all, with gradients of each; where it is neither thorough nor cheap over the
  // first two rows, and their gradient is compared with how the sum changes alone. Out of memory passes where
  // there are more than two rows.
  std::vector<std::string> Compare();
  // Whether rows that are unlike add up, all together against each alone, and no more; their gradients, too,
  // where it is thorough.
  std::vector<std::string> CompareUnlike();
  // Of what Compare found nothing in.
  const Judged& judged() const { return judged_; }

  // What is known of an output of the first two rows together: which numbers count for a term, undefined
  // where none is known to; and the order of items. Both as RecordedModel has them.
  at::Tensor Counts(std::size_t pass, const std::string& output) const;
  at::Tensor OrderOf(std::size_t pass, const std::string& output) const;

 private:
  using In = void (LossCheck::*)(at::ScalarType type);
  std::vector<std::string> CompareBy(In in);
  void CompareIn(at::ScalarType type);
  void CompareUnlikeIn(at::ScalarType type);
  void Note(const LossRuns& runs);
  // `moved`: how far the outputs of the rows alone are, along the direction.
  void CompareRanges(LossRuns& runs, std::int64_t rows, double moved);
  void CompareRange(LossRuns& runs, const RowsOf& range);
  void CompareKept(const LossRuns& runs, const RowsOf& range, const LossRun& together);
  void CompareInputs(const LossRuns& runs, const RowsOf& range, const LossRun& together);
  void CompareSums(const LossRuns& runs, const RowsOf& range, const LossRun& together);
  void CompareGradients(const LossRuns& runs, const RowsOf& range, const LossRun& together);
  void CompareAgain(LossRuns& runs);
  void CompareChanges(LossRuns& runs, const RowsOf& range);
  bool MayMiscount(const LossRuns& runs) const;
  double SumAlone(const std::string& term) const;  // of the rows that were run alone
  void LetGo();
  at::Tensor Alone(const OutputPlace& place, const std::string& term, const RowsOf& range) const;
  // What is off by more than this share of what was added up is no rounding, also where a task casts to float
  // inside and what it adds up cancels.
  double Rounding() const { return type_ == at::kDouble ? 1e-5 : 1e-4; }

  const MicroBatch::Setting& setting_;
  const Batch& rows_;
  const std::vector<RowOutputs>& alone_;
  bool row_by_row_;
  bool thorough_;  // or cheap, or gradients that nothing else looks at
  at::ScalarType type_ = at::kDouble;
  std::vector<LossRun> single_;
  double moved_ = 0;       // see CompareRanges
  LossRun pair_, widest_;  // of the first two rows, and of all
  std::vector<std::string> differences_;
  Judged judged_;
  std::vector<std::int64_t> numbers_;
};

}  // namespace medley
