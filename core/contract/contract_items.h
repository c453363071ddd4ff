#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include <medley/contract/loss_runs.h>

namespace medley {

// Holds the items that Sample counted for a row against what its terms are made of, for any model. That is
// known where all that a term learns from are cross-entropies (with label smoothing or not) over the last
// dimension of outputs [items, classes] or [rows, n, classes] of a model that is not yet sure of itself: then
// the gradient at the output tells which of its items are learned, and the weight of each. Of other losses,
// of frozen models and of pictures nothing is said.
class LearnedItems {
 public:
  // Notes what one pass over the row learns from. Its graph lives on.
  void Add(const Sums& sums, const std::map<std::string, at::Tensor>& outputs);
  // What differs, in words. A term is right where as many items are counted as are learned, or as their
  // weights add up to (the tokens of a reply may be one item together), or where it says counts_otherwise.
  std::vector<std::string> Compare(const LoadedTask& task, const Batch& one_row) const;

 private:
  struct Learned {
    double items = 0, weight = 0;
    bool known = true;
    std::string output{};
  };
  static void AddOutput(const std::string& name, const at::Tensor& output, const at::Tensor& gradient,
                        Learned& learned);

  std::map<std::string, Learned> terms_;
};

// Whether rows of unlike length count their items as they add them up; what differs, in words. Of terms with
// a weight that learn from one output alone, unless they say counts_otherwise. Hands a task outputs of a size
// that no model gives, which on a GPU may end in an assert of the device: for the CPU.
//
// Far from its targets every usual loss (squares, absolute values, Huber's, cross-entropies) rises as steeply
// as its weight says. So two mistakes show: numbers of one weight that are added up, of which a row counts as
// many items however many numbers it has; and rows of one weight, which count as many items as they have
// numbers. Of other weights nothing is said, nor of rows that are all alike, but for one thing that gets into
// `doubts`: an item of several numbers, of which whole squared or absolute errors are added up. Looks at so
// many rows.
std::vector<std::string> CompareCounts(LossRuns& runs, std::int64_t rows, std::set<std::string>& doubts);

}  // namespace medley
