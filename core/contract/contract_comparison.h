#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <medley/contract/contract_reruns.h>
#include <medley/step/passes/pass_runner.h>

namespace medley {

// What the passes of a task did over some rows, against what its spec says: walks graphs, collects
// differences. What a row is wrong in is a difference at once; what no row showed is one in the end.
class ContractComparison {
 public:
  explicit ContractComparison(const MicroBatch::Setting& setting) : setting_(setting) {}

  // Runs all passes over the row with all graphs alive. What they gave, without graphs.
  PassValues Add(const Batch& one_row);
  // Runs them over a row that is as long as can be, without graphs: it is no larger than the spec says.
  void AddLongest(const Batch& one_row);
  // All differences. `generators_unmoved`: did no pass draw from libtorch's own generators? An InputError
  // where parameters are frozen and no term teaches any other.
  std::vector<std::string> Finish(bool generators_unmoved);

  const std::vector<std::string>& differences() const { return differences_; }

 private:
  struct PassTrace {
    const PassInfo* pass;
    PassRecord record;
    Sums sums;
  };
  // What the graph of one pass reaches outside of itself.
  struct Reached {
    std::set<std::string> carries;
    std::map<std::size_t, std::string> passes;  // undeclared: number of the pass, name of a node of it
  };
  // One row while its graphs live.
  struct Row {
    MicroBatch& micro;
    std::vector<PassTrace> traces;
  };

  void Differ(const std::string& what, const std::string& declared, const std::string& observed);
  void Add(const std::string& difference);
  void ComparePass(const PassTrace& trace);
  void CompareSizes(const PassInfo& pass, const PassRecord& record);
  void CompareImages(const PassTrace& trace, const std::string& name);
  void CompareGraphs(const Row& row);
  Reached Walk(const Row& row, std::size_t index) const;
  void FinishInputs();
  void FinishTerms();
  void CheckSomethingTrains() const;
  void FinishConstants();
  void FinishCarries();
  // Both have a gradient.
  bool IsReadForGradient(const std::string& pass, const std::string& carry) const;
  bool EverythingTrains() const;

  const MicroBatch::Setting& setting_;
  std::vector<std::string> differences_;
  bool items_differ_ = false;  // of one row: said once
  // Seen in any row:
  std::set<std::string> returned_, trained_;  // terms
  std::set<std::string> constants_;           // asked for
  std::set<std::string> inputs_;              // handed to the model
  std::set<std::string> carries_made_;
  std::set<std::pair<std::string, std::string>> carries_read_;     // pass, carry
  std::set<std::pair<std::string, std::string>> carries_reached_;  // by gradient
};

}  // namespace medley
