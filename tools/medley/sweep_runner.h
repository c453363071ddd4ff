#pragma once

#include <cstddef>
#include <filesystem>
#include <list>
#include <string>
#include <vector>

#include <medley/base/error.h>
#include <medley/report/console.h>

#include "tools/medley/processes.h"
#include "tools/medley/sweep_items.h"
#include "tools/medley/sweep_jobs.h"

namespace medley {

// Trains and scores the runs of a sweep, several at a time. One that fails is told, and the others go on.
//
// Runs of one plan share what the first of them measured: that one begins alone, and the others once its
// profile is there, which is before its first step.
class SweepRunner {
 public:
  // Keeps the references.
  SweepRunner(const SweepRequest& request, const SweepRecord& record, std::vector<SweepItem> items,
              Console& console);

  // Until all is done or failed. Signals go to all that train; where one asked them to end, that is
  // kInterrupted, and each is saved. Else kDone, kSomethingDropped where a run failed or lost something, and
  // kFailed where none is done.
  ExitCode Run();
  const std::vector<SweepItem>& items() const { return items_; }

 private:
  bool IsOver() const;
  void LookAtRuns();
  std::filesystem::path ProfileFor(const SweepItem& item) const;
  bool MustWait(const SweepItem& item) const;
  bool StartNext();
  void Start(std::size_t index);
  void TakeEnd(const SweepJob& job);
  void TakeEndOfTraining(SweepItem& item, const SweepJob& job);
  void Fail(SweepItem& item, const std::string& why);
  void HandOn(int signal);
  std::string StatusWords() const;
  void ShowStatus();
  std::size_t Count(ItemState state) const;
  ExitCode Code() const;

  const SweepRequest& request_;
  const SweepRecord& record_;
  std::vector<SweepItem> items_;
  Console& console_;
  HeldSignals signals_;
  std::list<SweepJob> jobs_;
  bool is_interrupted_ = false;
  double next_look_ = 0;  // at the files
};

}  // namespace medley
